"""A function as a flat list of events in source order: declarations, assignments, evaluations, exits, with what guards them."""

from __future__ import annotations

from typing import Any

import msgspec

from porter.flow.classes import initialisers, is_for_device
from porter.flow.declared import constructed, misread, type_of
from porter.flow.event import Event, Guard, Loop
from porter.flow.expr import Expr, Origin, build
from porter.model import Span
from porter.parse import cuda_fields
from porter.parse.cuda_fields import BODY, CONDITION, DECLARATOR, LEFT, NAME, RIGHT, SIZE, VALUE
from porter.parse.cuda_query import by_kind

MAX_EVENTS = 20_000  # of one function; what machines generate beyond this is cut


class _Work(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A node still to be read, with what surrounds it."""

    node: Any
    guards: tuple[Guard, ...]
    loops: tuple[Loop, ...]
    scope_end: int


LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})


class Reader:
    """Reads one body; iterative, so that no nesting can exhaust the stack."""

    def __init__(self, at: Origin) -> None:
        """A reader of the bytes and at the place that ``at`` names."""
        self.at = at
        self.events: list[Event] = []
        self.stack: list[_Work] = []

    def read(self, body: Any, whole: Any = None) -> tuple[Event, ...]:
        """The events of a body, in source order; those of a constructor's initialisers first, where ``whole`` is one."""
        start = _Work(body, (), (), self.line(body.end_point[0]))
        for node, target, value in initialisers(whole, self.at) if whole is not None else ():
            self.emit(start, "initialiser", node, op="=", target=target, value=value)
        self.stack = [start]
        while self.stack and len(self.events) < MAX_EVENTS:
            self._step(self.stack.pop())
        return tuple(self.events)

    def line(self, row: int) -> int:
        """Line number of a row."""
        return row + 1 + self.at.row

    def _step(self, work: _Work) -> None:
        _HANDLER_OF.get(work.node.kind_id, Reader._children)(self, work)

    def _whole(self, work: _Work) -> None:
        self._expression(work, work.node)

    def _statement(self, work: _Work) -> None:
        nodes = work.node.named_children
        if len(nodes) == 1 and _HANDLER_OF.get(nodes[0].kind_id) is Reader._whole:  # as most are; nothing else waits before it
            self._expression(work, nodes[0])
        else:
            self._children(work)

    def _nothing(self, work: _Work) -> None:
        """A comment, a macro that is defined here: nothing happens."""

    def _push(self, work: _Work, nodes: list[Any], guards: tuple[Guard, ...], loops: tuple[Loop, ...], end: int) -> None:
        self.stack += [_Work(node, guards, loops, end) for node in reversed(nodes)]

    def _children(self, work: _Work, node: Any = None) -> None:
        self._push(work, (work.node if node is None else node).named_children, work.guards, work.loops, work.scope_end)

    def _block(self, work: _Work) -> None:
        self._push(work, work.node.named_children, work.guards, work.loops, self.line(work.node.end_point[0]))

    def emit(
        self, work: _Work, kind: str, node: Any, name: str = "", type: str = "", op: str = "",
        target: Expr | None = None, value: Expr | None = None, extents: tuple[Expr, ...] = (),
    ) -> None:  # fmt: skip
        """Append an event."""
        row, column = node.start_point
        end_row, end_column = node.end_point
        column += self.at.column if row == 0 else 0
        end_column += self.at.column if end_row == 0 else 0
        line = row + 1 + self.at.row
        span = Span(line, column + 1, end_row + 1 + self.at.row, end_column + 1)
        self.events.append(Event(kind, line, name, type, op, target, value, extents, work.guards, work.loops, work.scope_end, span))

    def _expression(self, work: _Work, node: Any) -> None:
        if node.type == "lambda_expression":
            body = node.child_by_field_id(BODY)
            if body is not None and not is_for_device(node, self.at.data):
                self._push(work, [body], work.guards, work.loops, work.scope_end)
            return
        if node.type == "comma_expression":
            self._children(work, node)
            return
        self._evaluate(work, node, build(node, self.at))

    def _evaluate(self, work: _Work, node: Any, value: Expr) -> None:
        declared = misread(value)
        if declared is not None:
            name, kind, init = declared
            self.emit(work, "decl", node, name=name, type=kind, value=init)
        elif value.kind == "assign":
            right = value.args[1] if len(value.args) == 2 else None
            self.emit(work, "assign", node, op=value.op, target=value.args[0], value=right)
        else:
            self.emit(work, "eval", node, value=value)
        self._lambdas(work, node)

    def _lambdas(self, work: _Work, node: Any) -> None:
        start, end = node.start_byte, node.end_byte
        if self.at.data.find(b"[", start, end) < 0:
            return
        text = self.at.data[start:end]
        if b"[&" not in text and b"[=" not in text and b"[]" not in text and b"](" not in text:
            return
        pending = list(reversed(node.named_children))
        while pending:
            child = pending.pop()
            if child.type == "lambda_expression":
                body = child.child_by_field_id(BODY)
                if body is not None and not is_for_device(child, self.at.data):
                    self.stack.append(_Work(body, work.guards, work.loops, self.line(body.end_point[0])))
            else:
                pending.extend(reversed(child.named_children))

    def _declaration(self, work: _Work) -> None:
        node = work.node
        kind = type_of(node, self.at)
        for child in node.children_by_field_id(DECLARATOR):
            self._declare(work, child, kind)

    def _declare(self, work: _Work, node: Any, kind: str) -> None:
        value: Expr | None = None
        whole = node
        if node.type == "init_declarator":
            found = node.child_by_field_id(VALUE)
            if found is not None and found.type != "lambda_expression":
                value = build(found, self.at)
            node = node.child_by_field_id(DECLARATOR)
        if node.type == "function_declarator" and kind.endswith("dim3"):
            value = constructed(node, self.at)
        extents: list[Expr] = []
        while node is not None and node.type not in ("identifier", "field_identifier"):
            if node.type == "array_declarator":
                size = node.child_by_field_id(SIZE)
                if size is not None:
                    extents.insert(0, build(size, self.at))
            elif node.type in ("pointer_declarator", "reference_declarator"):
                kind += "*" if node.type == "pointer_declarator" else "&"
            inner = node.child_by_field_id(DECLARATOR)
            node = inner if inner is not None else (node.named_children[0] if node.named_child_count else None)
        if node is None:
            return
        self.emit(work, "decl", whole, name=self.at.text(node), type=kind, value=value, extents=tuple(extents))
        self._lambdas(work, whole)

    def _alias(self, work: _Work) -> None:
        node = work.node
        name, kind = node.child_by_field_id(NAME), node.child_by_field_id(cuda_fields.TYPE)
        if node.type == "type_definition":
            name = node.child_by_field_id(DECLARATOR)
        if name is not None and kind is not None:
            self.emit(work, "alias", node, name=self.at.text(name), value=build(kind, self.at))

    def _return(self, work: _Work) -> None:
        children = [child for child in work.node.named_children if child.type != "comment"]
        value = build(children[0], self.at) if children else None
        self.emit(work, "return", work.node, value=value)
        if children:
            self._lambdas(work, work.node)

    def _exit(self, work: _Work) -> None:
        self.emit(work, "exit", work.node, op=work.node.type)

    def _if(self, work: _Work) -> None:
        node = work.node
        found = node.child_by_field_id(CONDITION)
        if found is None:
            self._children(work, node)
            return
        condition = build(found, self.at)
        self._evaluate(work, found, condition)
        constant = any(child.type == "constexpr" for child in node.children[:3])
        other = node.child_by_field_id(cuda_fields.ALTERNATIVE)
        if other is not None:
            self._push(work, [other], (*work.guards, Guard(condition, False, constant)), work.loops, work.scope_end)
        then = node.child_by_field_id(cuda_fields.CONSEQUENCE)
        if then is not None:
            self._push(work, [then], (*work.guards, Guard(condition, True, constant)), work.loops, work.scope_end)

    def _loop(self, work: _Work) -> None:
        node = work.node
        end = self.line(node.end_point[0])
        first, body = node.child_by_field_id(cuda_fields.INITIALIZER), node.child_by_field_id(BODY)
        found, step = node.child_by_field_id(CONDITION), node.child_by_field_id(cuda_fields.UPDATE)
        condition = build(found, self.at) if found is not None else None
        update = build(step, self.at) if step is not None else None
        variable, start = self._counter(first, update)
        loop = Loop(variable, start, condition, update, self.line(node.start_point[0]), end)
        loops = (*work.loops, loop)
        if body is not None:
            self._push(work, [body], work.guards, loops, end)
        inner = _Work(node, work.guards, loops, end)
        if first is not None:
            before = self.stack
            self.stack = [_Work(first, work.guards, work.loops, end)]
            while self.stack:
                self._step(self.stack.pop())
            self.stack = before
        for part, value in ((found, condition), (step, update)):
            if part is not None and value is not None:
                self.emit(inner, "loop", part, value=value)
        if body is None:
            self._children(work, node)

    def _counter(self, first: Any, update: Expr | None) -> tuple[str, Expr | None]:
        """The variable that a loop's step changes, and the value with which it starts."""
        variable = update.args[0].op if update is not None and update.kind == "assign" and update.args[0].kind == "name" else ""
        nodes = list(first.named_children) if first is not None else []
        if first is not None and first.type == "assignment_expression":
            nodes = [first]
        for child in nodes:
            left = child.child_by_field_id(DECLARATOR) or child.child_by_field_id(LEFT)
            right = child.child_by_field_id(VALUE) or child.child_by_field_id(RIGHT)
            if left is not None and right is not None and (not variable or self.at.text(left) == variable):
                return self.at.text(left), build(right, self.at)
        return variable, None

    def _switch(self, work: _Work) -> None:
        """What stands under a case is guarded by a comparison with its value; the default is under no new guard."""
        found, body = work.node.child_by_field_id(CONDITION), work.node.child_by_field_id(BODY)
        if found is None or body is None:
            self._children(work, work.node)
            return
        condition = build(found, self.at)
        self._evaluate(work, found, condition)
        end = self.line(body.end_point[0])
        for child in reversed(body.named_children):
            value = child.child_by_field_id(VALUE) if child.type == "case_statement" else None
            guards = work.guards
            if value is not None:
                case = build(value, self.at)
                equal = msgspec.structs.replace(case, kind="binary", op="==", args=(condition, case), targs=(), shape=())
                guards = (*guards, Guard(equal, True))
            self._push(work, [child], guards, work.loops, end)

    def _case(self, work: _Work) -> None:
        value = work.node.child_by_field_id(VALUE)
        if value is not None:
            self.emit(work, "case", value, value=build(value, self.at))
        self._push(
            work, [c for c in work.node.named_children if value is None or c.id != value.id], work.guards, work.loops, work.scope_end
        )

    def _asm(self, work: _Work) -> None:
        self.emit(work, "asm", work.node, op=self.at.text(work.node)[:400], value=build(work.node, self.at))

    def _static_assert(self, work: _Work) -> None:
        found = work.node.child_by_field_id(CONDITION)
        if found is not None:
            self.emit(work, "static_assert", work.node, value=build(found, self.at))

    def _nested(self, work: _Work) -> None:
        """A function inside a function is a macro that opens a block, such as CUDA_KERNEL_LOOP(i, n) { ... }."""
        body = work.node.child_by_field_id(BODY)
        if body is not None:
            self._push(work, [body], work.guards, work.loops, self.line(body.end_point[0]))


HANDLERS = {
    "compound_statement": Reader._block,
    "declaration": Reader._declaration,
    "field_declaration": Reader._declaration,
    "alias_declaration": Reader._alias,
    "type_definition": Reader._alias,
    "return_statement": Reader._return,
    "break_statement": Reader._exit,
    "continue_statement": Reader._exit,
    "goto_statement": Reader._exit,
    "if_statement": Reader._if,
    "switch_statement": Reader._switch,
    "case_statement": Reader._case,
    "gnu_asm_expression": Reader._asm,
    "static_assert_declaration": Reader._static_assert,
    "expression_statement": Reader._statement,
    **dict.fromkeys(("identifier", "number_literal"), Reader._whole),
    **dict.fromkeys(("comment", "preproc_def", "preproc_function_def", "preproc_call"), Reader._nothing),
    "function_definition": Reader._nested,
    **dict.fromkeys(LOOPS, Reader._loop),
}
_HANDLER_OF = by_kind(lambda kind: HANDLERS.get(kind, Reader._whole if kind.endswith("_expression") else Reader._children))
