"""Programs: all functions of a file with their environments, and what callers, helpers, constants and other files tell them."""

from __future__ import annotations

from functools import cached_property

from porter.flow import number, wrappers
from porter.flow.cub import default_width
from porter.flow.env import MAX_CHASE, TYPE_NAME, Env
from porter.flow.event import Function
from porter.flow.expr import Expr
from porter.flow.fragments import parse_expression
from porter.flow.intrinsics import is_foreign
from porter.flow.members import Members
from porter.flow.names import is_width
from porter.flow.unit import Definition, Unit, unit_of
from porter.flow.values import OTHER, WARP, WAVE, Value
from porter.link import Index
from porter.model import Live, Span
from porter.parse import Parsed

MAX_TYPES = 6  # names of types followed one behind the other
TYPE_QUALIFIERS = frozenset(
    {"const", "volatile", "static", "constexpr", "__shared__", "__restrict__", "register", "extern", "inline", "typename"}
)
MAX_NAMED = 24  # places that name a template of which the arguments are looked at
MAX_TEXT = 200  # bytes of a constant's definition that are looked at
_NOWHERE = Span(0, 0, 0, 0)


def program_of(parsed: Parsed, index: object = None) -> Program:
    """The environments of a file, made at the first call and kept with the parse."""
    found = parsed.extra.get("flow_program")
    if not isinstance(found, Program):
        known = (index.specifiers, index.wrappers | index.collectives) if isinstance(index, Index) else ()
        found = Program(unit_of(parsed, *known), index)
        parsed.extra["flow_program"] = found
    return found


class Program:
    """All functions of a unit with their environments, and what one says of another."""

    def __init__(self, unit: Unit, index: object = None) -> None:
        """The environments of a unit; ``index`` answers for other files."""
        self.unit, self.index = unit, index
        self.envs = [Env(unit, function, self) for function in unit.functions]
        self._by_name: dict[str, list[Env]] = {}
        for env in self.envs:
            self._by_name.setdefault(env.function.name, []).append(env)
        by_function = {id(env.function): env for env in self.envs}
        for env in self.envs:
            env.outer = by_function.get(id(env.function.outer)) if env.function.outer is not None else None
        self.members = Members(self)
        self._bits: dict[str, int] = {}
        self._builtins: dict[int, Expr | None] = {}
        self._parsed: dict[str, Expr | None] = {}
        self._callers: dict[str, list[tuple[Env, Expr]]] | None = None
        self._named: dict[str, list[tuple[Env, Expr]]] | None = None
        self._constants: dict[str, Value | None] = {}
        self._returned: dict[str, Value] = {}
        self._busy: set[str] = set()
        self._wide: frozenset[str] | None = None

    @property
    def wide_types(self) -> frozenset[str]:
        """Names that the file gives to CUB's algorithms for warps as wide as the hardware."""
        if self._wide is None:
            self._wide = frozenset(name for name, alias in self.unit.aliases if default_width(self.outside, alias))
        return self._wide

    def bits(self, text: str, depth: int = 0) -> int:
        """Width in bits of an integer type, the project's own names for such types followed; 0 for unknown."""
        known = self._bits.get(text)
        if known is None:
            known = number.type_bits(text)
            name = next((word for word in TYPE_NAME.findall(text) if word not in TYPE_QUALIFIERS), "").rpartition("::")[2]
            texts = self._type_texts(name) if name and "*" not in text and "<" not in text and depth < MAX_TYPES else []
            if texts:
                sizes = {self.bits(other, depth + 1) for other in texts if other != text}
                known = sizes.pop() if len(sizes) == 1 else 0
            self._bits[text] = known
        return known

    def _type_texts(self, name: str) -> list[str]:
        own = [text for text, line in self.unit.types.get(name, ()) if self.unit.parsed.live(line) is not Live.NO]
        return own if own or not isinstance(self.index, Index) else self.index.type_texts(name, self.unit.parsed.file.path)

    @cached_property
    def outside(self) -> Env:
        """The environment of what stands outside functions."""
        return Evaluator(self.unit, self)

    @cached_property
    def sees_torch(self) -> bool:
        """True for a file that PyTorch's helpers for warps mean something in."""
        return isinstance(self.index, Index) and wrappers.includes_torch(self.index, self.unit.parsed.file.path)

    def redefines(self, name: str) -> bool:
        """True where the file, or one that it includes, defines a constant, variable or macro of that name that an AMD build reads."""
        if any(self.unit.parsed.live(one.span.line) is not Live.NO for one in self.unit.constants.get(name, ())):
            return True
        if not isinstance(self.index, Index):
            return False
        found = (*self.index.constants.get(name, ()), *self.index.macros.get(name, ()))
        around = self.index.reach(self.unit.parsed.file.path) if found else ()
        return any(path in around and one.live is not Live.NO for path, one in found)

    def builtin(self, call: Expr) -> Expr | None:
        """The call of a builtin that a call of another file's wrapper stands for; None for any other call."""
        key = id(call)
        if key not in self._builtins:
            self._builtins[key] = wrappers.expanded(self, call)
        return self._builtins[key]

    def named(self, name: str) -> list[Env]:
        """Environments of the functions and macros with this name."""
        return self._by_name.get(name, [])

    def callers(self, name: str) -> list[tuple[Env, Expr]]:
        """Calls of a function in this file: who calls, and the call."""
        if self._callers is None:
            self._callers = {}
            for env in self.envs:
                for _, call in env.parts.calls:
                    if call.name in self._by_name and not is_foreign(call):
                        self._callers.setdefault(call.name, []).append((env, call))
        return self._callers.get(name, [])

    def argument(self, function: Function, place: int, depth: int) -> Value:
        """What callers pass at a place, where all that can be told agree."""
        if depth > MAX_CHASE:
            return OTHER
        made = OTHER
        for env, call in self.callers(function.name)[:12]:
            if place < len(call.args) and env.function is not function:
                value = env.value(call.args[place], depth + 4)
                if value.kind == "other":
                    continue
                if made.kind == "other":
                    made = value
                elif (value.kind, value.num, value.width) != (made.kind, made.num, made.width):
                    return made if made.kind == value.kind and made.kind != "const" else OTHER
        return made

    def instantiated(self, function: Function, name: str, depth: int) -> Value:
        """What the file gives for a template parameter of a function, where all that names the function agrees."""
        place = next((place for place, param in enumerate(function.templates) if param.name == name), -1)
        if self._named is None:
            self._named = {}
            for env in self.envs:
                for part in env.parts.templated:
                    if part.name in self._by_name:
                        self._named.setdefault(part.name, []).append((env, part))
        found = [
            env.value(part.targs[place], depth + 4)
            for env, part in self._named.get(function.name, ())[:MAX_NAMED]
            if 0 <= place < len(part.targs) and env.function is not function
        ]
        return _agreed([value for value in found if value.kind in ("const", "hw")]) if depth <= MAX_CHASE else OTHER

    def returned(self, unit: Unit, name: str, depth: int) -> Value:
        """What a function or macro of this file gives back."""
        if name in self._returned:
            return self._returned[name]
        if name in self._busy or depth > MAX_CHASE:
            return OTHER
        self._busy.add(name)
        found = [value for env in self.named(name) for value in _results(env, depth)]
        if not self.named(name):
            found += self._returned_elsewhere(name)
        self._busy.discard(name)
        self._returned[name] = _agreed(found)
        return self._returned[name]

    def _returned_elsewhere(self, name: str) -> list[Value]:
        """What a function of an included file gives back, where its body is one return of a constant."""
        if not isinstance(self.index, Index) or not self.index.functions.get(name):
            return []
        held = self.index.function(name, self.unit.parsed.file.path)
        parsed = self._read(held.returns) if held is not None else None
        made = Evaluator(self.unit, self).value(parsed) if parsed is not None else OTHER
        return [made.but(symbols=tuple(dict.fromkeys((name, *made.symbols)))[:4])] if made.kind in ("const", "hw", "lane", "warp") else []

    def constant(self, unit: Unit, name: str) -> Value | None:
        """Value of a named constant of the file or of the files it knows, as an AMD build sees it."""
        if name in self._constants:
            return self._constants[name]
        self._constants[name] = None  # a macro that names itself ends here
        live = [d for d in unit.constants.get(name, ()) if unit.parsed.live(d.span.line) is not Live.NO]
        meant = [value for d in live if (value := self._of_definition(d)) is not None] or self._elsewhere(name)
        made = meant[0] if meant else None
        if is_width(name):
            wide = next((v for v in meant if v.kind == "hw" or (v.kind == "const" and v.num == WAVE)), None)
            if wide is not None:  # the AMD branch of a project that has one
                made = wide if wide.kind == "hw" else Value("hw", 0, symbols=wide.symbols, via="constant")
        self._constants[name] = made
        return made

    def _of_definition(self, definition: Definition) -> Value | None:
        made = Evaluator(self.unit, self).value(definition.value)
        bits = self.bits(definition.type)
        if made.kind in ("other", "named_width") and not bits:
            return None
        made = made.but(symbols=tuple(dict.fromkeys((definition.name, *made.symbols)))[:4])
        return made.but(bits=bits) if bits else made

    def _elsewhere(self, name: str) -> list[Value]:
        """Values of a constant or macro of another file of the repository, one for each of its definitions."""
        if not isinstance(self.index, Index):
            return []
        found = []
        for text in self._texts(self.index, name):
            parsed = self._read(text)
            made = Evaluator(self.unit, self).value(parsed) if parsed is not None else OTHER
            if made.kind in ("const", "hw", "mask", "lane", "warp"):
                found.append(made.but(symbols=tuple(dict.fromkeys((name, *made.symbols)))[:4]))
        return found

    def _read(self, text: str) -> Expr | None:
        """An expression of another file; kept, for what is known of expressions goes by their identity."""
        if text not in self._parsed:
            self._parsed[text] = parse_expression(text.encode()) if 0 < len(text) <= MAX_TEXT else None
        return self._parsed[text]

    def _texts(self, index: Index, name: str) -> list[str]:
        """What another file defines a name as: the nearest that is included, else the repository's only meaning."""
        if name in index.given:
            return [index.given[name]]
        found = [(p, m.text) for p, m in index.macros.get(name, ()) if m.params is None and m.live is not Live.NO]
        found += [(p, c.text) for p, c in index.constants.get(name, ()) if c.live is not Live.NO]
        if not found:
            flags = sorted(set(index.flags.get(name, ())))
            return flags if len(flags) == 1 else []
        places = {p for p, _ in found}
        for place in index.reach(self.unit.parsed.file.path):
            if place in places:
                return [text for p, text in found if p == place]
        return [found[0][1]] if len({text for _, text in found}) == 1 else []

    def defined(self, name: str) -> tuple[tuple[str, int], ...]:
        """Path and line of the definitions of a constant: in this file, else in the files it includes."""
        own = self.unit.constants.get(name, ())
        if own or not isinstance(self.index, Index):
            return tuple((self.unit.parsed.file.path, definition.span.line) for definition in own[:2])
        found = [(path, one.line) for path, one in (*self.index.macros.get(name, ()), *self.index.constants.get(name, ()))]
        reach = self.index.reach(self.unit.parsed.file.path)
        return tuple(place for place in found if place[0] in reach)[:2] or tuple(found[:1])


class Evaluator(Env):
    """An environment without a function: for macros and constants at file level."""

    def __init__(self, unit: Unit, program: Program) -> None:
        """An empty function in the unit."""
        super().__init__(unit, Function("", "host", _NOWHERE), program)


def _results(env: Env, depth: int) -> list[Value]:
    """What the returns of a function give, or the body of a macro, as far as it says anything of a warp."""
    found = []
    for event in env.function.events:
        if event.value is None or not env.live(event.line):
            continue
        if event.kind == "return" or (env.function.side == "macro" and event.kind == "eval"):
            value = env.value(event.value, depth + 1)
            bits = env.program.bits(env.function.returns)
            if value.kind not in ("other", "bool"):
                found.append(value.but(bits=bits) if bits and value.kind == "mask" else value)
    return found


def _agreed(found: list[Value]) -> Value:
    """One value for several: 32 here and 64 there is the width of the device; other numbers that differ say nothing."""
    if not found:
        return OTHER
    numbers = {value.num for value in found if value.kind == "const"}
    if {WARP, WAVE} <= numbers:
        return Value("hw", 0, via="function")
    return OTHER if len(numbers) > 1 else found[-1]
