"""GitLab's code quality report: a list of issues with severity, place and a fingerprint that survives line moves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from porter.model import Finding, Report, Severity
from porter.render.neutral import encodable, json_bytes, one_line

ROWS = 5_000  # that are in memory together
_END = b"\n]"
SEVERITIES = {Severity.BLOCKER: "blocker", Severity.MAJOR: "major", Severity.MINOR: "minor", Severity.INFO: "info"}


def render(report: Report) -> str:
    """The issues as a JSON list; insights are no issues."""
    return b"".join(pieces(report)).decode()


def pieces(report: Report) -> Iterator[bytes]:
    """The same text in pieces."""
    issues = map(_issue, report.findings)
    before = b"["
    while some := list(islice(issues, ROWS)):
        yield before + json_bytes(msgspec.json.encode(some)).removeprefix(b"[").removesuffix(_END)
        before = b","
    yield b"[]\n" if before == b"[" else _END + b"\n"


def _issue(finding: Finding) -> dict[str, Any]:
    return {
        "description": one_line(finding.message, 1000),
        "check_name": finding.rule,
        "fingerprint": finding.fingerprint,
        "severity": SEVERITIES[finding.severity],
        "location": {"path": encodable(finding.path), "lines": {"begin": finding.line, "end": finding.end_line}},
    }
