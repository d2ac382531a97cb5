"""Integer literals of C++: value and width in bits."""

from __future__ import annotations

import re
from functools import lru_cache

LITERAL = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)([uUlLzZ]*)\Z")
WIDE = re.compile(
    r"long|int64|uint64|size_t|ptrdiff|\bu64\b|\bs64\b|\bULL\b|\bull\b|u?intptr|lane_?mask|LaneMask|WarpMask|mask64|wave_?mask", re.I
)
NARROW = re.compile(
    r"\b(?:unsigned|int|signed|u?int32_t|uint|u32|s32|ui32|u?int16_t|u?int8_t|short|char|bool|uint32|int32|U32|S32|UINT32?|DWORD)\b"
)


@lru_cache(maxsize=5_000)
def parse(text: str) -> tuple[int, int] | None:
    """Value and width (32 or 64) of an integer literal; None for what is no integer."""
    match = LITERAL.match(text)
    if match is None:
        return None
    digits, suffix = match[1].replace("'", ""), match[2].lower()
    base = 16 if digits[:2].lower() == "0x" else 2 if digits[:2].lower() == "0b" else 8 if len(digits) > 1 and digits[0] == "0" else 10
    try:
        value = int(digits, base)
    except ValueError:
        return None
    limit = 32 if base != 10 or "u" in suffix else 31
    wide = "l" in suffix or "z" in suffix or value >= 1 << limit
    return value, 64 if wide else 32


@lru_cache(maxsize=20_000)
def type_bits(text: str) -> int:
    """Width in bits of an integer type, as far as its name tells; 0 for unknown (auto, templates, own types)."""
    if not text or "auto" in text or "*" in text:
        return 0
    if WIDE.search(text):
        return 64
    return 32 if NARROW.search(text) else 0
