"""Passes: survey and examination of all files, from the cache where their content is known, else in the workers."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from porter import cache_keys, link, own_names, rehearsal, remembered, workers
from porter.aside import Aside
from porter.cache import Store
from porter.config import Config
from porter.contents import content_of
from porter.discover import Entry
from porter.examine import KEPT_BYTES, SURVEYED, Auditor, Examined, Surveyed
from porter.model import Origin, Problem, Report
from porter.rules import RuleSet

Progress = Callable[[str, int, int], None]  # stage, bytes done, bytes in all
_KeysOf = Callable[[Entry], tuple[bytes, ...]]  # digests of what may have a say in a file
PUT_BYTES = 8 * 2**20  # of values that wait to be written together
MANY_PARSES = 16  # times the room for them: so few are kept then that their memory counts more than the time
GET_FILES = 1000  # whose values are read together
# What depends on the machine's speed or on another program is found again the next time.
PASSING = re.compile(r"gave up after|took more than|s were over|MemoryError|could not be opened|cannot be read")
ALWAYS_AROUND = ("cuda", "cxx", "cmake", "make", "bazel")  # kinds whose examination asks what other files say


class Passes:
    """One scan's workers and cache; ``close`` ends both."""

    def __init__(self, base: Path, config: Config, ruleset: RuleSet, progress: Progress) -> None:
        """Workers start when a file is not in the cache."""
        self.base, self.config, self.ruleset, self.progress = base, config, ruleset, progress
        self._pool = workers.Pool(Auditor, (config, ruleset, base), config.jobs)
        self._store = Store(Path(config.cache_dir)) if config.cache_dir else None
        self._settings = cache_keys.of_settings(config, ruleset.version) if self._store is not None else b""
        self._looks = self._store is not None and not self._store.is_empty
        self.aside = Aside()
        self._digests: dict[Entry, bytes] = {}
        self._waiting: list[tuple[bytes, bytes]] = []
        self._bytes = 0
        self._sound = True  # whether each file was one and the same each time, and no worker died
        self.parsed = 0  # files that went to the workers
        self.kept = b""  # the key of this scan's report where the cache holds it

    def close(self) -> None:
        """End the workers, write what waits."""
        self._pool.close()
        if self._store is not None:
            self._flush()
            self._store.close()

    def known_report(self, entries: tuple[Entry, ...], beside: tuple[Any, ...]) -> Report | None:
        """The report of a scan of exactly these files; ``beside`` is what else a report is made of."""
        if self._store is None or not self._looks or remembered.depends_on_more(self.config, entries):
            return None
        contents = [(entry, self._digest(entry)) for entry in entries]
        if not all(digest for _, digest in contents):
            return None
        key = remembered.key_of_report(self._settings, self.config, contents, beside)
        found = remembered.report(self._store, key)
        if found is not None:
            self.kept = key
            self.progress("examine", size := sum(entry.size for entry in entries), size)
        return found

    def keep_report(self, entries: tuple[Entry, ...], beside: tuple[Any, ...], made: Report) -> Report:
        """The report, remembered where nothing passing has touched it."""
        contents = [(entry, self._digests.get(entry, b"")) for entry in entries]
        passing = any(problem.stage == "hipify" or PASSING.search(problem.what) for problem in made.problems)
        if self._store is None or not self._sound or passing or remembered.depends_on_more(self.config, entries):
            return made
        if all(digest for _, digest in contents):
            self._flush()
            key = remembered.key_of_report(self._settings, self.config, contents, beside)
            self.kept = key if remembered.keep(self._store, key, made) else b""
        return made

    def own_names(self, entries: Iterable[Entry]) -> frozenset[str]:
        """Names that the project gives itself; a file that kills its worker gives none, and its examination says what is wrong."""
        entries = list(entries)
        if not self._looks:  # else most files are known, and workers see few
            self._pool.prepare(rehearsal.rehearse, {entry.kind for entry in entries})
        by_path = {entry.path: entry for entry in entries if entry.origin is Origin.OWN}
        wanted = [by_path[path] for path in own_names.files(by_path)]
        found = [outcome.value or () for outcome in self._pool.run("own_names", wanted, lambda task: task.size)]
        return own_names.with_headers(frozenset().union(*found), by_path)

    def survey(self, entries: Iterable[Entry]) -> list[Surveyed]:
        """What files tell each other, by path; a file that kills its worker here is named by the examination."""
        wanted = [e for e in entries if e.kind in SURVEYED and (e.kind != "python" or e.path.endswith("setup.py"))]
        wanted = [e for e in wanted if e.origin in (Origin.OWN, Origin.AMD) or self.config.include_vendored]
        if sum(entry.size for entry in wanted if entry.kind == "cuda") > MANY_PARSES * KEPT_BYTES:
            self._pool.tell("keep", 0)
        found = self._known("survey", wanted, Surveyed, lambda _: (b"",), self.aside.surveyed)
        for outcome in self._over("survey", wanted, found):
            if outcome.value is not None and not any(PASSING.search(problem.what) for problem in outcome.value.problems):
                self._keep("survey", outcome.task, outcome.value, b"")
            found[outcome.task] = self.aside.surveyed(outcome.value or Surveyed(outcome.task.path, None))
        if self.aside.is_full:
            self._pool.close()  # before what they told is linked; others will share the index
        return sorted(found.values(), key=lambda survey: survey.path)

    def examine(self, entries: Iterable[Entry], surveys: list[Surveyed], index: link.Index, modules: frozenset[str]) -> list[Examined]:
        """Everything that each file gives, by path."""
        entries = list(entries)
        alone = around = b""
        if self._store is not None:
            alone, around = cache_keys.of_surveys([], modules), cache_keys.of_surveys(surveys, modules)
        found = self._examined(entries, (alone, around), index, modules)
        self._pool.close()  # nobody asks the workers any more, and what they hold is needed for the report
        return found

    def examine_alone(self, entries: Iterable[Entry], nothing: link.Index, modules: frozenset[str]) -> list[Examined] | None:
        """The same without a survey, for the few files of a change; None where some file needs to know of the others."""
        entries = list(entries)
        if any(entry.kind in ALWAYS_AROUND for entry in entries):
            return None
        alone = cache_keys.of_surveys([], modules) if self._store is not None else b""
        found = self._examined(entries, (alone, b""), nothing, modules)
        return found if all(one.alone for one in found) else None

    def _examined(self, entries: list[Entry], keys: tuple[bytes, bytes], index: link.Index, modules: frozenset[str]) -> list[Examined]:
        """What each file gives; ``keys`` are for files that ask no other and for those that do, empty where what these ask is not known."""
        alone, around = keys
        wanted = tuple(key for key in keys if key)
        keys_of: _KeysOf = lambda entry: (around,) if entry.kind in ALWAYS_AROUND else wanted  # noqa: E731
        found = self._known("examine", entries, Examined, keys_of, self.aside.examined)
        if len(found) < len(entries):
            (self._pool.teach if self.aside.is_full else self._pool.tell)("learn", index, modules)
        for outcome in self._over("examine", entries, found):
            value = _dead(outcome.task, outcome.death) if outcome.death else outcome.value
            key = alone if value.alone and outcome.task.kind not in ALWAYS_AROUND else around
            if key and not any(problem.stage == "hipify" or PASSING.search(problem.what) for problem in value.problems):
                self._keep("examine", outcome.task, value, key)
            found[outcome.task] = self.aside.examined(value)
        return sorted(found.values(), key=lambda one: one.path)

    def _known(self, stage: str, entries: list[Entry], kind: type[Any], around: _KeysOf, light: Callable[[Any], Any]) -> dict[Entry, Any]:
        """What the cache knows of these files: bytes that are not exactly such a value of such a file count for nothing."""
        out: dict[Entry, Any] = {}
        if self._store is None or not self._looks:
            return out
        decoder = msgspec.msgpack.Decoder(kind)
        for at in range(0, len(entries), GET_FILES):
            keys: dict[bytes, Entry] = {}
            for entry in entries[at : at + GET_FILES]:
                digest = self._digest(entry)
                keys |= {cache_keys.of_entry(stage, self._settings, entry, digest, one): entry for one in around(entry) if digest}
            for key, value in self._store.get(keys).items():
                with contextlib.suppress(msgspec.MsgspecError, RecursionError, ValueError):
                    read = decoder.decode(value)
                    if read.path == keys[key].path and read.digest == self._digest(keys[key]):
                        out[keys[key]] = light(read)
        return out

    def _digest(self, entry: Entry) -> bytes:
        if entry not in self._digests:
            data = content_of(self.base, entry, self.config)
            self._digests[entry] = cache_keys.content(data) if isinstance(data, bytes) else b""
        return self._digests[entry]

    def _keep(self, stage: str, entry: Entry, value: Any, around: bytes) -> None:
        """Remember a value under the content that the worker read, which may be newer than what was hashed here."""
        if self._store is None or not self._store.writes or not value.digest:
            return
        key = cache_keys.of_entry(stage, self._settings, entry, value.digest, around)
        self._waiting.append((key, msgspec.msgpack.encode(value)))
        self._bytes += len(self._waiting[-1][1])
        if self._bytes > PUT_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._store is not None:
            self._store.put(self._waiting)
        self._waiting, self._bytes = [], 0

    def _over(self, method: str, tasks: list[Entry], found: dict[Entry, Any]) -> Iterable[workers.Outcome]:
        """What every file gave that is not found yet, with progress in bytes."""
        left = [task for task in tasks if task not in found]
        self.parsed += len(left)
        total = sum(task.size for task in tasks)
        done = total - sum(task.size for task in left)
        self.progress(method, done, total)
        for outcome in self._pool.run(method, left, lambda task: task.size):
            done += outcome.task.size
            read = outcome.value.digest if outcome.value is not None else b""
            self._sound = self._sound and bool(read) and self._digests.setdefault(outcome.task, read) == read
            self.progress(method, done, total)
            yield outcome


def _dead(entry: Entry, words: str) -> Examined:
    problem = Problem("parse", entry.path, 0, words)
    return Examined(entry.path, entry.kind, entry.origin, 0, 0.0, problems=(problem,), counted=False)
