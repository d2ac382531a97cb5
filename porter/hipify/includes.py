"""Includes: CUDA headers become HIP ones, doubles go, and the HIP runtime header comes in where nvcc gave its own unasked."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import msgspec

from porter.hipify.edits import Edits

RUNTIME = b"hip/hip_runtime.h"
_DIRECTIVE = re.compile(rb"#[ \t]*(\w+)")
_PATH = re.compile(rb"[ \t]*([<\"])([^<>\"\r\n]*)[>\"]")
_WORD = re.compile(rb"[ \t]+([A-Za-z_]\w*)")
BOM = b"\xef\xbb\xbf"
_INCLUDES = (b"include", b"include_next", b"import")
_OPENERS = (b"if", b"ifdef", b"ifndef")
_TURNS = (b"elif", b"else", b"elifdef", b"elifndef", b"endif")
_INK = re.compile(rb"\S")


class Include(msgspec.Struct, frozen=True, gc=False):
    """One #include: offset of its line, its path as written with the range it covers, and whether it is <angled>."""

    line: int
    path: bytes
    start: int
    end: int


class Event(msgspec.Struct, frozen=True, gc=False):
    """One preprocessor directive: its word, offset of its line, and the offset behind the word."""

    word: bytes
    line: int
    end: int


@functools.lru_cache(maxsize=2)  # a file is read twice: for its findings, and as its build would
def directives(masked: bytes) -> tuple[Event, ...]:
    """Every directive of a masked text, in order."""
    out: list[Event] = []
    match = _DIRECTIVE.search(masked)
    while match is not None:
        line, after = masked.rfind(b"\n", 0, match.start()) + 1, match.end()
        before = masked[line : match.start()]
        if before.startswith(BOM):
            line, before = line + len(BOM), before[len(BOM) :]
        if before.strip(b" \t"):  # a # inside a line is none
            after = masked.find(b"\n", after)
        else:
            out.append(Event(match[1], line, after))
        match = _DIRECTIVE.search(masked, after) if after >= 0 else None
    return tuple(out)


def defined(masked: bytes, events: Sequence[Event]) -> list[bytes]:
    """The names that a masked text defines as macros."""
    found = (_WORD.match(masked, event.end) for event in events if event.word == b"define")
    return [match[1] for match in found if match is not None]


def include_at(masked: bytes, event: Event) -> Include | None:
    """The include that a directive is; None for any other directive and for ``#include MACRO``."""
    match = _PATH.match(masked, event.end) if event.word in _INCLUDES else None
    return Include(event.line, match[2], match.start(1), match.end()) if match else None


def _line_end(masked: bytes, at: int) -> int:
    end = masked.find(b"\n", at)
    return len(masked) if end < 0 else end + 1


def place(masked: bytes, events: Sequence[Event]) -> int:
    """Offset of the line start where an include is added: behind ``#pragma once`` or the guard, else before the first include.

    Never inside braces: a HIP header within extern "C" or a namespace does not compile.
    """
    once = next((_line_end(masked, event.end) for event in events if _is_once(masked, event)), None)
    guard = _guard(masked, events)
    if once is not None or guard is not None:
        return min(at for at in (once, guard) if at is not None)
    depth = 0
    outermost = 0
    for event in events:
        if event.word in _OPENERS:
            outermost = event.line if depth == 0 else outermost
            depth += 1
        elif event.word == b"endif":
            depth = max(0, depth - 1)
        elif event.word in _INCLUDES:
            at = outermost if depth else event.line
            return _after_licence(masked) if masked.count(b"{", 0, at) > masked.count(b"}", 0, at) else at
    return _after_licence(masked)


def _is_once(masked: bytes, event: Event) -> bool:
    return event.word == b"pragma" and masked[event.end : event.end + 16].split()[:1] == [b"once"]


def _guard(masked: bytes, events: Sequence[Event]) -> int | None:
    """Line start inside an include guard that opens the file: behind its #define where that follows at once, else before it."""
    words = [event for event in events[:6] if event.word != b"pragma"]
    if len(words) < 2 or (words[0].word, words[1].word) != (b"ifndef", b"define"):
        return None
    first, second = _WORD.match(masked, words[0].end), _WORD.match(masked, words[1].end)
    if not first or not second or first[1] != second[1] or masked[: words[0].line].strip(BOM + b" \t\r\n"):
        return None
    inside = _line_end(masked, first.end())
    return inside if masked[inside : words[1].line].strip() else _line_end(masked, second.end())


def _after_licence(masked: bytes) -> int:
    """Offset of the first line that is not comment or blank; 0 (after a byte order mark) for a file without such a line."""
    start = len(BOM) if masked.startswith(BOM) else 0
    match = _INK.search(masked, start)
    if match is None:
        return start
    return max(start, masked.rfind(b"\n", 0, match.start()) + 1)


class Headers:
    """The headers that the output includes in the branches open at a place; closing a branch forgets what it brought."""

    def __init__(self) -> None:
        self._active: dict[bytes, int] = {}
        self._branches: list[list[bytes]] = [[]]

    def step(self, word: bytes) -> None:
        """Follows a conditional directive."""
        if word in _OPENERS:
            self._branches.append([])
        elif word in _TURNS and len(self._branches) > 1:
            for header in self._branches.pop():
                self._active[header] -= 1
            if word != b"endif":
                self._branches.append([])

    def add(self, header: bytes) -> bool:
        """Notes a header; False when it is already there."""
        if self._active.get(header):
            return False
        self._active[header] = self._active.get(header, 0) + 1
        self._branches[-1].append(header)
        return True


def drop_line(data: bytes, masked: bytes, include: Include, edits: Edits) -> None:
    """Takes an include away: the whole line where nothing else stands on it, else only the directive."""
    end = _line_end(masked, include.end)
    if data[include.end : end].strip():
        edits.replace(include.line, include.end, b"")
    else:
        edits.replace(include.line, end, b"")


def newline(data: bytes) -> bytes:
    """The line end that the file uses first."""
    at = data.find(b"\n")
    return b"\r\n" if at > 0 and data[at - 1 : at] == b"\r" else b"\n"
