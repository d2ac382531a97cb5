"""Sources for a verification: every source file of the repository in a scratch folder, translated, with the way back to its lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from porter.discover import MAX_DEPTH
from porter.hipify import Options, convert, gets_runtime_unasked, lexer
from porter.hipify.difference import line_map
from porter.hipify.live import live_lines
from porter.kinds import kind_of
from porter.model import Problem
from porter.parse.guards import guards_of
from porter.regular import read_below
from porter.source_tree import SourceTree

HEADERS = (
    ".h", ".cuh", ".hu", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp", ".tpp", ".tcc", ".txx", ".impl", ".def", ".in", ".ptx",
)  # fmt: skip
TEXTS = frozenset((*HEADERS, ".cu", ".c", ".cc", ".cpp", ".cxx", ".hip"))
MAX_BYTES = 8 << 20  # of one file
MAX_TOTAL = 512 << 20  # of all
# Reads a file into the program, where its bytes could be asked for one by one.
_EMBED = re.compile(rb"(?:#|%:)\s*embed\b")


class Sources(msgspec.Struct):
    """Texts by path: as they are, and as translated; names left by the translation; files that read others with #embed.

    ``problems`` name the sources that no compiler gets to see.
    """

    before: dict[str, bytes]
    after: dict[str, bytes]
    left: dict[str, int]
    embeds: bool = False
    problems: list[Problem] = []

    def lines(self, path: str) -> list[int]:
        """The CUDA line of every line of the translation, both from 1; index 0 is not used."""
        return line_map(self.before[path], self.after[path])


class _Texts(Mapping[str, bytes]):
    """The texts of files below a folder, read when they are asked for; empty for what cannot be read."""

    def __init__(self, root: Path, paths: Iterable[str]) -> None:
        self._root = root
        self._paths = dict.fromkeys(paths)

    def __getitem__(self, path: str) -> bytes:
        return read_below(self._root, path, MAX_BYTES) or b""

    def __contains__(self, path: object) -> bool:
        return path in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def gather(root: Path, rocm: str, translate: bool = True, only: str = "") -> Sources:
    """Reads and translates the sources below a folder; links and what is no regular file are left out.

    With ``only`` these are that file and what it includes: the folder of a single file may be a home with everything in it.
    """
    found = Sources({}, {}, {})
    total = 0
    paths = _paths(root, found.problems)
    if only:
        paths = list(SourceTree(_Texts(root, paths)).reach(only)) if only in paths else []
    for path in paths:
        data = read_below(root, path, MAX_BYTES + 1)
        if data is None or len(data) > MAX_BYTES:
            what = "cannot be read" if data is None else f"larger than {MAX_BYTES >> 20} MiB"
            found.problems.append(Problem("verify", path, 0, f"{what}; not given to a compiler"))
            continue
        if b"\0" in data[:4096]:
            continue
        total += len(data)
        if total > MAX_TOTAL:
            found.problems.append(
                Problem("verify", path, 0, f"the sources have more than {MAX_TOTAL >> 20} MiB; this file and those after it are left out")
            )
            break
        found.before[path] = found.after[path] = data
        found.embeds = found.embeds or (b"embed" in data.replace(b"\\\n", b"").replace(b"\\\r\n", b"") and _embeds(data))
        if translate and kind_of(path, data) == "cuda":
            options = Options(rocm=rocm, runtime_is_implicit=gets_runtime_unasked(path))
            done = convert(data, options, live_lines(guards_of(data, path)))
            found.after[path] = done.output
            if done.left:
                found.left[path] = len(done.left)
    return found


def _embeds(data: bytes) -> bool:
    return _EMBED.search(lexer.mask(data.replace(b"\\\r\n", b"").replace(b"\\\n", b""))) is not None


def _paths(root: Path, problems: list[Problem]) -> list[str]:
    out: list[str] = []

    def unread(error: OSError) -> None:
        folder = Path(error.filename).relative_to(root).as_posix()
        problems.append(Problem("verify", folder, 0, f"folder cannot be read: {error.strerror}"))

    for folder, below, names in os.walk(root, onerror=unread, followlinks=False):
        here = Path(folder)
        below[:] = sorted(name for name in below if name not in (".git", ".svn", ".hg"))
        if below and len(here.relative_to(root).parts) >= MAX_DEPTH:
            problems.append(Problem("verify", here.relative_to(root).as_posix(), 0, f"more than {MAX_DEPTH} levels deep; left out"))
            below[:] = []
        for name in sorted(names):
            path = (here / name).relative_to(root).as_posix()
            if os.path.splitext(name)[1].lower() not in TEXTS or (here / name).is_symlink():  # noqa: PTH122 - a name, not a path
                continue
            if path.isprintable():
                out.append(path)
            else:  # compilers' messages could not be read apart
                problems.append(Problem("verify", path, 0, "a name that cannot be shown; not given to a compiler"))
    return out


def write(found: Sources, folder: Path) -> None:
    """Writes the translated texts below a folder."""
    for path, data in found.after.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def units(found: Sources, tree: SourceTree) -> list[str]:
    """The files that a build compiles on their own: CUDA sources that are no headers and that no other file includes."""
    included = {tree.resolve(include.path, path) for path in found.after for include in tree.includes(path)}
    return [
        path for path, data in found.before.items()
        if not path.endswith(HEADERS) and path not in included and kind_of(path, data) == "cuda"
    ]  # fmt: skip
