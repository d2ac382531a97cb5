"""Cache keys: everything that decides what porter finds in a file goes into the name under which it is remembered."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from porter import __version__, rules
from porter.config import Config
from porter.discover import Entry
from porter.held import as_plain

KEY_BYTES = 24
# Libraries that read files, or say which ones are read.
READERS = ("tree-sitter", "tree-sitter-cpp", "tree-sitter-cuda", "tree-sitter-python", "PyYAML", "packaging", "pathspec")
# Settings that change what is said of findings, or how fast, but not what is found in a file.
ELSEWHERE = frozenset((
    "jobs", "exclude", "rules_dirs", "seed", "severities", "per_path", "require_reason", "today", "notes", "effort", "hipify_perl",
    "cache_dir", "changed_since", "git", "models", "prices", "throughput",
))  # fmt: skip


def of_parts(*parts: Any) -> bytes:
    """A digest of plain values, each set off from the next."""
    return hashlib.blake2b(msgspec.msgpack.encode(parts), digest_size=KEY_BYTES).digest()


def content(data: bytes) -> bytes:
    """The digest of a file's bytes."""
    return hashlib.blake2b(data, digest_size=KEY_BYTES).digest()


@functools.cache  # of the code that runs, whatever becomes of its files meanwhile
def of_program() -> bytes:
    """Which porter this is: versions of it, of the interpreter and READERS, and size and time of its files (a checkout is edited)."""
    wanted = ((Path(__file__).parent, (".py", ".toml", ".json")), (rules.rules_folder(), (".tsv",)))
    paths = [(folder, path) for folder, endings in wanted for path in folder.rglob("*") if path.suffix in endings]
    files = sorted((path.relative_to(folder).as_posix(), path.stat()) for folder, path in paths)
    return of_parts(__version__, sys.version, _releases(), [(name, found.st_size, found.st_mtime_ns) for name, found in files])


def _releases() -> list[str]:
    from importlib import metadata  # slow to load, and a scan without a cache asks for no version

    found = []
    for name in READERS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return found


def of_settings(config: Config, rules_version: str) -> bytes:
    """What all files of a scan have in common; hipify-perl counts by its content."""
    used = {name: value for name, value in msgspec.structs.asdict(config).items() if name not in ELSEWHERE}
    perl = Path(config.hipify_perl).read_bytes() if config.hipify_perl else b""
    return of_parts(of_program(), rules_version, sorted(msgspec.to_builtins(used).items()), content(perl))


def of_entry(stage: str, settings: bytes, entry: Entry, digest: bytes, around: bytes = b"") -> bytes:
    """The key of one file at one stage; ``around`` is the digest of what other files tell it."""
    return of_parts(stage, settings, msgspec.to_builtins(entry), digest, around)


def of_surveys(surveys: Iterable[Any], modules: Iterable[str]) -> bytes:
    """What files tell each other, as one digest."""
    said = hashlib.blake2b(digest_size=KEY_BYTES)
    for survey in surveys:  # one at a time: those of a large tree are put aside
        said.update(msgspec.msgpack.encode(survey, enc_hook=as_plain))
    return of_parts(said.digest(), sorted(modules))
