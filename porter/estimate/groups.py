"""Lines of the sum for findings: a line a group; first fixes are shared by pattern, files are capped at writing them again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import log2

import msgspec

from porter.estimate.parameters import Project, project
from porter.estimate.words import SAME_DECISION, duration, percent
from porter.many import Many
from porter.model import Action, Effort, EffortLine, Finding, Hours, Rule
from porter.pages import Filling, spill_of
from porter.rules import RuleSet

Key = tuple[str, str]  # rule id, group
LIBRARY = "cuda-only-library"


class Fixing(msgspec.Struct, frozen=True):
    """What the findings cost: a line a group; the work in each file, all groups together and capped; what project lines pay of theirs."""

    lines: Many[EffortLine]
    files: dict[str, Hours]
    paid: dict[str, float]


class _Group(msgspec.Struct):
    """A group on its way to a line: what it costs once, and in each of its files."""

    rule: Rule
    name: str
    findings: int
    a_file: dict[str, int]
    once: Hours
    whole: float = 1.0  # the part of the first fix that it pays
    within: bool = False  # its files and places are in the first fix already
    named: bool = False  # no own code calls it: a place is a line of a manifest, written again
    notes: tuple[str, ...] = ()


def fixing(
    findings: Iterable[Finding], sizes: dict[str, int], ruleset: RuleSet, share: float, beside: Mapping[str, Hours] | None = None
) -> Fixing:
    """The cost of the findings, its lines in the order of rule and group.

    ``sizes`` are lines of the code files, ``share`` the size of the project's CUDA sources, 0 to 1; ``beside`` are hours of project
    lines by their pattern.
    """
    numbers = project()
    grouped = _by_group(findings)
    groups = {key: _group(ruleset.rules[key[0]], key[1], grouped[key], share, sizes) for key in sorted(grouped)}
    paid = _share_first_fixes(groups.values(), numbers, beside or {})
    totals = _file_totals(groups.values())
    capped = _capped(totals, sizes, numbers.rewrite)
    lines = Filling(EffortLine, spill_of(findings))
    lines.extend(_line(group, capped, numbers) for group in groups.values())
    return Fixing(lines.done(), {path: capped[path][0] if path in capped else total for path, total in totals.items()}, paid)


def _by_group(findings: Iterable[Finding]) -> dict[Key, dict[str, int]]:
    """How many findings each group has in each of its files."""
    groups: dict[Key, dict[str, int]] = {}
    texts: dict[str, str] = {}  # one text a path, however often it was read
    for finding in findings:
        path = texts.setdefault(finding.path, finding.path)
        a_file = groups.setdefault((finding.rule, finding.group), {})
        a_file[path] = a_file.get(path, 0) + 1
    return groups


def _group(rule: Rule, name: str, a_file: dict[str, int], share: float, sizes: dict[str, int]) -> _Group:
    group = _Group(rule, name, sum(a_file.values()), a_file, rule.effort.once)
    if share < 1.0 and rule.effort.once.worst and project().shrinks(rule.id, rule.category):
        group.once = rule.effort.once.times(share)
        group.notes = (f"{percent(share)} of {duration(rule.effort.once.likely)}: a small project",)
    if rule.category == LIBRARY:
        _limit(group, sum(sizes.get(path, 0) for path in group.a_file))
    return group


def _limit(group: _Group, lines: int) -> None:
    """A library costs no more than learning its replacement and writing the code that calls it again, files and places included."""
    numbers = project()
    library = numbers.redesigned if group.rule.action is Action.REDESIGN else numbers.replaced
    most = library.known + numbers.rewrite.times(lines) if lines else library.named
    less = _least(group.once, most)
    if less.likely < group.once.likely:
        group.within, group.named = lines > 0, lines == 0
        why = f"to learn what replaces it and write the {lines:,} lines that call it again" if lines else "nothing of the own code calls it"
        group.notes += (f"of {duration(group.once.likely)}: {why}",)
    group.once = less


def _share_first_fixes(groups: Iterable[_Group], numbers: Project, beside: Mapping[str, Hours]) -> dict[str, float]:
    """The dearest member of a pattern pays its first fix whole, the others a part; what the project lines pay is given back by pattern."""
    families: dict[str, list[_Group]] = defaultdict(list)
    for group in groups:
        families[numbers.family(group.rule.id, group.rule.category)].append(group)
    paid = dict.fromkeys(beside, 1.0)
    for name, members in families.items():
        ordered = sorted(members, key=lambda g: (_rank(g.once), g.rule.id, g.name))
        line_is_first = name in beside and _rank(beside[name]) <= _rank(ordered[0].once)
        if name in beside and not line_is_first:
            paid[name] = numbers.sharing.same_pattern
        rules: set[str] = set()
        for place, group in enumerate(ordered):
            if place or line_is_first:
                group.whole = numbers.sharing.same_rule if group.rule.id in rules else numbers.sharing.same_pattern
                if group.once.worst:
                    group.notes += (f"{percent(group.whole)} {SAME_DECISION}",)
            rules.add(group.rule.id)
    return paid


def _rank(once: Hours) -> tuple[float, float, float]:
    return (-once.likely, -once.worst, -once.best)


def _effort(group: _Group) -> Effort:
    """The rule's effort; of a library that is only named, the lines that name it are written again and no calls of it."""
    effort = group.rule.effort
    return (
        msgspec.structs.replace(effort, file=Hours(), each=_least(effort.file + effort.each, project().rewrite), learning=1.0)
        if group.named
        else effort
    )


def _part(group: _Group, count: int) -> Hours:
    """What a group costs in a file that has so many of its findings: opening it, and its hits on the learning curve."""
    effort = _effort(group)
    return Hours() if group.within else effort.file + effort.each.times(hits(count, effort.learning))


def _file_totals(groups: Iterable[_Group]) -> dict[str, Hours]:
    """What all groups cost in each file."""
    totals: dict[str, Hours] = {}
    for group in groups:
        for path, count in group.a_file.items():
            totals[path] = totals.get(path, Hours()) + _part(group, count)
    return totals


def _least(a: Hours, b: Hours) -> Hours:
    return Hours(min(a.best, b.best), min(a.likely, b.likely), min(a.worst, b.worst))


def _capped(totals: dict[str, Hours], sizes: dict[str, int], rewrite: Hours) -> dict[str, tuple[Hours, float]]:
    """The files whose sum is more than writing them again, with what is charged instead, and the worst hours of that sum."""
    out = {}
    for path, total in totals.items():
        less = _least(total, rewrite.times(sizes[path])) if sizes.get(path) else total
        if less != total:
            out[path] = less, total.worst
    return out


def _line(group: _Group, capped: dict[str, tuple[Hours, float]], numbers: Project) -> EffortLine:
    hours, was_capped = group.once.times(group.whole), False
    for path, count in group.a_file.items():
        part = _part(group, count)
        if path in capped and part.worst:
            less, whole = capped[path]
            part, was_capped = less.times(part.worst / whole), True
        hours = hours + part
    arithmetic = _arithmetic(group, _effort(group))
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
    if group.within:
        return parts[0]
    if effort.file.likely:
        parts.append(f"{len(group.a_file)} × {duration(effort.file.likely)} a file")
    if effort.each.likely:
        worth = sum(hits(count, effort.learning) for count in group.a_file.values())
        parts.append(f"{group.findings} × {duration(effort.each.likely)} a place")
        if effort.learning != 1.0 and group.findings != len(group.a_file):
            parts[-1] += f" on a learning curve of {percent(effort.learning)}"
        if abs(worth - group.findings) > 0.05:
            parts[-1] += f" (worth {worth:.1f})"
    return " + ".join(parts)
