"""Lines that are longer than any parser of ours is made for: the file is not read, and the report says so."""

from __future__ import annotations

import re

from porter.model import Problem, SourceFile

MAX_LINE = 1_000_000  # bytes
# What a JSON document would have to speak of for a rule to know it: most that stand on one line are data.
_CONCERNS = re.compile(rb"(?i)cuda|nvidia|tensorrt|cudnn|nccl|gpu|quant|dtype|\\u00")


def is_long(source: SourceFile) -> bool:
    """Whether some line of a text is too long."""
    data = source.data
    return source.kind != "binary" and len(data) > MAX_LINE and max(map(len, data.split(b"\n"))) > MAX_LINE


def of_long_line(source: SourceFile) -> Problem:
    """What the report says of such a file; it matters less where the text is data that speaks of nothing that any rule knows."""
    matters = source.kind != "json" or _CONCERNS.search(source.data) is not None
    return Problem("parse", source.path, 0, f"a line of more than {MAX_LINE // 1_000_000} MB; not read", matters)
