"""Parts of a function that are asked for again and again: calls, comparisons, what has template arguments; gathered in one walk."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from porter.flow.event import Event
from porter.flow.expr import Expr

PLAIN = frozenset({"name", "num"})  # parts of these kinds hold nothing, but for the template arguments of some names


class Parts(msgspec.Struct, frozen=True, eq=False):
    """What a function's targets and values hold, each in source order; ``compared`` are == and !=, ``launches`` have a <<< >>>."""

    calls: tuple[tuple[Event, Expr], ...]
    methods: tuple[Expr, ...]
    compared: tuple[Expr, ...]
    templated: tuple[Expr, ...]
    launches: tuple[Expr, ...]


def parts_of(events: Iterable[Event], walked: Callable[[Expr], list[Expr]]) -> Parts:
    """The parts of the targets and values of a function's events; ``walked`` gives all parts of one."""
    calls: list[tuple[Event, Expr]] = []
    methods: list[Expr] = []
    compared: list[Expr] = []
    templated: list[Expr] = []
    launches: list[Expr] = []
    for event in events:
        for root in (event.target, event.value):
            if root is None or (root.kind in PLAIN and not root.targs):
                continue
            for part in walked(root):
                kind = part.kind
                if kind in PLAIN and not part.targs:
                    continue
                if kind == "call":
                    calls.append((event, part))
                elif kind == "binary" and part.op in ("==", "!="):
                    compared.append(part)
                elif kind == "method":
                    methods.append(part)
                if part.targs:
                    templated.append(part)
                if part.shape and len(part.shape) >= 2:
                    launches.append(part)
    return Parts(tuple(calls), tuple(methods), tuple(compared), tuple(templated), tuple(launches))
