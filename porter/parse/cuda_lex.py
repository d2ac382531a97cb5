"""Lines and directives of C++ text: comments and string contents are blanked, byte for byte, so that offsets stay true."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_RAW_STRINGS = 300  # an unterminated raw string costs a scan of the rest; more of them than this are read as plain strings
_BLANK = bytes(c if c in b"\r\n" else 0x20 for c in range(256))
# Every alternative begins with a plain character, which lets the regex engine skip to the next candidate.
_RAW = rb'R"(?P<mark>[^()\\\s"]{0,16})\((?s:.{0,1000000}?)\)(?P=mark)"|'
_PLAIN = (
    rb"//[^\n\\]*+(?:\\(?:\r?\n|[^\n])?[^\n\\]*+)*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?"
    rb'|"[^"\\\n]*+(?:\\(?:\r?\n|[^\n])[^"\\\n]*+)*+"?'
    rb"|'(?:[^'\\\n]|\\[^\n][^'\n]{0,10})'"
)
_TOKENS = re.compile(_RAW + _PLAIN)
_TOKENS_WITHOUT_RAW = re.compile(_PLAIN)
_NOTE = b"/"  # what comments begin with, and no literal does
_DIRECTIVE = re.compile(rb"#[ \t]*([A-Za-z_]\w*)")
_LOGICAL_LINE = re.compile(rb"[^\n\\]*+(?:\\(?:\r?\n|[^\n])?[^\n\\]*+)*+")
_JOIN = re.compile(rb"\\\r?\n")


def blank(text: bytes) -> bytes:
    """Spaces of the same length; line ends stay."""
    return text.translate(_BLANK)


@functools.lru_cache(maxsize=4)  # several readers of one file ask for it
def mask(data: bytes) -> bytes:
    """The text with comments and the insides of strings and characters blanked."""

    def hide(match: re.Match[bytes]) -> bytes:
        token = match.group()
        if token.startswith(_NOTE) or len(token) < 2:
            return blank(token)
        return token[:1] + blank(token[1:-1]) + token[-1:]

    tokens = _TOKENS if data.count(b'R"') <= MAX_RAW_STRINGS else _TOKENS_WITHOUT_RAW
    return tokens.sub(hide, data)


@dataclass(frozen=True, slots=True)
class Directive:
    """One preprocessor line with its continuations; lines count from 1, ``end`` is its last line; ``text`` follows the word."""

    line: int
    end: int
    word: str
    text: str
    start_byte: int
    end_byte: int


@functools.lru_cache(maxsize=4)  # the guards of a file ask for them too
def directives(masked: bytes) -> tuple[Directive, ...]:
    """All preprocessor lines of a masked text, in order."""
    out: list[Directive] = []
    line, seen = 1, 0
    match = _DIRECTIVE.search(masked)
    while match is not None:
        start, after = masked.rfind(b"\n", 0, match.start()) + 1, match.end()
        if masked[start : match.start()].strip(b" \t"):  # a # inside a line is none
            after = masked.find(b"\n", after)
        else:
            rest = _LOGICAL_LINE.match(masked, after)
            assert rest is not None  # it may be empty
            after = rest.end()
            line += masked.count(b"\n", seen, start)
            seen = start
            text = _JOIN.sub(b" ", rest.group()).decode("utf-8", "replace").strip()
            out.append(Directive(line, line + masked.count(b"\n", start, after), match.group(1).decode(), text, start, after))
        match = _DIRECTIVE.search(masked, after) if after >= 0 else None
    return tuple(out)


def comments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Start byte and text of every comment, in order; what looks like one inside a string is none."""
    tokens = _TOKENS if data.count(b'R"') <= MAX_RAW_STRINGS else _TOKENS_WITHOUT_RAW
    for match in tokens.finditer(data):
        if match.group().startswith(_NOTE):
            yield match.start(), match.group()
