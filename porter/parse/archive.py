"""Archives (zip, wheel, conda with its inner tar files, tar): member names and first bytes, read in memory within fixed budgets.

Nothing is written to disk and no member name is used as a path. The ZIP layout is that of APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and
4.3.16. Work is bounded by bytes, not by time, so that the same file always gives the same result.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from porter.kinds import ARCHIVE_SUFFIXES
from porter.parse import tarball

MAX_MEMBERS = 20_000
MAX_NAME = 512
MEMBER_BYTES = 48 * 2**20  # unpacked bytes that are looked at of one member
TOTAL_BYTES = 192 * 2**20  # packed and unpacked bytes that are gone through in one archive
STEP = 2**18
ONLY_START = "members of which only the start was looked into"
_END = b"PK\5\6"
_CENTRAL = b"PK\1\2"
_INNER = (".tar.zst",)
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
            if size > MEMBER_BYTES:
                found.leave(ONLY_START)
    if stream.why:
        found.leave(stream.why)


class _Member(NamedTuple):
    """One entry of a zip file; ``start`` is where its packed bytes stand, -1 where that place is wrong."""

    name: str
    flags: int
    method: int
    packed: int
    start: int


def _zip(data: bytes, wanted: Callable[[str], bool], visit: Visit, found: Contents) -> None:
    end = data.rfind(_END, max(0, len(data) - 65_557))
    whole = 0 <= end <= len(data) - 22
    entries = _central(data, struct.unpack_from("<I", data, end + 16)[0]) if whole else _in_order(data)
    budget, count = TOTAL_BYTES, 0
    for member in entries:
        count += 1
        if len(found.names) >= MAX_MEMBERS:
            found.leave(f"more than {MAX_MEMBERS:,} members")
            return
        if not member.name or member.name.endswith("/"):
            continue
        found.names.append(member.name)
        inner = member.name.endswith(_INNER) and "/" not in member.name  # of a .conda file: what it installs, and its metadata
        if (inner or wanted(member.name)) and budget > 0:
            body, spent = _zip_member(data, member, min(budget, MEMBER_BYTES), found)
            budget -= spent
            stream = tarball.stream_of(body) if inner else None
            if stream is not None:
                _tar(stream, wanted, visit, found)
                budget -= stream.out
            elif body and not inner:
                visit(member.name, body)
    if budget <= 0:
        found.leave(f"more than {TOTAL_BYTES >> 20} MiB to unpack")
    if not whole:
        found.leave("the list of members at its end is missing")
    elif count < struct.unpack_from("<H", data, end + 10)[0]:
        found.leave("the list of members at its end is damaged")


def _central(data: bytes, at: int) -> Iterator[_Member]:
    """The entries of the central directory."""
    while data[at : at + 4] == _CENTRAL and at + 46 <= len(data):
        flags, method, packed = (*struct.unpack_from("<HH", data, at + 8), struct.unpack_from("<I", data, at + 20)[0])
        name, extra, comment = struct.unpack_from("<HHH", data, at + 28)
        local, start = struct.unpack_from("<I", data, at + 42)[0], -1
        if data[local : local + 4] == _LOCAL and local + 30 <= len(data):
            start = local + 30 + sum(struct.unpack_from("<HH", data, local + 26))
        yield _Member(tarball.printable(data[at + 46 : at + 46 + min(name, MAX_NAME)]), flags, method, packed, start)
        at += 46 + name + extra + comment


def _in_order(data: bytes) -> Iterator[_Member]:
    """The entries as they stand in a file whose end is missing, up to one that does not say its size."""
    at = 0
    while data[at : at + 4] == _LOCAL and at + 30 <= len(data):
        flags, method, packed = (*struct.unpack_from("<HH", data, at + 6), struct.unpack_from("<I", data, at + 18)[0])
        name, extra = struct.unpack_from("<HH", data, at + 26)
        start = at + 30 + name + extra
        yield _Member(tarball.printable(data[at + 30 : at + 30 + min(name, MAX_NAME)]), flags, method, packed, start)
        if flags & 8 or packed == 0xFFFFFFFF:
            return
        at = start + packed


def _zip_member(data: bytes, member: _Member, limit: int, found: Contents) -> tuple[bytes, int]:
    """The start of a member, and how many bytes were gone through; nothing for what cannot be unpacked."""
    start, end = member.start, min(member.start + member.packed, len(data))
    if start < 0:
        found.leave("members whose place is wrong")
    elif member.flags & 1:
        found.leave("members that are encrypted")
    elif member.method == 0:
        if end - start > limit:
            found.leave(ONLY_START)
        return data[start : min(end, start + limit)], max(0, min(end - start, limit))
    elif member.method == 8:
        return _inflated(data, start, end, limit, found)
    else:
        found.leave(f"members packed by method {member.method}")
    return b"", 0


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
        if len(out) >= limit and not unpack.eof:
            found.leave(ONLY_START)
    except zlib.error:
        found.leave("members that are damaged")
    return bytes(out), len(out) + at - start
