"""Discovery: walks a repository and says of every file what it is, or why it is left out. Links are never followed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from porter import copies, ignore, links, origin
from porter.config import Config
from porter.errors import InputError
from porter.kinds import kind_of
from porter.model import Origin, Problem, Skipped
from porter.regular import below, read_below, read_regular

IGNORE_FILES = (".gitignore", ".porterignore")
HIDDEN_KEPT = frozenset((
    ".github", ".gitlab", ".circleci", ".devcontainer", ".buildkite", ".ci", ".azure-pipelines", ".gitlab-ci.yml", ".bazelrc",
    ".travis.yml", ".jenkins", ".tekton", ".docker", ".drone.yml", ".cirrus.yml", ".woodpecker.yml", ".env", ".env.example",
    ".env.template", ".env.sample",
))  # fmt: skip
UNNAMED = frozenset((".git", ".hg", ".svn"))  # what a version control system keeps is no part of the project
BUILD_FOLDERS = frozenset((
    "build", "dist", "_build", "cmake-build-debug", "cmake-build-release", "node_modules", "__pycache__", "venv", "env", "site-packages",
    "bazel-bin", "bazel-out",
))  # fmt: skip
BUILD_MARKS = ("CMakeCache.txt", "pyvenv.cfg", "PKG-INFO", "lib", "bin", "CMakeFiles", ".ninja_deps")  # what a build leaves behind
GENERIC_NAMES = frozenset(
    ("libs", "python", "core", "include", "packages", "package", "source", "external", "software", "project", "code", "common")
)
LICENCE_NAME = re.compile(r"(?i)(licen[cs]e|copying)([-_.][a-z0-9]{1,12}){0,4}\Z")
MAX_FILES = 1_000_000
MAX_DEPTH = 200
MAX_IGNORE_BYTES = 1024 * 1024
MAX_PATTERNS = 30_000  # lines of all ignore files together; each costs its compilation


class Entry(msgspec.Struct, frozen=True, order=True):
    """A file to read: path relative to the root, kind by name, size in bytes, whose code it is and why."""

    path: str
    kind: str
    size: int
    origin: Origin = Origin.OWN
    why: str = ""
    place: str = ""  # the folder that decides the origin
    sibling: str = ""


class Discovery(msgspec.Struct, frozen=True):
    """What is there, what is left out and why; ``folders`` are those that were walked, the root as an empty text."""

    entries: tuple[Entry, ...]
    skipped: tuple[Skipped, ...]
    problems: tuple[Problem, ...]
    folders: tuple[str, ...] = ()


class _Walk:
    """The state of one walk: lists that grow, and the ignore rules of the folders above."""

    def __init__(self, root: Path, config: Config) -> None:
        self.root = root
        self.config = config
        self.files: list[tuple[str, int]] = []
        self.folders: list[str] = []
        self.skipped: list[Skipped] = []
        self.problems: list[Problem] = []
        self.patterns = 0  # lines of ignore files so far
        self.licensed: dict[str, str] = {}
        self.root_licences: set[str] = set()
        self.submodules = _submodules(root)
        self.exclude, wrong = ignore.spec_of(list(config.exclude))
        self.problems += [Problem("discover", "", 0, f"--exclude: {what}") for what in wrong]

    def run(self) -> None:
        stack: list[tuple[str, ignore.Specs]] = [("", ())]
        while stack:
            folder, specs = stack.pop()
            self.folders.append(folder)
            specs = (*specs, *self._ignore_files(folder))
            for child in reversed(list(self._folder(folder, specs))):
                if child.count("/") >= MAX_DEPTH:
                    self.problems.append(Problem("discover", child, 0, f"folder is more than {MAX_DEPTH} levels deep; left out"))
                else:
                    stack.append((child, specs))
            if len(self.files) > MAX_FILES:
                self.problems.append(Problem("discover", folder, 0, f"more than {MAX_FILES:,} files; the rest is left out"))
                return

    def _ignore_files(self, folder: str) -> Iterator[tuple[str, ignore.Spec]]:
        for name in IGNORE_FILES:
            data = read_below(self.root, f"{folder}/{name}".lstrip("/"), MAX_IGNORE_BYTES)
            if data and self.patterns <= MAX_PATTERNS:
                lines = data.decode("utf-8", "replace").splitlines()
                self.patterns += len(lines)
                spec, wrong = ignore.spec_of(lines if self.patterns <= MAX_PATTERNS else [])
                wrong += ["too many lines in all ignore files: these, and those of later files, are not used"] * (
                    self.patterns > MAX_PATTERNS
                )
                where = f"{folder}/{name}".strip("/")
                self.problems += [Problem("discover", where, 0, what, matters=False) for what in wrong]
                yield folder, spec

    def _folder(self, folder: str, specs: ignore.Specs) -> Iterator[str]:
        try:
            with below(self.root, folder) as handle, os.scandir(handle) as listing:
                for child in sorted(listing, key=lambda item: item.name):
                    path = f"{folder}/{child.name}".lstrip("/")
                    try:
                        is_folder = self._look(child, path, specs)
                    except (OSError, ValueError) as error:
                        self.problems.append(Problem("discover", path, 0, f"cannot be read: {error}"))
                        continue
                    if is_folder:
                        yield path
        except OSError as error:
            self.problems.append(Problem("discover", folder or ".", 0, f"folder cannot be read: {error.strerror}"))

    def _look(self, child: os.DirEntry[str], path: str, specs: ignore.Specs) -> bool:
        """Take or leave one name of a folder; true for a folder to walk into."""
        name = child.name
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            self.problems.append(
                Problem("discover", path.encode("utf-8", "backslashreplace").decode(), 0, "the name is not valid UTF-8; left out")
            )
            return False
        if child.is_symlink():
            self._link(path)
            return False
        is_folder = child.is_dir(follow_symlinks=False)
        if name.startswith(".") and name not in HIDDEN_KEPT:
            if name not in UNNAMED and (is_folder or kind_of(path) is not None):
                self._skip(path, "hidden")
            return False
        shown = path + "/" if is_folder else path
        if self.exclude.match_file(shown):
            self._skip(path, "excluded by --exclude or the settings" if self.config.notes else "excluded by --exclude")
            return False
        if ignore.ignored(shown, specs):
            self._skip(path, "ignored by .gitignore or .porterignore")
            return False
        if is_folder:
            if (name in BUILD_FOLDERS or name.endswith(".egg-info")) and not self._holds_sources(path):
                self._skip(path, "build or environment folder")
                return False
            return True
        self._file(child, path)
        return False

    def _holds_sources(self, path: str) -> bool:
        """A folder called build or env may hold the project's own build scripts; a virtual environment or output does not."""
        name = path.rpartition("/")[2]
        return name in ("build", "env") and not any(os.path.lexists(self.root / path / mark) for mark in BUILD_MARKS)

    def _file(self, child: os.DirEntry[str], path: str) -> None:
        status = child.stat(follow_symlinks=False)
        if LICENCE_NAME.match(child.name) and stat.S_ISREG(status.st_mode):
            self._licence(path)
        if kind_of(path) is None:
            return
        if not stat.S_ISREG(status.st_mode):
            self.problems.append(Problem("discover", path, 0, "is no regular file (a pipe, socket or device); not read"))
        else:
            self.files.append((path, status.st_size))

    def _licence(self, path: str) -> None:
        data = read_below(self.root, path, MAX_IGNORE_BYTES) or b""
        words = " ".join(re.sub(r"[^a-z ]+", " ", data.decode("utf-8", "replace").lower()).split())[:4000]
        folder = path.rpartition("/")[0]
        if folder:
            self.licensed[folder] = words
        else:
            self.root_licences.add(words)

    def _link(self, path: str) -> None:
        target = links.end_of(self.root / path)
        if kind_of(path) is None and not os.path.isdir(target):  # noqa: PTH112 - a text
            return
        inside = target == str(self.root) or target.startswith(str(self.root) + os.sep)
        why = "symbolic link (its target is scanned where it stands)" if inside else "symbolic link out of the root; not followed"
        self._skip(path, why if target else "symbolic link that leads nowhere")

    def _skip(self, path: str, why: str) -> None:
        self.skipped.append(Skipped(path, why))


def discover(root: Path, config: Config) -> Discovery:
    """All files below a folder, or the one file given; raises InputError when there is nothing to look at."""
    if not os.path.lexists(root):
        raise InputError(f"{root}: no such file or folder")
    if root.is_file():
        return _single(root)
    if not root.is_dir():
        raise InputError(f"{root}: neither a file nor a folder")
    if not os.access(root, os.R_OK | os.X_OK):
        raise InputError(f"{root}: permission denied")
    walk = _Walk(root.resolve(), config)
    walk.run()
    licensed = frozenset(
        folder for folder, words in walk.licensed.items()
        if walk.root_licences and not _same_licence(words, walk.root_licences) and not _is_owners(folder, words)
    )  # fmt: skip
    return _classify(walk, licensed)


def _single(path: Path) -> Discovery:
    kind = kind_of(path.name)
    if kind is None:
        raise InputError(f"{path}: porter does not know this kind of file", "give a folder, or a CUDA, Python, build or container file")
    return Discovery((Entry(path.name, kind, path.stat().st_size),), (), ())


def _classify(walk: _Walk, licensed: frozenset[str]) -> Discovery:
    paths = [path for path, _ in walk.files]
    pairs = origin.siblings(paths)
    made = origin.machine_made([p for p in paths if kind_of(p) == "cuda"])
    libraries = origin.library_copies(paths, frozenset(walk.licensed))
    makers = origin.makers_folders(paths)
    twins = copies.copied_files(walk.root, walk.files, read_regular)
    entries = []
    for path, size in walk.files:
        parts = tuple(path.split("/")[:-1])
        toolkit = origin.toolkit_header(path, lambda name: read_below(walk.root, name, origin.HEAD_BYTES))
        whose, place, why = toolkit or origin.folder_origin(parts, walk.submodules, licensed, libraries, makers)
        if whose is Origin.OWN and origin.is_amd_name(path):
            whose, place, why = Origin.AMD, path, "AMD-side: named as the AMD version"
        elif whose is Origin.OWN and path in made:
            whose, place, why = Origin.GENERATED, path.rpartition("/")[0], "generated: dozens of files of one shape"
        elif whose is Origin.OWN and path in twins:
            whose, place, why = Origin.GENERATED, twins[path][0], f"copy: the same files stand in {twins[path][1]}"
        entries.append(Entry(path, kind_of(path) or "", size, whose, why, place, pairs.get(path, "")))
    return Discovery(tuple(sorted(entries)), tuple(sorted(walk.skipped)), tuple(sorted(walk.problems)), tuple(walk.folders))


def _same_licence(words: str, others: set[str]) -> bool:
    """Whether a licence text is the root's own: a package inside a repository often carries a copy, or a line that points up."""
    return len(words) < 200 or any(words[:400] == other[:400] or words[200:1200] == other[200:1200] for other in others)


def _is_owners(folder: str, words: str) -> bool:
    """Whether a folder's other licence is the project's own: it names the package that the folder is part of."""
    above = {part.lower() for part in folder.split("/")[:-1] if len(part) > 3} - GENERIC_NAMES
    return bool(above & set(words.split()))


def _submodules(root: Path) -> frozenset[str]:
    data = read_below(root, ".gitmodules", MAX_IGNORE_BYTES) or b""
    return frozenset(m.strip().decode("utf-8", "replace").strip("/") for m in re.findall(rb"(?m)^[ \t]*path[ \t]*=[ \t]*(\S.*)$", data))
