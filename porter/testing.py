"""Rule tests: runs every rule's examples, every marked fixture and every marked repository through the real parsers and detectors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from porter.config import Config
from porter.examine import Auditor
from porter.pipeline import audit
from porter.rules import RuleSet

MARK = re.compile(
    rb"(?P<open>//|\#|--|<!--|/\*|;|%)[ \t]*(?P<word>expect|ok|todo)(?:@(?P<shift>[+-]\d+))?:"
    rb"[ \t]*(?P<rules>[a-z0-9][a-z0-9, -]*[a-z0-9])[ \t]*(?P<close>-->|\*/)?"
)
SIDECAR = "EXPECT"  # marks of files that have no comments, one `path:line rule-id` a line, at the repository's root
ALL_TARGETS = ("gfx90a", "gfx942", "gfx950")


class Mark(msgspec.Struct, frozen=True):
    """What a fixture says of a line: the rule must be found there (expect), must not (ok), or is a known miss (todo)."""

    word: str
    rule: str
    line: int


class Failure(msgspec.Struct, frozen=True, order=True):
    """One way in which a rule's tests failed."""

    path: str
    line: int
    rule: str
    what: str


def read_marks(data: bytes) -> tuple[bytes, tuple[Mark, ...]]:
    """The marks of a fixture, and its bytes with every mark blanked, so that offsets stay and marks cannot match."""
    marks: list[Mark] = []
    out = bytearray(data)
    starts = [0] + [m.end() for m in re.finditer(rb"\n", data)]
    for match in MARK.finditer(data):
        line = sum(1 for start in starts if start <= match.start())
        shift = int(match["shift"]) if match["shift"] else 1
        for rule in match["rules"].decode().split(","):
            marks.append(Mark(match["word"].decode(), rule.strip(), line + shift))
        out[match.start() : match.end()] = b" " * (match.end() - match.start())
    return bytes(out), tuple(marks)


def check_rule_examples(ruleset: RuleSet, only: str = "", audit: Auditor | None = None) -> Iterator[Failure]:
    """Failures of the examples: `before` must hit the rule, `after` must not."""
    audit = audit or Auditor(Config(targets=ALL_TARGETS), ruleset)
    for rule in ruleset.rules.values():
        if only and rule.id != only:
            continue
        for example in rule.examples:
            where = f"{rule.area}/{rule.id}.toml"
            if rule.id not in audit.rule_lines(example.file, example.before.encode()):
                yield Failure(where, 0, rule.id, f"`before` of {example.file} is not found")
            if rule.id in audit.rule_lines(example.file, example.after.encode()):
                yield Failure(where, 0, rule.id, f"`after` of {example.file} is still found")


def check_folder(folder: Path, audit: Auditor) -> Iterator[Failure]:
    """Failures of one folder of marked files that know of each other: what is found must equal the expect marks, line by line.

    Good news (insights) counts only in files that mark the rule: what works as it is stands in nearly every file.
    """
    texts: dict[str, bytes] = {}
    marks: dict[str, tuple[Mark, ...]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            texts[name], marks[name] = read_marks(path.read_bytes())
    found_in = audit.rule_lines_of(texts)
    for name in sorted(texts):
        marked = {mark.rule for mark in marks[name]}
        found = {(r, line) for r, lines in found_in[name].items() for line in lines if r in marked or not audit.ruleset.rules[r].is_insight}
        yield from _compare(f"{folder.name}/{name}", marks[name], found)


def _compare(path: str, marks: tuple[Mark, ...], found: set[tuple[str, int]]) -> Iterator[Failure]:
    expected = {(mark.rule, mark.line) for mark in marks if mark.word == "expect"}
    known_misses = {(mark.rule, mark.line) for mark in marks if mark.word == "todo"}
    for rule, line in sorted(expected - found):
        yield Failure(path, line, rule, "expected here, not found")
    for rule, line in sorted(found - expected):
        known = (rule, line) in known_misses
        yield Failure(path, line, rule, "a todo mark is found now: make it expect" if known else "found here, no mark")


def check_fixtures(folder: Path, ruleset: RuleSet, only: str = "") -> Iterator[Failure]:
    """Failures of all fixtures below a folder that holds one folder a rule, or a small repository."""
    audit = Auditor(Config(targets=ALL_TARGETS), ruleset)
    for child in sorted(folder.iterdir()) if folder.is_dir() else ():
        if child.is_dir() and (not only or child.name == only):
            yield from check_folder(child, audit)


def blank_copy(repository: Path, target: Path) -> dict[str, tuple[Mark, ...]]:
    """Copies a marked repository with its marks blanked to a folder that must not exist; the marks of each file, by path."""
    marks: dict[str, tuple[Mark, ...]] = {}
    for path in sorted(repository.rglob("*")):
        name = path.relative_to(repository).as_posix()
        if not path.is_file() or name == SIDECAR:
            continue
        data = path.read_bytes()
        text, marks[name] = (data, ()) if b"\0" in data else read_marks(data)
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(text)
    for place, rule in _sidecar(repository / SIDECAR):
        name, _, line = place.rpartition(":")
        marks[name] = (*marks.get(name, ()), Mark("expect", rule, int(line)))
    return marks


def _sidecar(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        if line.strip() and not line.startswith("#"):
            place, _, rule = line.strip().partition(" ")
            yield place, rule.strip()


def check_repository(repository: Path, target: Path) -> Iterator[Failure]:
    """Failures of a marked repository that goes through the whole pipeline, from ``target`` where its blanked copy is put.

    As in `check_folder`, good news counts only in files that mark the rule; what is already ported never counts as found.
    """
    marks = blank_copy(repository, target)
    report = audit(target, Config(targets=ALL_TARGETS, jobs=0))
    found: dict[str, set[tuple[str, int]]] = {name: set() for name in marks}
    for finding in report.findings:
        found[finding.path].add((finding.rule, finding.line))
    for finding in report.insights:
        if finding.category == "works-as-is" and any(finding.rule == mark.rule for mark in marks[finding.path]):
            found[finding.path].add((finding.rule, finding.line))
    for name in sorted(marks):
        yield from _compare(f"{repository.name}/{name}", marks[name], found[name])
