"""GitLab's code quality report: a list of issues with severity, place and a fingerprint that survives line moves."""

from __future__ import annotations

from typing import Any

import msgspec

from porter.model import Finding, Report, Severity
from porter.render.neutral import encodable, json_text, one_line

SEVERITIES = {Severity.BLOCKER: "blocker", Severity.MAJOR: "major", Severity.MINOR: "minor", Severity.INFO: "info"}


def render(report: Report) -> str:
    """The issues as a JSON list; insights are no issues."""
    issues = [_issue(finding) for finding in report.findings]
    return json_text(msgspec.json.encode(issues))


def _issue(finding: Finding) -> dict[str, Any]:
    return {
        "description": one_line(finding.message, 1000),
        "check_name": finding.rule,
        "fingerprint": finding.fingerprint,
        "severity": SEVERITIES[finding.severity],
        "location": {"path": encodable(finding.path), "lines": {"begin": finding.line, "end": finding.end_line}},
    }
