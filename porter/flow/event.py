"""What a function does, as plain values: guards, loops, events in source order, parameters."""

from __future__ import annotations

import msgspec

from porter.flow.expr import Expr
from porter.model import Span


class Guard(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A condition that holds (``sense``) or does not where an event stands."""

    condition: Expr
    sense: bool
    constexpr: bool = False


class Loop(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A loop: the variable it counts, where that starts, its condition, its step and its lines."""

    variable: str
    start: Expr | None
    condition: Expr | None
    step: Expr | None
    line: int
    end_line: int


class Event(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One thing that happens. ``kind`` is decl, assign, eval, return, exit, case or alias.

    A decl has name, type, extents, init and the last line of its scope; an assign has a target and a value, and op is the
    operator. ``value`` is None where there is nothing to evaluate.
    """

    kind: str
    line: int
    name: str = ""
    type: str = ""
    op: str = ""
    target: Expr | None = None
    value: Expr | None = None
    extents: tuple[Expr, ...] = ()
    guards: tuple[Guard, ...] = ()
    loops: tuple[Loop, ...] = ()
    scope_end: int = 0
    span: Span = Span(0, 0, 0, 0)


class Parameter(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A parameter of a function, a template or a macro; ``default`` where it has one."""

    name: str
    type: str = ""
    default: Expr | None = None


class Function(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A function, method, function-like macro, or a lambda for the device. ``side`` is kernel, device, both, host or macro.

    ``owner`` is the class of a method, ``outer`` the function that a lambda stands in.
    """

    name: str
    side: str
    span: Span
    params: tuple[Parameter, ...] = ()
    templates: tuple[Parameter, ...] = ()
    bounds: tuple[Expr, ...] = ()
    returns: str = ""
    events: tuple[Event, ...] = ()
    owner: str = ""
    outer: Function | None = None

    @property
    def on_device(self) -> bool:
        """True for what may run on the GPU."""
        return self.side != "host"
