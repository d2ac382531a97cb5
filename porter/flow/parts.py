"""Parts of a function that are asked for again and again: its calls, and what is given template arguments; gathered in one walk."""

from __future__ import annotations

import msgspec

from porter.flow.event import Function
from porter.flow.expr import Expr, walk


class Parts(msgspec.Struct, frozen=True, eq=False):
    """Calls of functions and of methods, and all parts with template arguments, each in source order."""

    calls: tuple[Expr, ...]
    methods: tuple[Expr, ...]
    templated: tuple[Expr, ...]


def parts_of(function: Function) -> Parts:
    """The parts of a function's targets and values."""
    calls: list[Expr] = []
    methods: list[Expr] = []
    templated: list[Expr] = []
    for event in function.events:
        for root in (event.target, event.value):
            for part in walk(root) if root is not None else ():
                if part.kind == "call":
                    calls.append(part)
                elif part.kind == "method":
                    methods.append(part)
                if part.targs:
                    templated.append(part)
    return Parts(tuple(calls), tuple(methods), tuple(templated))
