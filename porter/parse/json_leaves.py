"""Leaves of a JSON text with key paths and offsets: one pass over tokens, comments and trailing commas allowed, nothing nested kept."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_LEAVES = 50_000
MAX_DEPTH = 60
_TOKEN = re.compile(r"\s+|//[^\n]*|/\*.*?\*/|(?P<string>\"(?:[^\"\\]|\\.)*\")|(?P<plain>[^\s\[\]{},:\"/]+)|(?P<mark>[\[\]{},:])", re.DOTALL)


@dataclass(frozen=True)
class Leaf:
    """A scalar with the dotted path of its keys; list items share their list's path."""

    path: str
    value: str
    start: int
    end: int


def leaves(text: str) -> tuple[list[Leaf], int]:
    """Leaves in order, and the offset where the text stops being JSON, or -1."""
    found: list[Leaf] = []
    stack: list[tuple[str, bool]] = []  # path, mapping
    key, key_at, expecting = "", 0, False
    at = 1 if text[:1] == "\ufeff" else 0
    while at < len(text) and len(found) < MAX_LEAVES:
        match = _TOKEN.match(text, at)
        if match is None:
            return found, at
        at = match.end()
        mark, value = match["mark"], match["string"] or match["plain"]
        path = stack[-1][0] if stack else ""
        if mark in ("{", "["):
            if len(stack) >= MAX_DEPTH:
                return found, match.start()
            inner = (f"{path}.{key}" if path else key) if stack and stack[-1][1] else path
            stack.append((inner, mark == "{"))
            expecting = mark == "{"
        elif mark in ("}", "]"):
            if stack:
                stack.pop()
            expecting = False
        elif mark == ",":
            expecting = bool(stack) and stack[-1][1]
        elif mark == ":":
            expecting = False
        elif value is not None:
            text_value = value[1:-1] if match["string"] else value
            if expecting:
                key, key_at = text_value[:200], match.start()
            elif stack and stack[-1][1]:
                found.append(Leaf(f"{path}.{key}" if path else key, text_value, key_at, match.end()))
            else:
                found.append(Leaf(path, text_value, match.start(), match.end()))
    return found, -1


def keys_of(pointer: str) -> str:
    """The keys that a JSON pointer names, with dots between them; it writes a slash in a key as ~1 (RFC 6901)."""
    return pointer.strip("/").replace("/", ".").replace("~1", "/").replace("~0", "~")
