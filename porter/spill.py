"""Spill: bytes that nobody needs for now, packed in memory and, past some of them, in a temporary file that has no name.

The file can be opened by nobody else, and is gone with the process that made it, however that ends. Where it cannot be made
or its disk is full, what comes stays in memory: nothing is lost but the saving.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import zlib
from typing import Any

from porter.errors import ToolError

IN_MEMORY = 48 * 2**20  # packed bytes that are kept before a file is made
LEVEL = 1  # of zlib: what is put aside repeats itself, so the fastest makes a tenth of it
LARGE = "/var/tmp"  # noqa: S108 - a file without a name; /tmp is often memory itself

Place = bytes | tuple[int, int]  # the packed bytes themselves, or where they stand in the file


class Spill:
    """Takes bytes and gives them back. Forked processes read the same file; only the one that made it writes."""

    def __init__(self) -> None:
        """Nothing is opened yet."""
        self.in_memory = IN_MEMORY
        self._file: Any = None
        self._end = 0
        self._works = True  # whether the file can be written to
        self._owner = os.getpid()

    def put(self, data: bytes) -> Place:
        """Put bytes aside."""
        packed = zlib.compress(data, LEVEL)
        if self.in_memory >= len(packed) or not self._opened():
            self.in_memory -= len(packed)
            return packed
        try:
            self._write(packed)
        except OSError:  # no space left: what is written stays readable
            self._works = False
            return packed
        self._end += len(packed)
        return self._end - len(packed), len(packed)

    def get(self, place: Place) -> bytes:
        """What was put aside; raises ToolError where the file no longer gives it, which costs the run and never a part of it."""
        try:
            if isinstance(place, bytes):
                return zlib.decompress(place)
            return zlib.decompress(os.pread(self._file.fileno(), place[1], place[0]))
        except (OSError, zlib.error, ValueError) as error:
            raise ToolError(f"a temporary file cannot be read back: {error}", "name a folder on a sound disk with TMPDIR") from error

    def __del__(self) -> None:
        """The file goes with the last value that is in it."""
        if self._file is not None:
            self._file.close()

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._end

    def _opened(self) -> bool:
        if self._file is None and self._works:
            self._works = False
            with contextlib.suppress(OSError):
                self._file = _nameless()
                self._works = True
        return self._works and os.getpid() == self._owner

    def _write(self, packed: bytes) -> None:
        view, at = memoryview(packed), self._end
        while view:
            done = os.pwrite(self._file.fileno(), view, at)
            view, at = view[done:], at + done


def _nameless() -> Any:
    """A temporary file for this user alone, taken out of its folder at once; raises OSError."""
    folder = tempfile.gettempdir()
    for one in (LARGE, folder) if folder == "/tmp" else (folder,):  # noqa: S108
        with contextlib.suppress(OSError):
            return tempfile.TemporaryFile(buffering=0, prefix="porter-", dir=one)  # noqa: SIM115 - closed with its owner
    raise OSError("no folder for a temporary file")
