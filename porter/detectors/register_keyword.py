"""The storage class register, which C++17 dropped: nvcc takes it, clang does not."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.config import Config
from porter.hipify import lexer
from porter.model import Hit, Live, Span
from porter.parse import Parsed

if TYPE_CHECKING:
    from porter.link import Index

KINDS = ("cuda",)
_WORD = b"register"
_DECLARES = re.compile(rb"\s+(?:asm\b|[A-Za-z_])")
# A variable that lives in a register of that name: clang takes it with the word, and without it ignores the name.
_PLACED = re.compile(rb"[^;{}()=]{0,200}\b(?:asm|__asm|__asm__)\s*\(")


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """One hit a line on which register stands before a type, outside comments and literals."""
    data = parsed.file.data
    if _WORD not in data or parsed.file.path.endswith(".c"):
        return
    masked = lexer.mask(data)
    if _WORD not in masked:
        return  # only comments speak of it
    starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]
    seen: set[int] = set()
    for at, _ in lexer.words(masked, frozenset({_WORD})):
        line, end = bisect.bisect_right(starts, at), at + len(_WORD)
        if line in seen or not _DECLARES.match(masked, end) or _PLACED.match(masked, end) or parsed.live(line) is Live.NO:
            continue
        seen.add(line)
        column = at - starts[line - 1] + 1
        yield Hit("register-storage-class", Span(line, column, line, column + len(_WORD)), "the word register", "register")
