"""Places in a syntax tree: walking without recursion, spans of nodes, and whether a place is device code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from porter.model import Span
from porter.parse import Parsed
from porter.parse.cuda_facts import Captured

DEVICE = re.compile(rb"__global__|\b__\w*device\w*__|\b\w*(?:DEVICE|HOSTDEV|_D_INLINE|DINLINE)\w*\b|\b(?:\w+_HD|DEV_INLINE|DI|HDI)\b")
FUNCTIONS = ("function_definition", "lambda_expression")


def declarations(parsed: Parsed, function: Any) -> list[Any]:
    """The declarations within a function of the file, and its parameters that have a name, in order of the source, outer ones first."""
    start, end = function.start_byte, function.end_byte
    near = {
        name: [node for node in captured(parsed, name) if start <= node.start_byte < end]
        for name in ("declaration", "initialised", "declared")
    }
    found = [node for node in near["declaration"] if node.type == "declaration"] + near["initialised"]
    found += [node.parent for node in near["declared"] if node.parent.type == "parameter_declaration"]
    return sorted(found, key=lambda node: (node.start_byte, -node.end_byte))


def captured(parsed: Parsed, name: str, word: bytes = b"") -> list[Any]:
    """The nodes of a CUDA tree that the one query of the parser captured under a name and that hold a word, in order of the source."""
    found = parsed.extra.get("captured")
    if not isinstance(found, Captured):
        return []
    nodes, text = found.all(name), found.text
    return [node for node in nodes if text.find(word, node.start_byte, node.end_byte) >= 0] if word else nodes


def text(parsed: Parsed, node: Any) -> bytes:
    """The text of a node as the parser saw it; Node.text copies a whole chunk of the file for each call."""
    found = parsed.extra.get("captured")
    return found.slice(node) if isinstance(found, Captured) else node.text or b""


def span(node: Any) -> Span:
    """The place of a node, lines and columns from 1."""
    return Span(node.start_point[0] + 1, node.start_point[1] + 1, node.end_point[0] + 1, node.end_point[1] + 1)


def node_at(parsed: Parsed, place: Span) -> Any:
    """The innermost node at a place, or None without a tree."""
    if parsed.tree is None:
        return None
    point = (place.line - 1, place.column - 1)
    return parsed.tree.root_node.descendant_for_point_range(point, point)


def matches(parsed: Parsed, pattern: re.Pattern[bytes]) -> Iterator[tuple[Any, re.Match[bytes]]]:
    """The innermost node at each match of a pattern in the file's text, comments and strings among them, in order."""
    data, line, at = parsed.file.data, 1, 0
    for found in pattern.finditer(data):
        line, at = line + data.count(b"\n", at, found.start()), found.start()
        column = at - data.rfind(b"\n", 0, at)
        node = node_at(parsed, Span(line, column, line, column))
        if node is not None:
            yield node, found


def function_at(parsed: Parsed, place: Span) -> Any:
    """The outermost function around a place, or None at file scope."""
    node, found = node_at(parsed, place), None
    while node is not None:
        if node.type == "function_definition":
            found = node
        node = node.parent
    return found


def head(parsed: Parsed, function: Any) -> bytes:
    """The text of a function before its body, from the file itself: the tree may stand on a text with attributes blanked."""
    data = parsed.file.data
    start = function.start_byte
    line = data.rfind(b"\n", 0, start) + 1
    before = data[max(line, start - 200) : start].rpartition(b"}")[2]
    body = function.child_by_field_name("body")
    return before + data[start : body.start_byte if body is not None else function.end_byte]


def name_of(parsed: Parsed, function: Any) -> str:
    """The plain name of a function."""
    node = function.child_by_field_name("declarator")
    for _ in range(12):
        if node is None or node.type in ("identifier", "field_identifier"):
            break
        node = node.child_by_field_name("declarator") or node.child_by_field_name("name") or (node.named_children or [None])[0]
    data = parsed.file.data
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace") if node is not None else ""


def is_device(parsed: Parsed, function: Any) -> bool:
    """Whether the device compiles a function: __device__, __global__, or a macro with DEVICE in its name."""
    return DEVICE.search(head(parsed, function)) is not None


def is_kernel(parsed: Parsed, function: Any) -> bool:
    """Whether a function is __global__."""
    return b"__global__" in head(parsed, function)


def in_device_code(parsed: Parsed, place: Span) -> bool:
    """True inside a function that the device compiles."""
    function = function_at(parsed, place)
    return function is not None and is_device(parsed, function)
