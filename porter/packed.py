"""Packed: text that only one format shows, kept small until it is shown: thousands of files hold more of it than of everything else."""

from __future__ import annotations

import zlib

import msgspec


def lines(text_by_line: dict[int, str]) -> bytes:
    """Lines by number, packed; nothing for none."""
    return zlib.compress(msgspec.msgpack.encode(text_by_line), 1) if text_by_line else b""


def lines_of(data: bytes) -> dict[int, str]:
    """What ``lines`` packed."""
    return msgspec.msgpack.decode(zlib.decompress(bytes(data)), type=dict[int, str]) if data else {}


def text(value: str) -> bytes:
    """A text, packed; nothing for an empty one."""
    return zlib.compress(value.encode("utf-8", "surrogatepass"), 1) if value else b""


def text_of(data: bytes) -> str:
    """What ``text`` packed."""
    return zlib.decompress(bytes(data)).decode("utf-8", "surrogatepass") if data else ""
