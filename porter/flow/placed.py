"""Masks that a thread makes from its place in a warp of 32, as 1u << lane and 0xffu << (lane & 24): lanes 32 to 63 name others by them."""

from __future__ import annotations

from collections.abc import Iterator

from porter.flow.env import Env
from porter.flow.event import Event
from porter.flow.expr import Expr
from porter.flow.intrinsics import SHUFFLES, VOTES
from porter.flow.values import LANES, THREADS, WARP

MOST = 20  # declarations that are followed
MASKED = frozenset(name for name in (*SHUFFLES, *VOTES) if name.endswith("_sync")) | {"__syncwarp"}
_CUTS = {"%": WARP, "/": WARP, "&": WARP - 1, ">>": WARP.bit_length() - 1}  # what an index is cut by to find a lane or a warp


def placed_masks(env: Env) -> Iterator[tuple[Expr, Expr]]:
    """Calls of *_sync builtins in the build for AMD under such a mask, and the shift that makes it; not where only 32 threads get."""
    for event, call in env.parts.calls:
        if call.args and call.name in MASKED and env.live(call.line) and not part_of_a_wave(env, event, lower=True):
            shift = _shift_of(env, call.args[0])
            if shift is not None:
                yield call, shift


def part_of_a_wave(env: Env, event: Event, lower: bool = False) -> int:
    """Line of a condition that lets at most 32 threads of a wave pass, 0 for none: the first warp, or the first lanes.

    With ``lower`` only one that keeps lanes 32 to 63 out: lane < 8 of a warp of 32 is true in both halves of a wave.
    """
    passing = ("tid",) if lower else ("tid", "lane")
    for guard in event.guards:
        condition = guard.condition
        if not guard.sense or condition.kind != "binary" or condition.op not in ("<", "=="):
            continue
        who, limit = (env.value(arg) for arg in condition.args)
        if limit.kind != "const" or limit.num is None:
            continue
        if (condition.op == "<" and who.kind in passing and limit.num <= WARP) or (
            condition.op == "==" and who.kind == "warp" and who.width == WARP and not (lower and limit.num % 2)
        ):
            return condition.line
    return 0


def _shift_of(env: Env, mask: Expr) -> Expr | None:
    """The shift by a place among 32 lanes that a mask is made by; None for any other mask."""
    for part in _made_of(env, mask):
        if part.kind == "binary" and part.op == "<<":
            amount = _made_of(env, part.args[1])
            if any(_is_thread(env, one) for one in amount) and any(_cuts_by_32(env, one) for one in amount):
                return part
    return None


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
