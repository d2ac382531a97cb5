"""What of a report a reviewer has to see: what came, what went, worst first, one row for many places of one rule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from porter.errors import ConfigError, InputError
from porter.model import Finding, Report, Severity

ROWS = 10
ONE_RULE = 5  # places of one rule that get a row each
FIXED = 3  # rows kept for what is fixed


class Row(msgspec.Struct, frozen=True):
    """One row of the comment: a finding, or all of one rule; ``fixed`` for what is gone."""

    findings: tuple[Finding, ...]
    fixed: bool = False

    @property
    def first(self) -> Finding:
        """The finding that stands for the row."""
        return self.findings[0]

    @property
    def likely(self) -> float:
        """Likely hours of all findings in it."""
        return sum(finding.effort_hours.likely for finding in self.findings)

    @property
    def rank(self) -> tuple[int, float, str, int]:
        """The most severe first, of those what costs most."""
        worst = max(finding.severity for finding in self.findings)
        return (-worst.rank, -round(self.likely, 4), self.first.path, self.first.line)


class Chosen(msgspec.Struct, frozen=True):
    """What came and went, the rows that are shown of it, and what is not counted."""

    new: tuple[Finding, ...]
    fixed: tuple[Finding, ...]
    rows: tuple[Row, ...]
    more_new: int  # findings that no row shows
    more_fixed: int
    remarks: int  # new findings below the severity that is asked for
    unchanged_near: int  # old findings in files where something came or went

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not self.new and not self.fixed


def below(report: Report, prefix: str) -> Report:
    """The report with paths from the repository's root, where a folder below it was scanned; raises ConfigError for a path out of it."""
    parts = [part for part in prefix.split("/") if part not in ("", ".")]
    if prefix.startswith("/") or ".." in parts:
        raise ConfigError(f"'{prefix[:100]}' is no folder below the repository's root", "for example --prefix src/kernels")
    if not parts:
        return report
    start = "/".join(parts) + "/"
    moved = {
        name: tuple(msgspec.structs.replace(finding, path=start + finding.path) for finding in getattr(report, name))
        for name in ("findings", "fixed")
    }
    return msgspec.structs.replace(report, **moved)


def choose(report: Report, least: Severity = Severity.MINOR, limit: int = ROWS) -> Chosen:
    """What the comment shows; raises InputError for a report that was compared with nothing."""
    if report.baseline is None:
        raise InputError(
            "the report was compared with nothing, so nothing in it is known to be new",
            "porter scan . --baseline REV --output report.json, or porter comment --before before.json",
        )
    fresh = [finding for finding in report.findings if finding.state == "new"]
    new = tuple(finding for finding in fresh if finding.severity >= least)
    fixed = tuple(finding for finding in report.fixed if finding.severity >= least)
    came, went = _rows(new, False), _rows(fixed, True)
    kept_went = min(len(went), max(limit - len(came), FIXED))
    rows = (*came[: limit - kept_went], *went[:kept_went])
    paths = {finding.path for finding in (*new, *fixed)}
    near = sum(1 for finding in report.findings if finding.state != "new" and finding.path in paths)
    return Chosen(
        new, fixed, rows, len(new) - _shown(rows, False), len(fixed) - _shown(rows, True), len(fresh) - len(new), near
    )  # fmt: skip


def _rows(findings: Iterable[Finding], fixed: bool) -> list[Row]:
    by_rule: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_rule[finding.rule].append(finding)
    rows: list[Row] = []
    for group in by_rule.values():
        rows += [Row(tuple(group), fixed)] if len(group) > ONE_RULE else [Row((finding,), fixed) for finding in group]
    return sorted(rows, key=lambda row: row.rank)


def _shown(rows: Iterable[Row], fixed: bool) -> int:
    return sum(len(row.findings) for row in rows if row.fixed is fixed)
