"""Masks that a thread makes from its place in a warp of 32, as 1u << lane and 0xffu << (lane & 24): lanes 32 to 63 name others by them."""

from __future__ import annotations

from porter.flow.env import Env
from porter.flow.expr import Expr
from porter.flow.intrinsics import SHUFFLES, VOTES
from porter.flow.values import LANES, THREADS, WARP

MOST = 20  # declarations that are followed
MASKED = frozenset(name for name in (*SHUFFLES, *VOTES) if name.endswith("_sync")) | {"__syncwarp"}
_CUTS = {"%": WARP, "/": WARP, "&": WARP - 1, ">>": WARP.bit_length() - 1}  # what an index is cut by to find a lane or a warp


def shift_of(env: Env, mask: Expr) -> Expr | None:
    """The shift by a place among 32 lanes that a mask is made by; None for any other mask."""
    for part in _made_of(env, mask):
        if part.kind == "binary" and part.op == "<<":
            amount = _made_of(env, part.args[1])
            if any(_is_thread(env, one) for one in amount) and any(_cuts_by_32(env, one) for one in amount):
                return part
    return None


def has_placed_mask(env: Env) -> bool:
    """True where some *_sync builtin of a function gets such a mask in the build for AMD."""
    found = (call for _, call in env.parts.calls if call.args and call.name in MASKED and env.live(call.line))
    return any(shift_of(env, call.args[0]) is not None for call in found)


def _made_of(env: Env, expr: Expr) -> list[Expr]:
    """The parts of an expression, and of what its local names are declared as, each declaration once."""
    parts = list(env.walked(expr))
    seen: set[int] = set()
    for part in parts:  # which grows
        decl = env.declaration(part) if part.kind == "name" and len(seen) < MOST else None
        if decl is not None and decl.value is not None and id(decl) not in seen:
            seen.add(id(decl))
            parts += env.walked(decl.value)
    return parts


def _is_thread(env: Env, part: Expr) -> bool:
    return (part.kind == "name" and part.op == "threadIdx") or env.value(part).kind in (*THREADS, *LANES)


def _cuts_by_32(env: Env, part: Expr) -> bool:
    if part.kind != "binary" or part.op not in _CUTS:
        return False
    sides = part.args if part.op == "/" else part.args[1:]  # 32 / blockDim.x: how many groups a warp holds
    return any(value.kind == "const" and value.num == _CUTS[part.op] for value in map(env.value, sides))
