"""JUnit XML for build servers: one suite a file, one failed case a finding, one error a problem that may hide findings."""

from __future__ import annotations

from collections import defaultdict
from xml.sax.saxutils import escape, quoteattr

from porter.model import Finding, Problem, Report
from porter.render.neutral import block, encodable, one_line


def render(report: Report) -> str:
    """The suites; a report without findings has one case that passed."""
    found: dict[str, list[Finding]] = defaultdict(list)
    broken: dict[str, list[Problem]] = defaultdict(list)
    for finding in report.findings:
        found[finding.path].append(finding)
    for problem in report.problems:
        if problem.matters:
            broken[problem.path].append(problem)
    suites = [_suite(path, found[path], broken[path]) for path in sorted({*found, *broken})]
    if not suites:
        suites = [
            '  <testsuite name="porter" tests="1" failures="0" errors="0">\n    <testcase classname="porter" name="scan"/>\n  </testsuite>'
        ]
    errors = sum(len(problems) for problems in broken.values())
    tests = max(1, len(report.findings) + errors)
    head = f'<testsuites name="porter" tests="{tests}" failures="{len(report.findings)}" errors="{errors}">'
    return encodable("\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>"]) + "\n")


def _suite(path: str, findings: list[Finding], problems: list[Problem]) -> str:
    name = quoteattr(one_line(path) or "porter")
    tests = len(findings) + len(problems)
    lines = [f'  <testsuite name={name} tests="{tests}" failures="{len(findings)}" errors="{len(problems)}">']
    lines += [_case(finding, name) for finding in findings]
    for problem in problems:
        case = quoteattr(f"{problem.stage} line {problem.line}")
        lines.append(f"    <testcase classname={name} name={case}><error message={quoteattr(one_line(problem.what))}/></testcase>")
    return "\n".join([*lines, "  </testsuite>"])


def _case(finding: Finding, name: str) -> str:
    case = quoteattr(f"{finding.rule} line {finding.line}")
    message = quoteattr(one_line(finding.message))
    body = escape(f"{one_line(finding.path)}:{finding.line}\n{block(finding.snippet)}")
    return f'    <testcase classname={name} name={case}><failure type="{finding.severity}" message={message}>{body}</failure></testcase>'
