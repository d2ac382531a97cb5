"""Where keys and strings stand in a TOML text: tomllib reads the values but keeps no positions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""'
    r"|'''(?:[^']|'(?!''))*'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|^[ \t]*\[\[?[^\n\[\]\"'#=,]*\]\]?(?=[ \t\r]*(?:\#|$))"
    r"|[A-Za-z0-9_-]+(?:[ \t]*\.[ \t]*[A-Za-z0-9_-]+)*"
    r"|=|\[|\]|\{|\}",
    re.DOTALL | re.MULTILINE,
)


@dataclass
class TomlPlaces:
    """Offsets in order of appearance: of string values by their text, of keys by dotted table and key.

    ``tops`` are the keys that stand in no inline table or list.
    """

    strings: dict[str, list[int]] = field(default_factory=dict)
    keys: dict[str, list[int]] = field(default_factory=dict)
    tops: dict[str, list[int]] = field(default_factory=dict)
    _taken: dict[str, int] = field(default_factory=dict)

    def string(self, value: str, path: str = "") -> int:
        """Offset of the next string with this value, under a dotted key if one is given; the last again at the end; -1 if none."""
        within = f"{path}\n{value}"
        if path and within in self.strings:
            return self._next("s:" + within, self.strings[within])
        return self._next("s:" + value, self.strings.get(value, []))

    def key(self, path: str) -> int:
        """Offset of the next key with this dotted path (`project.dependencies`), the last again at the end; -1 if none."""
        return self._next("k:" + path, self.keys.get(path, []))

    def top(self, path: str) -> int:
        """Offset of the next key with this dotted path outside inline tables, the last again at the end; -1 if none."""
        return self._next("t:" + path, self.tops.get(path, []))

    def _next(self, what: str, offsets: list[int]) -> int:
        if not offsets:
            return -1
        taken = self._taken.get(what, 0)
        self._taken[what] = taken + 1
        return offsets[min(taken, len(offsets) - 1)]


def scan(text: str) -> TomlPlaces:
    """Places in one pass over the text; what is not TOML is skipped."""
    places = TomlPlaces()
    table, depth, inline, current = "", 0, 0, ""
    pending: tuple[str, int] | None = None
    for match in _TOKEN.finditer(text):
        token, start = match[0], match.start()
        first = token.lstrip()[0]
        if first == "#":
            continue
        if first == "[" and len(token.strip()) > 1 and depth == 0:
            table, pending = _table_name(token), None
        elif first == "=":
            if pending is not None and (depth == 0 or inline > 0):
                path = f"{table}.{pending[0]}" if table else pending[0]
                places.keys.setdefault(path, []).append(pending[1])
                if depth == 0:
                    places.tops.setdefault(path, []).append(pending[1])
                    current = path
            pending = None
        elif first in "[{":
            depth, inline, pending = depth + 1, inline + (first == "{"), None
        elif first in "]}":
            depth, inline, pending = max(depth - 1, 0), max(inline - (first == "}"), 0), None
        elif first in "\"'":
            value = _plain(token)
            places.strings.setdefault(value, []).append(start)
            places.strings.setdefault(f"{current}\n{value}", []).append(start)
            pending = (value, start)
        else:
            pending = (_table_name(token), start)
    return places


def _table_name(token: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in token.strip().strip("[]").split("."))


def _plain(token: str) -> str:
    quotes = 3 if token[:3] in ('"""', "'''") and len(token) >= 6 else 1
    inner = token[quotes:-quotes]
    if token[0] == '"' and "\\" in inner:
        inner = inner.replace('\\"', '"').replace("\\\\", "\\")
    return inner
