"""Every value that crosses a stage of the audit: frozen and plain; imports nothing from porter but its words."""

from __future__ import annotations

from typing import Any

import msgspec

from porter.many import Many
from porter.model_report import (
    Assumption,
    Backtest,
    Baseline,
    Cost,
    EffortLine,
    Estimate,
    Evidence,
    HipifySummary,
    Note,
    OriginCount,
    Phase,
    RunbookStep,
    Scope,
    Sizing,
    Strategy,
    Suppression,
)
from porter.model_rule import Effort, Example, Hours, Quantiles, Replacement, Rule, RuleFix, Source
from porter.words import (
    AMD_SIGNS_OF_A_PORT,
    CATEGORIES,
    FACT_KINDS,
    INSIGHT_CATEGORIES,
    Action,
    Confidence,
    Live,
    Ordered,
    Origin,
    Severity,
)

__all__ = [
    "AMD_SIGNS_OF_A_PORT", "CATEGORIES", "FACT_KINDS", "INSIGHT_CATEGORIES", "Action", "Confidence", "Live", "Ordered", "Origin",
    "Severity", "Span", "SourceFile", "Fact", "Fix", "RuleFix", "Problem", "Skipped", "Related", "Hit", "Hours", "Effort", "Replacement",
    "Source", "Example", "Rule", "Finding", "HipifyCount", "FileRecord", "Kernel", "EffortLine", "Quantiles", "Estimate", "HipifySummary",
    "OriginCount", "Suppression", "Baseline", "Phase", "Assumption", "Cost", "Backtest", "Strategy", "RunbookStep", "Scope", "Sizing",
    "Note", "Evidence", "Report",
    "plain",
]  # fmt: skip


class Span(msgspec.Struct, frozen=True, order=True, gc=False):
    """A stretch of a file; lines and columns count from 1, the end is exclusive, columns count bytes."""

    line: int
    column: int
    end_line: int
    end_column: int


class SourceFile(msgspec.Struct, frozen=True):
    """One file of the repository: its path relative to the root, its kind (discover.py), and its text.

    ``data`` is UTF-8 whatever the file was stored in, so byte columns agree everywhere; line ends are as in the file.
    ``sibling`` is the path of the AMD version of this file where one stands beside it. ``size`` is the size in bytes of a
    binary of which ``data`` is only the start, else 0.
    """

    path: str
    kind: str
    data: bytes = b""
    origin: Origin = Origin.OWN
    sibling: str = ""
    size: int = 0

    @property
    def text(self) -> str:
        """The text as str; never fails."""
        return self.data.decode("utf-8", "replace")


class Fact(msgspec.Struct, frozen=True, gc=False):
    """What a parser saw: a name in a known place.

    ``kind`` is one of FACT_KINDS; ``detail`` holds what only some kinds have (specifier of a requirement, callee of an
    argument …); ``args`` are the source texts of call or launch arguments.
    """

    kind: str
    name: str
    span: Span
    context: str = "unknown"  # host, device, build, unknown
    live: Live = Live.UNKNOWN
    seen_by: str = ""
    args: tuple[str, ...] = ()
    detail: dict[str, str] = {}


class Problem(msgspec.Struct, frozen=True, order=True):
    """Something that made the audit less complete; ``matters`` is false for what loses no finding."""

    stage: str
    path: str
    line: int
    what: str
    matters: bool = True


class Skipped(msgspec.Struct, frozen=True, order=True):
    """A file or folder that is not in the totals, and why."""

    path: str
    why: str
    origin: str = ""
    files: int = 1
    cuda_files: int = 0
    cuda_lines: int = 0


class Related(msgspec.Struct, frozen=True, order=True):
    """Another place that belongs to a finding."""

    path: str
    line: int
    note: str


class Hit(msgspec.Struct, frozen=True):
    """What a detector or a data rule returns: rule id, place, and the words that only this place can supply.

    ``message`` completes the rule's title; ``subject`` is the thing found (a package, a constant, an opcode) and findings
    of one rule with one subject are settled by one decision; ``group`` overrides that key. ``optional`` says that the
    program goes on without the thing: an import in a try that forgives. ``unread`` says why the build for AMD leaves the
    place out where no port did. ``fact_kind`` and ``fact_name`` are those of the fact behind it, where there is one.
    """

    rule: str
    span: Span
    message: str = ""
    subject: str = ""
    group: str = ""
    live: Live = Live.UNKNOWN
    confidence: Confidence | None = None
    targets: tuple[str, ...] | None = None
    related: tuple[Related, ...] = ()
    optional: bool = False
    unread: str = ""
    fact_kind: str = ""
    fact_name: str = ""


class Fix(msgspec.Struct, frozen=True):
    """The finding's line as it would read; ``safe`` where nobody needs to think before taking it."""

    text: str
    safe: bool = False


class Finding(msgspec.Struct, frozen=True):
    """A hit with its rule: one row of the report (the keys of the JSON contract, in its order)."""

    rule: str
    category: str
    severity: Severity
    confidence: Confidence
    action: Action
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    snippet: str
    message: str
    replacement: Replacement | None
    targets: tuple[str, ...]
    effort_hours: Hours = Hours()
    fingerprint: str = ""
    group: str = ""
    state: str = "new"
    related: tuple[Related, ...] = ()
    fix: Fix | None = None

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """The order of every list in every report."""
        return (self.path, self.line, self.column, self.rule, self.message)


class HipifyCount(msgspec.Struct, frozen=True):
    """Names the translation changed, and names it had to leave, in one file. ``names`` counts converted CUDA names.

    ``diff`` is packed (packed.py).
    """

    converted: int = 0
    unconverted: int = 0
    names: dict[str, int] = {}
    left: dict[str, int] = {}
    diff: bytes = b""
    engine: str = "builtin"
    disagreement: str = ""


class FileRecord(msgspec.Struct, frozen=True):
    """One scanned file. ``coverage`` is the share of its bytes outside syntax-error regions, 0 to 1.

    ``context`` holds the source lines near findings, by line, packed (packed.py); only the HTML report shows them.
    """

    path: str
    kind: str
    lines: int
    hipify: HipifyCount | None = None
    coverage: float = 1.0
    context: bytes = b""
    tests: str = ""  # what runs compiled tests, by this file: ctest, make test


class Kernel(msgspec.Struct, frozen=True):
    """One __global__ function: where it stands, what it uses, how often it is launched in its file set."""

    name: str
    path: str
    line: int
    lines: int
    features: tuple[str, ...] = ()
    launches: int = 0


class Report(msgspec.Struct, frozen=True):
    """All that an audit found; every renderer reads this and nothing else."""

    tool_version: str
    rules_version: str
    root: str
    commit: str
    targets: tuple[str, ...]
    rocm: str
    files: tuple[FileRecord, ...]
    findings: Many[Finding]
    insights: Many[Finding]
    estimate: Estimate
    hipify: HipifySummary
    kernels: Many[Kernel]
    problems: tuple[Problem, ...]
    skipped: tuple[Skipped, ...]
    origins: tuple[OriginCount, ...]
    cuda_files: int
    cuda_lines: int
    rules: dict[str, Rule]
    command: str = ""
    date: str = ""
    fixed: Many[Finding] = ()
    amd_signs: tuple[Related, ...] = ()  # places in own code that know AMD: guards, tests for HIP, ROCm settings
    already_ported: bool = False  # the project itself builds for AMD, as far as its own files show
    suppressed: Many[Finding] = ()  # in no total
    suppressions: dict[str, Suppression] = {}  # why, by fingerprint
    baseline: Baseline | None = None
    strategies: tuple[Strategy, ...] = ()  # the recommended one first; empty for a repository without work
    runbook: tuple[RunbookStep, ...] = ()  # in the order they are done
    nvidia: tuple[Note, ...] = ()  # where NVIDIA hardware stays the better choice, and what was not found
    backtest: Backtest | None = None
    sizing: Sizing | None = None  # of the models that the repository serves or the user names
    evidence: Evidence | None = None  # of compilers, with --verify
    scope: Scope | None = None  # with --changed-since: findings, files and hours are of the changed files alone
    redacted: bool = False  # names are hashed and code is left out (redact.py)

    @property
    def complete(self) -> bool:
        """False when a problem may have cost a finding."""
        return not any(problem.matters for problem in self.problems)


def plain(value: Any) -> Any:
    """A value of this module as dicts, lists and strings."""
    return msgspec.to_builtins(value)
