"""Revision: writes the files of a git revision to a folder without running anything that the repository says.

git reads the object store through a control folder made here, so no configuration, hook, filter, attribute, alias or
replacement of the scanned repository is ever in force, and nothing is fetched.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from porter import bounded, links
from porter.discover import IGNORE_FILES, LICENCE_NAME, MAX_FILES
from porter.errors import InputError, ToolError
from porter.kinds import kind_of
from porter.regular import read_regular

SECONDS = 120.0  # for one answer of git
ALL_SECONDS = 900.0  # for the content of all files
MAX_REFS = 100_000
MAX_LISTING = 128 * 2**20  # bytes of the names of a revision's files
MAX_TOTAL = 4 * 2**30  # bytes written
REVISION = re.compile(r"[A-Za-z0-9_.@{}~^/+-]{1,200}\Z")
SHA256 = re.compile(rb"(?im)^\s*objectformat\s*=\s*sha256\s*$")
HINT = "--baseline takes a JSON report that was saved with --output too: ./NAME or NAME.json"


class Checkout(NamedTuple):
    """A repository's .git folder, the folder of its HEAD, the scanned place below the work tree, and whether that is one file."""

    git_folder: Path
    head_folder: Path
    place: str  # with / between, empty for all
    is_file: bool


def checkout_of(root: Path) -> Checkout:
    """The checkout that a scanned folder or file belongs to; raises InputError when it is in none."""
    here = root.resolve()
    for folder in (here, *here.parents):
        git = folder / ".git"
        if not os.path.lexists(git):
            continue
        common, own = (git, git) if git.is_dir() and not git.is_symlink() else _linked(git)
        if (common / "objects").is_symlink() or not (common / "objects").is_dir():
            raise InputError(f"{git}: holds no objects", HINT)
        return Checkout(common, own, "" if here == folder else here.relative_to(folder).as_posix(), here.is_file())
    raise InputError(f"{root}: is in no git checkout, so there is no revision of it to compare with", HINT)


def _linked(git: Path) -> tuple[Path, Path]:
    """The repository of a linked work tree, and its own folder there; only where that points back at this very work tree."""
    named = re.fullmatch(r"gitdir: ([^\n\0]+)\n?", _text(git))
    own = links.end_of(git.parent / named[1]) if named else ""
    back, up = (_text(Path(own) / name).strip() for name in ("gitdir", "commondir")) if own else ("", "")
    common = links.end_of(Path(own) / up) if up else ""
    knows = back and common and links.end_of(Path(own) / back) == links.end_of(git)
    if not knows or Path(own).parent != Path(common) / "worktrees":  # else any folder could say that it belongs to a stranger's
        raise InputError(f"{git}: is neither a folder nor a work tree that its repository knows", HINT)
    return Path(common), Path(own)


def _text(path: Path) -> str:
    return (read_regular(path, 5_000) or b"").decode("utf-8", "surrogateescape")


class Reader:
    """Reads one checkout's objects with ``program`` (the path of git) from a control folder that it makes below ``folder``."""

    def __init__(self, checkout: Checkout, program: str, folder: Path) -> None:
        """Copy names of revisions (refs) as plain files; raises ToolError without git."""
        if not program:
            raise ToolError("git was not found, and a revision needs it", HINT)
        self.checkout = checkout
        self.control = folder / "control.git"
        self.program = program
        self._prepare()

    def _prepare(self) -> None:
        source = self.checkout.git_folder
        (self.control / "refs").mkdir(parents=True)
        (self.control / "objects").mkdir()
        wide = SHA256.search(read_regular(source / "config", 1_000_000) or b"") is not None
        text = "[core]\nrepositoryformatversion = 1\nbare = true\n" + ("[extensions]\nobjectformat = sha256\n" if wide else "")
        (self.control / "config").write_text(text)
        for name, limit in (("HEAD", 1_000), ("packed-refs", 64_000_000), ("shallow", 16_000_000)):
            data = read_regular((self.checkout.head_folder if name == "HEAD" else source) / name, limit)
            if data is not None:
                (self.control / name).write_bytes(data)
        for path in self._loose_refs(source):
            data = read_regular(source / path, 1_000)
            if data is not None:
                (self.control / path).parent.mkdir(parents=True, exist_ok=True)
                (self.control / path).write_bytes(data)

    def _loose_refs(self, source: Path) -> Iterator[str]:
        stack, seen = ["refs"], 0
        while stack and seen < MAX_REFS:
            folder = stack.pop()
            if (source / folder).is_symlink() or not (source / folder).is_dir() or folder == "refs/replace":
                continue
            for child in _children(source / folder):
                seen += 1
                path = f"{folder}/{child.name}"
                if child.is_symlink():
                    continue
                if child.is_dir() and path.count("/") < 20:
                    stack.append(path)
                elif child.is_file():
                    yield path

    def resolve(self, revision: str) -> str:
        """The full hash of the commit that a revision names; raises InputError when it names none."""
        if revision.startswith("-") or not REVISION.match(revision):
            raise InputError(f"'{revision}' is neither a file nor a git revision", HINT)
        said, code = self._run("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        commit = said.decode("ascii", "replace").strip()
        if code or not re.fullmatch(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", commit):
            raise InputError(f"'{revision}' is neither a file nor a revision of this checkout", f"a shallow clone holds few; {HINT}")
        return commit

    def blobs(self, commit: str) -> dict[str, str]:
        """The object of every file below the scanned place that an audit may look at, by path."""
        return {path: blob for blob, path in self._listing(commit)}

    def write(self, commit: str, folder: Path, limit: int) -> int:
        """Write the scanned place's readable files, ``limit`` + 1 bytes of each at most; links are left out. The number of files."""
        wanted = list(self._listing(commit))
        if not wanted:
            raise InputError(f"{self.checkout.place or 'the folder'}: revision {commit[:12]} has no such place, or nothing in it", HINT)
        arguments = self._arguments("cat-file", "--batch")
        with subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self._environment()
        ) as process:
            late = threading.Timer(ALL_SECONDS, process.kill)  # a forged object store may hold a pipe that nobody writes to
            late.start()
            try:
                assert process.stdin is not None and process.stdout is not None
                return self._write_all(wanted, folder, limit, process.stdin, process.stdout)
            except OSError as error:
                raise ToolError("git ended before it had given all files", HINT) from error
            finally:
                late.cancel()
                process.kill()

    def _write_all(self, wanted: list[tuple[str, str]], folder: Path, limit: int, ask: IO[bytes], answer: IO[bytes]) -> int:
        written = total = 0
        for blob, path in wanted:
            ask.write(blob.encode() + b"\n")
            ask.flush()
            head = answer.readline().split()
            if len(head) != 3 or head[1] != b"blob":
                raise InputError(f"git cannot give {path} of that revision", f"a partial clone holds few files; {HINT}")
            data = _take(answer, int(head[2]), limit + 1)
            total += len(data)
            if total > MAX_TOTAL:
                raise InputError(f"the revision holds more than {MAX_TOTAL // 2**30} GiB to read", HINT)
            written += _place(folder, path, data)
        return written

    def _listing(self, commit: str) -> Iterator[tuple[str, str]]:
        """(blob, path below the scanned place) of every regular file that an audit may look at."""
        place = self.checkout.place
        folder = place.rpartition("/")[0] if self.checkout.is_file else place
        said, code = self._run("ls-tree", "-r", "-z", "--full-tree", f"{commit}:{folder}")
        entries = said.split(b"\0") if not code or len(said) > MAX_LISTING else []
        if len(entries) > MAX_FILES or len(said) > MAX_LISTING:  # ten trees of ten trees each are ten thousand million files
            raise InputError(f"the revision holds more than {MAX_FILES:,} files", HINT)
        for entry in entries:
            head, _, name = entry.partition(b"\t")
            words = head.split()
            if len(words) != 3 or words[0] not in (b"100644", b"100755", b"100664"):
                continue  # a link, a submodule, the end
            path = name.decode("utf-8", "surrogateescape")
            if (place.rpartition("/")[2] == path if self.checkout.is_file else _is_read(path)) and _is_safe(path):
                yield words[2].decode(), path

    def _run(self, *words: str) -> tuple[bytes, int]:
        """What git says, MAX_LISTING bytes and one more at most, and its exit status."""
        try:
            said, code = bounded.run(self._arguments(*words), self.control, self._environment(), SECONDS, MAX_LISTING)
        except OSError as error:
            raise ToolError(f"git cannot be run: {error.strerror or error}", HINT) from error
        if code is None:
            raise ToolError(f"git {words[0]} took more than {SECONDS:.0f} s", HINT)
        return said, code

    def _arguments(self, *words: str) -> list[str]:
        settings = ("core.hooksPath=/dev/null", "core.fsmonitor=false", "protocol.allow=never", "safe.directory=*")
        return [self.program, "--no-pager", "--no-replace-objects", *(part for one in settings for part in ("-c", one)), *words]

    def _environment(self) -> dict[str, str]:
        """All that git learns of this machine: where the control folder and the objects are."""
        return {
            "GIT_DIR": str(self.control), "GIT_OBJECT_DIRECTORY": str(self.checkout.git_folder / "objects"), "HOME": str(self.control),
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_ATTR_NOSYSTEM": "1", "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C",
        }  # fmt: skip


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_read(path: str) -> bool:
    """Whether an audit looks at such a file: by its kind, or as an ignore file, a licence or the list of submodules."""
    name = path.rpartition("/")[2]
    return kind_of(path) is not None or name in (*IGNORE_FILES, ".gitmodules") or LICENCE_NAME.match(name) is not None


def _is_safe(path: str) -> bool:
    """git refuses such names, a forged object may hold them."""
    return not path.startswith("/") and all(part not in ("", ".", "..") and part.lower() != ".git" for part in path.split("/"))


def _take(stream: IO[bytes], size: int, limit: int) -> bytes:
    """The first ``limit`` of ``size`` bytes; the rest, and the line end behind them, are read away."""
    data = stream.read(min(size, limit))
    left = size - len(data) + 1
    while left > 0:
        part = stream.read(min(left, 1 << 20))
        if not part:
            raise InputError("git ended in the middle of a file", HINT)
        left -= len(part)
    return data


def _place(folder: Path, path: str, data: bytes) -> int:
    """Write one file into a folder that holds nothing but what was written here; 0 where two names of a forged tree collide."""
    target = folder / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as stream:
            stream.write(data)
    except (OSError, ValueError):
        return 0
    return 1
