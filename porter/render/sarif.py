"""SARIF 2.1.0 for code-scanning services: rules with help, stable fingerprints, and what a service's limits cut off is said."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from porter.model import Finding, Fix, Problem, Report, Rule, Severity
from porter.render import numbers, summary
from porter.render.markdown import text as as_markdown
from porter.render.neutral import encodable, json_text, one_line, path_bytes
from porter.render.words import ACTIONS, CATEGORY_NAMES

SCHEMA_URI = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.BLOCKER: "error", Severity.MAJOR: "warning", Severity.MINOR: "note", Severity.INFO: "note"}
MAX_RESULTS = 25_000  # GitHub refuses a run with more
MAX_RELATED = 100
MAX_NOTES = 1_000
MAX_MESSAGE = 1_000
MAX_PACKED = 10_000_000  # bytes that GitHub takes, packed by gzip


def render(report: Report) -> str:
    """The report as SARIF text, indented by two; the same bytes for the same report.

    A text that packs to more than MAX_PACKED first loses the code of its results, then the least severe half of them, and so on.
    """
    limit, code = MAX_RESULTS, True
    while True:
        text = json_text(msgspec.json.encode(as_dict(report, limit, code)))
        if len(text) <= MAX_PACKED or limit < 2 or len(gzip.compress(text.encode(), 6)) <= MAX_PACKED:
            return text
        limit, code = (limit, False) if code else (min(limit, len(report.findings) + len(report.suppressed)) // 2, False)


def as_dict(report: Report, limit: int = MAX_RESULTS, code: bool = True) -> dict[str, Any]:
    """The log as plain dicts and lists, with ``limit`` results at most; without ``code`` no source text is in it."""
    kept = _kept(report, limit)
    hidden = report.suppressed[: limit - len(kept)]
    names = sorted({finding.rule for finding in (*kept, *hidden)})
    index = {name: i for i, name in enumerate(names)}
    rules = {finding.rule: summary.rule_of(report, finding) for finding in (*kept, *hidden)}
    compared = summary.is_compared(report)
    results = [_result(finding, index[finding.rule], compared, code) for finding in kept]
    results += [_suppressed(report, finding, index[finding.rule], code) for finding in hidden]
    left_out = (len(report.findings) - len(kept), len(report.suppressed) - len(hidden))
    run = {
        "tool": {
            "driver": {
                "name": "porter",
                "semanticVersion": report.tool_version,
                "version": report.tool_version,
                "rules": [_rule(rules[name]) for name in names],
            }
        },
        "automationDetails": {"id": "porter/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"ROOT": {"description": {"text": "the folder that was scanned"}}},
        "invocations": [_invocation(report, left_out, code)],
        "results": results,
        "properties": _run_properties(report),
    }
    return {"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]}


def _kept(report: Report, limit: int) -> Sequence[Finding]:
    """The findings within the limit, the worst ones when there are too many, in report order."""
    if len(report.findings) <= limit:
        return report.findings
    order = sorted(range(len(report.findings)), key=lambda i: (-report.findings[i].severity.rank, i))
    return [report.findings[i] for i in sorted(order[:limit])]


def _rule(rule: Rule) -> dict[str, Any]:
    title = one_line(rule.title)
    why = " ".join(one_line(rule.why).split("\u23ce")) or title
    fix = f"{one_line(rule.replacement.name)}. {one_line(rule.replacement.how)}".strip() if rule.replacement else ""
    sources = [source for source in rule.sources if source.url.startswith("https://")]
    plain = "\n\n".join(part for part in (why, fix and f"What to do: {fix}", *(f"{s.url} ({s.checked})" for s in sources)) if part)
    lines = [as_markdown(why, 4000), f"**What to do:** {as_markdown(fix, 2000)}" if fix else ""]
    lines += [f"- <{s.url}> (read {s.checked})" for s in sources]
    out: dict[str, Any] = {
        "id": rule.id,
        "name": "".join(part.capitalize() for part in rule.id.split("-")),
        "shortDescription": {"text": title},
        "fullDescription": {"text": why},
        "help": {"text": plain, "markdown": "\n\n".join(line for line in lines if line)},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {"tags": [rule.category, "rocm"], "precision": str(rule.confidence), "category": CATEGORY_NAMES[rule.category]},
    }
    if sources:
        out["helpUri"] = sources[0].url
    return out


def _result(finding: Finding, rule_index: int, baseline: bool, code: bool) -> dict[str, Any]:
    out: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(finding.path), "region": _region(finding, code)}}],
        "partialFingerprints": {"porter/v1": finding.fingerprint, "primaryLocationLineHash": finding.fingerprint},
        "properties": {
            "severity": str(finding.severity), "confidence": str(finding.confidence), "action": ACTIONS[str(finding.action)],
            "targets": list(finding.targets), "hours": round(finding.effort_hours.likely, 2), "decision": encodable(finding.group),
        },
    }  # fmt: skip
    if finding.related:
        out["relatedLocations"] = [
            {
                "id": i,
                "physicalLocation": {"artifactLocation": _artifact(item.path), "region": {"startLine": max(1, item.line)}},
                "message": {"text": one_line(item.note)},
            }
            for i, item in enumerate(finding.related[:MAX_RELATED])
        ]
    if len(finding.related) > MAX_RELATED:
        out["properties"]["relatedLeftOut"] = len(finding.related) - MAX_RELATED
    if finding.fix is not None and code:
        out["fixes"] = [_fix(finding, finding.fix)]
    if baseline:
        out["baselineState"] = "unchanged" if finding.state == "unchanged" else "new"
    return out


def _fix(finding: Finding, fix: Fix) -> dict[str, Any]:
    """The finding's first line, replaced."""
    line = finding.snippet.split("\n", 1)[0]
    region = {"startLine": finding.line, "startColumn": 1, "endLine": finding.line, "endColumn": len(line) + 1}
    replacement = {"deletedRegion": region, "insertedContent": {"text": encodable(fix.text)}}
    words = "Safe: it changes nothing else." if fix.safe else "Read it before you take it."
    change = {"artifactLocation": _artifact(finding.path), "replacements": [replacement]}
    return {"description": {"text": words}, "artifactChanges": [change]}


def _suppressed(report: Report, finding: Finding, rule_index: int, code: bool) -> dict[str, Any]:
    """A finding that a comment or the settings took out of the totals, with the reason that was given."""
    why = report.suppressions.get(finding.fingerprint)
    entry = {"kind": why.kind if why else "inSource", "status": "accepted"}
    if why and why.reason:
        entry["justification"] = one_line(why.reason)
    return _result(finding, rule_index, False, code) | {"suppressions": [entry]}


def _message(finding: Finding) -> str:
    """What was found and what to do, at most MAX_MESSAGE characters; brackets are escaped, since SARIF reads them as links."""
    fix = f" Replacement: {one_line(finding.replacement.name)}." if finding.replacement else ""
    words = one_line(finding.message, MAX_MESSAGE - 200).rstrip(".") + "." + fix
    return words.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(path_bytes(path), safe="/"), "uriBaseId": "ROOT"}


def _region(finding: Finding, code: bool) -> dict[str, Any]:
    """The place with columns in code points; an end that the snippet does not reach stays out."""
    lines = finding.snippet.split("\n")
    region: dict[str, Any] = {"startLine": finding.line, "startColumn": _column(lines[0], finding.column), "endLine": finding.end_line}
    at = finding.end_line - finding.line
    if 0 <= at < len(lines):
        region["endColumn"] = _column(lines[at], finding.end_column)
        if at == 0:
            region["endColumn"] = max(region["endColumn"], region["startColumn"])
    if finding.snippet and code:
        region["snippet"] = {"text": encodable(finding.snippet)}
    return region


def _column(line: str, column: int) -> int:
    """A byte column as a column in code points, both from 1."""
    return len(line.encode("utf-8", "surrogatepass")[: column - 1].decode("utf-8", "ignore")) + 1


def _invocation(report: Report, left_out: tuple[int, int], code: bool) -> dict[str, Any]:
    """How the run went, and first of all what limits cut off."""
    notes = [_notification(problem) for problem in report.problems[:MAX_NOTES]]
    limits = f"a run holds {MAX_RESULTS:,} results and {MAX_PACKED // 1_000_000} MB at most"
    cuts = [
        f"{numbers.plural(left_out[0], 'finding')} of the lowest severity left out: {limits}." if left_out[0] else "",
        f"{numbers.plural(left_out[1], 'suppressed finding')} left out: {limits}." if left_out[1] else "",
        "" if code else f"The code of the findings left out: {limits}.",
        f"{numbers.plural(len(report.problems) - MAX_NOTES, 'more problem')} in the other reports." if report.problems[MAX_NOTES:] else "",
    ]
    notes[:0] = [{"level": "warning", "message": {"text": words}, "descriptor": {"id": "truncated"}} for words in cuts if words]
    out: dict[str, Any] = {"executionSuccessful": True, "toolExecutionNotifications": notes}
    if report.command:
        out["commandLine"] = encodable(report.command)
    return out


def _notification(problem: Problem) -> dict[str, Any]:
    out: dict[str, Any] = {
        "level": "warning" if problem.matters else "note",
        "message": {"text": one_line(problem.what)},
        "descriptor": {"id": problem.stage},
    }
    if problem.path:
        place: dict[str, Any] = {"artifactLocation": _artifact(problem.path)}
        if problem.line > 0:
            place["region"] = {"startLine": problem.line}
        out["locations"] = [{"physicalLocation": place}]
    return out


def _run_properties(report: Report) -> dict[str, Any]:
    effort = report.estimate.hours
    out = {
        "targets": list(report.targets), "rocm": report.rocm, "commit": report.commit, "rules": report.rules_version,
        "complete": report.complete, "effortHours": {name: round(getattr(effort, name), 2) for name in ("p10", "p50", "p80", "p90")},
    }  # fmt: skip
    if (base := report.baseline) is not None:
        counts = {"new": base.new, "fixed": base.fixed, "unchanged": base.unchanged}
        out["baseline"] = {"source": encodable(base.source), "commit": base.commit} | counts
    return out
