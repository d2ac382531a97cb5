"""Build settings for a verification: include folders, macros and the C++ standard, from compile_commands.json or from the includes."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from porter.regular import read_regular
from porter.source_tree import SourceTree

DATABASES = ("compile_commands.json", "build/compile_commands.json")
SYSTEM = ("/usr/include/", "/usr/local/include/", "/usr/lib/", "/opt/rocm")  # a database may name these outside the repository
STANDARD = "-std=c++17"
MAX_DATABASE = 64 << 20
MAX_FOLDERS = 200
_STANDARD = re.compile(r"-std=(?:c|gnu)\+\+\w{1,6}\Z")
_DEFINE = re.compile(r"-D([A-Za-z_]\w*)(=.*)?\Z", re.DOTALL)
_OF_THE_VENDOR = re.compile(r"CUDA_?ARCH|__NV|NVCC|SM_?\d|CUDA_VERSION")
# A copy of one of these in a repository serves a compiler that lacks it (MSVC's stdint.h); every compiler for HIP has them all.
_OF_THE_SYSTEM = frozenset(
    f"{name}.h"
    for name in (
        *("assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits", "locale", "math", "setjmp", "signal"),
        *("stdalign", "stdarg", "stdatomic", "stdbool", "stddef", "stdint", "stdio", "stdlib", "string", "tgmath", "threads", "time"),
        *("uchar", "wchar", "wctype", "dirent", "dlfcn", "fcntl", "getopt", "poll", "pthread", "strings", "unistd"),
    )
)


class Settings(msgspec.Struct, frozen=True):
    """Options of one unit; folders are relative to the repository, or system ones."""

    folders: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    standard: str = STANDARD

    def options(self) -> list[str]:
        """The settings as compiler options."""
        return [self.standard, *(f"-D{define}" for define in self.defines), *(f"-I{folder}" for folder in self.folders)]


def database(root: Path) -> dict[str, Settings]:
    """Settings by path from the repository's compile_commands.json; empty where there is none that can be read.

    Only -I, -isystem, -D and -std are taken, folders only inside the repository or among the system's: the file is as hostile
    as the rest.
    """
    for name in DATABASES:
        data = read_regular(root / name, MAX_DATABASE)
        if data is None:
            continue
        try:
            entries = msgspec.json.decode(data)
        except (msgspec.DecodeError, RecursionError):
            continue
        found = [_entry(entry, root) for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
        return {path: settings for path, settings in found if path}
    return {}


def _entry(entry: dict[str, Any], root: Path) -> tuple[str, Settings]:
    words = entry.get("arguments")
    if not isinstance(words, list):
        try:
            words = shlex.split(str(entry.get("command", "")))
        except ValueError:
            return "", Settings()
    folder = str(entry.get("directory", ""))
    path = _inside(str(entry.get("file", "")), folder, root)
    return path, _settings([str(word) for word in words], folder, root)


def _settings(words: list[str], folder: str, root: Path) -> Settings:
    folders: list[str] = []
    defines: list[str] = []
    standard = STANDARD
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in ("-I", "-isystem", "-iquote"):
            folders.append(_folder(following, folder, root))
        elif word.startswith("-I"):
            folders.append(_folder(word[2:], folder, root))
        elif match := _DEFINE.match("-D" + following if word == "-D" else word):
            defines.append(match[1] + (match[2] or ""))
        elif _STANDARD.match(word):
            standard = word
    return Settings(tuple(dict.fromkeys(filter(None, folders)))[:MAX_FOLDERS], tuple(defines), standard)


def _inside(path: str, folder: str, root: Path) -> str:
    """A path of the database relative to the repository; empty outside it."""
    full = posixpath.normpath(posixpath.join(folder, path))
    base = root.resolve().as_posix()
    if full.startswith(base + "/"):
        return full[len(base) + 1 :]
    return "" if posixpath.isabs(full) or full.startswith("..") else full


def _folder(path: str, folder: str, root: Path) -> str:
    full = posixpath.normpath(posixpath.join(folder, path))
    if full == root.resolve().as_posix():
        return "."
    return full if (full + "/").startswith(SYSTEM) else _inside(path, folder, root)


def guess(unit: str, tree: SourceTree) -> Settings:
    """Settings of a unit that no database knows: the folders from which its includes, and theirs, are found."""
    folders: dict[str, None] = {}
    for path in tree.reach(unit):
        for include in tree.includes(path):
            target = tree.resolve(include.path, path)
            written = posixpath.normpath(include.path)
            if (
                target is None
                or written in _OF_THE_SYSTEM
                or posixpath.normpath(posixpath.join(posixpath.dirname(path), written)) == target
            ):
                continue
            tail = written.lstrip("./")
            folders.setdefault(target[: -len(tail)].rstrip("/") or ".")
    return Settings(tuple(folders)[:MAX_FOLDERS])


def flags(texts: Iterable[str], unit: str, tree: SourceTree) -> tuple[str, ...]:
    """The -D of build files that a unit's files speak of, where all build files agree on the value; none of NVIDIA's own."""
    values: dict[str, set[str]] = {}
    for text in texts:
        match = _DEFINE.match(text)
        if match and "$" not in text and not _OF_THE_VENDOR.search(match[1]):
            values.setdefault(match[1], set()).add(match[2] or "")
    sure = {name: value.pop() for name, value in values.items() if len(value) == 1}
    reach = [tree.files[path] for path in tree.reach(unit)] if sure else []
    return tuple(f"{name}{value}" for name, value in sorted(sure.items()) if any(name.encode() in text for text in reach))
