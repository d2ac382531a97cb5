"""Evaluation: what an expression of a function is to a warp, following definitions, parameters, macros and helper functions."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from porter.flow import calls, meanings, number, values
from porter.flow.event import Event, Function
from porter.flow.expr import Expr, walk
from porter.flow.names import BUILTINS, HARDWARE_NAMES, LANE_MASKS, by_name
from porter.flow.parts import Parts, parts_of
from porter.flow.unit import Unit
from porter.flow.values import HARDWARE, OTHER, WARP, WAVE, Value
from porter.model import Live

if TYPE_CHECKING:
    from porter.flow.program import Program

MAX_CHASE = 24  # names followed one behind the other
TYPE_NAME = re.compile(r"[A-Za-z_][\w:]*")


@lru_cache(maxsize=5_000)
def _literal(text: str) -> Value:
    parsed = number.parse(text)
    return values.const(*parsed) if parsed is not None else OTHER


class Env:
    """A function with what its names mean. Values are kept by the identity of the expression."""

    def __init__(self, unit: Unit, function: Function, program: Program) -> None:
        """An environment for ``function`` in ``unit``."""
        self.unit, self.function, self.program = unit, function, program
        self.decls: dict[str, list[Event]] = {}
        self.assigns: dict[str, list[Event]] = {}
        self.initial: dict[str, list[Event]] = {}  # members that a constructor sets before its body
        self.asm: dict[str, Value] = {}
        self.stepped: dict[str, list[int]] = {}
        self.params = {param.name: (i, param) for i, param in enumerate(function.params)}
        self.templates = {param.name: param for param in function.templates}
        self._known: dict[int, Value] = {}
        self._names: dict[tuple[str, int], Value] = {}
        self._walks: dict[int, list[Expr]] = {}
        self._busy: set[str] = set()
        self.outer: Env | None = None  # the function that a lambda stands in
        for event in function.events:
            self._note(event)

    def _note(self, event: Event) -> None:
        if event.kind == "decl":
            self.decls.setdefault(event.name, []).append(event)
        elif event.kind == "assign" and event.target is not None and event.target.kind == "name":
            self.assigns.setdefault(event.target.op, []).append(event)
        elif event.kind == "initialiser" and event.target is not None:
            self.initial.setdefault(event.target.op, []).append(event)
        elif event.kind == "loop" and event.value is not None and event.value.kind == "assign":
            self.stepped.setdefault(event.value.args[0].op, []).append(event.line)
        elif event.kind == "asm" and event.value is not None:
            self._note_asm(event)

    def _note_asm(self, event: Event) -> None:
        if "laneid" in event.op:
            made = Value("lane", width=HARDWARE, via="laneid")
        elif LANE_MASKS.search(event.op):
            made = Value("mask", bits=32, via="lanemask")
        elif "%tid" in event.op:
            made = Value("tid")
        else:
            return
        if event.value is None:
            return
        for part in walk(event.value):
            if part.kind == "name":
                self.asm[part.op] = made
                return

    @cached_property
    def parts(self) -> Parts:
        """The calls of the function, and what it gives template arguments."""
        return parts_of(self.function.events, self.walked)

    def walked(self, root: Expr) -> list[Expr]:
        """The parts of a target, value or extent of one of the function's events, gathered once for all who ask."""
        found = self._walks.get(id(root))
        if found is None:
            found = self._walks[id(root)] = walk(root)
        return found

    @cached_property
    def places(self) -> dict[str, list[Expr]]:
        """Where each name stands in the targets, values and extents of the function's events."""
        found: dict[str, list[Expr]] = {}
        for event in self.function.events:
            for root in (event.target, event.value, *event.extents):
                for part in self.walked(root) if root is not None else ():
                    if part.kind == "name":
                        found.setdefault(part.op, []).append(part)
        return found

    @cached_property
    def types(self) -> frozenset[str]:
        """The last words of the types that the function declares something of."""
        return frozenset(self.type_word(event.type) for declared in self.decls.values() for event in declared)

    def live(self, line: int) -> bool:
        """False for lines that an AMD build never compiles."""
        return self.unit.parsed.live(line) is not Live.NO

    def value(self, expr: Expr | None, depth: int = 0) -> Value:
        """What an expression is."""
        if expr is None or depth > MAX_CHASE * 3:
            return OTHER
        key = id(expr)
        known = self._known.get(key)
        if known is None:
            known = self._evaluate(expr, depth)
            self._known[key] = known
        return known

    def _evaluate(self, expr: Expr, depth: int) -> Value:
        kind = expr.kind
        if kind == "num":
            return _literal(expr.op)
        if kind == "name":
            return self.name(expr, depth)
        if kind == "binary":
            return values.binary(expr.op, self.value(expr.args[0], depth + 1), self.value(expr.args[1], depth + 1))
        if kind == "unary":
            return values.unary(expr.op, self.value(expr.args[0], depth + 1))
        if kind == "cast":
            return self._cast(expr, depth)
        if kind == "call":
            return calls.called(self, expr, depth)
        if kind == "method":
            return calls.method(self, expr, depth)
        if kind == "field":
            return self._field(expr, depth)
        if kind == "cond" and len(expr.args) == 3:
            return self._either(expr, depth)
        if kind == "index":
            return self._element(expr)
        return OTHER

    def _cast(self, expr: Expr, depth: int) -> Value:
        inner = self.value(expr.args[0], depth + 1) if expr.args else OTHER
        bits = self.program.bits(expr.op)
        return inner.but(bits=bits) if bits else inner

    def _either(self, expr: Expr, depth: int) -> Value:
        a, b = self.value(expr.args[1], depth + 1), self.value(expr.args[2], depth + 1)
        if a.kind == b.kind == "const" and a.num != b.num:
            wide = {a.num, b.num} == {WARP, WAVE}  # one for each sort of device
            return Value("hw", 0, symbols=a.symbols or b.symbols, via="function") if wide else Value("other", bits=a.bits)
        if a.kind == b.kind:
            return a
        if "mask" in (a.kind, b.kind):
            return a if a.kind == "mask" else b
        return Value("other", bits=a.bits if a.bits == b.bits else 0)

    def _element(self, expr: Expr) -> Value:
        owner = expr.args[0]
        while owner.kind == "index":
            owner = owner.args[0]
        decl = self.declaration(owner) if owner.kind == "name" else None
        return Value("other", bits=self.program.bits(decl.type.rstrip("*&"))) if decl is not None else OTHER

    def _field(self, expr: Expr, depth: int) -> Value:
        name, owner = expr.op, expr.args[0]
        if name == "warpSize":
            return Value("hw", 0, via="property")
        kind = self.function.owner if owner.op == "this" else self.type_of(owner) if owner.kind == "name" else ""
        found = self.program.members.value(kind, name, depth) if kind else OTHER
        return found if found.kind != "other" else by_name(name)

    def type_of(self, name: Expr) -> str:
        """The last word of the type that a local name or parameter is declared with; empty where that is not known."""
        decl = self.declaration(name)
        kind = decl.type if decl is not None else self.params[name.op][1].type if name.op in self.params else ""
        return self.type_word(kind)

    @staticmethod
    def type_word(kind: str) -> str:
        """The last word of a type, without its template arguments and namespaces."""
        words = TYPE_NAME.findall(kind.partition("<")[0])
        return str(words[-1]).rpartition("::")[2] if words else ""

    def declaration(self, name: Expr) -> Event | None:
        """The declaration that a name refers to at its place, if it is local."""
        found = self.decls.get(name.op)
        if not found:
            return None
        best: Event | None = None
        for event in found:
            if event.line <= name.line <= event.scope_end and (best is None or event.line >= best.line):
                best = event
        return best if best is not None else found[0]

    def name(self, expr: Expr, depth: int = 0) -> Value:
        """What a name stands for."""
        text = expr.op
        builtin = BUILTINS.get(text)
        if builtin is not None:
            return builtin
        if text in HARDWARE_NAMES and not self.redefines(text):
            return Value("hw", 0, via=text)
        decl = self.declaration(expr)
        key = (text, decl.line if decl is not None else 0)
        known = self._names.get(key)
        if known is not None:
            return known
        if text in self._busy or len(self._busy) > MAX_CHASE:
            return OTHER
        self._busy.add(text)
        try:
            known = meanings.resolve(self, expr, decl, depth)
        finally:
            self._busy.discard(text)
        self._names[key] = known
        return known

    def redefines(self, name: str) -> bool:
        """True where the project has its own meaning for a name of the device's width, such as a constant called warpSize."""
        here = name in self.decls or name in self.params or name in self.templates
        return here or self.program.redefines(name) or (self.outer is not None and self.outer.redefines(name))
