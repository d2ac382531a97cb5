"""Sheet: the page a text parser writes on; turns offsets into spans, keeps facts and problems, and bounds both."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeVar

from porter.model import Fact, Live, Problem, SourceFile, Span
from porter.parse import Parsed

T = TypeVar("T")

MAX_FACTS = 50_000
MAX_PROBLEMS = 50
MAX_NAME = 400


class Sheet:
    """Facts and problems of one file; offsets are characters of ``text``, spans count bytes."""

    def __init__(self, file: SourceFile, seen_by: str) -> None:
        """Start an empty page for a file; ``seen_by`` names the parser in every fact."""
        self.file = file
        self.seen_by = seen_by
        self.text = file.text
        self.parsed = Parsed(file)
        self._ascii = self.text.isascii()
        self._starts = line_starts(self.text)
        self._full = False

    def place(self, offset: int) -> tuple[int, int]:
        """Line and byte column, both from 1, of a character offset."""
        row = bisect_right(self._starts, offset) - 1
        start = self._starts[row]
        column = offset - start if self._ascii else len(self.text[start:offset].encode("utf-8", "replace"))
        return row + 1, column + 1

    def line(self, offset: int) -> int:
        """Line, from 1, of a character offset."""
        return bisect_right(self._starts, offset)

    def start_of(self, line: int) -> int:
        """Offset of the first character of a line that counts from 1."""
        return self._starts[min(line, len(self._starts)) - 1]

    def span(self, start: int, end: int) -> Span:
        """The span of a stretch of text; it never crosses its first line's end by more than the text does."""
        line, column = self.place(start)
        end_line, end_column = self.place(max(start, end))
        return Span(line, column, end_line, end_column)

    def add(
        self,
        kind: str,
        name: str,
        start: int,
        end: int,
        live: Live = Live.YES,
        context: str = "build",
        **detail: str,
    ) -> None:
        """Note a fact; empty details are dropped, and past MAX_FACTS the file is called incomplete once."""
        if not name or self._full:
            return
        if len(self.parsed.facts) >= MAX_FACTS:
            self._full = True
            self.problem(start, f"more than {MAX_FACTS} facts in one file; the rest was not read")
            return
        kept = {key: value[:MAX_NAME] for key, value in detail.items() if value}
        fact = Fact(kind, name[:MAX_NAME], self.span(start, end), context, live, self.seen_by, (), kept)
        self.parsed.facts.append(fact)

    def first(self, values: Sequence[T], most: int, what: str, offset: int = 0) -> Sequence[T]:
        """The values, no more than ``most`` of them; what is left out is a problem, or a long list would hide what stands at its end."""
        if len(values) > most:
            self.problem(offset, f"more than {most:,} {what}; the rest was not read")
        return values[:most]

    def problem(self, offset: int, what: str, matters: bool = True) -> None:
        """Note what could not be read; only the first MAX_PROBLEMS are kept."""
        if len(self.parsed.problems) < MAX_PROBLEMS:
            self.parsed.problems.append(Problem("parse", self.file.path, self.line(offset), what, matters))


def line_starts(text: str) -> list[int]:
    """Offsets of the first character of every line; lines end with a line feed."""
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts
