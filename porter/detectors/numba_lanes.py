"""Numba kernels that number warps and lanes with 32: threadIdx.x // 32, % 32, >> 5, & 31."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from porter.config import Config
from porter.detectors.python_scope import KINDS, File, assigned_names, file_of, scope_of, uses
from porter.model import Hit
from porter.parse import Parsed
from porter.parse.python_tree import field, named

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["KINDS", "WORDS", "detect"]

WORDS = (b"numba",)
RULE = "numba-lane-arithmetic"
THREADS = frozenset(("numba.cuda.threadIdx.x",))
BY_32 = {"//": ("32",), "%": ("32",), ">>": ("5",), "&": ("31", "0x1f", "0x1F")}
TOGETHER = (b"shfl", b"ballot", b"vote_", b"all_sync", b"any_sync", b"match_", b"syncwarp", b"warpsize", b"laneid", b"activemask")


def detect(parsed: Parsed, index: object, config: Config) -> Iterable[Hit]:
    """Hits in files whose kernels let the lanes of a warp work together; elsewhere the numbers only index a tile."""
    file = file_of(parsed)
    if file is None or b"numba" not in file.source.lower or not any(word in file.source.lower for word in TOGETHER):
        return
    done: set[int] = set()
    for fact in file.facts("py_attr"):
        if fact.name in THREADS:
            path = file.path(fact)
            node = file.node(fact, "attribute")
            at = path.index(node) if node in path else len(path) - 1
            for place in _places(file, path, at):
                if place.id not in done and not file.amd_only(place):
                    done.add(place.id)
                    yield file.hit(RULE, place, f"{file.source.text(place)[:60]} counts lanes of 32", "32 lanes")


def _places(file: File, path: list[Node], at: int) -> Iterator[Node]:
    """Divisions of a thread number by 32: of the attribute itself, and of a name that it is assigned to."""
    yield from _division(file, path, at)
    for name, place in assigned_names(file.source, path, path[at]):
        for use in uses(file.source, scope_of(path), name) if place < 0 else ():
            yield from _division(file, use, len(use) - 1)


def _division(file: File, path: list[Node], at: int) -> Iterator[Node]:
    parent = path[at - 1] if at > 0 else None
    if parent is None or parent.type != "binary_operator":
        return
    sign = field(parent, "operator")
    sides = named(parent)
    if sign is not None and len(sides) == 2 and sides[0] == path[at] and file.source.text(sides[1]) in BY_32.get(sign.type, ()):
        yield parent
