"""Text for Markdown: words of any origin that no renderer obeys, code spans, and tables that hold."""

from __future__ import annotations

import re
from collections.abc import Sequence

from porter.render.neutral import one_line

CELL = 240
_SPECIAL = re.compile(r"[\\`*_\[\]<>&|$~@]|[#!%^](?=[\w\"'])|:(?=//)|(?<=www)\.|(?<=\bGH)-(?=\d)")
_LEADING = re.compile(r"^(?:[-+=#>/]|\d+(?=[.)](?:\s|$)))")
_ADDRESS = re.compile(r"(https://[A-Za-z0-9][\w./%?=&+~-]*[\w/=])")
_REFERS = re.compile(r"[@#!$%&~^:.-]")  # what makes a mention, a reference or a link on GitHub or GitLab, before a word
_APART = "&#8203;"  # the services look for them after entities are read, so only a character between keeps them from it


def text(value: str, limit: int = CELL) -> str:
    """Text of any origin as plain words: what Markdown, HTML, a mention, an issue number or a bare link needs is escaped."""
    line = _SPECIAL.sub(_escaped, one_line(value, limit).strip())
    return _LEADING.sub(lambda match: "".join(f"&#{ord(c)};" for c in match.group()), line)


def prose(value: str, limit: int = CELL) -> str:
    """Text of porter's own rules and tables: as ``text``, but addresses stay whole, since people copy them into commands."""
    parts = _ADDRESS.split(one_line(value, limit))
    return "".join(f"<{part}>" if at % 2 else _kept(part) for at, part in enumerate(parts))


def _kept(part: str) -> str:
    """A part of a sentence with the blanks at its ends."""
    inner = text(part, len(part) + 1)
    return (" " if part[:1] == " " else "") + inner + (" " if part[-1:] == " " and inner else "")


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    written = "\\" + character if character in "\\`*_[]~" else f"&#{ord(character)};"
    after = match.string[match.end() : match.end() + 1]
    return written + _APART if _REFERS.match(character) and (after.isalnum() or after in tuple("_\"'/")) else written


def code(value: str, limit: int = CELL, in_table: bool = True) -> str:
    """Text as a code span, with its pipes escaped where it stands in a table; its fence is longer than any run of backticks in it."""
    line = one_line(value, limit).strip()
    line = line.replace("|", "\\|") if in_table else line
    if not line:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: tuple[int, ...] = ()) -> list[str]:
    """Lines of a table; ``right`` are the columns of numbers."""
    marks = ["---:" if i in right else "---" for i in range(len(heads))]
    return [f"| {' | '.join(cells)} |" for cells in (heads, tuple(marks), *rows)] + [""]
