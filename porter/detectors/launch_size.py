"""Launches whose number of threads grows with a 64-bit count: HIP takes fewer than 2^32 threads a grid, CUDA many more."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from porter.config import Config
from porter.detectors import places
from porter.model import Confidence, Fact, Hit, Live
from porter.parse import Parsed

if TYPE_CHECKING:
    from porter.link import Index

KINDS = ("cuda", "cxx")
CEIL = re.compile(
    r"\(?\s*\(\s*(?P<n>[A-Za-z_][\w.]*)\s*\+\s*[\w:().*-]+?(?:\s*-\s*1)?\s*\)\s*/\s*[\w:().*-]+|(?:\w+::)*(?:ceil_?div|cdiv|div_?up|DIVUP|CEIL_?DIV|div_round_up|GET_BLOCKS)\w*\s*\(\s*(?P<m>[A-Za-z_]\w*)\s*,",
    re.IGNORECASE,
)
CAPPED = re.compile(r"\b(?:std::)?min\b|MAX_|max_|\bclamp\b|_CAP|kMax|65535|INT_MAX|GET_BLOCKS", re.IGNORECASE)
WIDE = re.compile(r"\b(?:int64_t|uint64_t|size_t|ssize_t|ptrdiff_t|long|index_t64|IndexType64)\b")
STRIDES = re.compile(rb"\bgridDim\s*\.")


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """One hit of launch-over-4g-threads a file, at the first launch that fits, with the number of them."""
    found = [(fact, name) for fact in parsed.facts if fact.kind == "launch" and fact.args for name in _unbounded(parsed, fact)]
    if not found:
        return []
    fact, name = found[0]
    more = f", as in {len(found) - 1} more launches here" if len(found) > 1 else ""
    message = f"{fact.name} gets one thread for each of {name}, a 64-bit count without a cap{more}"
    return [Hit("launch-over-4g-threads", fact.span, message, "64-bit grid", confidence=Confidence.LOW)]


def _unbounded(parsed: Parsed, fact: Fact) -> list[str]:
    """The 64-bit count that a launch's grid is made of, in a list; empty where there is none or something caps it."""
    if parsed.live(fact.span.line) is Live.NO:
        return []
    function = places.function_at(parsed, fact.span)
    if function is None or (STRIDES.search(parsed.file.data) and _strides(parsed, fact.name)):
        return []
    grid = _definition(function, fact.args[0])
    match = CEIL.search(grid)
    if match is None or CAPPED.search(grid):
        return []
    name = match["n"] or match["m"]
    return [name] if _is_wide(function, name) else []


def _strides(parsed: Parsed, kernel: str) -> bool:
    """Whether the kernel of that name, if it is in this file, walks in steps of the grid."""
    last = kernel.rpartition("::")[2].encode()
    for node in places.nodes(parsed.tree.root_node, ("function_definition",)):
        text = node.text or b""
        if last in places.head(parsed, node) and b"__global__" in places.head(parsed, node):
            return STRIDES.search(text) is not None
    return False


def _definition(function: Any, text: str) -> str:
    """The expression behind a grid: itself, or what a variable of the function was made from."""
    if not re.fullmatch(r"[A-Za-z_]\w*", text):
        return text
    for node in places.nodes(function, ("init_declarator", "declaration")):
        declarator = node.child_by_field_name("declarator")
        name = re.match(rb"[A-Za-z_]\w*", declarator.text or b"") if declarator is not None else None
        if name is not None and name[0].decode() == text:
            return str((node.text or b"").decode("utf-8", "replace"))
    return text


def _is_wide(function: Any, name: str) -> bool:
    """Whether a parameter or variable of the function is declared with 64 bits."""
    for node in places.nodes(function, ("parameter_declaration", "declaration")):
        type_node = node.child_by_field_name("type")
        if type_node is None or WIDE.search((type_node.text or b"").decode("utf-8", "replace")) is None:
            continue
        rest = (node.text or b"")[type_node.end_byte - node.start_byte :].decode("utf-8", "replace")
        if re.search(rf"(?:^|[\s,&]){re.escape(name)}\s*(?:[=,;{{(]|$)", rest):
            return True
    return False
