"""Unchanged: whether a tree is as it was when its report was made, from what the file system says of every name, without reading files.

A cache must not be fooled by changed content, so stamps count only where they cannot lie, and content is hashed wherever there is doubt:

- A file counts as unchanged when size, inode, mode, mtime and ctime are the same to the nanosecond. A user can set a file's
  mtime back, but not its ctime: the kernel writes the time of every change of content, name, mode or mtime into it.
- A stamp is only as fine as the kernel's tick, and a page of a file that is written through a memory map gets a new stamp only after it
  was last written back (35 s by default). So a tree is remembered only where every stamp is older than QUIET_SECONDS when the scan
  begins, folders' own too, which a name added, removed or moved would renew; git's "racily clean" rule for the whole tree.
- The clock: a stamp in the future is not old, and when the wall clock and the monotonic one disagree about how long the scan took,
  nothing is remembered. A clock set back later gives new stamps that are equal to old ones only by a chance of one to some millions.
- Stamps count only within one boot of the kernel: after a crash, data may be newer than the inode, and disks and images move.
- Stamps count only on file systems of Linux that keep their own inodes (TRUSTED). Network and FUSE file systems take stamps from
  elsewhere, tmpfs none for memory maps, and an overlay those of layers that may be any of these. Stamps of whole seconds come from
  coarse file systems and from images built to be reproducible, where a new content may have the old stamp.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from porter import cache_keys, links, remembered
from porter.cache import Store
from porter.commit import commit_of
from porter.config import Config
from porter.discover import BUILD_FOLDERS, BUILD_MARKS, IGNORE_FILES, LICENCE_NAME
from porter.kinds import kind_of
from porter.model import Report

QUIET_SECONDS = 60.0  # more than the kernel's 30 s, and the 5 s between two looks, after which written pages get a new stamp
CLOCK_SECONDS = 1.0  # by which the clocks may differ
MAX_NAMES = 200_000  # of a tree that is remembered
TRUSTED = frozenset({"ext4", "xfs", "btrfs", "f2fs"})
MOUNTS = Path("/proc/self/mountinfo")
BOOT = Path("/proc/sys/kernel/random/boot_id")
SECOND = 1_000_000_000  # nanoseconds
_ESCAPE = re.compile(r"\\([0-7]{3})")

Look = dict[str, dict[str, list[Any]]]  # folder, name, what stands there


class Known(msgspec.Struct, frozen=True, array_like=True):
    """A tree as it was seen: every name that matters in every folder that was walked, and the key of the report on it."""

    look: Look
    report: bytes


class _Seen(NamedTuple):
    look: Look
    newest: int  # ctime of what changed last, in nanoseconds
    is_coarse: bool  # some stamp is one of whole seconds


class Watch:
    """One scan of a tree: begun before anything is read, asked for a report that still holds, told at the end what to remember."""

    def __init__(self, root: Path, config: Config, command: str = "") -> None:
        """Note the time; read no file of the tree."""
        self.began, self.tick = time.time(), time.monotonic()
        self.base, self.config = root.resolve(), config
        self.key = b""
        more = config.changed_since or config.models or config.prices  # see remembered.depends_on_more
        if config.cache_dir and not more and root.is_dir() and is_trusted(self.base):
            self.key = self._key(command)

    def _key(self, command: str) -> bytes:
        """The name of this tree on this machine, since it was booted, for this user, with these settings, rules and this porter."""
        rules = remembered.key_of_rules(self.config)
        if not rules:
            return b""
        who = (os.geteuid(), sorted(os.getgroups()), BOOT.read_bytes(), _device(self.base))
        settings = remembered.given(self.config)
        content = cache_keys.content(Path(self.config.hipify_perl).read_bytes()) if self.config.hipify_perl else b""
        return cache_keys.of_parts("tree", rules, settings, content, os.fsencode(self.base), command, who)

    def report(self) -> Report | None:
        """The report that was made of this very tree; None where there is none, or any doubt."""
        if not self.key:
            return None
        store = Store(Path(self.config.cache_dir))
        with contextlib.closing(store), contextlib.suppress(msgspec.MsgspecError, OSError, ValueError):
            found = store.get([self.key]).get(self.key)
            known = msgspec.msgpack.decode(found, type=Known) if found is not None else None
            if known is not None and _is_as_it_was(self.base, known.look):
                made = remembered.report(store, known.report)
                return made if made is not None and made.commit == commit_of(self.base) else None
        return None

    def remember(self, folders: tuple[str, ...], sizes: dict[str, int], report: bytes) -> None:
        """Remember the tree under the key of its report, where nothing in it can have changed since this scan began.

        ``sizes`` are the files that the scan found, in bytes. Nothing younger than the scan, nor nearly, means that whatever
        the scan read is what stands there now.
        """
        if not self.key or not report:
            return
        with contextlib.suppress(OSError, ValueError):
            seen = _look(self.base, folders)
            passed = abs((time.time() - self.began) - (time.monotonic() - self.tick))
            is_old = seen.newest < (self.began - QUIET_SECONDS) * SECOND
            if is_old and not seen.is_coarse and passed < CLOCK_SECONDS and _holds(seen.look, sizes):
                with contextlib.closing(Store(Path(self.config.cache_dir))) as store:
                    store.put([(self.key, msgspec.msgpack.encode(Known(seen.look, report)))])


def _device(base: Path) -> int:
    return base.stat().st_dev


def is_trusted(base: Path) -> bool:
    """Whether a folder, and all below it, lies on one file system whose stamps count."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        lines = [line.split(" ") for line in MOUNTS.read_text("utf-8", "surrogateescape").splitlines()]
        BOOT.read_bytes()
    except OSError:
        return False
    kind, longest = "", -1
    for words in lines:
        place = _ESCAPE.sub(lambda match: chr(int(match[1], 8)), words[4]).rstrip("/")
        if place.startswith(f"{base}/".replace("//", "/")):
            return False  # another file system begins below
        if (str(base) == place or f"{base}/".startswith(place + "/")) and len(place) >= longest:
            kind, longest = words[words.index("-") + 1], len(place)  # a later mount hides an earlier one at its place
    return kind in TRUSTED


def _is_as_it_was(base: Path, look: Look) -> bool:
    """Whether every name stands as it stood, and none that matters has come."""
    for folder, known in look.items():
        left = len(known)
        with os.scandir(base / folder) as listing:
            for child in listing:
                before = known.get(child.name)
                if before is None and _matters(child, folder):
                    return False
                if before is not None:
                    if _stands(child) != before:
                        return False
                    left -= 1
        if left:
            return False
    return True


def _look(base: Path, folders: tuple[str, ...]) -> _Seen:
    """Every name that matters in these folders; raises OSError where a folder or file cannot be asked, ValueError for too many."""
    look: Look = {}
    newest, coarse, names = 0, False, 0
    for folder in folders:
        own = os.lstat(base / folder)
        newest = max(newest, own.st_ctime_ns)
        with os.scandir(base / folder) as listing:
            held = {child.name: _stands(child) for child in listing if _matters(child, folder)}
        look[folder] = held
        names += len(held)
        if names > MAX_NAMES:
            raise ValueError("too many names")
        for stands in held.values():
            if stands[0] == "file":
                newest = max(newest, stands[5])
                coarse = coarse or stands[5] % SECOND == 0
    return _Seen(look, newest, coarse)


def _matters(child: os.DirEntry[str], folder: str) -> bool:
    """Whether discovery looks at such a name; a report that is written into the tree is none."""
    name = child.name
    if not child.is_file(follow_symlinks=False) or (not name.isascii() and not name.isprintable()):
        return True
    return (
        kind_of(f"{folder}/{name}".lstrip("/")) is not None
        or name in (*IGNORE_FILES, ".gitmodules")
        or LICENCE_NAME.match(name) is not None
    )


def _stands(child: os.DirEntry[str]) -> list[Any]:
    """What stands at a name, as far as discovery can tell it from anything else."""
    if child.is_symlink():
        target = links.end_of(child.path)
        return ["link", target, os.path.isdir(target)]  # noqa: PTH112 - a text
    if child.is_dir(follow_symlinks=False):
        marks = [mark for mark in BUILD_MARKS if os.path.lexists(f"{child.path}/{mark}")] if child.name in BUILD_FOLDERS else []
        return ["folder", *marks]
    found = child.stat(follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode):
        return ["other"]
    return ["file", found.st_size, found.st_ino, found.st_mode, found.st_mtime_ns, found.st_ctime_ns]


def _holds(look: Look, sizes: dict[str, int]) -> bool:
    """Whether the files that the scan found are those that stand there."""
    found = dict(_files(look))
    return all(found.get(path) == size for path, size in sizes.items())


def _files(look: Look) -> Iterator[tuple[str, int]]:
    for folder, held in look.items():
        for name, stands in held.items():
            if stands[0] == "file":
                yield f"{folder}/{name}".lstrip("/"), stands[1]
