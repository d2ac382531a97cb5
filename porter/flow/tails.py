"""Steps of a warp on shared memory that rely on its lanes running together: s[tid] += s[tid + 16]; s[tid] += s[tid + 8]; ..."""

from __future__ import annotations

from porter.flow.breaks import same
from porter.flow.env import Env
from porter.flow.event import Event
from porter.flow.expr import Expr
from porter.flow.values import WARP

SYNCS = frozenset({"__syncwarp", "__syncthreads", "__threadfence_block", "sync", "__threadfence", "__builtin_amdgcn_wave_barrier"})
DISTANCES = frozenset({1, 2, 4, 8, 16, WARP})
LEAST = 3  # steps with nothing between them that make a chain


def tails(env: Env) -> list[list[Event]]:
    """Chains of such steps in a function, with no barrier between them; each holds at least three."""
    chains: list[list[Event]] = [[]]
    for event in env.function.events:
        if _is_step(env, event):
            chains[-1].append(event)
        elif chains[-1] and event.kind == "eval" and event.value is not None and any(_syncs(part) for part in env.walked(event.value)):
            chains.append([])
    return [chain for chain in chains if len(chain) >= LEAST]


def _syncs(part: Expr) -> bool:
    return part.kind in ("call", "method") and part.name in SYNCS


def _is_step(env: Env, event: Event) -> bool:
    """True for an assignment to s[i] that reads s[i + distance] or s[i - distance], the distance a power of two below 64."""
    if event.kind != "assign" or event.target is None or event.value is None or event.target.kind != "index":
        return False
    owner = event.target.args[0].op
    decl = env.declaration(event.target.args[0]) if owner in env.decls else None
    if decl is not None and decl.extents and "__shared__" not in decl.type:
        return False  # an array of one thread
    for part in env.walked(event.value):
        if part.kind != "index" or part.args[0].op != owner or len(part.args) < 2 or part.args[1].kind != "binary":
            continue
        place, distance = part.args[1].args[0], env.value(part.args[1].args[1])
        known = part.args[1].op in ("+", "-", "^") and distance.kind == "const" and distance.num in DISTANCES
        if known and same(place, event.target.args[-1]):
            return True
    return False
