"""The effort model: hours of every group of findings and of the project, simulated to a range; each number has its line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from porter.config import Config
from porter.estimate import grade, groups, hand_lines, project, simulate, team
from porter.estimate.parameters import project as numbers
from porter.estimate.words import duration
from porter.examine import Examined
from porter.model import EffortLine, Estimate, Finding, Hours, Phase
from porter.rules import RuleSet

__all__ = ["duration", "estimate"]

CODE_KINDS = frozenset({"cuda", "cxx", "python", "cython", "notebook", "ptx", "cmake", "make", "bazel", "meson"})


def estimate(
    findings: Sequence[Finding], own: Sequence[Examined], ruleset: RuleSet, config: Config, ported: bool = False
) -> tuple[Estimate, dict[str, Hours]]:
    """The estimate of a project, and the hours of each finding by fingerprint; a group's findings share its hours evenly.

    A project that is ``ported`` has no project lines: it builds for AMD already.
    """
    sizes = {one.path: one.lines for one in own if one.kind in CODE_KINDS}
    share = numbers().share(project.code_lines(own))
    lines = groups.lines(findings, sizes, ruleset, share)
    lines += [] if ported else project.lines(findings, own, share, _sum(line.hours for line in lines))
    lines = [team.applied(line, config.effort) for line in lines]
    hours = simulate.quantiles([line.hours for line in lines], config.seed, _keys(lines))
    source, build = hand_lines.hand_lines(findings, own, ported)
    letter, reasons = grade.grade(own, findings, ruleset, hours)
    made = Estimate(
        hours, source, tuple(lines), _sum(line.hours for line in lines), config.seed, letter, reasons, _phases(lines),
        team.assumptions(config.effort), team.cost(hours, config.effort), build,
    )  # fmt: skip
    return made, _shares(findings, lines)


def _keys(lines: Iterable[EffortLine]) -> list[str]:
    return [f"{line.rule}\0{line.group}" if line.rule else line.label for line in lines]


def _sum(hours: Iterable[Hours]) -> Hours:
    total = Hours()
    for one in hours:
        total = total + one
    return total


def _shares(findings: Iterable[Finding], lines: Iterable[EffortLine]) -> dict[str, Hours]:
    members: dict[tuple[str, str], list[str]] = defaultdict(list)
    for finding in findings:
        members[finding.rule, finding.group].append(finding.fingerprint)
    shares: dict[str, Hours] = {}
    for line in lines:
        names = members.get((line.rule, line.group), ())
        shares |= dict.fromkeys(names, line.hours.times(1 / len(names)) if names else Hours())
    return shares


def _phases(lines: Sequence[EffortLine]) -> tuple[Phase, ...]:
    """The work in the order it is done; the phases' hours sum to the total."""
    made = []
    for phase in numbers().phases if lines else ():
        members = [line for line in lines if line.phase == phase.id]
        made.append(Phase(phase.id, phase.name, phase.what, _sum(line.hours for line in members), len(members)))
    return tuple(made)
