"""Lexing just deep enough to rename safely: blanks comments and literals, and pairs brackets, each in one pass."""

from __future__ import annotations

import functools
import re

import msgspec

# An unterminated comment or raw string runs to the end of the file, so no start is ever tried twice and time stays linear.
# Every alternative begins with a plain character, which lets the regex engine skip to the next candidate.
_OPAQUE = re.compile(
    rb"""//[^\n\\]*(?:\\(?:\r\n|.)?[^\n\\]*)*
    | /\*.*?(?:\*/|\Z)
    | R(?:(?<![\w\x80-\xff]R)|(?<=\bu8R)|(?<=\b[uUL]R))"([^()\\\s"]{0,16})\(.*?(?:\)\1"|\Z)
    | "[^"\\\n]*(?:\\(?:\r\n|.)?[^"\\\n]*)*"?
    | '(?<=[0-9a-fA-F]')(?<!\bu8')(?<!\bcase')
    | '[^'\\\n]*(?:\\(?:\r\n|.)?[^'\\\n]*)*'?
    """,
    re.DOTALL | re.VERBOSE,
)
_INCLUDE_BEFORE = re.compile(rb"#[ \t]*(?:include|include_next|import)[ \t]*\Z")
_BLANK = bytes(byte if byte in b"\r\n" else 0x20 for byte in range(256))
_QUOTED = (b'"', b"'")


@functools.lru_cache(maxsize=4)  # several readers of one file ask for it
def mask(data: bytes) -> bytes:
    """The text with comments, the insides of literals and line splices blanked, byte for byte as long; #include paths stay readable."""
    out: list[bytes] = []
    at = 0
    for match in _OPAQUE.finditer(data):
        start, end = match.span()
        first = data[start : start + 1]
        if end - start == 1:  # a digit separator, 1'000
            continue
        if first == b'"' and data.find(b"#", max(0, start - 40), start) >= 0 and _INCLUDE_BEFORE.search(data, max(0, start - 40), start):
            continue
        out.append(data[at:start])
        text = data[start:end]
        blank = text.translate(_BLANK)
        if first != b"/":
            # A literal is a token: its quotes stay, so that what stands before and after it does not meet.
            blank = first + blank[1:-1] + (text[-1:] if text[-1:] in _QUOTED else b" ")
        out.append(blank)
        at = end
    out.append(data[at:])
    # A line that goes on in the next one is one line to the compiler; only the backslash goes, so that offsets stay.
    return b"".join(out).replace(b"\\\n", b" \n").replace(b"\\\r\n", b" \r\n")


def outside(data: bytes, at: int) -> int:
    """The offset itself, or the end of the comment or literal that it lies inside."""
    for match in _OPAQUE.finditer(data):
        if match.start() >= at:
            break
        if match.end() > at:
            return match.end()
    return at


_WORD = re.compile(rb"[A-Za-z_][\w\x80-\xff]*")
_WORD_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") | frozenset(range(0x80, 0x100))
_WORDS_ALONE = bytes(byte if byte in _WORD_BYTES else 0x20 for byte in range(256))
_FEW = 64


def words(masked: bytes, wanted: frozenset[bytes]) -> list[tuple[int, bytes]]:
    """Every place where a wanted name stands as a whole word, in order."""
    present = _vocabulary(masked) & wanted
    if len(present) > _FEW:
        found = ((match.start(), match.group()) for match in _WORD.finditer(masked))
        return [(at, word) for at, word in found if word in wanted and _starts(masked, at)]
    out: list[tuple[int, bytes]] = []
    for word in present:
        at = masked.find(word)
        while at >= 0:
            end = at + len(word)
            if _starts(masked, at) and (end == len(masked) or masked[end] not in _WORD_BYTES):
                out.append((at, word))
            at = masked.find(word, end)
    out.sort()
    return out


@functools.lru_cache(maxsize=4)  # a file is translated twice: for its findings, and as its build would
def _vocabulary(masked: bytes) -> frozenset[bytes]:
    return frozenset(masked.translate(_WORDS_ALONE).split())


def _starts(masked: bytes, at: int) -> bool:
    return at == 0 or masked[at - 1] not in _WORD_BYTES


class Group(msgspec.Struct, frozen=True, gc=False):
    """A bracket pair in masked text: offset of its closer, and the commas directly inside it."""

    close: int
    commas: tuple[int, ...]


class _Open:
    """A bracket that waits for its closer."""

    __slots__ = ("angles", "commas", "kind", "start")

    def __init__(self, start: int, kind: bytes) -> None:
        self.start = start
        self.kind = kind
        self.commas: list[int] = []
        self.angles: list[tuple[int, int]] = []  # offset of a possible template '<', commas seen before it


_BRACKETS = re.compile(rb"->|<<<|<<=?|<=|>=|<|>+|[()\[\]{},;]")
_CLOSERS = {b")": b"(", b"]": b"[", b"}": b"{"}
_WORD_BEFORE = re.compile(rb"[A-Za-z0-9_]\Z")
_CALL_AFTER = re.compile(rb"\s*\(")


class Brackets:
    """Pairs brackets on demand, asked in ascending order; every stretch of the text is walked once, however deep it nests."""

    def __init__(self, masked: bytes) -> None:
        self._masked = masked
        self._groups: dict[int, Group] = {}
        self._walked = 0

    def group(self, start: int) -> Group | None:
        """The pair that opens at ``start`` with '(' or '<<<'; None when it never closes."""
        found = self._groups.get(start)
        if found is None and start >= self._walked:
            self._walk(start)
            found = self._groups.get(start)
        return found

    def arguments(self, start: int) -> list[tuple[int, int]] | None:
        """Ranges of the arguments of the pair that opens at ``start``, outer blanks trimmed; None when it never closes."""
        group = self.group(start)
        if group is None:
            return None
        first = start + (3 if self._masked.startswith(b"<<<", start) else 1)
        edges = [first, *(comma + 1 for comma in group.commas)]
        ends = [*group.commas, group.close]
        ranges = [self._trim(a, b) for a, b in zip(edges, ends, strict=True)]
        return [] if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else ranges

    def _trim(self, start: int, end: int) -> tuple[int, int]:
        text = self._masked[start:end]
        lead = len(text) - len(text.lstrip())
        return (start + lead, start + lead + len(text.strip())) if text.strip() else (start, start)

    def _walk(self, start: int) -> None:
        stack: list[_Open] = []
        for match in _BRACKETS.finditer(self._masked, start):
            token, at = match.group(), match.start()
            if token in (b"(", b"[", b"{", b"<<<"):
                stack.append(_Open(at, token))
            elif token == b",":
                stack[-1].commas.append(at)
            elif token == b";":
                stack[-1].angles.clear()
            elif token == b"<":
                if _WORD_BEFORE.search(self._masked, max(0, at - 1), at):
                    stack[-1].angles.append((at, len(stack[-1].commas)))
            elif token.startswith(b">") and token != b">=":
                self._close_angles(stack, at, len(token))
            elif token in _CLOSERS:
                self._close(stack, at, _CLOSERS[token])
            if not stack:
                self._walked = match.end()
                return
        self._walked = len(self._masked)

    def _close(self, stack: list[_Open], at: int, kind: bytes) -> None:
        """Closes the innermost bracket of a kind; brackets opened inside it that never closed are dropped."""
        depth = len(stack) - 1
        while depth >= 0 and stack[depth].kind != kind:
            depth -= 1
        if depth < 0:
            stack.clear()
            return
        top = stack[depth]
        del stack[depth:]
        self._groups[top.start] = Group(at, tuple(top.commas))

    def _close_angles(self, stack: list[_Open], at: int, length: int) -> None:
        """Takes a run of '>' as ends of template lists, and its last three as the end of a launch where one is open."""
        top = stack[-1]
        launch = top.kind == b"<<<" and length >= 3 and _CALL_AFTER.match(self._masked, at + length)
        for _ in range(min(len(top.angles), length - 3 if launch else length)):
            _, commas = top.angles.pop()
            del top.commas[commas:]
        if launch:
            self._close(stack, at + length - 3, b"<<<")
