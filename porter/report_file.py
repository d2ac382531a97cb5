"""Report file: reads a report that was saved as JSON back into a Report, to be compared, merged or commented on without a scan."""

from __future__ import annotations

from pathlib import Path

import msgspec

from porter.errors import InputError
from porter.model import (
    Action,
    Baseline,
    Confidence,
    EffortLine,
    Estimate,
    FileRecord,
    Finding,
    HipifyCount,
    HipifySummary,
    Hours,
    Kernel,
    OriginCount,
    Problem,
    Quantiles,
    Related,
    Report,
    Rule,
    Scope,
    Severity,
    Skipped,
    Source,
    Strategy,
    Suppression,
)

SCHEMA = "porter.report/1"
MAX_BYTES = 1 << 30
HINT = "write one with porter scan --output FILE.json"


class _Tool(msgspec.Struct, frozen=True):
    version: str = ""
    rules: str = ""


class _Summary(msgspec.Struct, frozen=True):
    cuda_files: int = 0
    cuda_lines: int = 0
    effort_hours: Quantiles = Quantiles()
    hand_lines: Quantiles = Quantiles()
    hipify: HipifySummary = HipifySummary()


class _File(msgspec.Struct, frozen=True):
    path: str
    kind: str = ""
    lines: int = 0
    hipify: HipifyCount | None = None
    coverage: float = 1.0


class _Estimate(msgspec.Struct, frozen=True):
    total: Hours = Hours()
    seed: int = 0
    grade: str = ""
    grade_reasons: tuple[str, ...] = ()


class _Hipify(msgspec.Struct, frozen=True):
    version: str = ""
    notes: tuple[str, ...] = ()


class _Prose(msgspec.Struct, frozen=True):
    title: str
    category: str
    severity: Severity
    why: str = ""
    sources: tuple[Source, ...] = ()


class _Suppressed(msgspec.Struct, frozen=True):
    rule: str
    path: str
    line: int
    fingerprint: str
    kind: str = "inSource"
    mark_line: int = 0
    reason: str = ""
    category: str = ""
    severity: Severity = Severity.INFO
    confidence: Confidence = Confidence.LOW
    message: str | None = None
    targets: tuple[str, ...] = ()


class _Debt(msgspec.Struct, frozen=True):
    before: Quantiles = Quantiles()
    after: Quantiles = Quantiles()


class _Baseline(msgspec.Struct, frozen=True):
    source: str
    commit: str
    new: int
    fixed: int
    unchanged: int
    effort_hours: _Debt = _Debt()
    change: float = 0.0


class _File1(msgspec.Struct, frozen=True):
    """What porter.report/1 holds of findings, hours, ways and scope; other keys (runbook, phases, sizes) are passed over."""

    schema: str
    tool: _Tool
    root: str
    commit: str
    targets: tuple[str, ...]
    rocm: str
    summary: _Summary
    findings: tuple[Finding, ...]
    insights: tuple[Finding, ...]
    files: tuple[_File, ...]
    effort: tuple[EffortLine, ...] = ()
    problems: tuple[Problem, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    origins: tuple[OriginCount, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    estimate: _Estimate = _Estimate()
    hipify: _Hipify = _Hipify()
    rules: dict[str, _Prose] = {}
    already_ported: bool = False
    redacted: bool = False
    amd_signs: tuple[Related, ...] = ()
    fixed: tuple[Finding, ...] = ()
    command: str = ""
    date: str = ""
    suppressions: tuple[_Suppressed, ...] = ()
    baseline: _Baseline | None = None
    scope: Scope | None = None
    strategies: tuple[Strategy, ...] = ()


def read(path: Path) -> Report:
    """A saved report; raises InputError for a file that is none."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path}: larger than {MAX_BYTES >> 30} GiB")
        return parse(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}", HINT) from error


def parse(data: bytes, name: str = "report") -> Report:
    """A report out of its JSON; raises InputError for anything else."""
    try:
        saved = msgspec.json.decode(data, type=_File1)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{name}: is no JSON report of porter: {str(error)[:200]}", HINT) from error
    if saved.schema != SCHEMA:
        raise InputError(f"{name}: its schema is '{saved.schema[:60]}', this porter reads {SCHEMA}")
    if any(one.line < 0 or one.column < 0 or one.end_line < one.line for one in (*saved.findings, *saved.insights, *saved.fixed)):
        raise InputError(f"{name}: is no JSON report of porter: a finding ends before it begins", HINT)
    return _report(saved)


def _report(saved: _File1) -> Report:
    hidden = tuple(_suppressed(one) for one in saved.suppressions)
    counts = saved.summary.hipify
    estimate = Estimate(
        saved.summary.effort_hours, saved.summary.hand_lines, saved.effort, saved.estimate.total, saved.estimate.seed, saved.estimate.grade,
        saved.estimate.grade_reasons,
    )  # fmt: skip
    return Report(
        tool_version=saved.tool.version, rules_version=saved.tool.rules, root=saved.root, commit=saved.commit, targets=saved.targets,
        rocm=saved.rocm, files=tuple(FileRecord(f.path, f.kind, f.lines, f.hipify, f.coverage) for f in saved.files),
        findings=saved.findings, insights=saved.insights, estimate=estimate,
        hipify=HipifySummary(counts.engine, saved.hipify.version, counts.converted, counts.unconverted, saved.hipify.notes),
        kernels=saved.kernels, problems=saved.problems, skipped=saved.skipped, origins=saved.origins, cuda_files=saved.summary.cuda_files,
        cuda_lines=saved.summary.cuda_lines, rules=_rules(saved), command=saved.command, date=saved.date, fixed=saved.fixed,
        amd_signs=saved.amd_signs, already_ported=saved.already_ported, redacted=saved.redacted, suppressed=hidden,
        suppressions={one.fingerprint: Suppression(one.kind, one.path, one.mark_line, one.reason) for one in saved.suppressions},
        baseline=_baseline(saved.baseline) if saved.baseline else None, scope=saved.scope,
        strategies=saved.strategies,
    )  # fmt: skip


def _rules(saved: _File1) -> dict[str, Rule]:
    """The rules with the prose that the file brings; action and replacement are those of their findings."""
    first: dict[str, Finding] = {}
    for finding in (*saved.findings, *saved.fixed, *saved.insights):
        first.setdefault(finding.rule, finding)
    out = {}
    for name, prose in saved.rules.items():
        found = first.get(name)
        action, confidence = (found.action, found.confidence) if found else (Action.CHECK, Confidence.LOW)
        replacement = found.replacement if found else None
        out[name] = Rule(
            name, prose.title, prose.category, prose.severity, confidence, action, prose.why, replacement=replacement, sources=prose.sources
        )
    return out


def _suppressed(one: _Suppressed) -> Finding:
    """A suppressed finding as far as the file tells of it."""
    message = one.rule if one.message is None else one.message
    return Finding(
        one.rule, one.category, one.severity, one.confidence, Action.CHECK, one.path, one.line, 1, one.line, 1, "", message,
        None, one.targets, fingerprint=one.fingerprint,
    )  # fmt: skip


def _baseline(saved: _Baseline) -> Baseline:
    debt = saved.effort_hours
    return Baseline(saved.source, saved.commit, saved.new, saved.fixed, saved.unchanged, debt.before, debt.after, saved.change)
