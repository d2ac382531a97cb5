"""Writing: a report lands whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from porter.errors import OutputError


def check(path: Path) -> None:
    """Raises OutputError for a file that no work could make writable: its folder is not there, or it is a folder itself."""
    if path.is_dir():
        raise OutputError(f"{path}: is a folder", "give --output a file name")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: cannot be written: there is no folder {path.parent}", "nothing was written")


def write_whole(path: Path, content: str | bytes | Iterable[bytes]) -> None:
    """Write a file by way of a neighbour and a rename; raises OutputError and leaves nothing behind when that fails.

    ``content`` may come in pieces. A device or a pipe is written to as it is.
    """
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    parts = (data,) if isinstance(data, bytes) else data
    check(path)
    temporary = ""
    try:
        if path.exists() and not path.is_file():  # /dev/stdout, /dev/full, a named pipe: written to, never replaced
            with path.open("wb") as device:
                device.writelines(parts)
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(parts)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(_mode(path))
        os.replace(temporary, path)  # noqa: PTH105 - atomic on one file system, which is the point
    except BaseException as error:  # also what goes wrong while the pieces are made
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        if not isinstance(error, OSError):
            raise
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}", "nothing was written") from error


def _mode(path: Path) -> int:
    """The mode of the file that is replaced, else what the umask leaves of rw-rw-rw-."""
    with contextlib.suppress(OSError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
