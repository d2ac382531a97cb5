"""The effort model: hours of every group of findings and of the project, simulated to a range; each number has its line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from porter.config import Config
from porter.estimate import grade, groups, hand_lines, project, simulate, team
from porter.estimate.parameters import project as numbers
from porter.estimate.words import duration
from porter.examine import Examined
from porter.model import EffortLine, Estimate, Finding, Hours, Phase
from porter.pages import Filling, spill_of
from porter.rules import RuleSet

__all__ = ["duration", "estimate", "parts"]

CODE_KINDS = frozenset({"cuda", "cxx", "python", "cython", "notebook", "ptx", "cmake", "make", "bazel", "meson", "rust"})


def estimate(
    findings: Sequence[Finding], own: Sequence[Examined], ruleset: RuleSet, config: Config, ported: bool = False
) -> tuple[Estimate, dict[groups.Key, Hours]]:
    """The estimate of a project, and the hours of each finding by rule and group; a group's findings share its hours evenly.

    A project that is ``ported`` has no project lines: it builds for AMD already.
    """
    sizes = {one.path: one.lines for one in own if one.kind in CODE_KINDS}
    share = project.size(own)
    fixing = groups.fixing(findings, sizes, ruleset, share, {} if ported else project.shared(own, share))
    whole = sum((line.hours for line in fixing.lines), Hours())
    filling = Filling(EffortLine, spill_of(findings))
    for line in chain(fixing.lines, () if ported else project.lines(findings, own, share, whole, fixing.paid)):
        filling.add(team.applied(line, config.effort))
    lines = filling.done()
    hours = simulate.quantiles(parts(lines, fixing.files, team.factor(config.effort)), config.seed)
    source, build = hand_lines.hand_lines(findings, own, ported)
    letter, reasons = grade.grade(own, findings, ruleset, hours)
    made = Estimate(
        hours, source, lines, sum((line.hours for line in lines), Hours()), config.seed, letter, reasons, _phases(lines),
        team.assumptions(config.effort), team.cost(hours, config.effort), build,
    )  # fmt: skip
    return made, _shares(lines)


def parts(lines: Iterable[EffortLine], files: Mapping[str, Hours], factor: float = 1.0) -> dict[str, Hours]:
    """What the simulation draws: first fixes by the decision that settles them, the work in each file, and the other project lines.

    Lines of findings are not drawn one by one: a further finding moves hours between them (shared first fixes, capped files), but it
    never lowers the hours of a decision or of a file. ``factor`` is the team's, on the work in files.
    """
    patterns = {line.label: line.pattern for line in numbers().lines.values()}
    out: dict[str, Hours] = defaultdict(Hours)
    for line in lines:
        if line.kind == "finding":
            out[f"decision\0{numbers().family(line.rule, line.category)}"] += line.once
        else:
            pattern = patterns.get(line.label, "")
            out[f"decision\0{pattern}" if pattern else f"line\0{line.label}"] += line.hours
    for path, hours in files.items():
        out[f"file\0{path}"] += hours.times(factor)
    return dict(out)


def _shares(lines: Iterable[EffortLine]) -> dict[groups.Key, Hours]:
    return {(line.rule, line.group): line.hours.times(1 / line.findings) for line in lines if line.findings}


def _phases(lines: Sequence[EffortLine]) -> tuple[Phase, ...]:
    """The work in the order it is done; the phases' hours sum to the total."""
    sums: dict[str, Hours] = defaultdict(Hours)
    count: Counter[str] = Counter()
    for line in lines:
        sums[line.phase] += line.hours
        count[line.phase] += 1
    wanted = numbers().phases if lines else ()
    return tuple(Phase(phase.id, phase.name, phase.what, sums[phase.id], count[phase.id]) for phase in wanted)
