"""Writing: a report lands whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from porter.errors import OutputError


def check(path: Path) -> None:
    """Raises OutputError for a file that no work could make writable: its folder is not there, or it is a folder itself."""
    if path.is_dir():
        raise OutputError(f"{path}: is a folder", "give --output a file name")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: cannot be written: there is no folder {path.parent}", "nothing was written")


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file by way of a neighbour and a rename; raises OutputError and leaves nothing behind when that fails.

    A device or a pipe is written to as it is.
    """
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    check(path)
    temporary = ""
    try:
        if path.exists() and not path.is_file():  # /dev/stdout, /dev/full, a named pipe: written to, never replaced
            with path.open("wb") as device:
                device.write(data)
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(_mode(path))
        os.replace(temporary, path)  # noqa: PTH105 - atomic on one file system, which is the point
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}", "nothing was written") from error


def _mode(path: Path) -> int:
    """The mode of the file that is replaced, else what the umask leaves of rw-rw-rw-."""
    with contextlib.suppress(OSError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
