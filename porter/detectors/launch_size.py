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
# A number that counts threads over all blocks: `i = blockIdx.x * blockDim.x + threadIdx.x`, casts and order aside.
GLOBAL_ID = re.compile(rb"\b([A-Za-z_]\w*)\s*[={](?=[^;]{0,200}\bblockIdx\b)(?=[^;]{0,200}\bthreadIdx\b)")
GUARD = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:>=|<=|<|>)\s*([A-Za-z_]\w*)")
NARROWED = re.compile(r"static_cast\s*<\s*(?:int|unsigned|unsigned int|uint32_t|int32_t)\s*>|\(\s*(?:int|unsigned|uint32_t|int32_t)\s*\)")
LIKELY = "launch-of-64bit-count"
VAGUE = "launch-over-4g-threads"


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """One hit of each rule a file, at the first launch that fits, with the number of them."""
    found: dict[str, list[tuple[Fact, str]]] = {}
    for fact in parsed.facts:
        if fact.kind == "launch" and fact.args:
            for name in _unbounded(parsed, fact):
                likely = _leaves_early(parsed, fact.name) and not _is_narrowed(parsed, fact)
                found.setdefault(LIKELY if likely else VAGUE, []).append((fact, name))
    return [_hit(rule, places_found) for rule, places_found in found.items()]


def _hit(rule: str, found: list[tuple[Fact, str]]) -> Hit:
    fact, name = found[0]
    more = f", as in {len(found) - 1} more launches here" if len(found) > 1 else ""
    how = "; the kernel only leaves early past the end" if rule == LIKELY else ""
    message = f"{fact.name} gets one thread for each of {name}, a 64-bit count without a cap{more}{how}"
    return Hit(rule, fact.span, message, "64-bit grid", confidence=Confidence.MEDIUM if rule == LIKELY else Confidence.LOW)


def _unbounded(parsed: Parsed, fact: Fact) -> list[str]:
    """The 64-bit count that a launch's grid is made of, in a list; empty where there is none or something caps it."""
    if parsed.live(fact.span.line) is Live.NO:
        return []
    function = places.function_at(parsed, fact.span)
    if function is None or _strides(parsed, fact.name):
        return []
    grid = _definition(parsed, function, fact.args[0])
    match = CEIL.search(grid)
    if match is None or CAPPED.search(grid):
        return []
    name = match["n"] or match["m"]
    return [name] if _is_wide(parsed, function, name) else []


def _is_narrowed(parsed: Parsed, fact: Fact) -> bool:
    """Whether the grid is cast to int: whoever wrote it knows the count to be small."""
    function = places.function_at(parsed, fact.span)
    return function is not None and NARROWED.search(_definition(parsed, function, fact.args[0])) is not None


def _kernel(parsed: Parsed, name: str) -> Any:
    """The kernel of that name, where it is in this file; else None."""
    kernels: dict[str, Any] | None = parsed.extra.get("launch_size_kernels")
    if kernels is None:
        kernels = {}
        for node in places.captured(parsed, "function"):
            if node.type == "function_definition" and places.is_kernel(parsed, node):
                kernels.setdefault(places.name_of(parsed, node), node)
        parsed.extra["launch_size_kernels"] = kernels
    return kernels.get(name.rpartition("::")[2])


def _strides(parsed: Parsed, kernel: str) -> bool:
    """Whether the kernel of that name, if it is in this file, walks in steps of the grid."""
    node = _kernel(parsed, kernel) if b"gridDim" in parsed.file.data else None
    return node is not None and STRIDES.search(places.text(parsed, node)) is not None


def _leaves_early(parsed: Parsed, kernel: str) -> bool:
    """Whether the kernel counts its threads over the whole grid and asks only once if its number is past the end."""
    node = _kernel(parsed, kernel)
    text = places.text(parsed, node) if node is not None else b""
    if b"blockIdx" not in text:
        return False
    body = node.child_by_field_name("body")
    ids = {match[1] for match in GLOBAL_ID.finditer(text)}
    for branch in body.named_children if body is not None else ():
        if branch.type == "if_statement":
            condition = branch.child_by_field_name("condition")
            names = GUARD.findall(places.text(parsed, condition)) if condition is not None else []
            if any(first in ids or second in ids for first, second in names):
                return True
    return False


def _definition(parsed: Parsed, function: Any, text: str) -> str:
    """The expression behind a grid: itself, or what a variable of the function was made from."""
    if not re.fullmatch(r"[A-Za-z_]\w*", text):
        return text
    for node in places.declarations(parsed, function):
        if node.type == "parameter_declaration":
            continue
        declarator = node.child_by_field_name("declarator")
        name = re.match(rb"[A-Za-z_]\w*", places.text(parsed, declarator)) if declarator is not None else None
        if name is not None and name[0].decode() == text:
            return places.text(parsed, node).decode("utf-8", "replace")
    return text


def _is_wide(parsed: Parsed, function: Any, name: str) -> bool:
    """Whether a parameter or variable of the function is declared with 64 bits."""
    for node in places.declarations(parsed, function):
        type_node = node.child_by_field_name("type")
        if type_node is None or WIDE.search(places.text(parsed, type_node).decode("utf-8", "replace")) is None:
            continue
        rest = places.text(parsed, node)[type_node.end_byte - node.start_byte :].decode("utf-8", "replace")
        if re.search(rf"(?:^|[\s,&]){re.escape(name)}\s*(?:[=,;{{(]|$)", rest):
            return True
    return False
