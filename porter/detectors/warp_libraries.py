"""Libraries whose constructs are as wide as a warp: CUB's warp and block algorithms, cooperative groups, WMMA fragments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from porter.config import Config
from porter.flow.env import Env, program_of
from porter.flow.expr import Expr, walk
from porter.flow.roles import survey
from porter.flow.values import HARDWARE, WARP
from porter.flow.warps import fixed_uses
from porter.model import Confidence, Hit
from porter.parse import Parsed

KINDS = ("cuda", "cxx")
WIDTH_PLACE = {"WarpReduce": 1, "WarpScan": 1, "WarpExchange": 2, "WarpMergeSort": 2, "WarpLoad": 3, "WarpStore": 3}
BLOCK_ALGORITHMS = re.compile(r"BLOCK_(?:SCAN_WARP_SCANS|REDUCE_WARP_REDUCTIONS\w*|LOAD_WARP_TRANSPOSE\w*|STORE_WARP_TRANSPOSE\w*)\Z")


def detect(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    """Hits on library constructs; only where a wave64 target is asked for."""
    targets = config.wave64_targets
    if not targets:
        return
    for uses in survey(program_of(parsed, index))[0]:
        env = uses.env
        fixed = bool(fixed_uses(uses))
        seen: set[tuple[str, int]] = set()
        for event in env.function.events:
            for root in (event.target, event.value):
                if root is None:
                    continue
                for part in _all(root):
                    for hit in _judge(env, part, targets, fixed):
                        if (hit.rule, hit.span.line) not in seen:
                            seen.add((hit.rule, hit.span.line))
                            yield hit


def _all(root: Expr) -> Iterator[Expr]:
    """All parts of an expression, template arguments included."""
    for part in walk(root):
        yield part
        for argument in part.targs:
            yield from walk(argument)


def _judge(env: Env, part: Expr, targets: tuple[str, ...], fixed: bool) -> Iterator[Hit]:
    if part.kind not in ("name", "call"):
        return
    pieces = part.op.split("::")
    name = next((piece for piece in pieces if piece in WIDTH_PLACE), "")
    if name and part.targs and (pieces[0] in ("cub", "hipcub") or pieces[0] == name):
        place = WIDTH_PLACE[name]
        width = env.value(part.targs[place]) if len(part.targs) > place else None
        if width is None or (width.is_width and width.as_width == HARDWARE):
            sure = Confidence.HIGH if fixed else Confidence.LOW
            message = f"cub::{name} without a width, in {env.function.name}" + (" which counts in 32 lanes" if fixed else "")
            yield Hit("cub-warp-default-width", part.span, message, env.function.name, confidence=sure, targets=targets)
    elif BLOCK_ALGORITHMS.match(part.name):
        message = f"{part.name} works in warps of the device"
        yield Hit("cub-block-by-warps", part.span, message, part.name, confidence=Confidence.MEDIUM, targets=targets)
    elif part.name == "tiled_partition" and part.targs:
        size = env.value(part.targs[0])
        if size.kind == "const" and size.num == WARP:
            message = f"{env.function.name} works in tiles of 32"
            yield Hit("tiled-partition-32", part.span, message, env.function.name, confidence=Confidence.HIGH, targets=targets)
