"""Advice: what takes the place of CUDA names that HIP does not have, one line each, as data in rules/api/advice.tsv."""

from __future__ import annotations

import fnmatch
import functools
import re

import msgspec

from porter.rules import rules_folder

_HEADER_LINES = 1


class Advice(msgspec.Struct, frozen=True):
    """One line of advice: what to use, and the action it takes (swap, edit, redesign, check)."""

    hint: str
    action: str


@functools.lru_cache(maxsize=1)
def _lines() -> tuple[tuple[re.Pattern[str], Advice], ...]:
    text = (rules_folder() / "api" / "advice.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines()[_HEADER_LINES:]]
    return tuple((re.compile(fnmatch.translate(name)), Advice(hint, action)) for name, action, hint in rows)


@functools.lru_cache(maxsize=4096)
def advice(name: str) -> Advice:
    """The first line that fits a name; an empty hint and the action edit where none does."""
    return next((found for pattern, found in _lines() if pattern.match(name)), Advice("", "edit"))


def hint(name: str) -> str:
    """What to use in place of a name, empty where nothing is known."""
    return advice(name).hint
