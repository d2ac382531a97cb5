"""Words before a declaration that the repaired text does not show to the parser: macros for __device__ and the like."""

from __future__ import annotations

import re

MAX_BEFORE = 200  # bytes before a declaration that are looked at
_WORDS = re.compile(rb"(?:(?<![\w#])[A-Za-z_]\w*+\s++)++\Z")


def before(data: bytes, start: int) -> bytes:
    """The run of words, with nothing but space between them, that ends where a declaration starts; directives and comments left out."""
    piece = data[max(0, start - MAX_BEFORE) : start]
    lines = [line.partition(b"//")[0] for line in piece.split(b"\n") if line.lstrip()[:1] != b"#"]
    found = _WORDS.search(b"\n".join(lines)) if lines else None
    return found.group() if found is not None else b""
