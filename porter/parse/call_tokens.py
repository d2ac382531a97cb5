"""Calls and string constants of Starlark and Meson files, whose syntax is close enough for one small lexer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_TOKENS = 400_000
MAX_DEPTH = 200
_TOKEN = re.compile(
    r"#[^\n]*"
    r"|(?P<triple>\"\"\"|''')"
    r"|(?P<string>[rRbBf]{0,2}(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'))"
    r"|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
    r"|(?P<mark>[()\[\]{},=:])",
    re.DOTALL,
)


@dataclass(frozen=True)
class CallToken:
    """A call (``kind`` is "call") or a string ("string"): its text, its place, the call around it and the keyword it is given by.

    ``keyword`` is the argument's name in that call; ``lists`` are all names on the way in, outermost first, the variable that
    is assigned included. ``position`` is the place among the arguments, from 0.
    """

    kind: str
    text: str
    start: int
    end: int
    callee: str = ""
    keyword: str = ""
    position: int = 0
    lists: tuple[str, ...] = ()


@dataclass
class _Frame:
    callee: str
    keyword: str = ""
    position: int = 0
    call: bool = False


class _Reader:
    def __init__(self) -> None:
        self.stack: list[_Frame] = []
        self.name, self.name_at, self.assigned = "", 0, ""

    def string(self, text: str, start: int, end: int) -> CallToken:
        frame = self.stack[-1] if self.stack else _Frame("")
        lists = (self.assigned, *(outer.keyword for outer in self.stack[-6:]))
        self.name = ""
        return CallToken("string", text, start, end, frame.callee, frame.keyword, frame.position, tuple(part for part in lists if part))

    def mark(self, mark: str) -> None:
        stack, name = self.stack, self.name
        if mark in "([{" and len(stack) < MAX_DEPTH:
            outer = stack[-1] if stack else _Frame("")
            called = mark == "(" and bool(name)
            stack.append(_Frame(name, call=True) if called else _Frame(outer.callee, outer.keyword, outer.position))
        elif mark in ")]}" and stack:
            stack.pop()
            self.assigned = self.assigned if stack else ""
        elif mark == "," and stack:
            stack[-1].position += 1
            stack[-1].keyword = "" if stack[-1].call else stack[-1].keyword
        elif mark in "=:" and stack and (name or mark == "="):
            stack[-1].keyword = name
        elif mark == "=" and not stack:
            self.assigned = name
        self.name = ""


def tokens(text: str) -> Iterator[CallToken]:
    """Calls and strings in order; comments and triple-quoted texts are passed over."""
    reader, at = _Reader(), 0
    for _ in range(MAX_TOKENS):
        match = _TOKEN.search(text, at)
        if match is None:
            return
        at = match.end()
        if match["triple"]:
            stop = text.find(match["triple"], at)
            at = stop + 3 if stop >= 0 else len(text)
        elif match["name"]:
            reader.name, reader.name_at = match["name"], match.start()
        elif match["string"]:
            inner = match["string"].lstrip("rRbBf")
            yield reader.string(inner[1:-1], match.end() - len(inner) + 1, match.end() - 1)
        elif match["mark"]:
            if match["mark"] == "(" and reader.name:
                yield CallToken("call", reader.name, reader.name_at, reader.name_at + len(reader.name))
            reader.mark(match["mark"])
