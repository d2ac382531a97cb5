"""Uses: one place of a function that has to do with a warp, and all of them together."""

from __future__ import annotations

import msgspec

from porter.flow.env import Env
from porter.flow.event import Event, Loop
from porter.flow.expr import Expr
from porter.flow.values import UNKNOWN_WIDTH, Value


class Use(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One use. ``role`` is lane, warp, warps, shuffle, vote, syncwarp, barrier, halving, stride, tail, magic, shared, shared_index,
    hardware, mention, tile, matrix, fragment, shape, bits, shift, compare, cub or call; ``flavour`` is the sort within it (idx, up, down,
    xor, ballot, any …).
    """

    role: str
    expr: Expr
    event: Event
    value: Value
    flavour: str = ""
    width: int = UNKNOWN_WIDTH
    parent: Expr | None = None
    loop: Loop | None = None


class Uses(msgspec.Struct, frozen=True, eq=False):
    """All uses of one function, with the names of what it calls."""

    env: Env
    found: tuple[Use, ...]
    calls: frozenset[str]

    @property
    def is_amd(self) -> bool:
        """True for code that calls builtins of AMD's compiler: it was written for its width."""
        return any(name.startswith(("__builtin_amdgcn_", "__ockl_", "__ocml_")) for name in self.calls)

    def of(self, *roles: str) -> list[Use]:
        """The uses with one of these roles, in source order, without those that an AMD build never compiles."""
        return [use for use in self.found if use.role in roles and self.env.live(use.expr.line)]
