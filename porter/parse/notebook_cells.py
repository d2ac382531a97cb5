"""Cells of a Jupyter notebook with the place of every source line in the file, read token by token so that no depth hurts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
MAX_DEPTH = 2_000
MAX_LINES = 200_000


@dataclass(frozen=True)
class Line:
    """One source line: its text without the line end, and where it starts in the file (line from 1, byte column from 1)."""

    text: str
    line: int
    column: int


@dataclass
class Cell:
    """A cell: its type ("code", "markdown") and its lines."""

    kind: str = ""
    lines: list[Line] = field(default_factory=list)


@dataclass
class Book:
    """The cells in order, the language of the kernel (lower case, empty when not said), and what was wrong (empty: nothing)."""

    cells: list[Cell] = field(default_factory=list)
    language: str = ""
    wrong: str = ""


class Reader:
    """Walks the tokens of the JSON text with a stack of its own."""

    def __init__(self, data: bytes) -> None:
        """Nothing is read yet."""
        self.data = data
        self.book = Book()
        self._stack: list[str] = []  # "{" or "[" with the key it stands under: "[source"
        self._key = ""
        self._line = 1
        self._from = 0
        self._cell: tuple[int, Cell] | None = None
        self._lines = 0

    def run(self) -> Book:
        """All cells; a broken end costs what comes after it."""
        for match in TOKEN.finditer(self.data):
            token = match.group()
            mark = token[:1]
            if mark in b"{[":
                self._open(mark.decode())
            elif mark in b"}]":
                self._close()
            elif mark == b'"':
                self._string(match.start(), token)
            elif mark == b",":
                self._key = ""
            if len(self._stack) > MAX_DEPTH:
                self.book.wrong = f"nested more than {MAX_DEPTH} levels deep; the rest was not read"
                break
        if not self.book.wrong and self._stack:
            self.book.wrong = "ends inside an object: not a whole notebook"
        return self.book

    def _open(self, mark: str) -> None:
        under = self._stack[-1] if self._stack else ""
        self._stack.append(mark + self._key)
        if mark == "{" and under == "[cells" and self._cell is None:
            self._cell = (len(self._stack), Cell())
        self._key = ""

    def _close(self) -> None:
        if self._cell is not None and len(self._stack) == self._cell[0]:
            self.book.cells.append(self._cell[1])
            self._cell = None
        if self._stack:
            self._stack.pop()
        self._key = ""

    def _string(self, start: int, token: bytes) -> None:
        top = self._stack[-1] if self._stack else ""
        if top.startswith("{") and not self._key:
            self._key = token[1:-1].decode("utf-8", "replace")[:60]
            return
        depth = len(self._stack)
        if self._cell is not None and depth == self._cell[0] and self._key == "cell_type":
            self._cell[1].kind = token[1:-1].decode("ascii", "replace")
        elif self._cell is not None and self._is_source(top, depth):
            self._add(start, token)
        elif self._key == "language" or (self._key == "name" and top == "{language_info"):
            self.book.language = self.book.language or token[1:-1].decode("utf-8", "replace").lower()
        if top.startswith("{"):
            self._key = ""

    def _is_source(self, top: str, depth: int) -> bool:
        assert self._cell is not None
        if depth == self._cell[0]:
            return self._key in ("source", "input")
        return depth == self._cell[0] + 1 and top in ("[source", "[input")

    def _add(self, start: int, token: bytes) -> None:
        """The lines of one JSON string, all of them on its line of the file."""
        assert self._cell is not None
        try:
            text = str(json.loads(token, strict=False))
        except ValueError:
            return
        self._line += self.data.count(b"\n", self._from, start)
        self._from = start
        column = start - self.data.rfind(b"\n", 0, start) + 1
        lines = self._cell[1].lines
        for piece in text.split("\n") if not text.endswith("\n") else text[:-1].split("\n"):
            self._lines += 1
            if self._lines <= MAX_LINES:
                lines.append(Line(piece, self._line, column))
            else:
                self.book.wrong = f"more than {MAX_LINES:,} lines of cells; the rest was not read"


def read_cells(data: bytes) -> Book:
    """The code and other cells of a notebook; never raises, what is wrong is in ``Book.wrong``."""
    if not data.lstrip().startswith(b"{"):
        return Book(wrong="is no notebook: no JSON object")
    return Reader(data).run()
