"""The effort model: hours of every group of findings and of the project, simulated to a range; each number has its line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import log2

from porter.config import Config
from porter.estimate import grade, hand_lines, project, simulate
from porter.examine import Examined
from porter.model import Effort, EffortLine, Estimate, Finding, Hours, Rule
from porter.rules import RuleSet

REWRITE_HOURS_A_LINE = Hours(5 / 60, 10 / 60, 30 / 60)  # rewriting a file costs so much a line of it; no group costs more
CODE_KINDS = frozenset({"cuda", "cxx", "python", "cython", "notebook", "ptx", "cmake", "make", "bazel", "meson"})


def estimate(
    findings: Sequence[Finding], own: Sequence[Examined], ruleset: RuleSet, config: Config, ported: bool = False
) -> tuple[Estimate, dict[str, Hours]]:
    """The estimate of a project, and the hours of each finding by fingerprint; a group's findings share its hours evenly.

    A project that is ``ported`` has no project lines: it builds for AMD already.
    """
    sizes = {one.path: one.lines for one in own if one.kind in CODE_KINDS}
    lines: list[EffortLine] = []
    shares: dict[str, Hours] = {}
    for (rule_id, group), members in sorted(_groups(findings).items()):
        line = _group_line(ruleset.rules[rule_id], group, members, sizes)
        lines.append(line)
        shares |= {finding.fingerprint: line.hours.times(1 / len(members)) for finding in members}
    lines += [] if ported else project.lines(findings, own)
    total = _sum(line.hours for line in lines)
    hours = simulate.quantiles([line.hours for line in lines], config.seed)
    hand = hand_lines.hand_lines(findings, config.seed)
    letter, reasons = grade.grade(own, findings)
    return Estimate(hours, hand, tuple(lines), total, config.seed, letter, reasons), shares


def _groups(findings: Iterable[Finding]) -> dict[tuple[str, str], list[Finding]]:
    groups: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[finding.rule, finding.group].append(finding)
    return groups


def _sum(hours: Iterable[Hours]) -> Hours:
    total = Hours()
    for one in hours:
        total = total + one
    return total


def _group_line(rule: Rule, group: str, members: Sequence[Finding], sizes: dict[str, int]) -> EffortLine:
    """Once for the decision, then a file, then a hit on a learning curve; never more than rewriting the files."""
    a_file = Counter(finding.path for finding in members)
    effort = rule.effort
    hits = sum(_hits(count, effort) for count in a_file.values())
    hours = effort.once + effort.file.times(len(a_file)) + effort.each.times(hits)
    arithmetic = _arithmetic(effort, len(a_file), len(members), hits)
    cap = _sum(REWRITE_HOURS_A_LINE.times(sizes[path]) for path in a_file if path in sizes)
    if all(path in sizes for path in a_file) and hours.likely > cap.likely > effort.once.likely:
        hours = Hours(min(hours.best, cap.best), min(hours.likely, cap.likely), min(hours.worst, cap.worst))
        arithmetic += "; capped by rewriting the files at 10 min a line"
    return EffortLine(
        label=rule.title, arithmetic=arithmetic, hours=hours, rule=rule.id, group=group, category=rule.category,
        findings=len(members), files=len(a_file),
    )  # fmt: skip


def _hits(count: int, effort: Effort) -> float:
    """How many first hits the hits of one file are worth: m**(1 + log2(learning)), so that the second costs less."""
    return float(count ** (1.0 + log2(effort.learning)))


def _arithmetic(effort: Effort, files: int, findings: int, hits: float) -> str:
    """The sum in words, likely values."""
    parts = []
    if effort.once.likely:
        parts.append(f"{duration(effort.once.likely)} once")
    if effort.file.likely:
        parts.append(f"{files} × {duration(effort.file.likely)} a file")
    if effort.each.likely:
        curve = "" if effort.learning == 1.0 or findings == files else f" on a {effort.learning:.0%} learning curve"
        parts.append(f"{findings} × {duration(effort.each.likely)} a place{curve}")
        if abs(hits - findings) > 0.05:
            parts[-1] += f" (worth {hits:.1f})"
    return " + ".join(parts)


def duration(hours: float) -> str:
    """Hours as people write them: 10 min, 2 h, 3 d."""
    if hours < 1:
        return f"{hours * 60:.0f} min"
    return f"{hours:g} h" if hours < 16 else f"{hours / 8:.3g} d"
