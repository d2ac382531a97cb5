"""Redaction: a report that can be shown under an NDA. Names of files and kernels become hashes, code and free text go.

The same name gives the same hash in every run with the same key, so two redacted reports can be compared. Without a key
somebody who knows a name can check a guess; PORTER_REDACT_KEY makes that useless. What is kept of a report, a finding, a file
or a kernel is listed here field by field: a field that this module does not know is empty in the redacted report. Parts that
hold numbers and porter's own words (estimate, strategies, sizes, baseline) stay but for the texts that are replaced here.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

import msgspec

from porter.advise.strategies import IN_ITS_PLACE
from porter.hipify import api
from porter.model import (
    Baseline,
    EffortLine,
    Estimate,
    Evidence,
    FileRecord,
    Finding,
    HipifyCount,
    Kernel,
    Problem,
    Related,
    Report,
    Rule,
    RunbookStep,
    Scope,
    Sizing,
    Skipped,
    Suppression,
)

WITHHELD = "withheld (redacted)"
DIGITS = 10
# Endings say which language a file is in; any other ending might be a name.
ENDINGS = frozenset((
    ".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".hip", ".inl", ".inc", ".py", ".pyx", ".ipynb", ".ptx", ".sh",
    ".txt", ".toml", ".yaml", ".yml", ".json", ".cfg", ".cmake", ".mk", ".bzl", ".lock", ".in", ".so", ".a", ".whl", ".engine", ".tf",
    ".md",
))  # fmt: skip


def redact(report: Report, key: bytes = b"") -> Report:
    """The report without code, messages and names; totals, rules, hours, severities and line numbers stay as they are."""
    return _Redactor(key).report(report)


class _Redactor:
    """Hashes names with one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def name(self, text: str) -> str:
        """Ten hexadecimal digits for a name; nothing for nothing."""
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:DIGITS] if text else ""

    def path(self, path: str) -> str:
        """Every folder by its own hash, so that what stood together still does; a known ending stays."""
        if path in ("", "."):
            return path
        parts = path.split("/")
        out = [self.name("/".join(parts[: i + 1])) for i in range(len(parts))]
        dot = parts[-1].rfind(".")
        ending = parts[-1][dot:].lower() if dot > 0 else ""
        return "/".join(out) + (ending if ending in ENDINGS else "")

    def report(self, report: Report) -> Report:
        rules = report.rules
        return Report(
            tool_version=report.tool_version, rules_version=report.rules_version, root=f"project {self.name(report.root)}", commit="",
            targets=report.targets, rocm=report.rocm, files=tuple(sorted((self.file(f) for f in report.files), key=lambda f: f.path)),
            findings=self.findings(report.findings, rules), insights=self.findings(report.insights, rules),
            estimate=self.estimate(report.estimate, rules), hipify=report.hipify,
            kernels=tuple(sorted((self.kernel(k) for k in report.kernels), key=lambda k: (k.path, k.line, k.name))),
            problems=tuple(sorted(map(self.problem, report.problems))), skipped=tuple(sorted(map(self.skipped, report.skipped))),
            origins=report.origins, cuda_files=report.cuda_files, cuda_lines=report.cuda_lines, rules=rules, date=report.date,
            fixed=self.findings(report.fixed, rules), amd_signs=tuple(sorted(self.related(r) for r in report.amd_signs)),
            already_ported=report.already_ported, suppressed=self.findings(report.suppressed, rules),
            suppressions={self.name(mark): self.suppression(why) for mark, why in report.suppressions.items()},
            baseline=self.baseline(report.baseline), sizing=self.sizing(report.sizing), scope=self.scope(report.scope),
            strategies=tuple(way for way in report.strategies if way.id != IN_ITS_PLACE),
            nvidia=report.nvidia, evidence=self.evidence(report.evidence),
            runbook=tuple(self.step(step) for step in report.runbook), backtest=report.backtest, redacted=True,
        )  # fmt: skip

    def findings(self, findings: Iterable[Finding], rules: dict[str, Rule]) -> tuple[Finding, ...]:
        return tuple(sorted((self.finding(f, rules) for f in findings), key=lambda f: f.sort_key))

    def finding(self, finding: Finding, rules: dict[str, Rule]) -> Finding:
        rule = rules.get(finding.rule)
        f = finding
        return Finding(
            rule=f.rule, category=f.category, severity=f.severity, confidence=f.confidence, action=f.action, path=self.path(f.path),
            line=f.line, column=f.column, end_line=f.end_line, end_column=f.end_column, snippet="",
            message=rule.title if rule else f.rule, replacement=f.replacement, targets=f.targets, effort_hours=f.effort_hours,
            fingerprint=self.name(f.fingerprint), group=self.group(f.group), state=f.state, related=tuple(map(self.related, f.related)),
        )  # fmt: skip

    def group(self, group: str) -> str:
        """The rule's id stays; the subject behind it may be a name out of the code."""
        rule, slash, subject = group.partition("/")
        return f"{rule}{slash}{self.name(subject)}"

    def estimate(self, estimate: Estimate, rules: dict[str, Rule]) -> Estimate:
        return msgspec.structs.replace(estimate, lines=tuple(self.line(line, rules) for line in estimate.lines))

    def line(self, line: EffortLine, rules: dict[str, Rule]) -> EffortLine:
        if line.kind != "finding":
            return line
        label = rules[line.rule].title if line.rule in rules else line.rule
        return msgspec.structs.replace(line, label=label, group=self.group(line.group))

    def evidence(self, evidence: Evidence | None) -> Evidence | None:
        """The rungs stay; the compilers are named in porter's own words."""
        if evidence is None:
            return None
        rungs = {self.path(path): rung for path, rung in evidence.rungs.items()}
        return msgspec.structs.replace(evidence, rungs=rungs, unjudged=tuple(map(self.path, evidence.unjudged)))

    def step(self, step: RunbookStep) -> RunbookStep:
        """Commands may name files of the project; what they are for stays."""
        return RunbookStep(
            step.id, step.phase, step.title, step.why, expect=step.expect, settles=tuple(map(self.group, step.settles)),
            rules=step.rules, sources=step.sources,
        )  # fmt: skip

    def file(self, record: FileRecord) -> FileRecord:
        return FileRecord(self.path(record.path), record.kind, record.lines, self.hipify(record.hipify), record.coverage)

    def hipify(self, count: HipifyCount | None) -> HipifyCount | None:
        """The counts, and of the names those that CUDA's own API has."""
        if count is None:
            return None
        names, left = ({n: times for n, times in found.items() if api.lookup(n)} for found in (count.names, count.left))
        return HipifyCount(count.converted, count.unconverted, names, left, b"", count.engine, count.disagreement)

    def kernel(self, kernel: Kernel) -> Kernel:
        return Kernel(
            f"kernel {self.name(kernel.name)}", self.path(kernel.path), kernel.line, kernel.lines, kernel.features, kernel.launches
        )

    def related(self, related: Related) -> Related:
        return Related(self.path(related.path), related.line, "")

    def problem(self, problem: Problem) -> Problem:
        return Problem(problem.stage, self.path(problem.path), problem.line, WITHHELD, problem.matters)

    def skipped(self, skipped: Skipped) -> Skipped:
        return msgspec.structs.replace(skipped, path=self.path(skipped.path), why=skipped.origin or WITHHELD)

    def suppression(self, why: Suppression) -> Suppression:
        return Suppression(why.kind, self.path(why.path), why.line, WITHHELD if why.reason else "")

    def scope(self, scope: Scope | None) -> Scope | None:
        return None if scope is None else Scope(WITHHELD, "", scope.changed, scope.unchanged)

    def sizing(self, sizing: Sizing | None) -> Sizing | None:
        """Sizes without the models' names and without where they were found."""
        if sizing is None:
            return None
        models = (msgspec.structs.replace(m, where=WITHHELD, name=f"model {self.name(m.name)}", advice=()) for m in sizing.models)
        return Sizing(tuple(models), tuple(f"model {self.name(name)}" for name in sizing.not_sized), sizing.more)

    def baseline(self, base: Baseline | None) -> Baseline | None:
        return None if base is None else msgspec.structs.replace(base, source=WITHHELD, commit="")
