"""Cache: what porter found in a file of a certain content, by key, in one SQLite file of the user's; losing it costs time only.

Nothing that is read from it is trusted: every value carries a checksum over its key and bytes and is decoded into exact
types, so a damaged cache makes porter read the file again. Nothing that goes wrong with it is an error of the scan.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

LIMIT_BYTES = 1 << 30  # of all values; the entries that were used longest ago go first
BUSY_SECONDS = 2.0  # another scan writes: this one then goes on without
BATCH = 500
SUM_BYTES = 16
DAY = 86_400
NAME = "files-1.sqlite"  # the number is the version of the table
_SCHEMA = "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, used INTEGER NOT NULL, size INTEGER NOT NULL, value BLOB NOT NULL)"
_FAILURES = (sqlite3.Error, OSError, OverflowError, ValueError)


class Info(NamedTuple):
    """Where a cache is, how many entries it holds and how many bytes it takes on disk."""

    path: Path
    entries: int
    size: int


class Store:
    """One open cache. A method that fails closes it for good: the rest of the scan goes on without."""

    def __init__(self, folder: Path, limit: int = LIMIT_BYTES, now: float | None = None) -> None:
        """Open or make it below ``folder``; ``now`` is the time in seconds for tests. Never raises."""
        self.path = folder / NAME
        self.limit = limit
        self._today = int((time.time() if now is None else now) // DAY)
        self._base: sqlite3.Connection | None = None
        self.writes = False
        with contextlib.suppress(*_FAILURES):
            _make_folder(folder)
        for again in (False, True):
            try:
                self._open()
                return
            except _FAILURES as error:
                self.close()
                if again or not _is_broken(error):
                    return
                _put_away(self.path)

    def _open(self) -> None:
        if self.path.is_symlink():
            raise OSError("the cache is a link")
        if self.path.parent.is_dir() and os.access(self.path.parent, os.W_OK) and not _is_read_only(self.path):
            self._base = _connect(f"{self.path.absolute().as_uri()}?mode=rwc")
            self._base.execute(_SCHEMA)
            self.path.chmod(0o600)
            self.writes = True
        else:
            self._base = _connect(f"{self.path.absolute().as_uri()}?mode=ro&immutable=1")
        self._base.execute("SELECT key, used, size, value FROM entries LIMIT 1").fetchone()

    def close(self) -> None:
        """Close it; what was put is kept."""
        if self._base is not None:
            with contextlib.suppress(*_FAILURES):
                self._base.close()
        self._base, self.writes = None, False

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing but the rules, or is out of order: then looking for files is no use."""
        return next(self._rows("SELECT 1 FROM entries LIMIT 1 OFFSET 1"), None) is None

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The values that are there and whole."""
        wanted, out = list(dict.fromkeys(keys)), {}
        stale: list[bytes] = []
        for at in range(0, len(wanted), BATCH):
            some = wanted[at : at + BATCH]
            marks = ",".join("?" * len(some))
            for key, used, value in self._rows(f"SELECT key, used, value FROM entries WHERE key IN ({marks})", some):
                if isinstance(key, bytes) and isinstance(value, bytes) and value[:SUM_BYTES] == _sum(key, value[SUM_BYTES:]):
                    out[key] = value[SUM_BYTES:]
                    stale += [key] if used != self._today else []
        if stale and self.writes:
            self._write("UPDATE entries SET used = ? WHERE key = ?", [(self._today, key) for key in stale])
        return out

    def put(self, entries: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep values, all or none; then drop the oldest ones above the limit."""
        rows = [(key, self._today, len(value), _sum(key, value) + value) for key, value in entries]
        if rows and self.writes:
            self._write("INSERT OR REPLACE INTO entries (key, used, size, value) VALUES (?, ?, ?, ?)", rows)
            self._shrink()

    def _shrink(self) -> None:
        total = next(self._rows("SELECT SUM(size) FROM entries"), (0,))[0] or 0
        if not isinstance(total, int) or total <= self.limit or not self.writes:
            return
        gone: list[tuple[bytes]] = []
        for key, size in self._rows("SELECT key, size FROM entries WHERE size NOTNULL ORDER BY used, rowid"):
            if total <= self.limit * 3 // 4:
                break
            gone.append((key,))
            total -= size
        self._write("DELETE FROM entries WHERE key = ?", gone)

    def _rows(self, query: str, values: list[Any] | None = None) -> Iterator[Any]:
        if self._base is None:
            return
        try:
            yield from self._base.execute(query, values or ()).fetchall()
        except _FAILURES as error:
            self._fail(error)

    def _write(self, query: str, rows: list[Any]) -> None:
        if self._base is None:
            return
        try:
            with self._base:
                self._base.executemany(query, rows)
        except _FAILURES as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        was_writing = self.writes
        self.close()
        if was_writing and _is_broken(error):
            _put_away(self.path)


def _connect(address: str) -> sqlite3.Connection:
    base = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = OFF", "mmap_size = 0", "temp_store = MEMORY"):
        base.execute(f"PRAGMA {setting}")
    return base


def _sum(key: bytes, value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=SUM_BYTES, key=key[:64]).digest()


def _make_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def _is_read_only(path: Path) -> bool:
    return path.exists() and not os.access(path, os.W_OK)


def _is_broken(error: Exception) -> bool:
    """Whether the file is no database any more; a lock, a full disk or a missing right is not that."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)


def _put_away(path: Path) -> None:
    """Remove a cache that is no database, with what SQLite keeps beside it."""
    for name in (path.name, f"{path.name}-journal", f"{path.name}-wal", f"{path.name}-shm"):
        with contextlib.suppress(OSError):
            if stat.S_ISREG(os.lstat(path.with_name(name)).st_mode):
                path.with_name(name).unlink()


def clean(folder: Path) -> int:
    """Remove the cache of a folder, and nothing else there; gives the bytes that were freed."""
    size = info(folder).size
    _put_away(folder / NAME)
    return size


def info(folder: Path) -> Info:
    """What is in a folder's cache, without making one."""
    path = folder / NAME
    try:
        size = sum(one.stat().st_size for one in folder.glob(f"{NAME}*") if one.is_file())
    except OSError:
        size = 0
    if not path.is_file():
        return Info(path, 0, size)
    store = Store(folder)
    count = next(store._rows("SELECT COUNT(*) FROM entries"), (0,))[0]
    store.close()
    return Info(path, int(count), size)


def folder_of(environment: dict[str, str], home: Path) -> Path:
    """The user's cache folder for porter: PORTER_CACHE, XDG_CACHE_HOME, the platform's custom, in this order."""
    if environment.get("PORTER_CACHE"):
        return Path(environment["PORTER_CACHE"])
    xdg = environment.get("XDG_CACHE_HOME", "")
    if xdg and Path(xdg).is_absolute():
        return Path(xdg) / "porter"
    local = environment.get("LOCALAPPDATA", "")
    return Path(local) / "porter" if local and os.name == "nt" else home / ".cache" / "porter"
