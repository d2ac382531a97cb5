"""Arguments: what a call needs beside its new name, with argument lists found by pairing brackets."""

from __future__ import annotations

import re

import msgspec

from porter.hipify.api import ArgumentEdit
from porter.hipify.edits import Edits
from porter.hipify.lexer import Brackets

_CASTS = {
    "symbol": (b"HIP_SYMBOL(", b")"),
    "kernel-pointer": (b"reinterpret_cast<const void*>(", b")"),
    "size-pointer": (b"reinterpret_cast<size_t*>(", b")"),
}
# A cast that already stands there, by the program's author or by an earlier run, is not put round a second time.
_CAST_ALREADY = {
    "symbol": re.compile(rb"HIP_SYMBOL\s*\("),
    "kernel-pointer": re.compile(
        rb"(?:reinterpret_cast|static_cast)\s*<\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*>|\(\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*\)"
    ),
    "size-pointer": re.compile(rb"reinterpret_cast\s*<\s*(?:std::)?size_t\s*\*\s*>"),
}
_OPEN = re.compile(rb"\s*\(")
_MAX_MOVED = 1 << 16  # bytes of an argument list whose arguments are moved
MOVES = ("move", "copy")


class Call(msgspec.Struct, frozen=True, gc=False):
    """A call whose arguments change: offset of its opening parenthesis, ranges of its arguments, offset of its closer."""

    open: int
    arguments: tuple[tuple[int, int], ...]
    close: int


def call_at(masked: bytes, end: int, brackets: Brackets) -> Call | None:
    """The call whose name ends at ``end``; None where no argument list follows or it never closes."""
    match = _OPEN.match(masked, end)
    if match is None:
        return None
    start = match.end() - 1
    ranges = brackets.arguments(start)
    group = brackets.group(start)
    if ranges is None or group is None:
        return None
    return Call(start, tuple(ranges), group.close)


def overload(edits: list[ArgumentEdit], call: Call) -> bytes:
    """The name that a function has in HIP with this many arguments, empty for its usual one."""
    for edit in edits:
        if edit.edit == "overload" and edit.argument == len(call.arguments):
            return edit.text.encode()
    return b""


def wrap(masked: bytes, call: Call, rows: list[ArgumentEdit], edits: Edits) -> None:
    """Casts, insertions, drops and replacements: edits that leave every other argument in its place."""
    count = len(call.arguments)
    for row in rows:
        cast = _CASTS.get(row.edit)
        if cast and row.argument < count:
            start, end = call.arguments[row.argument]
            if not _CAST_ALREADY[row.edit].match(masked, start, end):
                edits.open(start, cast[0])
                edits.close(end, cast[1])
        elif row.edit == "insert" and count:
            text = row.text.encode()
            if row.argument < count:
                edits.put(call.arguments[row.argument][0], text + b", ")
            else:
                edits.close(call.arguments[-1][1], b", " + text)
        elif row.edit == "replace" and row.argument < count:
            edits.replace(*call.arguments[row.argument], row.text.encode())
        elif row.edit == "drop" and row.argument < count:
            _drop(call, row.argument, edits)


def _drop(call: Call, argument: int, edits: Edits) -> None:
    """Takes an argument out together with the comma that parted it from its neighbour."""
    arguments = call.arguments
    if argument + 1 < len(arguments):
        edits.delete(arguments[argument][0], arguments[argument + 1][0])
    elif argument:
        edits.delete(arguments[argument - 1][1], arguments[argument][1])
    else:
        edits.delete(*arguments[argument])


class Moved(msgspec.Struct, frozen=True, gc=False):
    """A piece of text that goes to another place: ``text`` put in at ``at``, or the range ``at`` to ``end`` taken out."""

    at: int
    end: int
    text: bytes
    behind: bool = False

    def apply(self, edits: Edits) -> None:
        """Adds the piece to the edits."""
        if self.behind:
            edits.close(self.at, self.text)
        elif self.at == self.end:
            edits.put(self.at, self.text)
        else:
            edits.delete(self.at, self.end)


def reorder(call: Call, rows: list[ArgumentEdit], edits: Edits) -> list[Moved] | None:
    """What moving and copying arguments takes, each text with the edits made inside it; None where the call does not fit."""
    if call.close - call.open > _MAX_MOVED:
        return None
    count = len(call.arguments)
    moved: list[Moved] = []
    for row in rows:
        if row.edit not in MOVES:
            continue
        last = row.argument + row.count - 1
        if last >= count:
            return None
        start, end = call.arguments[row.argument][0], call.arguments[last][1]
        text = edits.render(start, end)
        if row.to < count:
            at = call.arguments[row.to][0]
            moved.append(Moved(at, at, text + b", "))
        else:
            at = call.arguments[-1][1]
            moved.append(Moved(at, at, b", " + text, behind=True))
        if row.edit == "move":
            moved.append(_gap(call, row.argument, last))
    return moved


def _gap(call: Call, first: int, last: int) -> Moved:
    """The removal of arguments together with a comma that would be left over."""
    arguments = call.arguments
    if last + 1 < len(arguments):
        return Moved(arguments[first][0], arguments[last + 1][0], b"")
    return Moved(arguments[first - 1][1] if first else arguments[first][0], arguments[last][1], b"")
