"""Lanes, warps and shuffles of a function: one line of good news where 32 lanes are right on 64, every place that breaks where not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from porter.config import Config
from porter.flow.breaks import Break
from porter.flow.names import LANE_NAME, WARP_NAME, is_width
from porter.flow.placed import placed_masks
from porter.flow.program import Program, program_of
from porter.flow.roles import closure, survey
from porter.flow.tails import tails
from porter.flow.use import Use
from porter.flow.warps import Verdict, definitions, places, related, verdicts
from porter.flow.wrappers import sums_elsewhere, waves_elsewhere
from porter.model import Confidence, Hit, Related
from porter.parse import Parsed

KINDS = ("cuda", "cxx")
RULE_OF = {
    "lane": ("lane-index-32", "lane index within 32"),
    "warp": ("warp-index-32", "index of a 32-lane warp"),
    "warps": ("warp-count-32", "number of 32-lane warps"),
    "stride": ("warp-stride-32", "loop that steps by 32 lanes"),
    "halving": ("half-warp-reduction", "reduction or scan over 32 lanes"),
    "magic": ("magic-lane-number", "fixed lane number"),
    "shuffle": ("shuffle-width-32", "shuffle pinned to 32 lanes"),
}


def detect(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    """Hits on widths; only where a wave64 target is asked for."""
    targets = config.wave64_targets
    if not targets:
        return
    program = program_of(parsed, index)
    for verdict in verdicts(program):
        hits = list(_of(program, verdict, targets))
        if hits:
            first = min(hits, key=lambda hit: hit.span)
            others = related(places(program, verdict.uses), parsed.file.path, first.span.line)
            others = tuple(dict.fromkeys((*first.related, *others, *definitions(program, list(verdict.fixed)))))
            hits[hits.index(first)] = msgspec.structs.replace(first, related=others)
        yield from hits


def _of(program: Program, verdict: Verdict, targets: tuple[str, ...]) -> Iterator[Hit]:
    if verdict.state in ("broken", "mixed"):
        yield from _broken(verdict, targets)
    elif verdict.state in ("consistent", "narrow") and verdict.fixed:
        yield from _by_32(program, verdict, targets)
    elif verdict.state == "hardware" and verdict.hardware:
        yield from _beside_32(program, verdict, targets)
    elif verdict.state == "matrix" and verdict.fixed:
        yield _matrix(verdict, targets)
    for found in verdict.breaks:
        if found.uses is verdict.uses and found.use.role == "shuffle" and (verdict.fixed or verdict.state == "mixed"):
            yield _shuffle(found, targets)


def _by_32(program: Program, verdict: Verdict, targets: tuple[str, ...]) -> Iterator[Hit]:
    """Code that is right on 64 lanes as far as its own file goes: what it uses of other files may speak for the whole wave."""
    group = closure(program, survey(program)[1], verdict.uses)
    waves = [wave for one in group for wave in waves_elsewhere(one.env, one.calls)]
    asks = next((wave for wave in waves if wave[3]), None)
    if asks is not None:
        yield _beside(verdict, asks, targets)
    elif verdict.state == "narrow":
        yield _narrow(verdict, targets)
    elif not tails(verdict.uses.env) and not any(True for one in group for _ in placed_masks(one.env)):
        made = _consistent(verdict, targets)
        said = f"{made.message}; {waves[0][0]} of {waves[0][1]} votes for the whole wave" if waves else made.message
        yield msgspec.structs.replace(made, message=said, confidence=Confidence.LOW) if waves else made


def _beside(verdict: Verdict, asks: tuple[str, str, int, bool], targets: tuple[str, ...]) -> Hit:
    """Code of 32 lanes that uses what another file makes of the device's lane."""
    function, here = verdict.uses.env.function, verdict.fixed[0]
    name, path, line, _ = asks
    message = f"{function.name} takes a warp for 32 lanes here, and {name} of {path}, which it uses, asks for the device's lane"
    where = (Related(path, line, "asks for the device's lane"),)
    return Hit(
        "warpsize-mixed-with-32", here.expr.span, message, function.name, confidence=Confidence.MEDIUM, targets=targets, related=where
    )


def _beside_32(program: Program, verdict: Verdict, targets: tuple[str, ...]) -> Iterator[Hit]:
    """Code of the device's width that uses a reduction of another file over 32 lanes: half of a wave of 64 is left out."""
    group = closure(program, survey(program)[1], verdict.uses)
    sums = [found for one in group for found in sums_elsewhere(one.env, one.calls)]
    if sums:
        name, path, line = sums[0]
        function, here = verdict.uses.env.function, verdict.hardware[0]
        message = f"{function.name} takes a warp for the device's width here, and {name} of {path}, which it uses, adds up 32 lanes"
        where = (Related(path, line, "adds up 32 lanes"),)
        yield Hit(
            "warpsize-mixed-with-32", here.expr.span, message, function.name, confidence=Confidence.MEDIUM, targets=targets, related=where
        )


def _consistent(verdict: Verdict, targets: tuple[str, ...]) -> Hit:
    function = verdict.uses.env.function
    first = min(verdict.fixed, key=lambda use: (use.expr.line, use.expr.column))
    proven = any(use.value.proven for use in verdict.fixed)
    what = "kernel" if function.side == "kernel" else "function"
    where = f"all {len(verdict.fixed)} places" if len(verdict.fixed) > 1 else "the one place that counts them"
    message = f"{what} {function.name} keeps to 32 lanes in {where}"
    sure = Confidence.HIGH if proven and verdict.collectives else Confidence.MEDIUM
    if not any(_is_named(use) for use in verdict.fixed) and (not verdict.collectives or _is_address(verdict)):
        sure = Confidence.LOW  # nothing but arithmetic with 32: as well the width of a tile
    return Hit("warp-32-self-consistent", first.expr.span, message, function.name, confidence=sure, targets=targets)


def _is_address(verdict: Verdict) -> bool:
    """True where the only places cut one index by 32 and put it together again: (row % 32) * 16 + (row / 32) * 4 is a layout."""
    events: dict[int, set[str]] = {}
    for use in verdict.fixed:
        events.setdefault(id(use.event), set()).add(use.role)
    return all({"lane", "warp"} <= roles for roles in events.values())


def _is_named(use: Use) -> bool:
    """True where a name says that a warp is meant: of the constant, or of what is made."""
    target = use.event.target
    made = use.event.name or (target.op if target is not None and target.kind == "name" else "")
    return any(is_width(symbol) for symbol in use.value.symbols) or bool(made and (LANE_NAME.match(made) or WARP_NAME.match(made)))


def _narrow(verdict: Verdict, targets: tuple[str, ...]) -> Hit:
    function = verdict.uses.env.function
    first = min(verdict.fixed, key=lambda use: (use.expr.line, use.expr.column))
    lines = sorted({found.use.expr.line for found in verdict.breaks})
    message = f"{function.name} is right on 64 lanes once the shuffles in line {', '.join(map(str, lines[:4]))} get the width 32"
    return Hit("warp-32-needs-width", first.expr.span, message, function.name, confidence=Confidence.MEDIUM, targets=targets)


def _matrix(verdict: Verdict, targets: tuple[str, ...]) -> Hit:
    function = verdict.uses.env.function
    first = min(verdict.fixed, key=lambda use: (use.expr.line, use.expr.column))
    message = f"{function.name} places data by lanes of 32 for matrix instructions, in {len(verdict.fixed)} places"
    return Hit("matrix-fragment-lanes-32", first.expr.span, message, function.name, confidence=Confidence.MEDIUM, targets=targets)


def _broken(verdict: Verdict, targets: tuple[str, ...]) -> Iterator[Hit]:
    function = verdict.uses.env.function
    why = _why(verdict)
    own = any(found.uses is verdict.uses and found.proven for found in verdict.breaks)
    if verdict.state == "mixed" and verdict.fixed and (verdict.hardware or verdict.others):
        yield _mixed(verdict, targets)
        own = True
    seen: set[tuple[str, int]] = set()
    for use in (*verdict.fixed, *verdict.uses.of("magic")):
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


def _mixed(verdict: Verdict, targets: tuple[str, ...]) -> Hit:
    function = verdict.uses.env.function
    here, there = verdict.fixed[0], (verdict.hardware or verdict.others)[0]
    who = "" if verdict.hardware else "code that it works with takes it "
    message = f"{function.name} takes a warp for 32 lanes here, and {who}for the device's width in line {there.expr.line}"
    return Hit("warpsize-mixed-with-32", here.expr.span, message, function.name, confidence=Confidence.HIGH, targets=targets)


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
