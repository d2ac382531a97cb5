"""Built: which source files a build for AMD leaves out, because every CMake command that lists them is skipped there."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Mapping

from porter.model import Live
from porter.survey import Survey

HEADERS = (".h", ".hpp", ".cuh", ".hh", ".hxx", ".inl", ".inc")


def unbuilt(surveys: Mapping[str, Survey], dead_cmake: frozenset[str], resolve: Callable[[str, str], str | None]) -> frozenset[str]:
    """Paths of sources that only skipped commands list, and of headers that only such files include."""
    listed: dict[str, list[Live]] = defaultdict(list)
    for path, one in surveys.items():
        for name, live in one.sources:
            target = _find(name, surveys)
            if target:
                listed[target].append(Live.NO if path in dead_cmake else live)
    dead = {path for path, lives in listed.items() if all(live is Live.NO for live in lives)}
    if not dead:
        return frozenset()
    dead |= _beside(surveys, dead, resolve)
    return frozenset(dead | headers_of(surveys, dead, resolve))


def _beside(surveys: Mapping[str, Survey], dead: set[str], resolve: Callable[[str, str], str | None]) -> set[str]:
    """Headers in folders whose sources are all left out, unless a file elsewhere includes them: sources that a script writes may."""
    sources = {path for path, one in surveys.items() if one.kind in ("cuda", "cxx") and not path.endswith(HEADERS)}
    folders = {posixpath.dirname(path) for path in dead} - {posixpath.dirname(path) for path in sources - dead} - {""}
    used: set[str | None] = set()
    for path, one in surveys.items():
        if path not in dead and posixpath.dirname(path) not in folders:
            used |= {resolve(include, path) for include in one.includes}
    return {path for path in surveys if path.endswith(HEADERS) and posixpath.dirname(path) in folders} - used


def _find(name: str, surveys: Mapping[str, Survey]) -> str:
    """The file that a listed name means: itself, or the one file of the repository that ends in it."""
    if name in surveys:
        return name
    tail = "/" + name.lstrip("./")
    found = [path for path in surveys if path.endswith(tail)] if posixpath.basename(name) != name else []
    return found[0] if len(found) == 1 else ""


def headers_of(surveys: Mapping[str, Survey], dead: set[str], resolve: Callable[[str, str], str | None]) -> set[str]:
    """Headers that somebody includes, and only files that are left out."""
    includers: dict[str, set[str]] = defaultdict(set)
    for path, one in surveys.items():
        for include in one.includes:
            target = resolve(include, path)
            if target and target != path and target.endswith(HEADERS):
                includers[target].add(path)
    gone = set(dead)
    found: set[str] = set()
    while True:
        more = {header for header, users in includers.items() if header not in gone and users <= gone}
        if not more:
            return found
        gone |= more
        found |= more
