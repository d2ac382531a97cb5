"""Archives (zip, wheel, conda, tar): member names and the first bytes of members, read in memory within fixed budgets.

Nothing is written to disk and no member name is used as a path. The ZIP layout is that of APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and
4.3.16. Work is bounded by bytes, not by time, so that the same file always gives the same result.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

from porter.kinds import ARCHIVE_SUFFIXES
from porter.parse import tarball

MAX_MEMBERS = 20_000
MAX_NAME = 512
MEMBER_BYTES = 48 * 2**20  # unpacked bytes that are looked at of one member
TOTAL_BYTES = 192 * 2**20  # packed and unpacked bytes that are gone through in one archive
STEP = 2**18
_END = b"PK\5\6"
_CENTRAL = b"PK\1\2"
_LOCAL = b"PK\3\4"

Visit = Callable[[str, bytes], None]


@dataclass
class Contents:
    """What an archive holds: names of its files in their order, and why anything was left out."""

    names: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def leave(self, why: str) -> None:
        """Note once what was not read."""
        if why not in self.left_out:
            self.left_out.append(why)


def is_archive(name: str) -> bool:
    """Whether a file name, in lower case, is that of an archive that can be looked into."""
    return name.endswith(ARCHIVE_SUFFIXES)


def look(data: bytes, wanted: Callable[[str], bool], visit: Visit) -> Contents:
    """The members of an archive; ``visit`` gets those whose name is wanted. Broken and hostile ones give less and say so."""
    found = Contents()
    if data[:4] in (_LOCAL, _END):
        _zip(data, wanted, visit, found)
    elif stream := tarball.stream_of(data):
        _tar(stream, wanted, visit, found)
    elif data:
        found.leave("no archive of a known kind")
    return found


def _tar(stream: tarball.Stream, wanted: Callable[[str], bool], visit: Visit, found: Contents) -> None:
    for name, size in tarball.members(stream):
        if len(found.names) >= MAX_MEMBERS:
            found.leave(f"more than {MAX_MEMBERS:,} members")
            return
        found.names.append(name[:MAX_NAME])
        if wanted(name):
            visit(name[:MAX_NAME], stream.take(min(size, MEMBER_BYTES)))
    if stream.why:
        found.leave(stream.why)


def _zip(data: bytes, wanted: Callable[[str], bool], visit: Visit, found: Contents) -> None:
    end = data.rfind(_END, max(0, len(data) - 65_557))
    if end < 0 or end + 22 > len(data):
        found.leave("the list of members at its end is missing")
        return
    at = struct.unpack_from("<I", data, end + 16)[0]
    budget = TOTAL_BYTES
    while data[at : at + 4] == _CENTRAL and at + 46 <= len(data):
        if len(found.names) >= MAX_MEMBERS:
            found.leave(f"more than {MAX_MEMBERS:,} members")
            return
        name_length, extra, comment = struct.unpack_from("<HHH", data, at + 28)
        name = printable(data[at + 46 : at + 46 + min(name_length, MAX_NAME)])
        entry, at = at, at + 46 + name_length + extra + comment
        if not name or name.endswith("/"):
            continue
        found.names.append(name)
        if wanted(name) and budget > 0:
            body, spent = _zip_member(data, entry, min(budget, MEMBER_BYTES), found)
            budget -= spent
            if body:
                visit(name, body)
    if budget <= 0:
        found.leave(f"more than {TOTAL_BYTES >> 20} MiB to unpack")


def _zip_member(data: bytes, entry: int, limit: int, found: Contents) -> tuple[bytes, int]:
    """The start of the member that a central entry names, and how many bytes were gone through; nothing for what cannot be unpacked."""
    flags, method = struct.unpack_from("<HH", data, entry + 8)
    packed = struct.unpack_from("<I", data, entry + 20)[0]
    local = struct.unpack_from("<I", data, entry + 42)[0]
    if data[local : local + 4] != _LOCAL or local + 30 > len(data):
        found.leave("members whose place is wrong")
        return b"", 0
    name_length, extra = struct.unpack_from("<HH", data, local + 26)
    start = local + 30 + name_length + extra
    end = min(start + packed, len(data))
    if flags & 1:
        found.leave("members that are encrypted")
        return b"", 0
    if method == 0:
        return data[start : min(end, start + limit)], min(end - start, limit)
    if method != 8:
        found.leave(f"members packed by method {method}")
        return b"", 0
    return _inflated(data, start, end, limit, found)


def _inflated(data: bytes, start: int, end: int, limit: int, found: Contents) -> tuple[bytes, int]:
    out, at, unpack = bytearray(), start, zlib.decompressobj(-15)
    try:
        while len(out) < limit and at - start < TOTAL_BYTES and not unpack.eof:
            rest = unpack.unconsumed_tail or data[at : min(at + STEP, end)]
            at += 0 if unpack.unconsumed_tail else len(rest)
            piece = unpack.decompress(rest, min(STEP, limit - len(out)))
            if not piece and not rest:
                break
            out += piece
            if len(out) > tarball.BOMB_BYTES and len(out) > tarball.MAX_RATIO * (end - start):
                found.leave("members that unpack to hundreds of times their size")
                return b"", len(out)
    except zlib.error:
        found.leave("members that are damaged")
    return bytes(out), len(out) + at - start


def printable(raw: bytes) -> str:
    """A member's name as text; whatever is no printable character becomes a question mark."""
    text = raw.decode("utf-8", "replace")
    return "".join(char if char.isprintable() else "?" for char in text)
