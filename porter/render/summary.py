"""What every renderer counts in the same way: the report's findings grouped by rule, category, phase and directory."""

from __future__ import annotations

import heapq
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from porter.many import Many
from porter.model import CATEGORIES, Action, Confidence, EffortLine, Finding, Hours, Kernel, Report, Rule, Severity
from porter.pages import Filling, Pages, spill_of, split
from porter.render.neutral import one_line

SEVERITIES = tuple(reversed(Severity))
PHASES = (
    ("Plan", "The strategy is chosen, the machine is there, and the results of the CUDA version are recorded.", ()),
    ("Build", "It compiles, links, installs and starts with ROCm.",
     ("build", "unsupported-api", "unsupported-feature", "inline-ptx", "cuda-only-library", "arch-guard", "binary", "python-api")),
    ("Correct", "It gives the right results on the wavefront sizes of the targets.", ("warp-size", "precision", "triton")),
    ("Deploy", "It runs where it has to run: images, services, tools, model files.",
     ("container", "deployment", "environment", "tooling", "model-format")),
    ("Fast", "It uses the hardware well. Parity with another GPU is not promised.", ("performance",)),
)  # fmt: skip
PHASE_NAMES = {"plan": "Plan", "build": "Build", "right": "Correct", "correct": "Correct", "deploy": "Deploy", "fast": "Fast"}
_PHASE_OF = {category: name for name, _, categories in PHASES for category in categories}
DEPENDENCY_KINDS = frozenset(("requirement", "conda_package", "apt_package", "image"))


class RuleGroup(msgspec.Struct, frozen=True):
    """All findings of one rule, the number of files they are in, and the hours that the estimate gives them."""

    rule: Rule
    findings: Many[Finding]
    hours: Hours
    files: int
    severity: Severity  # the worst among the findings


class Row(msgspec.Struct, frozen=True):
    """One row of a breakdown: findings by severity in the order of SEVERITIES, their hours, and the lines of the sum in it."""

    name: str
    counts: tuple[int, ...]
    hours: Hours
    note: str = ""
    lines: Many[EffortLine] = ()

    @property
    def findings(self) -> int:
        """All findings of the row."""
        return sum(self.counts)


def rule_of(report: Report, finding: Finding) -> Rule:
    """The finding's rule; a bare one made of the finding's own words where the report does not bring it."""
    known = report.rules.get(finding.rule)
    if known is not None:
        return known
    action = finding.action or Action.CHECK
    title = finding.message.split(": ", 1)[0] or finding.rule  # messages start with the title
    return Rule(finding.rule, title, finding.category, finding.severity, Confidence.LOW, action, "", replacement=finding.replacement)


def by_rule(report: Report, findings: Iterable[Finding]) -> tuple[RuleGroup, ...]:
    """Findings grouped by rule: worst severity first, then most hours."""
    sums: dict[str, Hours] = {}
    for line in report.estimate.lines:
        if line.kind == "finding":
            sums[line.rule] = sums.get(line.rule, Hours()) + line.hours
    groups = []
    for name, found in _of_rules(findings).items():
        hours = sums[name] if name in sums else total(finding.effort_hours for finding in found)
        severity = max({finding.severity for finding in found})
        files = len({finding.path for finding in found})
        groups.append(RuleGroup(rule_of(report, found[0]), found, hours, files, severity))
    return tuple(sorted(groups, key=lambda g: (-g.severity.rank, -g.hours.likely, g.rule.id)))


def _of_rules(findings: Iterable[Finding]) -> dict[str, Many[Finding]]:
    if isinstance(findings, Pages):
        return findings.grouped("rule", Finding)
    return split(findings, lambda finding: finding.rule, Finding)


def _picked(lists: Iterable[Many[Finding]], wanted: Callable[[Finding], bool]) -> Many[Finding]:
    """Those of some lists that are wanted."""
    lists = list(lists)
    picked = Filling(Finding, spill_of(next((one for one in lists if isinstance(one, Pages)), ())))
    picked.extend(finding for one in lists for finding in one if wanted(finding))
    return picked.done()


def total(parts: Iterable[Hours]) -> Hours:
    """The sum of three-point hours."""
    out = Hours()
    for part in parts:
        out = out + part
    return out


def decisions(report: Report, limit: int = 6) -> tuple[RuleGroup, ...]:
    """The rules to settle first: the half that costs most, and beside it the worst by severity; worst severity first."""
    groups = [g for g in by_rule(report, report.findings) if g.hours.likely > 0 or g.severity >= Severity.MAJOR]
    dear = sorted(groups, key=lambda g: -g.hours.likely)[: (limit + 1) // 2]
    chosen = {g.rule.id for g in dear}
    for group in groups:
        if len(chosen) >= limit:
            break
        chosen.add(group.rule.id)
    return tuple(g for g in groups if g.rule.id in chosen)


def by_category(report: Report) -> tuple[Row, ...]:
    """One row a category with findings or hours, and one for the project's own lines; the hours sum to the total."""
    groups = _split(report.findings, lambda finding: finding.category)
    lines = split(report.estimate.lines, lambda line: line.category if line.kind == "finding" else "", EffortLine)
    names = [*CATEGORIES, *sorted((set(groups) | set(lines)) - set(CATEGORIES) - {""}), ""]
    rows = [_row(name, groups.get(name, _Tally()), lines.get(name, ())) for name in names if name in groups or name in lines]
    return tuple(sorted(rows, key=lambda row: (not row.name, -row.hours.likely, -row.findings, row.name)))


def phase_of(line: EffortLine) -> str:
    """The name of the phase a line of the sum belongs to: what the estimate says, else what its category says."""
    if line.phase:
        return PHASE_NAMES.get(line.phase, line.phase)
    return _PHASE_OF.get(line.category, "Build") if line.kind == "finding" else "Plan"


def phases(report: Report) -> tuple[Row, ...]:
    """The plan: the lines of the sum in the order in which a port meets them; every finding stands in the phase of its line."""
    lines = split(report.estimate.lines, phase_of, EffortLine)
    where: dict[tuple[str, str], str] = {}
    for line in report.estimate.lines:
        where[line.rule, line.group] = phase_of(line)
    groups = _split(report.findings, lambda finding: where.get((finding.rule, finding.group), _PHASE_OF.get(finding.category, "Build")))
    names = [*(name for name, _, _ in PHASES), *sorted((set(lines) | set(groups)) - {name for name, _, _ in PHASES})]
    goals = {name: goal for name, goal, _ in PHASES}
    rows = [_row(name, groups.get(name, _Tally()), lines.get(name, ()), goals.get(name, "")) for name in names]
    return tuple(row for row in rows if row.findings or row.lines)


def kernels(report: Report) -> tuple[tuple[Kernel, Hours], ...]:
    """Every kernel with the hours of the findings that stand in it; most hours first, then those that use most."""
    return tuple(sorted(_with_hours(report), key=_dearest))


def dearest_kernels(report: Report, limit: int) -> tuple[tuple[Kernel, Hours], ...]:
    """The first of ``kernels``, without the others in memory."""
    return tuple(heapq.nsmallest(limit, _with_hours(report), key=_dearest))


def _dearest(pair: tuple[Kernel, Hours]) -> tuple[Any, ...]:
    kernel, hours = pair
    return (-hours.likely, -len(kernel.features), kernel.path, kernel.line, kernel.name)


def _with_hours(report: Report) -> Iterator[tuple[Kernel, Hours]]:
    there: dict[str, tuple[array[int], list[Hours]]] = defaultdict(lambda: (array("L"), []))
    same: dict[Hours, Hours] = {}  # the findings of a decision all have the same ones
    for finding in report.findings:
        lines, hours = there[finding.path]
        lines.append(finding.line)
        hours.append(same.setdefault(finding.effort_hours, finding.effort_hours))
    for kernel in report.kernels:
        end = kernel.line + max(kernel.lines, 1)
        found = zip(*there[kernel.path], strict=True) if kernel.path in there else ()
        yield kernel, total(each for line, each in found if kernel.line <= line < end)


def by_directory(report: Report, limit: int = 12) -> tuple[Row, ...]:
    """Directories with findings, at most two levels deep, most hours first; what is over the limit is one last row."""
    groups = _split(report.findings, lambda finding: directory_of(finding.path))
    rows = sorted((_row(name, found, ()) for name, found in groups.items()), key=lambda row: (-row.hours.likely, -row.findings, row.name))
    if len(rows) <= limit:
        return tuple(rows)
    rest = rows[limit - 1 :]
    counts = tuple(sum(row.counts[i] for row in rest) for i in range(len(SEVERITIES)))
    return (*rows[: limit - 1], Row("", counts, total(row.hours for row in rest)))


def directory_of(path: str) -> str:
    """The first two folders of a path; "." for the root."""
    return "/".join(path.split("/")[:-1][:2]) or "."


class _Tally:
    """Findings counted by severity, and their hours."""

    __slots__ = ("counts", "hours")

    def __init__(self) -> None:
        self.counts = dict.fromkeys(SEVERITIES, 0)
        self.hours = Hours()


def _split(findings: Iterable[Finding], key: Callable[[Finding], str]) -> dict[str, _Tally]:
    groups: dict[str, _Tally] = defaultdict(_Tally)
    for finding in findings:
        tally = groups[key(finding)]
        tally.counts[finding.severity] += 1
        tally.hours = tally.hours + finding.effort_hours
    return groups


def _row(name: str, found: _Tally, lines: Many[EffortLine], note: str = "") -> Row:
    hours = total(line.hours for line in lines) if lines else found.hours
    return Row(name, tuple(found.counts.values()), hours, note, lines)


def dependencies(report: Report) -> tuple[RuleGroup, ...]:
    """Rules about a library or package that was found, work before good news, by title."""
    judged: dict[str, bool] = {}

    def is_wanted(finding: Finding) -> bool:
        if finding.rule not in judged:
            rule = rule_of(report, finding)
            judged[finding.rule] = rule.category == "cuda-only-library" or not DEPENDENCY_KINDS.isdisjoint(rule.match)
        return judged[finding.rule]

    wanted = by_rule(report, _picked((report.findings, report.insights), is_wanted))
    return tuple(sorted(wanted, key=lambda g: (g.rule.is_insight, -g.severity.rank, g.rule.title.lower())))


def remark(rule: Rule, finding: Finding) -> str:
    """What the finding's message says beyond its rule's title."""
    text = one_line(finding.message)
    title = one_line(rule.title)
    return "" if text == title else text.removeprefix(title + ": ")


def blockers(report: Report) -> int:
    """Number of findings that stop the port if nothing is done."""
    return sum(1 for finding in report.findings if finding.severity is Severity.BLOCKER)


def insights_of(report: Report, category: str) -> tuple[RuleGroup, ...]:
    """Insights of one of the two good categories, grouped by rule, most places first."""
    found = _picked((report.insights,), lambda finding: finding.category == category)
    return tuple(sorted(by_rule(report, found), key=lambda g: (-len(g.findings), g.rule.id)))


def untouched(report: Report) -> tuple[float, float] | None:
    """CUDA lines that need no hand work, and all CUDA lines; None where the repository has no CUDA lines.

    The estimate's hand lines count every language, in proportion to hours; CUDA's part is that of the findings in CUDA files.
    """
    if not report.cuda_lines:
        return None
    cuda = {record.path for record in report.files if record.kind == "cuda"}
    everywhere = sum(finding.effort_hours.likely for finding in report.findings)
    there = sum(finding.effort_hours.likely for finding in report.findings if finding.path in cuda)
    by_hand = report.estimate.hand_lines.p50 * (there / everywhere if everywhere else 1.0)
    return max(0.0, report.cuda_lines - by_hand), float(report.cuda_lines)


def names_share(report: Report) -> tuple[int, int] | None:
    """CUDA names that the translation converts, and all of them; None where it met none."""
    seen = report.hipify.converted + report.hipify.unconverted
    return (report.hipify.converted, seen) if seen else None


def is_compared(report: Report) -> bool:
    """Whether the states of the findings say anything: the report was held against an earlier one."""
    return report.baseline is not None or bool(report.fixed) or any(finding.state == "unchanged" for finding in report.findings)


def matters(report: Report) -> int:
    """Number of problems that may have cost a finding."""
    return sum(1 for problem in report.problems if problem.matters)


def merged(lines: Iterable[EffortLine]) -> list[tuple[EffortLine, int]]:
    """Lines of the sum, most hours first; those that say the same of one rule are one, with their number and their sum."""
    same: dict[tuple[str, str, str], tuple[EffortLine, Hours, int]] = {}
    for line in lines:
        key = line.rule, line.label, line.arithmetic
        first, hours, times = same.get(key) or (line, Hours(), 0)
        same[key] = first, hours + line.hours, times + 1
    out = [(msgspec.structs.replace(first, hours=hours), times) for first, hours, times in same.values()]
    return sorted(out, key=lambda pair: (-pair[0].hours.likely, pair[0].label))


def reaches(report: Report, path: str, least: str) -> bool:
    """Whether compilers have shown that a file compiles, or links."""
    rung = report.evidence.rungs.get(path, "") if report.evidence else ""
    return rung in (("compiles", "links") if least == "compiles" else ("links",))
