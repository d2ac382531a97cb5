"""Shared arrays with room for 32 lanes that are indexed by a lane of the device, which goes to 63 on wave64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from porter.config import Config
from porter.flow.env import Env
from porter.flow.expr import Expr, walk
from porter.flow.program import program_of
from porter.flow.roles import survey
from porter.flow.use import Use
from porter.flow.values import HARDWARE, WARP, WAVE
from porter.model import Confidence, Hit
from porter.parse import Parsed

KINDS = ("cuda", "cxx")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
INDICES = frozenset({"lane", "tid", "warp", "lane_ref"})


def detect(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    """Hits on indices that leave the array; only where a wave64 target is asked for."""
    if not config.wave64_targets:
        return
    for uses in survey(program_of(parsed, index))[0]:
        env = uses.env
        if not env.function.on_device or uses.is_amd:
            continue
        seen: set[int] = set()
        for use in uses.of("shared_index"):
            if use.value.kind != "lane" or use.width != HARDWARE or not use.value.proven or use.expr.line in seen:
                continue
            room = _room(env, use)
            if room and not _bounded(env, use):
                seen.add(use.expr.line)
                message = f"{use.flavour}[{room}] is indexed by a lane up to 63 in {env.function.name}"
                yield Hit(
                    "shared-array-32-by-lane", use.expr.span, message, env.function.name, confidence=Confidence.MEDIUM,
                    targets=config.wave64_targets,
                )  # fmt: skip


def _room(env: Env, use: Use) -> int:
    """How many elements a one-dimensional array has that has one for a warp of 1024 threads, on wide waves; 0 for any other array."""
    decl = env.declaration(use.expr.args[0])
    if decl is None or len(decl.extents) != 1:
        return 0
    size = env.value(decl.extents[0])
    if size.kind == "warps":
        return size.num or 0 if size.proven and (size.num or 0) < WAVE else 0
    return WARP if size.kind == "const" and size.num == WARP else 0


def _bounded(env: Env, use: Use) -> bool:
    """True where a condition on the thread decides whether the element is touched."""
    if any(_compares(env, guard.condition) for guard in use.event.guards):
        return True
    roots = [root for root in (use.event.target, use.event.value) if root is not None]
    for part in (part for root in roots for part in walk(root)):
        if part.kind == "cond" and _compares(env, part.args[0]) and any(inner is use.expr for arg in part.args[1:] for inner in walk(arg)):
            return True
    return False


def _compares(env: Env, condition: Expr) -> bool:
    for part in walk(condition):
        if part.kind == "binary" and part.op in COMPARISONS and any(env.value(arg).kind in INDICES for arg in part.args):
            return True
    return condition.kind == "name"  # a flag that was worked out before
