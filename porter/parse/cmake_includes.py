"""CMake files and functions that an AMD build never reads, because every place that asks for them stands in code for CUDA only."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable

from porter.model import Live
from porter.parse.cmake_guards import lives
from porter.parse.cmake_words import Command

MAX_INCLUDES = 500  # a file
_HERE = re.compile(r"\$\{(?:CMAKE_CURRENT_SOURCE_DIR|CMAKE_CURRENT_LIST_DIR)\}/?")
_TOP = re.compile(r"\$\{(?:CMAKE_SOURCE_DIR|PROJECT_SOURCE_DIR|\w+_SOURCE_DIR)\}/?")
Include = tuple[str, Live]
CALL = "call:"
_FOLDERS = ("add_subdirectory", "subdirs")


def of(commands: list[Command], path: str, twinned: bool = False) -> tuple[Include, ...]:
    """Where one file leads: paths relative to the root, `*/Find<name>.cmake` of packages, `call:<name>` of functions; with Lives."""
    found: list[Include] = []
    calls: dict[str, Live] = {}
    for command, live in zip(commands, lives(commands, twinned), strict=True):
        if live is not Live.NO or command.name not in calls:
            calls[command.name] = live
        if command.name == "find_package" and command.arguments and len(found) < MAX_INCLUDES:
            found.append((f"*/Find{command.arguments[0].text}.cmake", live))
        if command.name not in ("include", *_FOLDERS) or not command.arguments:
            continue
        written = command.arguments[0].text
        folder = "" if _TOP.match(written) else posixpath.dirname(path)
        bare = _TOP.sub("", _HERE.sub("", written))
        if "$" in bare or len(found) >= MAX_INCLUDES:
            continue
        name = posixpath.join(bare, "CMakeLists.txt") if command.name in _FOLDERS else bare
        if command.name == "include" and not name.endswith((".cmake", ".txt")):
            name = f"*/{name}.cmake"  # a module, found on CMAKE_MODULE_PATH by its name alone
            found.append((name, live))
        else:
            found.append((posixpath.normpath(posixpath.join(folder, name)), live))
    return tuple(found) + tuple((CALL + name, live) for name, live in sorted(calls.items()))


def functions(commands: list[Command], line_of: Callable[[int], int]) -> tuple[tuple[str, int, int], ...]:
    """Functions and macros of one file: name in lower case, first and last line."""
    found: list[tuple[str, int, int]] = []
    started: list[tuple[str, int]] = []
    for command in commands:
        if command.name in ("function", "macro") and command.arguments:
            started.append((command.arguments[0].text.lower(), line_of(command.start)))
        elif command.name in ("endfunction", "endmacro") and started:
            name, line = started.pop()
            found.append((name, line, line_of(command.start)))
    return tuple(found)


def dead_functions(includes: Iterable[tuple[str, tuple[Include, ...]]], dead_files: frozenset[str]) -> frozenset[str]:
    """Names that are called somewhere, and only in places or files that an AMD build skips."""
    live: set[str] = set()
    called: set[str] = set()
    for path, entries in includes:
        for name, state in entries:
            if name.startswith(CALL):
                called.add(name[len(CALL) :])
                if state is not Live.NO and path not in dead_files:
                    live.add(name[len(CALL) :])
    return frozenset(called - live)


def dead(includes: Iterable[tuple[str, tuple[Include, ...]]]) -> frozenset[str]:
    """Files, given as path and their includes, that are included, and only from places or files that an AMD build skips."""
    listed = dict(includes)
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in listed:
        by_name[posixpath.basename(path)].append(path)
    edges: dict[str, list[str]] = defaultdict(list)
    open_edges: dict[str, list[str]] = defaultdict(list)
    asked: set[str] = set()
    shut: set[str] = set()
    for path, entries in listed.items():
        for name, live in entries:
            if name.startswith(CALL):
                continue
            for target in by_name.get(posixpath.basename(name), []) if name.startswith("*/") else [name]:
                if target not in listed or target == path:
                    continue
                asked.add(target)
                edges[path].append(target)
                if live is Live.NO:
                    shut.add(target)
                else:
                    open_edges[path].append(target)
    return frozenset(_reached(shut, edges) - _reached(set(listed) - asked, open_edges))


def _reached(start: set[str], edges: dict[str, list[str]]) -> set[str]:
    seen = set(start)
    work = list(start)
    while work:
        for target in edges.get(work.pop(), ()):
            if target not in seen:
                seen.add(target)
                work.append(target)
    return seen
