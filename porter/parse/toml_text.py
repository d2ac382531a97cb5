"""TOML of a hostile file: refuses what would cost the reader minutes before it is read."""

from __future__ import annotations

import tomllib
from typing import Any

MOST_DOTS = 1_000  # in a line: dotted keys cost tomllib the square of their parts


def loads(text: str) -> dict[str, Any]:
    """The tables of a TOML text, with or without byte-order mark; raises ValueError or RecursionError for what is no sane TOML."""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MOST_DOTS and line.count(".") > MOST_DOTS and _dots_outside_strings(line) > MOST_DOTS:
            raise ValueError(f"a key of more than {MOST_DOTS} parts (at line {number})")
    return tomllib.loads(text.lstrip("\ufeff").replace("\r\n", "\n"))


def _dots_outside_strings(line: str) -> int:
    """Dots in the stretches between quotes that stand outside by counting; a multi-line string's prose has too few to matter."""
    return sum(part.count(".") for part in line.replace("'", '"').split('"')[::2])
