"""The lexer behind inline assembly: tokens of C++ text, literals with their values, offsets as lines; comments and strings are no code."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

import msgspec

from porter.model import Span

MAX_STATEMENT = 64 * 1024  # bytes
RAW = rb'\b(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.{0,65536}?\)(?P=delimiter)"|'
PLAIN = (
    rb"//(?:\\\r?\n|[^\n])*+|/\*.*?(?:\*/|\Z)"
    rb'|"(?:[^"\\\n]|\\.)*+"?'
    rb"|'(?:[^'\\\n]|\\.){1,12}+'"
)
SCANNED = rb"|\d[\w']*|^[ \t]*\#[ \t]*define[ \t]+(?P<define>\w+)(?P<params>\([^)\n]*\))?|(?P<word>[A-Za-z_]\w*)"
# Words that are no spelling of asm, with what stands between them, in one go; one before a quote may be a prefix of it.
SKIPPED = rb"(?:(?!(?:asm|__asm__|__asm)\b)[A-Za-z_]\w*+(?![\"'])(?:[^\w\"'/\n]|\n(?![ \t]*\#))*+)++|"
DIRECTIVE = rb"\n[ \t]*\#[ \t]*(?:if|ifdef|ifndef|elif|else|endif|pragma|define|undef|include|error)\b(?:\\\r?\n|[^\n])*+"
TOKENS = rb"|" + DIRECTIVE + rb"|[A-Za-z_]\w*|\d[\w'.]*|\\\r?\n|[^\S\n]+|."
SCAN = re.compile(RAW + PLAIN + SCANNED, re.DOTALL | re.MULTILINE)
SCAN_FAST = re.compile(RAW + SKIPPED + PLAIN + SCANNED, re.DOTALL | re.MULTILINE)
SCAN_NO_RAW = re.compile(PLAIN + SCANNED, re.DOTALL | re.MULTILINE)
TOKEN = re.compile(RAW + PLAIN + TOKENS, re.DOTALL)
TOKEN_NO_RAW = re.compile(PLAIN + TOKENS, re.DOTALL)
MAX_RAW = 300  # an unterminated raw string costs a scan ahead; where there are more, all are read as plain strings
NAME = re.compile(rb"[A-Za-z_]\w*")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\", "0": "\0"}
ESCAPE = re.compile(r"\\(\r?\n|.)", re.DOTALL)


class Token(msgspec.Struct, frozen=True, gc=False):
    """A token with its bytes and its place."""

    text: bytes
    start: int
    end: int


class Lines:
    """Byte offsets as lines and columns."""

    def __init__(self, data: bytes) -> None:
        """Note where the lines start."""
        self.starts = [0] + [match.end() for match in re.finditer(rb"\n", data)]

    def span(self, start: int, end: int) -> Span:
        """The stretch between two offsets."""
        line, last = bisect.bisect_right(self.starts, start), bisect.bisect_right(self.starts, end)
        return Span(line, start - self.starts[line - 1] + 1, last, end - self.starts[last - 1] + 1)


def scanner(data: bytes, only_asm: bool = False) -> re.Pattern[bytes]:
    """What finds macros and words in a text: raw strings are known to it where there are few of them.

    With ``only_asm`` it gives only some of the words that are no spelling of asm.
    """
    if data.count(b'R"') > MAX_RAW:
        return SCAN_NO_RAW
    return SCAN_FAST if only_asm else SCAN


def logical_line_end(data: bytes, start: int) -> int:
    """End of a preprocessor line with its continuations."""
    position = start
    while True:
        newline = data.find(b"\n", position)
        if newline < 0:
            return len(data)
        if not data[position:newline].rstrip(b"\r").endswith(b"\\"):
            return newline
        position = newline + 1


def tokens(data: bytes, start: int, end: int) -> Iterator[Token]:
    """Tokens between two offsets, without space, comments, line continuations and directives (of both branches)."""
    position = start
    token = TOKEN if data.count(b'R"', start, min(end, start + MAX_STATEMENT)) <= MAX_RAW else TOKEN_NO_RAW
    while position < end:
        match = token.match(data, position)
        if match is None:
            return
        position = match.end()
        text = match[0]
        if not text.isspace() and not text.startswith((b"//", b"/*", b"\\", b"\n")):
            yield Token(text, match.start(), position)


def literal(token: bytes) -> str:
    """The value of a string literal token, plain or raw."""
    text = token.decode("utf-8", "replace")
    quote = text.index('"')
    if text[:quote].endswith("R"):
        open_paren = text.index("(", quote)
        return text[open_paren + 1 : len(text) - (open_paren - quote) - 1]
    return ESCAPE.sub(lambda match: "" if "\n" in match[1] else ESCAPES.get(match[1], match[1]), text[quote + 1 : -1])


def is_name(text: bytes) -> bool:
    """True for an identifier."""
    return NAME.fullmatch(text) is not None
