"""Suppression: takes findings out of the totals where a comment or the settings say so, and tells which marks do nothing."""

from __future__ import annotations

import fnmatch
import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from porter import ignore
from porter.config import Config, PathRule
from porter.examine import Examined
from porter.ignore_marks import HEAD_LINES, IgnoreMark
from porter.many import Many
from porter.model import Finding, Problem, Rule, Suppression
from porter.pages import Filling, spill_of
from porter.rules import RuleSet

STAGE = "suppress"
MAX_NOTES = 50  # on the marks of one file


class Outcome(NamedTuple):
    """What is left, what is suppressed and why (by fingerprint), and what a reader should know of the marks."""

    findings: Many[Finding]
    suppressed: Many[Finding]
    why: dict[str, Suppression]
    problems: tuple[Problem, ...]


def apply(findings: Sequence[Finding], examined: Iterable[Examined], ruleset: RuleSet, config: Config) -> Outcome:
    """The findings with the settings' severities, parted into work and suppressed."""
    problems: list[Problem] = []
    marks: dict[str, _Marks] = {}
    named = functools.lru_cache(maxsize=10_000)(functools.partial(_named, ruleset))
    by_path = _PathRules(config, named)
    for one in examined:
        by_path.see(one)
        if one.ignores:
            marks[one.path] = _Marks(one.ignores, config, named)
            notes = tuple(marks[one.path].notes(one))
            problems += notes[:MAX_NOTES]
            if len(notes) > MAX_NOTES:
                what = f"{len(notes) - MAX_NOTES:,} more marks that do not count or can go"
                problems.append(Problem(STAGE, one.path, 0, what, matters=False))
    spill = spill_of(findings)
    kept, hidden = Filling(Finding, spill), Filling(Finding, spill)
    why: dict[str, Suppression] = {}
    for finding in findings:
        rule = ruleset.rules[finding.rule]
        reason = marks[finding.path].reason(finding) if finding.path in marks else None
        reason = reason or by_path.reason(finding)
        if reason is not None:
            hidden.add(finding)
            why[finding.fingerprint] = reason
        else:
            kept.add(_with_severity(finding, rule, config, by_path))
    return Outcome(kept.done(), hidden.done(), why, (*problems, *by_path.notes()))


def names(pattern: str, rule: Rule) -> bool:
    """Whether a glob of ids names a rule, by its id or one it had formerly."""
    return any(fnmatch.fnmatchcase(known, pattern) for known in (rule.id, *rule.formerly))


def _named(ruleset: RuleSet, pattern: str) -> frozenset[str]:
    """Ids of the rules that a glob names."""
    return frozenset(rule.id for rule in ruleset.rules.values() if names(pattern, rule))


class _Marks:
    """The marks of one file that count, found by line, and notes on those that do not."""

    def __init__(self, marks: Iterable[IgnoreMark], config: Config, named: Callable[[str], frozenset[str]]) -> None:
        self.named = named
        self.refused = [(mark, wrong) for mark in marks if (wrong := mark.wrong or _refused(mark, config))]
        self.good = [mark for mark in marks if not mark.wrong and not _refused(mark, config)]
        self.at: dict[int, list[IgnoreMark]] = defaultdict(list)
        self.wide = [mark for mark in self.good if mark.last - mark.first > HEAD_LINES]
        for mark in self.good:
            for line in range(mark.first, mark.last + 1) if mark.last - mark.first <= HEAD_LINES else ():
                self.at[line].append(mark)

    def covering(self, line: int) -> Iterator[IgnoreMark]:
        """The good marks that cover a line: those of the line or a short block, then long blocks and the file."""
        yield from self.at.get(line, ())
        yield from (mark for mark in self.wide if mark.first <= line <= mark.last)

    def reason(self, finding: Finding) -> Suppression | None:
        """Why the finding is suppressed, None where it is not."""
        for mark in self.covering(finding.line):
            if any(finding.rule in self.named(pattern) for pattern in mark.rules):
                return Suppression("inSource", finding.path, mark.line, mark.reason)
        return None

    def notes(self, one: Examined) -> Iterator[Problem]:
        """A note on each mark that does not count, and on each rule of a mark that is not found under it.

        A hit that is good news today, or bites on other targets only, counts as found: the mark may be needed there.
        """
        for mark, wrong in self.refused:
            yield _note(one.path, mark, f"{_label(mark)} {wrong}; it does not count")
        used: set[tuple[int, str]] = set()
        for line, rule in {(hit.span.line, hit.rule) for hit in one.hits}:
            for mark in self.covering(line):
                used |= {(id(mark), pattern) for pattern in mark.rules if rule in self.named(pattern)}
        for mark in self.good:
            for pattern in mark.rules:
                if not self.named(pattern):
                    yield _note(one.path, mark, f"{_label(mark)} suppresses nothing: there is no rule '{pattern}'")
                elif (id(mark), pattern) not in used:
                    yield _note(one.path, mark, f"{_label(mark)} suppresses nothing: '{pattern}' is not found here; it can go")


def _label(mark: IgnoreMark) -> str:
    return f"porter: ignore[{', '.join(mark.rules)}]"


def _refused(mark: IgnoreMark, config: Config) -> str:
    if config.require_reason and not mark.reason:
        return "gives no reason, and reasons are required"
    if mark.until and config.today and mark.until < config.today:
        return f"ended on {mark.until}"
    return ""


def _note(path: str, mark: IgnoreMark, what: str) -> Problem:
    return Problem(STAGE, path, mark.line, what[:400], matters=False)


class _PathRules:
    """The settings' per-path rules that count, compiled; each path is matched once."""

    def __init__(self, config: Config, named: Callable[[str], frozenset[str]]) -> None:
        self.named = named
        self.is_part = bool(config.changed_since)  # what stands in files that nobody looked at is not known
        self.refused = [(rule, wrong) for rule in config.per_path if (wrong := _refused_rule(rule, config))]
        good = [rule for rule in config.per_path if not _refused_rule(rule, config)]
        self.rules = [(ignore.spec_of([rule.pattern])[0], rule) for rule in good]
        self.known: dict[str, list[PathRule]] = defaultdict(list)
        self.used: set[tuple[str, str]] = set()

    def of(self, path: str) -> list[PathRule]:
        if self.rules and path not in self.known:
            self.known[path] = [rule for spec, rule in self.rules if spec.match_file(path)]
        return self.known.get(path, [])

    def see(self, one: Examined) -> None:
        """Remember which globs name something in a file: good news and hits of other targets count, as they do for marks."""
        found = {hit.rule for hit in one.hits} if self.rules else frozenset()
        for rule in self.of(one.path) if found else ():
            self.used |= {(rule.pattern, pattern) for pattern in rule.ignore if not found.isdisjoint(self.named(pattern))}

    def reason(self, finding: Finding) -> Suppression | None:
        for one in self.of(finding.path):
            if any(finding.rule in self.named(pattern) for pattern in one.ignore):
                return Suppression("external", finding.path, finding.line, one.reason or f"settings for {one.pattern}")
        return None

    def notes(self) -> Iterator[Problem]:
        """A note on each rule that does not count, and on each glob of one that names nothing in its paths."""
        for rule, wrong in self.refused:
            yield Problem(STAGE, "", 0, f"settings for {rule.pattern[:100]}: {wrong}; it does not count", matters=False)
        for _, rule in self.rules if not self.is_part else ():
            for pattern in rule.ignore:
                if (rule.pattern, pattern) not in self.used:
                    what = f"settings for {rule.pattern[:100]} suppress nothing: '{pattern[:100]}' is not found there; it can go"
                    yield Problem(STAGE, "", 0, what, matters=False)


def _refused_rule(rule: PathRule, config: Config) -> str:
    if rule.ignore and config.require_reason and not rule.reason.strip():
        return "the suppression gives no reason, and reasons are required"
    return f"ended on {rule.until}" if rule.until and config.today and rule.until < config.today else ""


def _with_severity(finding: Finding, rule: Rule, config: Config, by_path: _PathRules) -> Finding:
    """The finding with the severity that the settings give its rule, then its path; the last that fits counts."""
    severity = finding.severity
    for pattern, wanted in config.severities:
        if names(pattern, rule):
            severity = wanted
    for one in by_path.of(finding.path):
        severity = one.severity or severity
    return finding if severity is finding.severity else msgspec.structs.replace(finding, severity=severity)
