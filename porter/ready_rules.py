"""Rules as a scan uses them, made once from their TOML: a file that still holds what it held then need not be parsed again."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from porter.model import Rule

FILE = Path(__file__).parent / "ready_rules.json"
SHAPED_BY = ("rules.py", "model_rule.py")  # modules that decide what a TOML file becomes


class _Ready(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table on disk; ``shape`` is the digest of the modules that shaped it, rules are by the digest of their files."""

    shape: str
    rules: dict[str, Rule]


def key_of(area: str, name: str, data: bytes) -> str:
    """The digest of all that a rule is made of: the folder and the name of its file, and its bytes."""
    return hashlib.blake2b(f"{area}/{name}\0".encode("utf-8", "surrogateescape") + data, digest_size=12).hexdigest()


def find(area: str, name: str, data: bytes) -> Rule | None:
    """The rule that a file of this content was found to hold; None for one that has to be read."""
    return _table().get(key_of(area, name, data))


def text(found: Iterable[tuple[str, Rule]]) -> str:
    """The table for these rules, each with its key, one a line."""
    lines = (f'"{key}": {msgspec.json.encode(rule).decode()}' for key, rule in sorted(found, key=lambda one: one[1].id))
    return f'{{"shape": "{_shape()}", "rules": {{\n' + ",\n".join(lines) + "\n}}\n"


@functools.lru_cache(maxsize=1)
def _table() -> dict[str, Rule]:
    """The rules by key; none where the table is missing, or was made by another porter."""
    try:
        held = msgspec.json.decode(FILE.read_bytes(), type=_Ready)
        return held.rules if held.shape == _shape() else {}
    except (OSError, msgspec.MsgspecError):
        return {}


def _shape() -> str:
    made = hashlib.blake2b(digest_size=12)
    for name in SHAPED_BY:
        made.update((FILE.parent / name).read_bytes())
    return made.hexdigest()
