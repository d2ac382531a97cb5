"""CSV for spreadsheets: one row a finding, insight, fixed or suppressed finding, and no cell that a spreadsheet would run as a formula.

Only rows of kind "finding" have hours, so that a column's sum is that of the report.
"""

from __future__ import annotations

import csv
import io

from porter.model import Finding, Hours, Report
from porter.render.neutral import encodable, one_line

COLUMNS = (
    "kind", "rule", "title", "category", "severity", "confidence", "action", "path", "line", "message", "replacement", "status", "targets",
    "hours_best", "hours_likely", "hours_worst", "decision", "state", "fingerprint", "code", "reason",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four are full-width


def render(report: Report) -> str:
    """The rows with a head, CRLF line ends as RFC 4180 has them."""
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(COLUMNS)
    kinds = (("finding", report.findings), ("insight", report.insights), ("fixed", report.fixed), ("suppressed", report.suppressed))
    for kind, findings in kinds:
        for finding in findings:
            writer.writerow(_row(report, kind, finding))
    return encodable(stream.getvalue())


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
