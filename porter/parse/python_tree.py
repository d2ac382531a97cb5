"""A Python file under tree-sitter: bytes, tree, paths from the root to a place, names with import aliases resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import tree_sitter
import tree_sitter_python

from porter.model import Span

if TYPE_CHECKING:
    from tree_sitter import Node

LANGUAGE = tree_sitter.Language(tree_sitter_python.language())
MAX_DEPTH = 400
"""Levels of the tree that are followed down to a place; real code stays below 100."""
MAX_DEEP_PATHS = 200
"""Places deeper than that after which no more of a file is looked at."""


class Source:
    """One parsed Python file; every byte offset is into ``data``.

    ``aliases`` maps a local name to the dotted name it was imported as. ``place`` turns a span of ``data`` into one of the
    file on disk; it is the identity except in notebooks. ``offsets`` has the byte at which each span given out starts.
    """

    def __init__(self, data: bytes, place: Callable[[Span], Span] | None = None) -> None:
        """Parse; never raises, errors are nodes of the tree."""
        self.data = data
        self.lower = data.lower()
        self.tree = tree_sitter.Parser(LANGUAGE).parse(data)
        self.root = self.tree.root_node
        self.aliases: dict[str, str] = {}
        self.too_deep = 0
        self.cut = 0
        self._deep_paths = 0
        self.offsets: dict[Span, int] = {}
        self._place = place
        self._starts: list[int] = []

    def path(self, offset: int) -> list[Node]:
        """The nodes from the root down to the smallest one at a byte; empty where the tree is too deep."""
        if self._deep_paths > MAX_DEEP_PATHS:
            return []
        cursor = self.tree.walk()
        nodes: list[Node] = [self.root]
        while True:
            if cursor.goto_first_child_for_byte(offset) is None:
                return nodes
            node = cursor.node
            if node is None or node.start_byte > offset:
                return nodes
            nodes.append(node)
            if len(nodes) > MAX_DEPTH:
                self._deep_paths += 1
                self.too_deep = self.too_deep or node.start_point[0] + 1
                return []

    def path_at(self, line: int, column: int) -> list[Node]:
        """Same, for a line and a byte column of ``data``, both from 1."""
        start = self.start_of(line)
        return self.path(start + column - 1) if start >= 0 else []

    def start_of(self, line: int) -> int:
        """The byte at which a line (from 1) of ``data`` starts; -1 where there is none."""
        if not self._starts:
            self._starts = [0]
            at = self.data.find(b"\n")
            while at >= 0:
                self._starts.append(at + 1)
                at = self.data.find(b"\n", at + 1)
        return self._starts[line - 1] if 0 < line <= len(self._starts) else -1

    def text(self, node: Node) -> str:
        """The source text of a node."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def span(self, node: Node, end: Node | None = None) -> Span:
        """Where a node stands in the file on disk; up to the end of ``end`` when given."""
        (row, column), (end_row, end_column) = node.start_point, (end or node).end_point
        span = Span(row + 1, column + 1, end_row + 1, end_column + 1)
        placed = self._place(span) if self._place else span
        self.offsets[placed] = node.start_byte
        return placed

    def find(self, word: bytes) -> Iterator[int]:
        """Offsets of a lower-case word in the text, whatever its case."""
        at = self.lower.find(word)
        while at >= 0:
            yield at
            at = self.lower.find(word, at + len(word))

    def dotted(self, node: Node) -> str:
        """A name as written, `a.b.c`; what is no plain name in front leaves `.c`; empty for anything else."""
        parts: list[str] = []
        at: Node | None = node
        while at is not None and at.type == "attribute" and len(parts) < MAX_DEPTH:
            name = at.child_by_field_name("attribute")
            parts.append(self.text(name) if name else "")
            at = at.child_by_field_name("object")
        if at is not None and at.type == "identifier":
            parts.append(self.text(at))
        elif parts:
            parts.append("")
        return ".".join(reversed(parts))

    def resolve(self, node: Node) -> str:
        """A dotted name with the import alias in front of it replaced by what was imported."""
        name = self.dotted(node)
        head, dot, rest = name.partition(".")
        known = self.aliases.get(head)
        return name if known is None else known + dot + rest


def named(node: Node) -> list[Node]:
    """The named children without comments."""
    return [child for child in node.named_children if child.type != "comment"]


def field(node: Node, name: str) -> Node | None:
    """The child in a field of the grammar."""
    return node.child_by_field_name(name)


def inside(path: list[Node], kinds: tuple[str, ...]) -> Node | None:
    """The innermost node of a path that has one of the kinds."""
    for node in reversed(path):
        if node.type in kinds:
            return node
    return None
