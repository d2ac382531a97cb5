"""Lanes, warps and shuffles of a function: one line of good news where 32 lanes are right on 64, every place that breaks where not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from porter.config import Config
from porter.flow.env import program_of
from porter.flow.roles import Use
from porter.flow.warps import Break, Verdict, related, verdicts
from porter.model import Confidence, Hit
from porter.parse import Parsed

KINDS = ("cuda", "cxx")
RULE_OF = {
    "lane": ("lane-index-32", "lane index within 32"),
    "warp": ("warp-index-32", "index of a 32-lane warp"),
    "warps": ("warp-count-32", "number of 32-lane warps"),
    "stride": ("warp-stride-32", "loop that steps by 32 lanes"),
    "halving": ("half-warp-reduction", "reduction or scan over 32 lanes"),
    "shuffle": ("shuffle-width-32", "shuffle pinned to 32 lanes"),
}


def detect(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    """Hits on widths; only where a wave64 target is asked for."""
    targets = config.wave64_targets
    if not targets:
        return
    for verdict in verdicts(program_of(parsed, index)):
        if verdict.state in ("broken", "mixed"):
            yield from _broken(verdict, parsed.file.path, targets)
        elif verdict.state == "consistent" and verdict.fixed:
            yield _consistent(verdict, parsed.file.path, targets)
        for found in verdict.breaks:
            if found.uses is verdict.uses and found.use.role == "shuffle" and (verdict.fixed or verdict.state == "mixed"):
                yield _shuffle(found, targets)


def _consistent(verdict: Verdict, path: str, targets: tuple[str, ...]) -> Hit:
    uses = verdict.uses
    function = uses.env.function
    places = [(use, RULE_OF[use.role][1]) for use in verdict.fixed]
    places += [(use, f"{use.expr.name} stays within 32 lanes") for use in uses.of("shuffle")]
    first = min(verdict.fixed, key=lambda use: (use.expr.line, use.expr.column))
    proven = any(use.value.proven for use in verdict.fixed)
    what = "kernel" if function.side == "kernel" else "function"
    message = f"{what} {function.name} keeps to 32 lanes in all {len(verdict.fixed)} places"
    sure = Confidence.HIGH if proven and verdict.collectives else Confidence.MEDIUM
    return Hit(
        "warp-32-self-consistent", first.expr.span, message, function.name, confidence=sure, targets=targets,
        related=related(places, path, first.expr.line),
    )  # fmt: skip


def _broken(verdict: Verdict, path: str, targets: tuple[str, ...]) -> Iterator[Hit]:
    function = verdict.uses.env.function
    why = _why(verdict)
    own = any(found.uses is verdict.uses and found.proven for found in verdict.breaks)
    if verdict.state == "mixed" and verdict.fixed and verdict.hardware:
        yield _mixed(verdict, path, targets)
        own = True
    seen: set[tuple[str, int]] = set()
    for use in verdict.fixed:
        rule, what = RULE_OF[use.role]
        if (rule, use.expr.line) in seen or use.role == "shuffle":
            continue
        seen.add((rule, use.expr.line))
        sure = Confidence.HIGH if use.value.proven and own else Confidence.MEDIUM
        message = f"{what} in {function.name}; {why}"
        yield Hit(rule, use.expr.span, message, subject=_subject(use, function.name), confidence=sure, targets=targets)


def _why(verdict: Verdict) -> str:
    if verdict.state == "mixed":
        return "other code of it asks the device for the width"
    first = verdict.breaks[0]
    where = "" if first.uses is verdict.uses else f" (in {first.uses.env.function.name})"
    return f"line {first.use.expr.line}{where}: {first.why}"


def _mixed(verdict: Verdict, path: str, targets: tuple[str, ...]) -> Hit:
    function = verdict.uses.env.function
    here, there = verdict.fixed[0], verdict.hardware[0]
    message = f"{function.name} takes a warp for 32 lanes here and for the device's width in line {there.expr.line}"
    places = [(use, "takes 32") for use in verdict.fixed] + [(use, "asks the device") for use in verdict.hardware]
    return Hit(
        "warpsize-mixed-with-32", here.expr.span, message, function.name, confidence=Confidence.HIGH, targets=targets,
        related=related(places, path, here.expr.line),
    )  # fmt: skip


def _shuffle(found: Break, targets: tuple[str, ...]) -> Hit:
    name = found.uses.env.function.name
    sure = Confidence.HIGH if found.proven else Confidence.MEDIUM
    return Hit(
        "shuffle-without-width",
        found.use.expr.span,
        f"{found.use.expr.name} in {name}: {found.why}",
        name,
        confidence=sure,
        targets=targets,
    )


def _subject(use: Use, function: str) -> str:
    return use.value.symbols[0] if use.value.symbols else function
