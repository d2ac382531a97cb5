"""CSV for spreadsheets: one row a finding, insight, fixed or suppressed finding, and no cell that a spreadsheet would run as a formula.

Only rows of kind "finding" have hours, so that a column's sum is that of the report.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import chain, islice

from porter.model import Finding, Hours, Report
from porter.render.neutral import encodable, one_line

COLUMNS = (
    "kind", "rule", "title", "category", "severity", "confidence", "action", "path", "line", "message", "replacement", "status", "targets",
    "hours_best", "hours_likely", "hours_worst", "decision", "state", "fingerprint", "code", "reason",
)  # fmt: skip
ROWS = 5_000  # that are in memory together
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four are full-width


def render(report: Report) -> str:
    """The rows with a head, CRLF line ends as RFC 4180 has them."""
    return "".join(_parts(report))


def pieces(report: Report) -> Iterator[bytes]:
    """The same text in pieces."""
    return (part.encode() for part in _parts(report))


def _parts(report: Report) -> Iterator[str]:
    kinds = (("finding", report.findings), ("insight", report.insights), ("fixed", report.fixed), ("suppressed", report.suppressed))
    rows = chain([COLUMNS], (_row(report, kind, finding) for kind, findings in kinds for finding in findings))
    while some := list(islice(rows, ROWS)):
        stream = io.StringIO()
        csv.writer(stream).writerows(some)
        yield encodable(stream.getvalue())


def _row(report: Report, kind: str, finding: Finding) -> list[str | int | float]:
    rule = report.rules.get(finding.rule)
    hours = finding.effort_hours if kind == "finding" else Hours()
    why = report.suppressions.get(finding.fingerprint) if kind == "suppressed" else None
    state = finding.state if kind in ("finding", "insight") else kind
    name, status = (finding.replacement.name, finding.replacement.status) if finding.replacement else ("", "")
    row: list[str | int | float] = [
        kind, finding.rule, rule.title if rule else finding.rule, finding.category, str(finding.severity), str(finding.confidence),
        str(finding.action), finding.path, finding.line, finding.message, name, status,
        " ".join(finding.targets), round(hours.best, 3), round(hours.likely, 3),
        round(hours.worst, 3), finding.group, state, finding.fingerprint, finding.snippet.split("\n", 1)[0].strip(),
        why.reason if why else "",
    ]  # fmt: skip
    return [cell(value) if isinstance(value, str) else value for value in row]  # a saved report may hold anything anywhere


def cell(value: str) -> str:
    """Text on one line, with an apostrophe before what a spreadsheet would take for a formula."""
    line = one_line(value)
    return "'" + line if line.startswith(_FORMULA) else line
