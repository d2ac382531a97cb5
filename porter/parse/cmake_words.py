"""Words of a CMake file: commands with their arguments, comments, quotes and bracket arguments understood."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_COMMANDS = 50_000
_SPACE = re.compile(r"(?:\s+|#(?!\[=*\[)[^\n]*)+")
_BRACKET = re.compile(r"\[(=*)\[")
_NAME = re.compile(r"[A-Za-z_]\w*")
_BARE = re.compile(r"(?:[^\s()#\"\\]|\\.)(?:[^\s()#\\]|\\.)*", re.DOTALL)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)(?:"|\\?\Z)', re.DOTALL)  # what is never closed goes to the end, as CMake reads it


@dataclass(frozen=True)
class Argument:
    """One argument: its text without quotes, where that text starts and ends, and whether it was quoted."""

    text: str
    start: int
    end: int
    quoted: bool = False


@dataclass
class Command:
    """One command in lower case with its arguments; parentheses inside are arguments of their own."""

    name: str
    start: int
    end: int
    arguments: list[Argument] = field(default_factory=list)

    def texts(self) -> list[str]:
        """The arguments' texts."""
        return [argument.text for argument in self.arguments]


def commands(text: str) -> tuple[list[Command], int]:
    """Commands in order, and the offset of the first one that is never closed, or -1."""
    found: list[Command] = []
    at = 0
    while at < len(text) and len(found) < MAX_COMMANDS:
        at = _skip(text, at)
        name = _NAME.match(text, at)
        if name is None:
            at += 1
            continue
        opened = _skip(text, name.end())
        if text[opened : opened + 1] != "(":
            at = name.end()
            continue
        command = Command(name[0].lower(), name.start(), opened + 1)
        at = _arguments(text, opened + 1, command)
        if at < 0:
            return found, command.start
        found.append(command)
    return found, -1


def _skip(text: str, at: int) -> int:
    """Past blanks, line comments and bracket comments."""
    while True:
        space = _SPACE.match(text, at)
        if space:
            at = space.end()
        bracket = _BRACKET.match(text, at + 1) if text[at : at + 1] == "#" else None
        if bracket is None:
            if not space:
                return at
            continue
        stop = text.find("]" + bracket[1] + "]", bracket.end())
        at = stop + len(bracket[1]) + 2 if stop >= 0 else len(text)


def _arguments(text: str, at: int, command: Command) -> int:
    """Read up to the closing parenthesis; the offset behind it, or -1 if there is none."""
    depth = 1
    while True:
        at = _skip(text, at)
        if at >= len(text):
            return -1
        char = text[at]
        if char in "()":
            depth += 1 if char == "(" else -1
            if depth == 0:
                command.end = at + 1
                return at + 1
            command.arguments.append(Argument(char, at, at + 1))
            at += 1
            continue
        match, group, quoted = _QUOTED.match(text, at), 1, True
        bracket = _BRACKET.match(text, at)
        if match is None and bracket is None:
            match, group, quoted = _BARE.match(text, at), 0, False
        if bracket is not None:
            stop = text.find("]" + bracket[1] + "]", bracket.end())
            stop = stop if stop >= 0 else len(text)
            command.arguments.append(Argument(text[bracket.end() : stop], bracket.end(), stop, True))
            at = stop + len(bracket[1]) + 2
        elif match is None:
            at += 1
        else:
            command.arguments.append(Argument(match[group], match.start(group), match.end(group), quoted))
            at = match.end()
