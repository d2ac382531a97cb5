"""The JSON report, porter.report/1: the contract that other programs read; keys beyond it only ever come after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from porter.model import (
    CATEGORIES,
    INSIGHT_CATEGORIES,
    Baseline,
    EffortLine,
    Estimate,
    FileRecord,
    Finding,
    Hours,
    Quantiles,
    Report,
    Strategy,
    Suppression,
    plain,
)
from porter.render import json_pieces
from porter.render.json_pieces import Rows
from porter.render.neutral import encodable

SCHEMA = "porter.report/1"


def render(report: Report) -> str:
    """The report as JSON text, indented by two, the same bytes for the same report."""
    return b"".join(pieces(report)).decode()


def pieces(report: Report) -> Iterator[bytes]:
    """The same text in pieces, since that of a hundred thousand findings need not be in memory as a whole."""
    return json_pieces.written(_members(report), _clean)


def as_dict(report: Report) -> dict[str, Any]:
    """The report as plain dicts and lists with the keys of the contract in its order."""
    return {key: list(value) if isinstance(value, Rows) else value for key, value in _members(report)}


def _members(report: Report) -> Iterator[tuple[str, Any]]:
    """Keys and values of the contract in its order; long lists as Rows, which make their rows when asked."""
    yield "schema", SCHEMA
    yield "tool", {"name": "porter", "version": report.tool_version, "rules": report.rules_version}
    yield "root", report.root
    yield "commit", report.commit
    yield "targets", list(report.targets)
    yield "rocm", report.rocm
    yield "summary", _summary(report)
    yield "findings", Rows(_finding, report.findings)
    yield "insights", Rows(_finding, report.insights)
    yield "files", Rows(_file, report.files)
    yield "effort", Rows(_effort, report.estimate.lines)
    yield "problems", Rows(plain, report.problems)
    yield "skipped", Rows(plain, report.skipped)
    yield from _extras(report).items()


def _summary(report: Report) -> dict[str, Any]:
    return {
        "files_scanned": len(report.files),
        "files_skipped": sum(skipped.files for skipped in report.skipped),
        "cuda_files": report.cuda_files,
        "cuda_lines": report.cuda_lines,
        "complete": report.complete,
        "findings": _counts(report.findings, CATEGORIES),
        "hipify": {
            "engine": report.hipify.engine,
            "converted": report.hipify.converted,
            "unconverted": report.hipify.unconverted,
        },
        "effort_hours": _quantiles(report.estimate.hours, ("p10", "p50", "p80", "p90")),
        "hand_lines": _quantiles(report.estimate.hand_lines, ("p10", "p50", "p90")),
        "insights": _counts(report.insights, INSIGHT_CATEGORIES),
        "severities": dict(sorted(Counter(str(f.severity) for f in report.findings).items())),
    }


def _counts(findings: Iterable[Finding], order: tuple[str, ...]) -> dict[str, int]:
    counted = Counter(finding.category for finding in findings)
    known = {name: counted.pop(name) for name in order if name in counted}
    return known | dict(sorted(counted.items()))


def _quantiles(value: Quantiles, names: tuple[str, ...]) -> dict[str, float]:
    return {name: round(getattr(value, name), 2) for name in names}


def _hours(value: Hours) -> dict[str, float]:
    return {"best": round(value.best, 4), "likely": round(value.likely, 4), "worst": round(value.worst, 4)}


def _finding(finding: Finding) -> dict[str, Any]:
    out: dict[str, Any] = plain(finding)
    out["effort_hours"] = _hours(finding.effort_hours)
    if finding.fix is None:
        del out["fix"]
    return out


def _file(record: FileRecord) -> dict[str, Any]:
    hipify = record.hipify
    counts = None
    if hipify is not None:
        counts = {
            "converted": hipify.converted,
            "unconverted": hipify.unconverted,
            "names": dict(sorted(hipify.names.items())),
            "left": dict(sorted(hipify.left.items())),
            "engine": hipify.engine,
        }
    return {"path": record.path, "kind": record.kind, "lines": record.lines, "hipify": counts, "coverage": round(record.coverage, 4)}


def _effort(line: EffortLine) -> dict[str, Any]:
    out: dict[str, Any] = plain(line)
    out["hours"] = _hours(line.hours)
    return out


def _extras(report: Report) -> dict[str, Any]:
    """What the contract does not ask for: origins, kernels, the estimate's basis, and the prose of the rules that hit."""
    used = sorted({finding.rule for finding in chain(report.findings, report.insights, report.fixed, report.suppressed)})
    rules = {name: _rule_prose(report, name) for name in used if name in report.rules}
    estimate = report.estimate
    extras: dict[str, Any] = {
        "origins": [plain(origin) for origin in report.origins],
        "kernels": Rows(plain, report.kernels),
        "estimate": {
            "total": _hours(estimate.total),
            "seed": estimate.seed,
            "grade": estimate.grade,
            "grade_reasons": list(estimate.grade_reasons),
            **_estimate_parts(estimate),
        },
        "strategies": [_strategy(way) for way in report.strategies],
        "nvidia_stays": [plain(note) for note in report.nvidia],
        "runbook": Rows(plain, report.runbook, 1),  # a step may name a hundred thousand decisions
        "hipify": {"version": report.hipify.version, "notes": list(report.hipify.notes)},
        "rules": rules,
        "already_ported": report.already_ported,
        "amd_signs": [plain(sign) for sign in report.amd_signs],
        "fixed": Rows(_finding, report.fixed),
        "command": report.command,
        "suppressed": len(report.suppressed),
        "suppressions": [_suppression(report, finding) for finding in report.suppressed],
    }
    if report.backtest is not None:
        extras["backtest"] = plain(report.backtest)
    if report.evidence is not None:
        extras["evidence"] = plain(report.evidence)
    if report.scope is not None:
        extras["scope"] = plain(report.scope)
    if report.sizing is not None:
        extras["sizing"] = plain(report.sizing)
    if report.baseline is not None:
        extras["baseline"] = _baseline(report.baseline)
    if report.redacted:
        extras["redacted"] = True
    if report.date:
        extras["date"] = report.date
    return extras


def _estimate_parts(estimate: Estimate) -> dict[str, Any]:
    """The phases of the work, lines outside the sources, what the user told the estimate, and money where a rate was given."""
    names = ("p10", "p50", "p80", "p90")
    parts: dict[str, Any] = {
        "phases": [plain(phase) | {"hours": _hours(phase.hours)} for phase in estimate.phases],
        "build_lines": _quantiles(estimate.build_lines, ("p10", "p50", "p90")),
        "assumptions": [plain(assumption) for assumption in estimate.assumptions],
    }
    if estimate.cost is not None:
        parts["cost"] = plain(estimate.cost) | {"money": _quantiles(estimate.cost.money, names)}
    return parts


def _strategy(way: Strategy) -> dict[str, Any]:
    out: dict[str, Any] = plain(way)
    hours = {"hours": _hours(way.hours), "maintenance_hours": _hours(way.maintenance_hours)}
    return out | hours | {"added_lines": _quantiles(way.added_lines, ("p10", "p50", "p90"))}


def _suppression(report: Report, finding: Finding) -> dict[str, Any]:
    """A suppressed finding in short: where it stands, which mark or setting took it out, and the reason given."""
    why = report.suppressions.get(finding.fingerprint) or Suppression("inSource", finding.path, finding.line)
    place = {"rule": finding.rule, "path": finding.path, "line": finding.line, "fingerprint": finding.fingerprint}
    words: dict[str, Any] = {"category": finding.category, "severity": str(finding.severity), "confidence": str(finding.confidence)}
    words |= {"message": finding.message, "targets": list(finding.targets)}
    return place | {"kind": why.kind, "mark_line": why.line, "reason": why.reason} | words


def _baseline(baseline: Baseline) -> dict[str, Any]:
    out: dict[str, Any] = plain(baseline)
    names = ("p10", "p50", "p80", "p90")
    hours = {"before": _quantiles(baseline.before, names), "after": _quantiles(baseline.after, names)}
    out["change"] = round(baseline.change, 4)
    return {key: value for key, value in out.items() if key not in hours} | {"effort_hours": hours}


def _rule_prose(report: Report, name: str) -> dict[str, Any]:
    rule = report.rules[name]
    return {
        "title": rule.title,
        "category": rule.category,
        "severity": str(rule.severity),
        "why": rule.why.strip(),
        "sources": [plain(source) for source in rule.sources],
    }


def _clean(value: Any) -> Any:
    """The same value with every string encodable as UTF-8; the nesting is that of the contract, so recursion is bounded."""
    if isinstance(value, str):
        return value if value.isascii() else encodable(value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value
