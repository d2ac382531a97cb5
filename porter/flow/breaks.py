"""Breaks: uses of lanes that are wrong if the warps of a function are 32 lanes in a wave of 64, each with why."""

from __future__ import annotations

import re

import msgspec

from porter.flow.event import Event
from porter.flow.expr import Expr, walk
from porter.flow.loops import doubles, halves, steps
from porter.flow.names import BALLOTS
from porter.flow.use import Use, Uses
from porter.flow.values import HARDWARE, LANES, UNKNOWN_WIDTH, WARP

MASK_NAME = re.compile(r"(?i)mask|lanes?_?(?:lt|le|below|before)")


class Break(msgspec.Struct, frozen=True, eq=False):
    """A use that makes a 32-lane function wrong on 64 lanes, and why in words."""

    uses: Uses
    use: Use
    why: str
    proven: bool = True


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
