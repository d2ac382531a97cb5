"""TOML of a hostile file: refuses what would cost the reader minutes or gigabytes before it is read."""

from __future__ import annotations

import re
import tomllib
from typing import Any

MOST_DOTS = 60  # in a key: dotted keys cost tomllib the square of their parts, in time and, for all keys of a table, in memory
# Strings and comments as tomllib delimits them; one that is not closed goes to the end, where tomllib stops too.
_TEXTS = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"{3,5}|\Z)' r"|'''.*?(?:'{3,5}|\Z)" r'|"(?:[^"\\\n]|\\.)*+"?' r"|'[^'\n]*+'?" r"|\#[^\n]*+", re.DOTALL
)
_BETWEEN_KEYS = re.compile(r"[^\w \t.\-]+")


def loads(text: str) -> dict[str, Any]:
    """The tables of a TOML text, with or without byte-order mark; raises ValueError or RecursionError for what is no sane TOML."""
    text = text.lstrip("\ufeff").replace("\r\n", "\n")
    if any(line.count(".") > MOST_DOTS for line in text.split("\n")):
        _refuse_long_keys(text)
    return tomllib.loads(text)


def _refuse_long_keys(text: str) -> None:
    bare = _TEXTS.sub(lambda match: "q" + "\n" * match.group().count("\n"), text)
    for number, line in enumerate(bare.split("\n"), 1):
        if line.count(".") > MOST_DOTS and any(part.count(".") > MOST_DOTS for part in _BETWEEN_KEYS.split(line)):
            raise ValueError(f"a key of more than {MOST_DOTS} parts (at line {number})")
