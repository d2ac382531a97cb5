"""Which repositories: the folders in a folder, or the lines of a list file."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

import msgspec

from porter.errors import ConfigError

LIST_LIMIT = 4_000_000  # bytes of a list file
MOST = 20_000


class Repository(msgspec.Struct, frozen=True):
    """A folder to audit, the name it has in the report, and what a port of it is worth to the user (any unit), if they said so."""

    name: str
    path: str
    value: float | None = None


def repositories(source: Path) -> tuple[Repository, ...]:
    """The repositories of a folder or a list file, by name; raises ConfigError for what is neither or names nothing.

    A line of a list is a path, relative to the list's folder, then ``name=`` and ``value=`` in any order; quoted as in a shell.
    """
    if source.is_dir():
        found = [Repository(child.name, str(child.resolve())) for child in sorted(source.iterdir()) if _counts(child)]
    elif source.is_file():
        found = list(_lines(source))
    else:
        raise ConfigError(f"{source}: no such list or folder")
    if not found:
        raise ConfigError(f"{source}: names no repository", "a folder of repositories, or a file with a path on each line")
    if len(found) > MOST:
        raise ConfigError(f"{source}: {len(found)} repositories; porter takes {MOST} at a time")
    return tuple(sorted(_named_apart(found), key=lambda repository: repository.name))


def _counts(child: Path) -> bool:
    """A folder of the folder itself: hidden ones and links are left out."""
    return child.is_dir() and not child.is_symlink() and not child.name.startswith(".")


def _lines(source: Path) -> Iterable[Repository]:
    with source.open("rb") as stream:
        data = stream.read(LIST_LIMIT + 1)
    if len(data) > LIST_LIMIT:
        raise ConfigError(f"{source}: too large for a list of repositories")
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise ConfigError(f"{source}:{number}: {error}") from error
        if words:
            yield _repository(source, number, words)


def _repository(source: Path, number: int, words: list[str]) -> Repository:
    path, options = words[0], dict(word.partition("=")[::2] for word in words[1:])
    if "://" in path or path.startswith("git@"):
        raise ConfigError(f"{source}:{number}: {path}: porter fetches nothing", "clone it first, and name the folder")
    if unknown := sorted(set(options) - {"name", "value"}):
        raise ConfigError(f"{source}:{number}: {unknown[0]}: unknown; a path, name=, value=", "quote a path with spaces")
    try:
        folder = (source.parent / path).resolve()
        is_folder = folder.is_dir()
    except (OSError, ValueError, RuntimeError):  # a name that no system has, links in a circle
        is_folder = False
    if not is_folder:
        raise ConfigError(f"{source}:{number}: {path}: no such folder")
    return Repository(options.get("name") or folder.name or "root", str(folder), _value(source, number, options.get("value")))


def _value(source: Path, number: int, word: str | None) -> float | None:
    if word is None:
        return None
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e15:
        raise ConfigError(f"{source}:{number}: value={word}: a number, zero or more")
    return value


def _named_apart(found: list[Repository]) -> list[Repository]:
    """One row a folder; two folders of one name are told apart by their parents' names, then by a number."""
    once = {one.path: one for one in reversed(found)}  # the first line of a folder counts
    names: set[str] = set()
    out = []
    count = {one.name: sum(other.name == one.name for other in once.values()) for one in once.values()}
    for one in sorted(once.values(), key=lambda one: one.path):
        stem = one.name if count[one.name] == 1 else f"{Path(one.path).parent.name}/{one.name}"
        name, number = stem, 2
        while name in names:
            name, number = f"{stem} ({number})", number + 1
        names.add(name)
        out.append(msgspec.structs.replace(one, name=name))
    return out
