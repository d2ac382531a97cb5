"""What happens on each GPU target, in words: a table of globs and texts, read for the targets that were asked for."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping


def of_target(table: Mapping[str, str], target: str) -> str:
    """The text of the first glob that a target fits; empty where none does."""
    return next((text for glob, text in table.items() if fnmatch.fnmatchcase(target, glob)), "")


def words(table: Mapping[str, str], targets: Iterable[str]) -> str:
    """The texts for these targets, those with one text named together: "gfx90a, gfx942: compile error; gfx950: slow"."""
    groups: dict[str, list[str]] = {}
    for target in targets:
        text = of_target(table, target)
        if text:
            groups.setdefault(text, []).append(target)
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in groups.items())
