"""Verdicts: whether a function that takes a warp for 32 lanes is right on 64 as it stands, and what breaks it if not."""

from __future__ import annotations

import msgspec

from porter.flow.breaks import Break, breaks_of
from porter.flow.expr import walk
from porter.flow.program import Program
from porter.flow.roles import closure, survey
from porter.flow.use import Use, Uses
from porter.flow.values import HARDWARE, OTHER, WARP
from porter.flow.wrappers import collectives_elsewhere
from porter.model import Related

WIDTH_ROLES = ("lane", "warp", "warps", "halving", "stride")
COLLECTIVES = ("shuffle", "vote", "syncwarp", "matrix")


class Verdict(msgspec.Struct, frozen=True, eq=False):
    """What a function is to a warp.

    ``state`` is none (no warp in it), consistent (32 lanes throughout, right on 64), narrow (the same but for shuffles that
    need a width), matrix (32 lanes of a matrix fragment), beside (loops over 32 lanes beside such fragments, of which nothing is
    said), broken, mixed (32 and the hardware's width together), hardware, or amd for code that calls AMD's own builtins.
    ``fixed`` and ``hardware`` are the uses that take 32 lanes and those that ask the device, ``others`` the latter in functions
    that call it or that it calls.
    """

    state: str
    uses: Uses
    fixed: tuple[Use, ...] = ()
    hardware: tuple[Use, ...] = ()
    breaks: tuple[Break, ...] = ()
    collectives: int = 0
    others: tuple[Use, ...] = ()


def fixed_uses(uses: Uses) -> list[Use]:
    """Uses that take a warp for 32 lanes."""
    found = [use for use in uses.of(*WIDTH_ROLES) if use.width == WARP]
    return found + [use for use in uses.of("shuffle") if use.width == WARP and use.value.kind != "other" and use.value.symbols]


def hardware_uses(uses: Uses) -> list[Use]:
    """Uses that ask the device for its width."""
    found = [use for use in uses.of(*WIDTH_ROLES) if use.width == HARDWARE]
    return found + [use for use in uses.of("hardware") if use.parent is None or use.parent.op not in ("==", "!=")]


def verdicts(program: Program) -> list[Verdict]:
    """A verdict for every function that has anything to do with a warp; kept with the parse."""
    kept = program.unit.parsed.extra.get("flow_verdicts")
    if kept is not None:
        made: list[Verdict] = kept
        return made
    listed, table = survey(program)
    reached: dict[int, dict[int, Uses]] = {}  # of each function, those that stand with it below some kernel
    called = {name for uses in listed for name in uses.calls}
    for uses in listed:
        if not uses.env.function.on_device:
            continue
        if uses.env.function.side == "kernel" or uses.env.function.name not in called:
            group = {id(one): one for one in closure(program, table, uses)}
            for key in group:
                reached.setdefault(key, {}).update(group)
    known: dict[int, _Found] = {}
    found = [
        Verdict("amd", uses) if uses.is_amd else _judge(uses, list(reached.get(id(uses), {0: uses}).values()), known)
        for uses in listed
        if uses.env.function.on_device
    ]
    program.unit.parsed.extra["flow_verdicts"] = found
    return found


class _Found(msgspec.Struct, frozen=True, eq=False):
    """What one function holds, looked for once however many kernels call it."""

    fixed: list[Use]
    hardware: list[Use]
    breaks: list[Break]
    collectives: int


def _found(uses: Uses, known: dict[int, _Found]) -> _Found:
    made = known.get(id(uses))
    if made is None:
        made = known[id(uses)] = _Found(fixed_uses(uses), hardware_uses(uses), breaks_of(uses), len(uses.of(*COLLECTIVES)))
    return made


def _judge(uses: Uses, around: list[Uses], known: dict[int, _Found]) -> Verdict:
    own = _found(uses, known)
    fixed, hardware = own.fixed, own.hardware
    if not fixed and not hardware:
        return Verdict("none", uses, breaks=tuple(own.breaks), collectives=own.collectives)
    all_fixed, all_hardware, collectives = list(fixed), list(hardware), 0
    all_breaks: list[Break] = []
    for one in around:
        if one.is_amd:
            continue
        held = _found(one, known)
        if one is not uses:
            all_fixed += held.fixed
            all_hardware += held.hardware
        all_breaks += held.breaks
        collectives += held.collectives
    if all_fixed and all_hardware:
        state = "mixed"
    elif all_hardware:
        state = "hardware"
    else:
        placed = not fixed or any(use.role != "stride" for use in fixed)  # a plain loop over lanes places nothing in a fragment
        fragments = any(one.of("fragment") for one in around)
        deep = any(found.use.role != "shuffle" for found in all_breaks)
        state = "broken" if deep else ("matrix" if placed else "beside") if fragments else "narrow" if all_breaks else "consistent"
    unique = {id(b.use): b for b in all_breaks}
    ordered = sorted(unique.values(), key=lambda b: (b.use.role == "shuffle", b.uses is not uses))  # the gravest, and the nearest, first
    others = tuple(use for use in all_hardware if all(use is not own for own in hardware))
    return Verdict(state, uses, tuple(fixed), tuple(hardware), tuple(ordered), collectives, others)


NOTES = {
    "lane": "lane index within 32",
    "warp": "index of a 32-lane warp",
    "warps": "number of 32-lane warps",
    "stride": "steps by 32 lanes",
    "halving": "reduction or scan over 32 lanes",
    "shuffle": "shuffle",
    "vote": "vote",
    "syncwarp": "barrier of the warp",
    "matrix": "matrix fragment of the warp",
    "cub": "algorithm as wide as the device's warp",
    "fragment": "matrix instruction of 32 lanes",
    "mention": "uses the constant",
    "magic": "compares the lane with a fixed number",
    "shared": "shared array sized by 32",
    "hardware": "asks the device for its width",
    "tail": "first 32 threads only",
    "tile": "cooperative group",
}


def places(program: Program, uses: Uses) -> list[tuple[Use, str]]:
    """All that belongs to the width of a warp in a function, calls of helpers that know a width included, with a note each."""
    found = [(use, NOTES[use.role]) for use in uses.of(*NOTES)]
    _, table = survey(program)
    helpers = {name: "counts in 32 lanes" for name in uses.calls if any(fixed_uses(one) for one in table.get(name, ()))}
    helpers.update(dict.fromkeys(collectives_elsewhere(program, uses.calls), "speaks to other lanes"))
    for event in uses.env.function.events if helpers else ():
        for part in (part for root in (event.target, event.value) if root is not None for part in walk(root)):
            if part.kind == "call" and part.name in helpers:
                found.append((Use("call", part, event, OTHER), f"calls {part.name}, which {helpers[part.name]}"))
    return found


def definitions(program: Program, uses: list[Use]) -> list[Related]:
    """Where the constants that some uses took their width from are defined."""
    symbols = dict.fromkeys(symbol for use in uses for symbol in use.value.symbols)
    return [Related(path, line, f"{symbol} is defined here") for symbol in symbols for path, line in program.defined(symbol)]


def width_symbols(program: Program) -> frozenset[str]:
    """Constants that some code of the file uses as the width of a warp, by name or by use."""
    listed = [uses for uses in survey(program)[0] if uses.env.function.on_device]
    return frozenset(symbol for uses in listed for use in uses.of(*WIDTH_ROLES) for symbol in use.value.symbols if use.width == WARP)


def related(uses: list[tuple[Use, str]], path: str, but: int = 0) -> tuple[Related, ...]:
    """Other places of a finding, each line once, in order."""
    lines: dict[int, str] = {}
    for use, note in uses:
        for line in range(use.expr.line, min(use.expr.end_line, use.expr.line + 4) + 1):
            lines.setdefault(line, note)
    return tuple(Related(path, line, note) for line, note in sorted(lines.items()) if line != but)
