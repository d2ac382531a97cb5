"""Libraries whose constructs are as wide as a warp: CUB's warp and block algorithms, cooperative groups, WMMA fragments."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from porter.config import Config
from porter.flow.cub import WIDTH_PLACE, default_width
from porter.flow.env import Env
from porter.flow.expr import Expr, walk
from porter.flow.names import is_width
from porter.flow.program import Evaluator, Program, program_of
from porter.flow.roles import survey
from porter.flow.use import Uses
from porter.flow.values import WARP, WAVE
from porter.flow.warps import fixed_uses, hardware_uses, related
from porter.model import Confidence, Hit
from porter.parse import Parsed

KINDS = ("cuda", "cxx")
BLOCK_ALGORITHMS = re.compile(r"BLOCK_(?:SCAN_WARP_SCANS|REDUCE_WARP_REDUCTIONS\w*|LOAD_WARP_TRANSPOSE\w*|STORE_WARP_TRANSPOSE\w*)\Z")
WORDS = (b"BLOCK_", *(name.encode() for name in WIDTH_PLACE))  # a file without them names no algorithm that is judged


def detect(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    """Hits on library constructs; only where a wave64 target is asked for."""
    targets = config.wave64_targets
    if not targets:
        return
    program = program_of(parsed, index)
    yield from _named_types(program, targets)
    named = any(word in parsed.file.data for word in WORDS)
    for uses in survey(program)[0]:
        env = uses.env
        yield from _tiles(uses, parsed.file.path, targets)
        if not named:
            continue
        fixed = bool(fixed_uses(uses) or uses.of("mention"))
        asks = not fixed and _counts_waves(uses)
        seen: set[tuple[str, int]] = set()
        for part in (inner for outer in env.parts.templated for inner in _with_inner(outer)):
            for hit in _judge(env, part, targets, fixed):
                if asks and hit.rule == "cub-warp-default-width":
                    continue  # both are as wide as the device
                if (hit.rule, hit.span.line) not in seen:
                    seen.add((hit.rule, hit.span.line))
                    yield hit


def _counts_waves(uses: Uses) -> bool:
    """True for a function that takes a warp for what the device has: warpSize, or a constant of that name that is 64 on AMD."""
    if hardware_uses(uses):
        return True
    places = [expr for name, listed in uses.env.places.items() if is_width(name) for expr in listed]
    return any(value.kind == "hw" or (value.kind == "const" and value.num == WAVE) for value in map(uses.env.value, places))


def _named_types(program: Program, targets: tuple[str, ...]) -> Iterator[Hit]:
    """Types that are given a name outside functions, in a class above all."""
    listed = survey(program)[0] if program.unit.aliases else []
    fixed = any(fixed_uses(uses) or _masks_32(uses) for uses in listed)
    outside = Evaluator(program.unit, program)
    doubted: set[str] = set()  # rules that were told once of a block whose size nobody knows
    for _, alias in program.unit.aliases:
        for part in _all(alias):
            for hit in _judge(outside, part, targets, fixed) if outside.live(part.line) else ():
                doubt = hit.rule == "cub-block-by-warps" and hit.confidence is Confidence.LOW
                if not (doubt and hit.rule in doubted):
                    yield hit
                if doubt:
                    doubted.add(hit.rule)


def _masks_32(uses: Uses) -> bool:
    """True for code that gives whole warps as 32 ones."""
    masks = [use.expr.args[0] for use in uses.of("shuffle", "vote") if use.expr.name.endswith("_sync") and use.expr.args]
    values = [uses.env.value(mask) for mask in masks]
    return any(value.kind == "const" and value.bits == 32 and (value.num or 0) & 0xFFFFFFFF == 0xFFFFFFFF for value in values)


def _all(root: Expr) -> Iterator[Expr]:
    """All parts of an expression that have template arguments, those within such arguments included."""
    for part in walk(root):
        if part.targs:
            yield from _with_inner(part)


def _with_inner(part: Expr) -> Iterator[Expr]:
    """A part with template arguments, and those within these arguments."""
    yield part
    for argument in part.targs:
        yield from (inner for inner in walk(argument) if inner.targs)


def _judge(env: Env, part: Expr, targets: tuple[str, ...], fixed: bool) -> Iterator[Hit]:
    name = default_width(env, part)
    if name:
        sure = Confidence.HIGH if fixed else Confidence.LOW
        where = env.function.name or "a type of this file"
        message = f"cub::{name} without a width, in {where}" + (", whose code counts in 32 lanes" if fixed else "")
        yield Hit("cub-warp-default-width", part.span, message, where, confidence=sure, targets=targets)
    elif any(BLOCK_ALGORITHMS.match(argument.name) for argument in part.targs if argument.kind == "name"):
        yield from _block(env, part, targets)


def _block(env: Env, part: Expr, targets: tuple[str, ...]) -> Iterator[Hit]:
    """A block algorithm by warps: sure where the block's size is known and no multiple of a wave."""
    place, algorithm = next((i, a.name) for i, a in enumerate(part.targs) if a.kind == "name" and BLOCK_ALGORITHMS.match(a.name))
    extents = [env.value(argument) for argument in (*part.targs[1:2], *part.targs[place + 1 : place + 3])]  # x, and y and z behind it
    if any(value.kind == "hw" for value in extents):
        return
    known = all(value.kind == "const" and value.num is not None for value in extents)
    size = math.prod(value.num or 0 for value in extents) if known and extents else None
    if size is not None and size % WAVE == 0:
        return
    sure = Confidence.LOW if size is None else Confidence.MEDIUM
    message = f"{algorithm} with blocks of {size} threads" if size is not None else f"{algorithm}: the block must be whole waves"
    yield Hit("cub-block-by-warps", part.span, message, algorithm, confidence=sure, targets=targets)


def _tiles(uses: Uses, path: str, targets: tuple[str, ...]) -> Iterator[Hit]:
    """One line of information on the tiles of 32 in a function; a hazard where it counts warps of the device's width beside them."""
    name = uses.env.function.name
    tiles = [use for use in uses.of("tile") if use.width == WARP] if uses.env.function.on_device else []
    asked = hardware_uses(uses)
    if tiles and asked:
        first = asked[0].expr
        message = f"{name} takes a warp for the device's width here, and works in tiles of 32 in line {tiles[0].expr.line}"
        listed = [*((use, "use of the tile") for use in tiles), *((use, "asks the device for its width") for use in asked)]
        yield Hit(
            "warpsize-mixed-with-32", first.span, message, name, confidence=Confidence.MEDIUM, targets=targets,
            related=related(listed, path, first.line),
        )  # fmt: skip
    elif tiles:
        message = f"{uses.env.function.name} works in tiles of 32"
        yield Hit(
            "tiled-partition-32", tiles[0].expr.span, message, uses.env.function.name, confidence=Confidence.HIGH, targets=targets,
            related=related([(use, "use of the tile") for use in tiles], path, tiles[0].expr.line),
        )  # fmt: skip
