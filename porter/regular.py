"""Reading of regular files: never through a link, never waiting on a pipe, never more than was asked for."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path


def read_below(root: Path, path: str, limit: int) -> bytes | None:
    """Same as read_regular for a path below a root; no folder on the way may be a link either, not even one made since the walk."""
    folder, _, name = path.rpartition("/")
    try:
        with below(root, folder) as at:
            return read_regular(Path(name), limit, at)
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def below(root: Path, path: str) -> Iterator[int]:
    """A folder below a root, opened part by part: none on the way may be a link. Raises OSError or ValueError."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
    at = os.open(root, flags & ~os.O_NOFOLLOW)
    try:
        for folder in path.split("/") if path else ():
            inner = os.open(folder, flags, dir_fd=at)
            os.close(at)
            at = inner
        yield at
    finally:
        os.close(at)


def read_regular(path: Path, limit: int, folder: int | None = None) -> bytes | None:
    """The bytes of a regular file, never through a link and never waiting on a pipe; None when there is no such file.

    At most ``limit`` bytes are read. ``folder`` is an open folder that the path starts from.
    """
    try:
        if not stat.S_ISREG(os.stat(path, dir_fd=folder, follow_symlinks=False).st_mode):
            return None  # opening alone rewinds a tape, starts a watchdog, wakes who writes to a pipe
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return None
        data = piece = os.read(handle, min(limit, found.st_size + 1))
        while piece and len(data) < limit:  # it may have grown
            piece = os.read(handle, limit - len(data))
            data += piece
        return data
    except OSError:
        return None
    finally:
        os.close(handle)
