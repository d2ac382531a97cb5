"""Lines of the sum for findings: a line a group; first fixes are shared by pattern, files are capped at writing them again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import log2

import msgspec

from porter.estimate.parameters import Project, project
from porter.estimate.words import duration, percent
from porter.model import Effort, EffortLine, Finding, Hours, Rule
from porter.rules import RuleSet

Key = tuple[str, str]  # rule id, group


class _Group(msgspec.Struct):
    """A group on its way to a line: what it costs once, and in each of its files."""

    rule: Rule
    name: str
    findings: int
    a_file: dict[str, int]
    once: Hours
    whole: float = 1.0  # the part of the first fix that it pays
    notes: tuple[str, ...] = ()


def lines(findings: Iterable[Finding], sizes: dict[str, int], ruleset: RuleSet, share: float) -> list[EffortLine]:
    """A line a group, in the order of rule and group. ``sizes`` are lines of the code files, ``share`` the project's size, 0 to 1."""
    numbers = project()
    groups = {key: _group(ruleset.rules[key[0]], key[1], members, share) for key, members in sorted(_by_group(findings).items())}
    _share_first_fixes(groups.values(), numbers)
    parts = _file_parts(groups)
    capped = _capped(parts, sizes, numbers.rewrite)
    return [_line(group, parts, capped, key, numbers) for key, group in groups.items()]


def _by_group(findings: Iterable[Finding]) -> dict[Key, list[Finding]]:
    groups: dict[Key, list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[finding.rule, finding.group].append(finding)
    return groups


def _group(rule: Rule, name: str, members: Sequence[Finding], share: float) -> _Group:
    group = _Group(rule, name, len(members), dict(Counter(finding.path for finding in members)), rule.effort.once)
    if rule.category in project().scaled and share < 1.0 and rule.effort.once.worst:
        group.once = rule.effort.once.times(share)
        group.notes = (f"{percent(share)} of {duration(rule.effort.once.likely)}: a small project",)
    return group


def _share_first_fixes(groups: Iterable[_Group], numbers: Project) -> None:
    """The dearest group of a pattern pays its first fix whole, the others a part: of the rule's own, or of another rule's."""
    families: dict[str, list[_Group]] = defaultdict(list)
    for group in groups:
        families[numbers.pattern_of.get(group.rule.id, group.rule.id)].append(group)
    for members in families.values():
        ordered = sorted(members, key=lambda g: (-g.once.likely, -g.once.worst, -g.once.best, g.rule.id, g.name))
        rules = {ordered[0].rule.id}
        for group in ordered[1:]:
            group.whole = numbers.sharing.same_rule if group.rule.id in rules else numbers.sharing.same_pattern
            rules.add(group.rule.id)
            if group.once.worst:
                group.notes += (f"{percent(group.whole)} of it: the same decision as in another group",)


def _file_parts(groups: dict[Key, _Group]) -> dict[str, dict[Key, Hours]]:
    """What each group costs in each file: opening it, and its hits on the learning curve."""
    parts: dict[str, dict[Key, Hours]] = defaultdict(dict)
    for key, group in groups.items():
        effort = group.rule.effort
        for path, count in group.a_file.items():
            parts[path][key] = effort.file + effort.each.times(hits(count, effort.learning))
    return parts


def _capped(parts: dict[str, dict[Key, Hours]], sizes: dict[str, int], rewrite: Hours) -> dict[str, Hours]:
    """The files whose sum is more than writing them again, with what is charged instead."""
    out = {}
    for path, of_groups in parts.items():
        total = Hours()
        for hours in of_groups.values():
            total = total + hours
        most = rewrite.times(sizes[path]) if sizes.get(path) else total
        less = Hours(min(total.best, most.best), min(total.likely, most.likely), min(total.worst, most.worst))
        if less != total:
            out[path] = less
    return out


def _line(group: _Group, parts: dict[str, dict[Key, Hours]], capped: dict[str, Hours], key: Key, numbers: Project) -> EffortLine:
    hours, was_capped = group.once.times(group.whole), False
    for path in group.a_file:
        part = parts[path][key]
        if path in capped and part.worst:
            weight = part.worst / sum(one.worst for one in parts[path].values())
            part, was_capped = capped[path].times(weight), True
        hours = hours + part
    arithmetic = _arithmetic(group, group.rule.effort)
    if was_capped:
        arithmetic += f"; capped by rewriting the files at {duration(numbers.rewrite.likely)} a line"
    return EffortLine(
        label=group.rule.title, arithmetic=arithmetic, hours=hours, rule=group.rule.id, group=group.name, category=group.rule.category,
        findings=group.findings, files=len(group.a_file), phase=numbers.phase_of(group.rule.category),
        once=group.once.times(group.whole),
    )  # fmt: skip


def hits(count: int, learning: float) -> float:
    """How many first hits the hits of one file are worth: m**(1 + log2(learning)), so that the second costs less."""
    return float(count ** (1.0 + log2(learning)))


def _arithmetic(group: _Group, effort: Effort) -> str:
    """The sum in words, likely values."""
    parts = []
    if effort.once.likely:
        notes = f" ({'; '.join(group.notes)})" if group.notes else ""
        parts.append(f"{duration(group.once.likely * group.whole)} once{notes}")
    if effort.file.likely:
        parts.append(f"{len(group.a_file)} × {duration(effort.file.likely)} a file")
    if effort.each.likely:
        worth = sum(hits(count, effort.learning) for count in group.a_file.values())
        curve = "" if effort.learning == 1.0 or group.findings == len(group.a_file) else f" on a {effort.learning:.0%} learning curve"
        parts.append(f"{group.findings} × {duration(effort.each.likely)} a place{curve}")
        if abs(worth - group.findings) > 0.05:
            parts[-1] += f" (worth {worth:.1f})"
    return " + ".join(parts)
