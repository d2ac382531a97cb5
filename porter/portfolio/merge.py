"""Many reports as one portfolio: what repositories share is paid once, and every saving has its arithmetic.

Two things are shared. A file of the same content in several repositories is fixed once: the first by name pays, the others copy.
The first fix of a rule (finding the replacement, deciding, trying it out) is made once: the repository with the dearest pays it
whole, the others the part that a further group of a rule pays within a repository (``sharing.same_rule`` of rules/effort).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from porter import report_file
from porter.estimate import simulate
from porter.estimate.parameters import project
from porter.model import EffortLine, Hours, Quantiles, Report
from porter.portfolio.listing import Repository
from porter.portfolio.one import Answer

SEED = 0


class Tool(msgspec.Struct, frozen=True):
    """Which porter made the reports."""

    version: str
    rules: str


class Row(msgspec.Struct, frozen=True):
    """A repository of the portfolio: its own numbers, and its likely hours when what others share with it is paid there."""

    name: str
    commit: str = ""
    cuda_files: int = 0
    cuda_lines: int = 0
    severities: dict[str, int] = {}
    hours: Quantiles = Quantiles()
    hand_lines: Quantiles = Quantiles()
    likely: float = 0.0
    shared: float = 0.0  # likely hours saved because others pay them
    value: float | None = None
    worth: float | None = None  # value an hour of P50
    already_ported: bool = False
    way: str = ""  # name of the way that its report recommends; empty where there is nothing to port
    complete: bool = True
    error: str = ""


class Shared(msgspec.Struct, frozen=True):
    """A rule found in more than one repository: where, what it costs when each pays, and when it is paid once."""

    rule: str
    title: str
    category: str
    repositories: tuple[str, ...]
    findings: int
    apart: float
    together: float


class Copied(msgspec.Struct, frozen=True):
    """A file with findings whose content stands in more than one repository; ``places`` are (repository, path)."""

    places: tuple[tuple[str, str], ...]


class Portfolio(msgspec.Struct, frozen=True):
    """Everything the portfolio's renderers read."""

    tool: Tool
    targets: tuple[str, ...]
    rocm: str
    rows: tuple[Row, ...]  # ranked
    shared: tuple[Shared, ...]
    copied: tuple[Copied, ...]
    apart: Hours
    together: Hours
    hours: Quantiles
    ranked_by: str

    @property
    def complete(self) -> bool:
        """False when a repository has no report, or an incomplete one."""
        return all(row.complete and not row.error for row in self.rows)


class Charged(msgspec.Struct, frozen=True):
    """A line of one repository with what is left of it."""

    repository: str
    line: EffortLine
    left: Hours


def portfolio(repositories: Sequence[Repository], answers: Iterable[Answer]) -> Portfolio:
    """The portfolio of all repositories; the order of the answers changes nothing."""
    by_name = {answer.name: answer for answer in answers}
    reports = {name: report_file.parse(one.report, name) for name, one in sorted(by_name.items()) if not one.error}
    copies = _copies({name: by_name[name].content for name in reports})
    charged = _charged(reports, copies)
    rows = [_row(repository, by_name.get(repository.name), reports.get(repository.name), charged) for repository in repositories]
    some = next(iter(reports.values()), None)
    copied = tuple(Copied(places) for places in copies if len(places) > 1)
    parts: dict[str, Hours] = defaultdict(Hours)
    for one in charged:
        parts[f"{one.repository}:{one.line.rule}:{one.line.group}:{one.line.label}"] += one.left
    return Portfolio(
        tool=Tool(some.tool_version, some.rules_version) if some else Tool("", ""),
        targets=some.targets if some else (), rocm=some.rocm if some else "",
        rows=tuple(ranked(rows)), shared=tuple(_shared(reports, charged)), copied=copied,
        apart=sum((one.line.hours for one in charged), Hours()), together=sum((one.left for one in charged), Hours()),
        hours=simulate.quantiles(parts, SEED),
        ranked_by="value" if any(row.value is not None for row in rows) else "hours",
    )  # fmt: skip


def ranked(rows: Iterable[Row]) -> list[Row]:
    """Most value an hour first, then the cheapest; repositories without a report last."""

    def key(row: Row) -> tuple[bool, bool, float, float, str]:
        return (bool(row.error), row.value is None, -(row.worth or 0.0), row.hours.p50, row.name)

    return sorted(rows, key=key)


def _copies(content: dict[str, dict[str, str]]) -> list[tuple[tuple[str, str], ...]]:
    """Places of equal content, the one that pays first; within one repository the audit has counted copies already."""
    places: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, files in sorted(content.items()):
        for path, digest in sorted(files.items()):
            if all(other != name for other, _ in places[digest]):
                places[digest].append((name, path))
    return sorted(tuple(found) for found in places.values())


def _charged(reports: dict[str, Report], copies: Iterable[tuple[tuple[str, str], ...]]) -> list[Charged]:
    """Every line of every repository with what is left when shared things are paid once."""
    free = {place for places in copies for place in places[1:]}
    own = {name: _own(name, report, free) for name, report in reports.items()}
    payers = _payers(reports, own)
    out = []
    for name, report in reports.items():
        firsts = _firsts(report)
        for line in report.estimate.lines:
            part = own[name].get((line.rule, line.group), 1.0) if line.kind == "finding" else 1.0
            saved = Hours()
            if line.kind == "finding" and firsts.get(_family(line)) is line and payers[_family(line)] != name:
                saved = line.once.times(1 - project().sharing.same_rule)
            out.append(Charged(name, line, _less(line.hours, saved).times(part)))
    return out


def _own(name: str, report: Report, free: set[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """The part of each group's findings, by rule and group, that is in no file copied from another repository."""
    found: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for place in report.findings:
        found[place.rule, place.group].append((name, place.path) not in free)
    return {group: sum(places) / len(places) for group, places in found.items()}


def _payers(reports: dict[str, Report], own: dict[str, dict[tuple[str, str], float]]) -> dict[str, str]:
    """The repository that pays the first fix of each family: the dearest of what is its own, then the first by name."""
    best: dict[str, tuple[float, str]] = {}
    for name, report in reports.items():
        for family, line in _firsts(report).items():
            dear = line.once.likely * own[name].get((line.rule, line.group), 1.0)
            best[family] = min(best.get(family, (1.0, "")), (-dear, name))
    return {family: name for family, (_, name) in best.items()}


def _firsts(report: Report) -> dict[str, EffortLine]:
    """The line of each family in which a repository pays its first fix."""
    out: dict[str, EffortLine] = {}
    for line in report.estimate.lines:
        if line.kind == "finding" and (_family(line) not in out or line.once.likely > out[_family(line)].once.likely):
            out[_family(line)] = line
    return out


def _family(line: EffortLine) -> str:
    return project().family(line.rule, line.category)


def _less(hours: Hours, saved: Hours) -> Hours:
    return Hours(max(0.0, hours.best - saved.best), max(0.0, hours.likely - saved.likely), max(0.0, hours.worst - saved.worst))


def _row(repository: Repository, answer: Answer | None, report: Report | None, charged: Sequence[Charged]) -> Row:
    if report is None:
        return Row(repository.name, value=repository.value, complete=False, error=answer.error if answer else "was not audited")
    own = [one for one in charged if one.repository == repository.name]
    apart, left = (
        (sum(hours) for hours in zip(*((one.line.hours.likely, one.left.likely) for one in own), strict=True)) if own else (0.0, 0.0)
    )
    severities: dict[str, int] = defaultdict(int)
    for place in report.findings:
        severities[str(place.severity)] += 1
    p50 = report.estimate.hours.p50
    way = next((way.name for way in report.strategies if way.recommended), "")
    return Row(
        repository.name, report.commit, report.cuda_files, report.cuda_lines, dict(sorted(severities.items())),
        report.estimate.hours, report.estimate.hand_lines, left, apart - left, repository.value,
        None if repository.value is None else repository.value / max(p50, 0.1), report.already_ported, way, report.complete,
    )  # fmt: skip


def _shared(reports: dict[str, Report], charged: Iterable[Charged]) -> list[Shared]:
    """Rules found in two repositories or more, the greatest saving first."""
    by_rule: dict[str, list[Charged]] = defaultdict(list)
    for one in charged:
        if one.line.kind == "finding":
            by_rule[one.line.rule].append(one)
    out = []
    for rule, lines in by_rule.items():
        names = sorted({one.repository for one in lines})
        if len(names) > 1:
            out.append(Shared(
                rule, lines[0].line.label, lines[0].line.category, tuple(names), sum(one.line.findings for one in lines),
                sum(one.line.hours.likely for one in lines), sum(one.left.likely for one in lines),
            ))  # fmt: skip
    return sorted(out, key=lambda one: (one.together - one.apart, -len(one.repositories), one.rule))
