"""Contents: the bytes of a file of the scan, as far as they are read."""

from __future__ import annotations

from pathlib import Path

from porter.config import Config
from porter.discover import Entry
from porter.kinds import binary_limit
from porter.model import Problem
from porter.regular import read_below


def content_of(root: Path, entry: Entry, config: Config) -> bytes | Problem:
    """The bytes of a file as far as they are read, or why they are not."""
    limit = config.max_bytes
    if entry.size > limit and entry.kind != "binary":
        return Problem("read", entry.path, 0, f"{entry.size / 2**20:.0f} MiB is over the limit of {limit / 2**20:.0f} MiB; not read")
    data = read_below(root, entry.path, binary_limit(entry.path, limit) if entry.kind == "binary" else limit)
    if data is None:
        return Problem("read", entry.path, 0, "cannot be read (permission denied, or gone since the walk)")
    return data
