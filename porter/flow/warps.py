"""Verdicts: whether a function that takes a warp for 32 lanes is right on 64 as it stands, and what breaks it if not."""

from __future__ import annotations

import re

import msgspec

from porter.flow.event import Event
from porter.flow.expr import Expr, walk
from porter.flow.loops import doubles, halves, steps
from porter.flow.names import BALLOTS
from porter.flow.program import Program
from porter.flow.roles import closure, survey
from porter.flow.use import Use, Uses
from porter.flow.values import HARDWARE, LANES, OTHER, UNKNOWN_WIDTH, WARP
from porter.flow.wrappers import collectives_elsewhere
from porter.model import Related

MASK_NAME = re.compile(r"(?i)mask|lanes?_?(?:lt|le|below|before)")
WIDTH_ROLES = ("lane", "warp", "warps", "halving", "stride")
COLLECTIVES = ("shuffle", "vote", "syncwarp", "matrix")


class Break(msgspec.Struct, frozen=True, eq=False):
    """A use that makes a 32-lane function wrong on 64 lanes, and why in words."""

    uses: Uses
    use: Use
    why: str
    proven: bool = True


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


def breaks_of(uses: Uses) -> list[Break]:
    """Uses of one function that are wrong if its warps are 32 lanes in a wave of 64."""
    found: list[Break] = []
    for use in uses.of("vote"):
        if use.flavour in ("ballot", "match") or (use.flavour == "activemask" and _computes(uses)):
            found.append(Break(uses, use, f"{use.expr.name} speaks for 64 lanes, not for the 32 of this code's warp"))
        elif use.flavour in ("any", "all") and _kept(uses, use):
            found.append(Break(uses, use, f"{use.expr.name} decides for 64 lanes, and its result is counted or kept for 32"))
    for use in uses.of("shift"):
        if use.event.kind == "return" and use.value.bits == WARP and is_mask(uses, use):
            found.append(Break(uses, use, "a mask of lanes is made in 32 bits"))
    for use in uses.of("matrix"):
        found.append(Break(uses, use, f"a fragment of {use.flavour} belongs to all 64 lanes of a wave"))
    for use in uses.of("cub"):
        found.append(Break(uses, use, f"{use.flavour} of CUB without a width works on all 64 lanes of a wave"))
    for use in uses.of("shuffle"):
        made = _shuffle(uses, use)
        if made is not None:
            found.append(made)
    return found


def is_mask(uses: Uses, use: Use) -> bool:
    """True where a shifted bit meets lane masks: the function has votes, or takes the mask of lanes below."""
    if uses.of("vote"):
        return True
    if use.parent is not None and use.parent.op == "-":
        if use.event.kind == "return" and MASK_NAME.search(uses.env.function.name):
            return True  # the mask of the lanes below, for others to use
        return any(
            part.kind == "call" and part.name in BALLOTS for event in uses.env.function.events if event.value for part in walk(event.value)
        )
    return False


def _kept(uses: Uses, use: Use) -> bool:
    """True where the outcome of a vote is stored or counted, and does not only decide whether work is skipped."""
    if _stores(use.event, use.expr):
        return True
    name = use.event.name if use.event.kind == "decl" else ""
    if not name or use.event.value is not use.expr:
        return False
    for event in uses.env.function.events:
        if event.line < use.event.line or event.value is None or event is use.event:
            continue
        if any(part.kind == "name" and part.op == name and _stores(event, part) for part in walk(event.value)):
            return True
    return False


def _stores(event: Event, part: Expr) -> bool:
    """True where an event puts a value into memory as it is, or adds it up."""
    if event.kind == "assign" and event.target is not None and (event.value is part or event.op == "+="):
        return event.op == "+=" or event.target.kind in ("index", "unary", "field")
    call = event.value if event.kind == "eval" else None
    return call is not None and call.kind == "call" and call.name.startswith("atomic") and any(arg is part for arg in call.args[1:])


def _computes(uses: Uses) -> bool:
    """True where a function computes with lane masks, and does not only hand them on."""
    return bool(uses.of("bits", "compare", "shift"))


def _shuffle(uses: Uses, use: Use) -> Break | None:
    """Why a shuffle reaches out of its 32 lanes; None where it stays inside, whatever the width of the wave."""
    if use.width != UNKNOWN_WIDTH or use.flavour == "xor":
        return None
    value = use.value
    if use.flavour == "idx":
        if value.kind == "const":
            return Break(uses, use, f"lane {value.num} is lane {value.num} of all 64, so the second 32 lanes read from the first")
        if value.kind in LANES and value.width == HARDWARE:
            return None
        sure = value.kind in (*LANES, "sub")
        return Break(uses, use, "the source lane counts within 32, the shuffle within 64", sure)
    if use.loop is not None and _tree(use):
        return None
    if use.loop is not None and doubles(use.loop):
        return None if _guarded(uses, use) else Break(uses, use, "values cross from one half of the wave into the other", False)
    if _accumulates(use):
        return None
    return None if _guarded(uses, use) else Break(uses, use, "a shift by lanes crosses from one half of the wave into the other", False)


def _tree(use: Use) -> bool:
    """True for the step of a reduction tree, v = v + down(v, distance), whose first lane is right whatever the others hold."""
    if use.loop is None or use.flavour != "down":
        return False
    given = use.expr.args[1:] if use.expr.name.endswith("_sync") else use.expr.args
    target = use.event.target
    if target is not None and given and target.kind in ("name", "index", "field") and same(target, given[0]):
        return True
    op, _ = steps(use.loop)
    return halves(use.loop) or op in (">>=", "/=")


def same(a: Expr, b: Expr) -> bool:
    """True for two expressions that are written alike."""
    return [(part.kind, part.op) for part in walk(a)] == [(part.kind, part.op) for part in walk(b)]


def _accumulates(use: Use) -> bool:
    """True for v += shfl_down(v, 16) and the like, one step of an unrolled tree."""
    return (
        use.flavour == "down" and use.value.kind == "const" and use.value.num in (16, 8, 4, 2, 1) and use.event.kind in ("assign", "decl")
    )


def _guarded(uses: Uses, use: Use) -> bool:
    """True where a comparison of the 32-lane index with the distance decides if the value is used."""
    for event in uses.env.function.events:
        if not use.expr.line <= event.line <= use.expr.line + 6 or (use.loop is not None and use.loop not in event.loops):
            continue
        for guard in event.guards:
            if guard.condition.kind == "binary" and guard.condition.op in (">=", ">", "<", "<="):
                sides = [uses.env.value(arg) for arg in guard.condition.args]
                if any(side.kind == "lane" for side in sides):
                    return True
    return False


def verdicts(program: Program) -> list[Verdict]:
    """A verdict for every function that has anything to do with a warp; kept with the parse."""
    kept = program.unit.parsed.extra.get("flow_verdicts")
    if kept is not None:
        made: list[Verdict] = kept
        return made
    listed, table = survey(program)
    reached: dict[int, list[list[Uses]]] = {}
    called = {name for uses in listed for name in uses.calls}
    for uses in listed:
        if not uses.env.function.on_device:
            continue
        if uses.env.function.side == "kernel" or uses.env.function.name not in called:
            group = closure(program, table, uses)
            for one in group:
                reached.setdefault(id(one), []).append(group)
    found = [
        Verdict("amd", uses) if uses.is_amd else _judge(uses, reached.get(id(uses), [[uses]]))
        for uses in listed
        if uses.env.function.on_device
    ]
    program.unit.parsed.extra["flow_verdicts"] = found
    return found


def _judge(uses: Uses, groups: list[list[Uses]]) -> Verdict:
    fixed, hardware = fixed_uses(uses), hardware_uses(uses)
    if not fixed and not hardware:
        return Verdict("none", uses, breaks=tuple(breaks_of(uses)), collectives=len(uses.of(*COLLECTIVES)))
    all_fixed, all_hardware, all_breaks, collectives = list(fixed), list(hardware), [], 0
    for group in groups:
        for one in group:
            if one.is_amd:
                continue
            if one is not uses:
                all_fixed += fixed_uses(one)
                all_hardware += hardware_uses(one)
            all_breaks += breaks_of(one)
            collectives += len(one.of(*COLLECTIVES))
    if all_fixed and all_hardware:
        state = "mixed"
    elif all_hardware:
        state = "hardware"
    else:
        placed = not fixed or any(use.role != "stride" for use in fixed)  # a plain loop over lanes places nothing in a fragment
        fragments = any(one.of("fragment") for group in groups for one in group)
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
