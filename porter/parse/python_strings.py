"""Values of constants in Python source: strings with escapes, joined pieces, numbers, words of a list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from porter.parse.python_tree import Source, named

if TYPE_CHECKING:
    from tree_sitter import Node

CONSTANTS = {"true": "True", "false": "False", "none": "None"}
MAX_PIECES = 4000
ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"', "r": "\r", "\n": "", "0": "\0"}
_ESCAPE = re.compile(r"\\(\r?\n|.)", re.DOTALL)


def prefix_of(source: Source, node: Node) -> str:
    """Letters in front of a string's quote, lower case: r, b, f, rf …"""
    head = source.data[node.start_byte : node.start_byte + 4].decode("ascii", "replace").lower()
    return head[: len(head) - len(head.lstrip("rbuft"))]


def is_template(node: Node) -> bool:
    """True for an f-string with something to fill in."""
    return any(child.type == "interpolation" for child in node.named_children)


def string_value(source: Source, node: Node) -> str | None:
    """The value of a string, joined pieces and `a + b` of strings included; None when a part is not constant."""
    pieces = string_pieces(node)
    if pieces is None or any(is_template(piece) for piece in pieces):
        return None
    return "".join(_piece(source, piece) for piece in pieces)


def form_of(source: Source, node: Node) -> str:
    """A string of one piece with {} for each part that is computed: f"image:{version}" is image:{}."""
    parts = [child for child in node.children if child.type in ("string_content", "interpolation")]
    return "".join("{}" if part.type == "interpolation" else source.text(part) for part in parts[:16])


def string_pieces(node: Node) -> list[Node] | None:
    """The string nodes that make up a constant, in order; None when something else is among them."""
    pieces: list[Node] = []
    todo = [node]
    while todo:
        at = todo.pop()
        if at.type == "string":
            pieces.append(at)
        elif at.type in ("concatenated_string", "parenthesized_expression"):
            todo.extend(reversed(named(at)))
        elif at.type == "binary_operator" and at.child_count == 3 and at.children[1].type == "+":
            todo.extend((at.children[2], at.children[0]))
        else:
            return None
        if len(pieces) + len(todo) > MAX_PIECES:
            return None
    return pieces or None


def _piece(source: Source, node: Node) -> str:
    """The value of one string node without interpolations."""
    content = [child for child in node.children if child.type == "string_content"]
    text = "".join(source.text(child) for child in content)
    if "\\" not in text or "r" in prefix_of(source, node):
        return text
    return _ESCAPE.sub(lambda m: ESCAPES.get(m.group(1).replace("\r", ""), m.group(0)), text)


def constant(source: Source, node: Node | None) -> str | None:
    """A constant as text: strings without quotes, numbers, True, False, None, signs; None for anything else."""
    if node is None:
        return None
    if node.type in CONSTANTS:
        return CONSTANTS[node.type]
    if node.type in ("integer", "float"):
        return source.text(node)
    if node.type == "unary_operator" and node.child_count == 2 and node.children[1].type in ("integer", "float"):
        return source.text(node)
    return string_value(source, node)


def words_of_command(source: Source, node: Node) -> list[str]:
    """The leading constant words of a command given as a list, a string or an f-string; "…" stands for what is computed."""
    if node.type in ("list", "tuple"):
        return [value if (value := string_value(source, item)) is not None else "…" for item in named(node)]
    if node.type == "call":  # shlex.split("…"), "…".split()
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if function is not None and source.dotted(function).endswith("split"):
            inner = function.child_by_field_name("object")
            if inner is not None and inner.type == "string":
                return words_of_command(source, inner)
            first = named(arguments) if arguments is not None else []
            return words_of_command(source, first[0]) if first and first[0].type != "call" else []
        return []
    pieces = string_pieces(node)
    if pieces is None:
        return []
    text = "".join(
        "".join("…" if child.type == "interpolation" else source.text(child) for child in piece.named_children
                if child.type in ("interpolation", "string_content"))
        for piece in pieces
    )  # fmt: skip
    return text.replace("\\n", " ").replace("\\\n", " ").split()
