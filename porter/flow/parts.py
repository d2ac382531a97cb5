"""Parts of a function that are asked for again and again: its calls, and what is given template arguments; gathered in one walk."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from porter.flow.event import Event
from porter.flow.expr import Expr


class Parts(msgspec.Struct, frozen=True, eq=False):
    """Calls of functions and of methods, and all parts with template arguments, each in source order."""

    calls: tuple[Expr, ...]
    methods: tuple[Expr, ...]
    templated: tuple[Expr, ...]


def parts_of(events: Iterable[Event], walked: Callable[[Expr], list[Expr]]) -> Parts:
    """The parts of the targets and values of a function's events; ``walked`` gives all parts of one."""
    calls: list[Expr] = []
    methods: list[Expr] = []
    templated: list[Expr] = []
    for event in events:
        for root in (event.target, event.value):
            for part in walked(root) if root is not None else ():
                if part.kind == "call":
                    calls.append(part)
                elif part.kind == "method":
                    methods.append(part)
                if part.targs:
                    templated.append(part)
    return Parts(tuple(calls), tuple(methods), tuple(templated))
