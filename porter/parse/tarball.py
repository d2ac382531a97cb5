"""Tar streams (plain, gzip, xz, bzip2, Zstandard): member names and sizes, unpacked piece by piece in memory within a budget of bytes."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Iterator
from typing import Protocol

import zstandard

MAX_BYTES = {"tar": 2**30, "gz": 192 * 2**20, "xz": 96 * 2**20, "bz2": 48 * 2**20, "zst": 192 * 2**20}  # unpacked; xz and bzip2 are slow
MAX_RATIO = 400  # unpacked to packed bytes, once BOMB_BYTES are out
BOMB_BYTES = 16 * 2**20
STEP = 2**18
MAX_LONG_NAME = 4_096
BLOCK = 512
_LZMA_MEMORY = 128 * 2**20
ZSTANDARD = b"\x28\xb5\x2f\xfd"
_FILES = (b"0", b"\0", b"7")


class _Unpacker(Protocol):
    """What bz2 and lzma decompressors have in common."""

    @property
    def eof(self) -> bool:
        """Whether the end of the stream was reached."""

    @property
    def needs_input(self) -> bool:
        """Whether the next call must bring packed bytes."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """At most ``max_length`` unpacked bytes."""


class _Gzip:
    """A gzip stream with the interface of bz2's decompressor."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(31)

    @property
    def eof(self) -> bool:
        """Whether the end of the stream was reached."""
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        """Whether no packed bytes wait inside."""
        return not self._stream.unconsumed_tail

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """At most ``max_length`` unpacked bytes; raises zlib.error."""
        return self._stream.decompress(self._stream.unconsumed_tail + data, max_length)


class _Zstandard:
    """A Zstandard stream with the interface of bz2's decompressor; frames that want more memory than xz may have are refused."""

    def __init__(self, data: bytes) -> None:
        reader = zstandard.ZstdDecompressor(max_window_size=_LZMA_MEMORY)
        self._stream = reader.stream_reader(data, read_across_frames=True)
        self.eof = False
        self.needs_input = False

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """At most ``max_length`` unpacked bytes of the whole that it was made with; raises zstandard.ZstdError."""
        piece = self._stream.read(max_length)
        self.eof = not piece
        return piece


class Stream:
    """Unpacked bytes in order; ``why`` says what ended them before the archive did, empty when nothing did."""

    def __init__(self, data: bytes, how: str, unpacker: _Unpacker | None) -> None:
        """A stream over packed ``data``; ``how`` names its budget."""
        self.why = ""
        self._data = data
        self._at = 0
        self._out = 0
        self._limit = MAX_BYTES[how]
        self._unpacker = unpacker
        self._ready = bytearray()

    def take(self, size: int) -> bytes:
        """The next bytes, fewer when the stream ends."""
        while len(self._ready) < size and self._more():
            pass
        taken = bytes(self._ready[:size])
        del self._ready[:size]
        self._out += len(taken)
        return taken

    def skip(self, size: int) -> bool:
        """Pass over bytes without keeping them; false when the stream ends first."""
        while size > 0:
            step = len(self.take(min(size, STEP)))
            if step == 0:
                return False
            size -= step
        return True

    @property
    def out(self) -> int:
        """How many bytes were taken or passed over."""
        return self._out

    def _more(self) -> bool:
        if self.why:
            return False
        if self._out + len(self._ready) >= self._limit:
            self.why = f"more than {self._limit >> 20} MiB unpacked"
            return False
        if self._unpacker is None:
            piece = self._data[self._at : self._at + STEP]
            self._at += len(piece)
        else:
            piece = self._unpack(self._unpacker)
        self._ready += piece
        return bool(piece)

    def _unpack(self, unpacker: _Unpacker) -> bytes:
        """The next piece; empty at the end, and where the data are damaged, cut short or a bomb."""
        try:
            while not unpacker.eof:
                feed = self._data[self._at : self._at + STEP] if unpacker.needs_input else b""
                self._at += len(feed)
                piece = unpacker.decompress(feed, STEP)
                if piece:
                    total = self._out + len(self._ready) + len(piece)
                    if total <= BOMB_BYTES or total <= MAX_RATIO * len(self._data):
                        return piece
                    self.why = "it unpacks to hundreds of times its size"
                    return b""
                if not feed and self._at >= len(self._data):
                    self.why = "its end is missing"
                    return b""
        except (zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError, EOFError):
            self.why = "it is damaged"
        return b""


def stream_of(data: bytes) -> Stream | None:
    """The stream of a tar file by its first bytes; None for anything else."""
    if data[:2] == b"\x1f\x8b":
        return Stream(data, "gz", _Gzip())
    if data[:6] == b"\xfd7zXZ\0":
        return Stream(data, "xz", lzma.LZMADecompressor(lzma.FORMAT_XZ, _LZMA_MEMORY))
    if data[:3] == b"BZh":
        return Stream(data, "bz2", bz2.BZ2Decompressor())
    if data[:4] == ZSTANDARD:
        return Stream(data, "zst", _Zstandard(data))
    return Stream(data, "tar", None) if data[257:262] == b"ustar" else None


def members(stream: Stream) -> Iterator[tuple[str, int]]:
    """Name and size of every regular file; the caller may take the file's bytes before it asks for the next."""
    long_name = ""
    while len(head := stream.take(BLOCK)) == BLOCK:
        if not head.strip(b"\0"):
            return  # zeros mark the end
        if head[257:262] != b"ustar" or (size := _number(head[124:136])) < 0:
            stream.why = stream.why or "a header in it is damaged"
            return
        kind, padded = head[156:157], -(-size // BLOCK) * BLOCK
        start = stream.out
        if kind in (b"L", b"x"):
            body = stream.take(min(size, MAX_LONG_NAME))
            long_name = _text(body) if kind == b"L" else _pax_path(body) or long_name
        elif kind in _FILES:
            prefix = _text(head[345:500]) if head[257:263] == b"ustar\0" else ""
            yield long_name or (f"{prefix}/" if prefix else "") + _text(head[:100]), size
            long_name = ""
        else:
            long_name = ""
        if not stream.skip(padded - (stream.out - start)):
            break
    stream.why = stream.why or "its end is missing"


def _number(raw: bytes) -> int:
    """A size: octal text, or base 256 where the first bit says so; -1 for neither."""
    if raw[:1] >= b"\x80":
        return int.from_bytes(raw, "big") & ((1 << 88) - 1)
    text = raw.strip(b" \0")
    return int(text, 8) if text.isdigit() and not text.strip(b"01234567") else 0 if not text else -1


def _pax_path(body: bytes) -> str:
    """The path in a pax header: records of `length key=value` and a line feed."""
    for record in body.split(b"\n"):
        _, _, rest = record.partition(b" ")
        if rest.startswith(b"path="):
            return _text(rest[5:])
    return ""


def _text(raw: bytes) -> str:
    """A name as text, up to its first NUL."""
    return printable(raw.split(b"\0", 1)[0])


def printable(raw: bytes) -> str:
    """A member's name as text; whatever is no printable character becomes a question mark."""
    text = raw.decode("utf-8", "replace")
    return "".join(char if char.isprintable() else "?" for char in text)
