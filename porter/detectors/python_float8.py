"""torch.float8_e4m3fn and e5m2 where tensors are made in them: MI300 computes in the FNUZ encodings instead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from porter.config import Config
from porter.detectors.python_scope import KINDS, File, file_of
from porter.model import Hit, Live
from porter.parse import Parsed
from porter.parse.python_tree import field

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["KINDS", "WORDS", "detect"]

WORDS = (b"float8_e4m3fn", b"float8_e5m2")
NAMES = ("torch.float8_e4m3fn", "torch.float8_e5m2")
RULE = "torch-float8-ocp"
FNUZ_TARGETS = ("gfx940", "gfx941", "gfx942")
AWARE = (b"fnuz", b"fp8_dtype()", b"is_hip", b"is_rocm")
COMPUTE = (b"scaled_mm", b"scaled_grouped_mm", b"import triton", b"torch.ops.")
CONVERTERS = ("to", "type", "empty", "zeros", "empty_like", "zeros_like", "full")
PASS = ("parenthesized_expression", "keyword_argument", "argument_list")


def detect(parsed: Parsed, index: object, config: Config) -> Iterable[Hit]:
    """Hits on OCP fp8 tensors in files that compute with them and do not know of FNUZ; nothing without an MI300 target."""
    file = file_of(parsed)
    targets = tuple(target for target in config.targets if target in FNUZ_TARGETS)
    if file is None or not targets or any(word in file.source.lower for word in AWARE):
        return
    if not any(word in file.source.lower for word in COMPUTE):
        return  # storing and converting OCP values works everywhere
    if file.made_for_amd:
        return
    found = [(fact, node) for fact in file.facts("py_attr") if fact.name in NAMES and (node := _made(file, file.path(fact))) is not None]
    found = [(fact, node) for fact, node in found if not file.amd_only(node)]
    for live in (Live.YES, Live.NO):  # one hit a file: the type is one decision
        same = [(fact, node) for fact, node in found if (fact.live is Live.NO) == (live is Live.NO)]
        if same:
            fact, node = same[0]
            more = f", {len(same)} times in this file" if len(same) > 1 else ""
            hit = file.hit(RULE, node, f"{fact.name} is not what {', '.join(targets)} computes in{more}", fact.name)
            yield msgspec.structs.replace(hit, targets=targets)


def _made(file: File, path: list[Node]) -> Node | None:
    """The dtype's node where it makes a tensor or a constant of the file; None in comparisons, tables and annotations."""
    at = len(path) - 1
    while at > 0 and path[at - 1].type == "attribute":
        at -= 1
    node = path[at]
    above = at - 1
    while above > 0 and path[above].type in PASS:
        above -= 1
    holder = path[above]
    if holder.type == "call" and above < at - 1:
        function = field(holder, "function")
        name = file.source.dotted(function).rpartition(".")[2] if function is not None else ""
        return node if name in CONVERTERS else None
    if holder.type == "assignment" and node == field(holder, "right"):
        return node
    return None
