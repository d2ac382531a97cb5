"""Copies: folders of a repository whose files stand in another of its folders too, so that they count once (packed links, staged trees)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path, PurePosixPath

Read = Callable[[Path, int], bytes | None]  # at most so many bytes of a regular file, None where there is none
LEAST_FILES = 10  # that two folders must share
LEAST_SHARE = 0.95  # of the copy's files
LEAST_BYTES = 64  # shorter files say nothing
MOST_TWINS = 6  # files of one name and size that are compared with each other
MOST_PAIRS = 200_000
MAX_BYTES = 4 * 1024 * 1024


def copied_files(root: Path, files: list[tuple[str, int]], read: Read) -> dict[str, tuple[str, str]]:
    """For every file of a copied folder that is the original's, byte for byte: the copy's folder and the original's.

    ``files`` are paths with sizes in bytes, all of them below the root. The deeper of two folders is the copy, at one depth
    the later by name.
    """
    shared: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for one, other in _twins(files):
        for folders in _folders(one, other):
            shared[folders].append((one, other))
    wanted = {folders: pairs for folders, pairs in shared.items() if len(pairs) >= LEAST_FILES}
    below = _counts(files)
    found: dict[str, tuple[str, str]] = {}
    for (original, copy), pairs in sorted(wanted.items(), key=lambda item: (item[0][1].count("/"), item[0])):
        if len(pairs) < LEAST_SHARE * below[copy] or any(original in found or path in found for path, _ in pairs):
            continue
        same = [theirs for ours, theirs in pairs if theirs not in found and _same(root, ours, theirs, read)]
        if len(same) >= max(LEAST_FILES, LEAST_SHARE * below[copy]):
            found |= dict.fromkeys(same, (copy, original))
    return found


def _twins(files: list[tuple[str, int]]) -> Iterator[tuple[str, str]]:
    """Pairs of files of one name and size; the one that may be the original comes first."""
    groups: dict[tuple[str, int], list[str]] = defaultdict(list)
    for path, size in files:
        if LEAST_BYTES <= size <= MAX_BYTES:
            groups[PurePosixPath(path).name, size].append(path)
    count = 0
    for paths in groups.values():
        if 1 < len(paths) <= MOST_TWINS:
            for pair in combinations(sorted(paths, key=lambda path: (path.count("/"), path)), 2):
                count += 1
                if count > MOST_PAIRS:
                    return
                yield pair


def _folders(one: str, other: str) -> Iterator[tuple[str, str]]:
    """The folders of two files, and the folders around them for as long as they have one name."""
    ours, theirs = one.split("/")[:-1], other.split("/")[:-1]
    while ours and theirs:
        yield "/".join(ours), "/".join(theirs)
        if ours.pop() != theirs.pop():
            return


def _counts(files: list[tuple[str, int]]) -> dict[str, int]:
    """Files that are long enough to compare, below every folder."""
    below: dict[str, int] = defaultdict(int)
    for path, size in files:
        if size >= LEAST_BYTES:
            parts = path.split("/")
            for depth in range(1, len(parts)):
                below["/".join(parts[:depth])] += 1
    return below


def _same(root: Path, one: str, other: str, read: Read) -> bool:
    ours = read(root / one, MAX_BYTES)
    return ours is not None and ours == read(root / other, MAX_BYTES)
