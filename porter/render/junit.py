"""JUnit XML for build servers: one suite a file, one failed case a finding, one error a problem that may hide findings.

A suppressed finding is a skipped case, a fixed one a case that passed.
"""

from __future__ import annotations

from collections import defaultdict
from xml.sax.saxutils import escape, quoteattr

from porter.model import Finding, Problem, Report
from porter.render.neutral import block, encodable, one_line


class _Suite:
    """The cases of one file."""

    def __init__(self) -> None:
        self.cases: list[str] = []
        self.failures = self.errors = self.skipped = 0

    def text(self, name: str) -> str:
        """The suite as XML."""
        counts = f'tests="{len(self.cases)}" failures="{self.failures}" errors="{self.errors}" skipped="{self.skipped}"'
        return "\n".join([f"  <testsuite name={name} {counts}>", *self.cases, "  </testsuite>"])


def render(report: Report) -> str:
    """The suites; a report without findings has one case that passed."""
    suites: dict[str, _Suite] = defaultdict(_Suite)
    for finding in report.findings:
        suites[finding.path].cases.append(_case(report, finding, _name(finding.path)))
        suites[finding.path].failures += 1
    for problem in report.problems:
        if problem.matters:
            suites[problem.path].cases.append(_error(problem, _name(problem.path)))
            suites[problem.path].errors += 1
    for finding in report.suppressed:
        suites[finding.path].cases.append(_skipped(report, finding, _name(finding.path)))
        suites[finding.path].skipped += 1
    for finding in report.fixed:
        suites[finding.path].cases.append(f"    <testcase classname={_name(finding.path)} name={quoteattr(f'{finding.rule} is fixed')}/>")
    if not suites:
        suites["porter"].cases.append('    <testcase classname="porter" name="scan"/>')
    tests = sum(len(suite.cases) for suite in suites.values())
    errors = sum(suite.errors for suite in suites.values())
    head = f'<testsuites name="porter" tests="{tests}" failures="{len(report.findings)}" errors="{errors}">'
    texts = [suites[path].text(_name(path)) for path in sorted(suites)]
    return encodable("\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *texts, "</testsuites>"]) + "\n")


def _name(path: str) -> str:
    return quoteattr(one_line(path) or "porter")


def _error(problem: Problem, name: str) -> str:
    case = quoteattr(f"{problem.stage} line {problem.line}")
    return f"    <testcase classname={name} name={case}><error message={quoteattr(one_line(problem.what))}/></testcase>"


def _skipped(report: Report, finding: Finding, name: str) -> str:
    why = report.suppressions.get(finding.fingerprint)
    case = quoteattr(f"{finding.rule} line {finding.line}")
    return f"    <testcase classname={name} name={case}><skipped message={quoteattr(one_line(why.reason if why else ''))}/></testcase>"


def _case(report: Report, finding: Finding, name: str) -> str:
    case = quoteattr(f"{finding.rule} line {finding.line}")
    message = quoteattr(one_line(finding.message))
    state = f"\n{finding.state} against {one_line(report.baseline.source)}" if report.baseline else ""
    body = escape(f"{one_line(finding.path)}:{finding.line}{state}\n{block(finding.snippet)}")
    return f'    <testcase classname={name} name={case}><failure type="{finding.severity}" message={message}>{body}</failure></testcase>'
