"""Baseline cache: keeps the report of a scanned revision, so that the next comparison with it scans only once.

A commit never changes, so its report depends on the commit, the scanned place, porter itself, its rules and the settings: all of
that is in the name of the file. What cannot be read or written is as if it were not there.
"""

from __future__ import annotations

import contextlib
import gzip
import zlib
from pathlib import Path

import msgspec

from porter import cache_keys, report_file
from porter.config import Config
from porter.errors import InputError, OutputError
from porter.model import Report
from porter.render import json as json_report
from porter.write import write_whole

KEPT = 20  # reports; the oldest go first
ENDING = ".json.gz"


class Cache:
    """Reports of revisions in one folder."""

    def __init__(self, folder: Path) -> None:
        """The folder is made when something is kept."""
        self.folder = folder

    def get(self, key: str) -> Report | None:
        """The report that was kept under a key."""
        path = self.folder / (key + ENDING)
        try:
            with path.open("rb") as stream:
                data = gzip.GzipFile(fileobj=stream).read(report_file.MAX_BYTES)
            found = report_file.parse(data)
        except (OSError, EOFError, zlib.error, InputError):  # gzip's own error is an OSError
            return None
        with contextlib.suppress(OSError):
            path.touch()
        return found

    def put(self, key: str, report: Report) -> None:
        """Keep a report; the oldest of too many go."""
        with contextlib.suppress(OSError, OutputError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(self.folder / (key + ENDING), gzip.compress(json_report.render(report).encode(), 6, mtime=0))
            kept = sorted(self.folder.glob("*" + ENDING), key=lambda path: path.stat().st_mtime_ns, reverse=True)
            for path in kept[KEPT:]:
                path.unlink(missing_ok=True)

    def clean(self) -> int:
        """Remove the kept reports and nothing else; bytes freed."""
        freed = 0
        for path in self.folder.glob("*" + ENDING):
            with contextlib.suppress(OSError):
                freed += path.stat().st_size
                path.unlink()
        return freed


def key_of(commit: str, place: str, report: Report, config: Config) -> str:
    """The name for the report of a commit's place, as ``config`` and the porter that made ``report`` would give it."""
    plain = msgspec.structs.replace(config, jobs=0, notes=(), cache_dir="", git="", hipify_perl="")
    perl = Path(config.hipify_perl).read_bytes() if config.hipify_perl else b""
    parts = (commit, place, report.rules_version, cache_keys.of_program(), cache_keys.content(perl), msgspec.to_builtins(plain))
    return cache_keys.of_parts(*parts).hex()
