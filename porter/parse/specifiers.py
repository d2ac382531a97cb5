"""Words before a declaration that the repaired text does not show to the parser: macros for __device__ and the like."""

from __future__ import annotations

import re

MAX_BEFORE = 200  # bytes before a declaration that are looked at
_ENDS = frozenset((b"{", b"}", b"(", b")", b";", b">", b","))  # what no word of such a run can end with
_WORDS = re.compile(rb"(?:(?<![\w#])[A-Za-z_]\w*+\s++)++\Z")


def before(data: bytes, start: int) -> bytes:
    """The run of words, with nothing but space between them, that ends where a declaration starts; directives and comments left out."""
    piece = data[max(0, start - MAX_BEFORE) : start]
    last = piece[piece.rstrip().rfind(b"\n") + 1 :].strip()
    if last[-1:] in _ENDS and b"//" not in last and last[:1] != b"#":
        return b""  # the regex would find nothing at its end, but try from every word
    lines = [line.partition(b"//")[0] for line in piece.split(b"\n") if line.lstrip()[:1] != b"#"]
    found = _WORDS.search(b"\n".join(lines)) if lines else None
    return found.group() if found is not None else b""


_SIDE = re.compile(
    rb"(?P<kernel>__global__)|(?P<both>HOST_?DEVICE|DEVICE_?HOST|_HD\b)|(?P<device>__device__|DEVICE|DINLINE|_D_INLINE)|(?P<host>__host__)"
)


def side_of(header: bytes) -> str:
    """Kernel, device, both or host, by the words before a function's body."""
    kinds = {match.lastgroup for match in _SIDE.finditer(header)}
    if "kernel" in kinds:
        return "kernel"
    if "both" in kinds or {"device", "host"} <= kinds:
        return "both"
    return "device" if "device" in kinds else "host"
