"""What a scan remembers as a whole: the rules as they were read, and the report on a tree in which nothing changed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from porter import cache_keys, rules
from porter.cache import Store
from porter.config import Config
from porter.discover import Entry
from porter.held import as_plain
from porter.model import Report
from porter.rules import RuleSet

MAX_REPORT = 64 * 2**20  # bytes of a report that is kept
MAX_FINDINGS = 100_000  # of one: about as many bytes
HOW_ONLY = frozenset(("jobs", "cache_dir"))  # settings that no report depends on


def ruleset(config: Config) -> RuleSet:
    """The rules, from the cache where their files hold what they held; raises RuleError as ``rules.load`` does."""
    key = key_of_rules(config) if config.cache_dir else b""
    if not key:
        return rules.load(config.rules_dirs)
    with contextlib.closing(Store(Path(config.cache_dir))) as store:
        found = _decoded(store.get([key]).get(key), RuleSet)
        if isinstance(found, RuleSet):
            return found
        made = rules.load(config.rules_dirs)
        store.put([(key, msgspec.msgpack.encode(made))])
        return made


def key_of_rules(config: Config) -> bytes:
    """The name of these rules: every byte of their files, and this porter; empty where there is no such folder. Raises RuleError."""
    files = []
    for folder in (rules.rules_folder(), *map(Path, config.rules_dirs)):
        if not folder.is_dir():
            return b""
        files += [(path.relative_to(folder).as_posix(), cache_keys.content(rules.bytes_of(path))) for path in rules.files_of(folder)]
        files.append((str(folder), b""))
    return cache_keys.of_parts("rules", cache_keys.of_program(), files)


def depends_on_more(config: Config, entries: Iterable[Entry]) -> bool:
    """Whether files decide a report that are no entries of the scan: a revision's, prices, and what lies beside a model's config."""
    from porter.size.repository import is_config  # loads what an unchanged tree has no need of

    return bool(config.changed_since or config.models or config.prices) or any(is_config(entry.path) for entry in entries)


def given(config: Config) -> list[tuple[str, Any]]:
    """The settings that a report depends on, by name."""
    used = {name: value for name, value in msgspec.structs.asdict(config).items() if name not in HOW_ONLY}
    return sorted(msgspec.to_builtins(used).items())


def key_of_report(settings: bytes, config: Config, contents: Iterable[tuple[Entry, bytes]], beside: tuple[Any, ...]) -> bytes:
    """The name of a report: every setting, the digest of every file, and what else is in it (``beside``)."""
    files = [(msgspec.to_builtins(entry), digest) for entry, digest in contents]
    return cache_keys.of_parts("report", settings, given(config), files, msgspec.to_builtins(beside))


def report(store: Store, key: bytes) -> Report | None:
    """The report that was kept under a key."""
    found = _decoded(store.get([key]).get(key), Report)
    return found if isinstance(found, Report) else None


def keep(store: Store, key: bytes, made: Report) -> bool:
    """Remember a report, unless it is very large; whether that was done."""
    if len(made.findings) + len(made.insights) > MAX_FINDINGS:
        return False
    data = msgspec.msgpack.encode(made, enc_hook=as_plain)
    if store.writes and len(data) <= MAX_REPORT:
        store.put([(key, data)])
        return store.writes
    return False


def _decoded(data: bytes | None, kind: Any) -> Any:
    with contextlib.suppress(msgspec.MsgspecError, RecursionError, ValueError):
        return msgspec.msgpack.decode(data, type=kind) if data is not None else None
    return None
