"""Layouts of Gluon kernels that hold for warps of 32 lanes only."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING

from porter.config import Config
from porter.detectors.python_scope import KINDS, File, file_of
from porter.model import Hit
from porter.parse import Parsed
from porter.parse.python_tree import field, named

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["KINDS", "WORDS", "detect"]

WORDS = (b"BlockedLayout",)
RULE = "gluon-layout-32-lanes"
NVIDIA_LANES = 32
PLACE, KEYWORD = 1, "threads_per_warp"  # of the argument that says how the lanes lie
MODULE = "triton.experimental.gluon.language.BlockedLayout"


def detect(parsed: Parsed, index: object, config: Config) -> Iterable[Hit]:
    """Hits on BlockedLayout calls whose constant threads_per_warp come to 32."""
    file = file_of(parsed)
    if file is None or file.made_for_amd or b"blockedlayout" not in file.source.lower:
        return
    for fact in file.facts("py_call"):
        call = file.node(fact, "call") if fact.name == MODULE else None
        lanes = _lanes(file, call) if call is not None else None
        if call is not None and lanes == NVIDIA_LANES and not file.amd_only(call):
            yield file.hit(RULE, call, f"threads_per_warp comes to {lanes}, a warp has 64 lanes", "BlockedLayout")


def _lanes(file: File, call: Node) -> int | None:
    """The product of a call's threads_per_warp; None where it is not written in numbers."""
    arguments = field(call, "arguments")
    given = named(arguments) if arguments is not None else []
    value = next((field(one, "value") for one in given if one.type == "keyword_argument" and _key(file, one) == KEYWORD), None)
    if value is None and len(given) > PLACE and given[PLACE].type != "keyword_argument":
        value = given[PLACE]
    items = named(value) if value is not None and value.type in ("list", "tuple") else []
    if not items or any(item.type != "integer" or len(file.source.text(item)) > 6 for item in items):
        return None
    texts = [file.source.text(item) for item in items]
    return prod(int(text) for text in texts) if all(text.isdigit() for text in texts) else None


def _key(file: File, argument: Node) -> str:
    name = field(argument, "name")
    return file.source.text(name) if name is not None else ""
