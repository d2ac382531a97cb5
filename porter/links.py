"""Links: where a symbolic link of a stranger leads, without a walk through chains longer than the kernel's own."""

from __future__ import annotations

import os


def end_of(path: str | os.PathLike[str]) -> str:
    """The real path of what stands at a path's end; empty where nothing does, or where the kernel gives up (loops, more than 40 links)."""
    try:
        os.stat(path)  # noqa: PTH116 - first: Python follows a chain by recursion, as far as its stack
        return os.path.realpath(path)
    except (OSError, ValueError, RecursionError):
        return ""
