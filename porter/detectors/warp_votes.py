"""Lane masks: ballots kept in 32 bits, 32-bit intrinsics and shifts on them, comparisons with all ones, ballot words in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from porter.config import Config
from porter.flow.breaks import is_mask
from porter.flow.env import Env
from porter.flow.event import Event
from porter.flow.expr import Expr
from porter.flow.intrinsics import BIT_COUNTS
from porter.flow.names import BALLOTS
from porter.flow.program import program_of
from porter.flow.roles import survey
from porter.flow.use import Use, Uses
from porter.flow.values import Value
from porter.model import Confidence, Hit
from porter.parse import Parsed

KINDS = ("cuda", "cxx")


def detect(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    """Hits on lane masks; only where a wave64 target is asked for."""
    targets = config.wave64_targets
    if not targets:
        return
    listed, _ = survey(program_of(parsed, index))
    for uses in listed:
        if not uses.env.function.on_device or uses.is_amd:
            continue
        yield from _narrowed(uses, targets)
        yield from _operations(uses, targets)


def _narrowed(uses: Uses, targets: tuple[str, ...]) -> Iterator[Hit]:
    env = uses.env
    for event in env.function.events:
        if event.value is None:
            continue
        value = env.value(event.value)
        if value.kind != "mask" or value.via not in BALLOTS:
            continue
        if event.kind == "decl" and env.program.bits(event.type) == 32 and not event.extents:
            yield _ballot(env, event, f"{event.name} ({event.type}) holds the result of {value.via}", value, targets)
        elif event.kind == "assign" and event.target is not None:
            yield from _stored(env, event, event.target, value, targets)
        elif event.kind == "return" and env.program.bits(env.function.returns) == 32:
            yield _ballot(env, event, f"{env.function.name} returns {value.via} as {env.function.returns}", value, targets)


def _stored(env: Env, event: Event, target: Expr, value: Value, targets: tuple[str, ...]) -> Iterator[Hit]:
    if target.kind == "name":
        decl = env.declaration(target)
        kind = decl.type if decl is not None else env.params[target.op][1].type if target.op in env.params else ""
        if env.program.bits(kind.rstrip("*&")) == 32:
            yield _ballot(env, event, f"{target.op} ({kind}) holds the result of {value.via}", value, targets)
        return
    place = env.value(target)
    if target.kind in ("index", "unary", "field") and (place.bits == 32 or target.kind != "field"):
        sure = Confidence.HIGH if place.bits == 32 else Confidence.MEDIUM
        message = f"a word of {value.via} goes to memory"
        yield Hit("ballot-word-stored", event.span, message, subject=env.function.name, confidence=sure, targets=targets)


def _ballot(env: Env, event: Event, message: str, value: Value, targets: tuple[str, ...]) -> Hit:
    return Hit("ballot-in-32-bits", event.span, message, subject=env.function.name, confidence=Confidence.HIGH, targets=targets)


def _operations(uses: Uses, targets: tuple[str, ...]) -> Iterator[Hit]:
    name = uses.env.function.name
    for use in uses.found:
        if use.role == "bits" and use.value.via != "tile":
            message = f"{use.flavour} of {_origin(use)} sees 32 of 64 lanes; {BIT_COUNTS[use.flavour]} sees all"
            sure = Confidence.HIGH if use.value.via in BALLOTS else Confidence.MEDIUM
            yield Hit("lane-mask-32bit-intrinsic", use.expr.span, message, subject=name, confidence=sure, targets=targets)
        elif use.role == "shift" and use.value.bits == 32 and is_mask(uses, use):
            message = "1 << lane in 32 bits"
            sure = Confidence.HIGH if use.value.proven else Confidence.MEDIUM
            yield Hit("lane-shift-32bit", use.expr.span, message, subject=name, confidence=sure, targets=targets)
        elif use.role == "compare" and use.value.via in BALLOTS:
            message = f"{use.value.via} is compared with 32 ones"
            yield Hit("full-mask-compare", use.expr.span, message, subject=name, confidence=Confidence.HIGH, targets=targets)


def _origin(use: Use) -> str:
    return use.value.via if use.value.via in BALLOTS else "a lane mask"
