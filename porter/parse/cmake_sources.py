"""Source files that a CMake file lists, each with whether an AMD build runs the command that lists it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from porter.model import Live
from porter.parse.cmake_words import Command

SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp")
_PREFIX = re.compile(r"\A(?:\$\{\w+\}/+)+")
_SILENT = frozenset(("message", "if", "elseif", "else", "endif", "file", "install", "configure_file", "set_source_files_properties"))
_OPERATIONS = frozenset(("APPEND", "PREPEND", "INSERT"))
MAX_SOURCES = 20_000

Listed = tuple[str, Live]


def of(commands: Iterable[Command], lives: Iterable[Live], path: str) -> tuple[Listed, ...]:
    """Paths relative to the root, as far as the text tells; a path behind a variable counts from the CMake file's folder."""
    folder = posixpath.dirname(path)
    found: list[Listed] = []
    for command, live in zip(commands, lives, strict=True):
        if command.name in _SILENT or (command.name == "list" and command.arguments and command.arguments[0].text not in _OPERATIONS):
            continue
        for argument in command.arguments:
            for part in re.split(r"[;\s]+", argument.text):
                name = _PREFIX.sub("", part)
                if name.endswith(SUFFIXES) and "$" not in name and "*" not in name:
                    found.append((posixpath.normpath(posixpath.join(folder, name)), live))
    return tuple(found[:MAX_SOURCES])
