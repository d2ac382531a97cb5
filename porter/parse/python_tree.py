"""A Python file under tree-sitter: bytes, tree, paths from the root to a place, names with import aliases resolved."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import tree_sitter
import tree_sitter_python

from porter.model import Span

if TYPE_CHECKING:
    from tree_sitter import Node, Tree, TreeCursor

LANGUAGE = tree_sitter.Language(tree_sitter_python.language())
MAX_DEPTH = 400
"""Levels of the tree that are followed down to a place; real code stays below 100."""
MAX_DEEP_PATHS = 200
"""Places deeper than that after which no more of a file is looked at."""
PARSE_SECONDS = 10.0
MAX_STEPS = 256  # siblings passed one by one before the tree is asked to find the place among all
_CHUNK = 65536
_NAME_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_NAME_CHARS = frozenset(bytes((byte,)) for byte in _NAME_BYTES)


Cut = tuple[tuple[tuple[int, int], ...], bytes]


class TooSlow(ValueError):
    """The parser was stopped: it had worked on one file for longer than any sane file takes."""


class Source:
    """One parsed Python file; every byte offset is into ``data``.

    ``aliases`` maps a local name to the dotted name it was imported as. ``place`` turns a span of ``data`` into one of the
    file on disk; it is the identity except in notebooks. ``offsets`` has the byte at which each span given out starts.
    ``known`` has the places of words that were looked for already.
    """

    def __init__(
        self, data: bytes, place: Callable[[Span], Span] | None = None, known: Mapping[bytes, list[int]] | None = None, cut: Cut = ((), b"")
    ) -> None:
        """Parse; errors are nodes of the tree. Raises TooSlow. ``cut`` are stretches to leave out, and the text without them."""
        self.data = data
        self.lower = data.lower()
        self.known = known or {}
        self._left_out, part = cut
        self.tree = _parsed(part if self._left_out else data)
        if self._left_out and self.tree.root_node.has_error:  # where the bounds of functions are not what they seem, all is read
            self._left_out, self.tree = (), _parsed(data)
        self._whole: Tree | None = None
        self.root = self.tree.root_node
        self.aliases: dict[str, str] = {}
        self.too_deep = 0
        self.cut = 0
        self._deep_paths = 0
        self.offsets: dict[Span, int] = {}
        self._place = place
        self._starts: list[int] = []

    def leaves_out(self, offset: int, word: bytes = b"") -> bool:
        """Whether a byte is in a stretch that was not parsed, and that holds a lower-case word."""
        at = bisect_right(self._left_out, (offset, len(self.data))) - 1
        return at >= 0 and offset < self._left_out[at][1] and self.lower.find(word, *self._left_out[at]) >= 0

    def _whole_tree(self) -> Tree:
        """The tree of all of the file, made when somebody asks for what was left out."""
        if self._whole is None:
            self._whole = _parsed(self.data)
        return self._whole

    def path(self, offset: int) -> list[Node]:
        """The nodes from the root down to the smallest one at a byte; empty where the tree is too deep."""
        if self._deep_paths > MAX_DEEP_PATHS:
            return []
        tree = self._whole_tree() if self.leaves_out(offset) else self.tree
        cursor = tree.walk()
        nodes: list[Node] = [tree.root_node]
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

    def paths(self, offsets: Iterable[int]) -> Iterator[list[Node]]:
        """The path of every offset, which must not go back; a file as wide as it is long costs no more than its length."""
        tree = self.tree
        if self._left_out:
            offsets = list(offsets)
            tree = self._whole_tree() if any(map(self.leaves_out, offsets)) else tree
        cursor = tree.walk()
        nodes: list[Node] = [tree.root_node]
        for offset in offsets:
            if self._deep_paths > MAX_DEEP_PATHS:
                return
            self._advance(cursor, nodes, offset)
            while len(nodes) <= MAX_DEPTH and nodes[-1].start_byte <= offset and cursor.goto_first_child_for_byte(offset) is not None:
                nodes.append(cursor.node or self.root)
            if len(nodes) > MAX_DEPTH:
                self._deep_paths += 1
                self.too_deep = self.too_deep or nodes[-1].start_point[0] + 1
            else:
                yield nodes[:-1] if nodes[-1].start_byte > offset else nodes[:]

    @staticmethod
    def _advance(cursor: TreeCursor, nodes: list[Node], offset: int) -> None:
        """Leave the nodes that end before an offset, for the next of their siblings that does not."""
        while len(nodes) > 1 and nodes[-1].end_byte <= offset:
            nodes.pop()
            for _ in range(MAX_STEPS):
                if not cursor.goto_next_sibling():
                    cursor.goto_parent()
                    break
                node = cursor.node
                if node is not None and node.end_byte > offset:
                    nodes.append(node)
                    return
            else:
                cursor.goto_parent()
                return

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

    def find(self, word: bytes, start: int = 0) -> Iterator[int]:
        """Offsets of a lower-case word in the text from a place on, in any case; none of the empty name that a syntax error leaves."""
        if word in self.known:
            places = self.known[word]
            yield from places[bisect_left(places, start) :] if start else places
            return
        at = self.lower.find(word, start) if word else -1
        while at >= 0:
            yield at
            at = self.lower.find(word, at + len(word))

    def uses(self, name: str) -> Iterator[int]:
        """Offsets at which a name stands that is no attribute of something."""
        return (at for at in self.mentions(name.encode()) if self.data[at - 1 : at] != b".")

    def mentions(self, name: bytes) -> Iterator[int]:
        """Offsets at which a name stands with no letter, digit or underscore beside it."""
        data, size = self.data, len(name)
        at = data.find(name)
        while at >= 0:
            if not (at and data[at - 1] in _NAME_BYTES) and data[at + size : at + size + 1] not in _NAME_CHARS:
                yield at
            at = data.find(name, at + size)

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


def _parsed(data: bytes) -> Tree:
    end = time.monotonic() + PARSE_SECONDS
    try:
        return tree_sitter.Parser(LANGUAGE).parse(
            lambda offset, _point: data[offset : offset + _CHUNK], progress_callback=lambda _offset, _error: time.monotonic() > end
        )
    except ValueError as error:
        raise TooSlow(f"the parser gave up after {PARSE_SECONDS:g} s") from error


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
