"""What every renderer says in the same words: the verdict, and the report's findings grouped by rule, category, phase and directory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from porter.model import CATEGORIES, Action, Confidence, EffortLine, Finding, Hours, Report, Rule, Severity
from porter.render import numbers
from porter.render.neutral import one_line
from porter.render.words import CATEGORY_NAMES

SEVERITIES = tuple(reversed(Severity))
PHASES = (
    ("Build", "It compiles and links with the ROCm toolchain.",
     ("build", "unsupported-api", "unsupported-feature", "inline-ptx", "cuda-only-library", "arch-guard", "binary", "python-api")),
    ("Correct", "It gives the right results on the wavefront sizes of the targets.", ("warp-size", "precision", "triton")),
    ("Deploy", "It runs where it has to run: images, services, tools, model files.",
     ("container", "deployment", "environment", "tooling", "model-format")),
    ("Fast", "It uses the hardware well. Parity with another GPU is not promised.", ("performance",)),
)  # fmt: skip
DEPENDENCY_KINDS = frozenset(("requirement", "conda_package", "apt_package", "image"))


class RuleGroup(msgspec.Struct, frozen=True):
    """All findings of one rule, the number of files they are in, and the hours that the estimate gives them."""

    rule: Rule
    findings: tuple[Finding, ...]
    hours: Hours
    files: int
    severity: Severity  # the worst among the findings


class Row(msgspec.Struct, frozen=True):
    """One row of a breakdown: findings by severity in the order of SEVERITIES, their hours, and the lines of the sum in it."""

    name: str
    counts: tuple[int, ...]
    hours: Hours
    note: str = ""
    lines: tuple[EffortLine, ...] = ()

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
    return Rule(finding.rule, finding.rule, finding.category, finding.severity, Confidence.LOW, action, "", replacement=finding.replacement)


def by_rule(report: Report, findings: Iterable[Finding]) -> tuple[RuleGroup, ...]:
    """Findings grouped by rule: worst severity first, then most hours."""
    grouped: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        grouped[finding.rule].append(finding)
    lines: dict[str, list[EffortLine]] = defaultdict(list)
    for line in report.estimate.lines:
        if line.kind == "finding":
            lines[line.rule].append(line)
    groups = []
    for name, found in grouped.items():
        own = tuple(lines.get(name, ()))
        hours = total(line.hours for line in own) if own else total(finding.effort_hours for finding in found)
        severity = max({finding.severity for finding in found})
        files = len({finding.path for finding in found})
        groups.append(RuleGroup(rule_of(report, found[0]), tuple(found), hours, files, severity))
    return tuple(sorted(groups, key=lambda g: (-g.severity.rank, -g.hours.likely, g.rule.id)))


def total(parts: Iterable[Hours]) -> Hours:
    """The sum of three-point hours."""
    out = Hours()
    for part in parts:
        out = out + part
    return out


def _in_prose(name: str) -> str:
    """A category's name inside a sentence."""
    return name if name.startswith(("CUDA", "Python", "Triton")) else name[:1].lower() + name[1:]


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
    lines: dict[str, list[EffortLine]] = defaultdict(list)
    for line in report.estimate.lines:
        lines[line.category if line.kind == "finding" else ""].append(line)
    names = [*CATEGORIES, *sorted((set(groups) | set(lines)) - set(CATEGORIES) - {""}), ""]
    rows = [_row(name, groups.get(name, []), lines.get(name, [])) for name in names if name in groups or name in lines]
    return tuple(sorted(rows, key=lambda row: (not row.name, -row.hours.likely, -row.findings, row.name)))


def phases(report: Report) -> tuple[Row, ...]:
    """The plan: the lines of the sum in the order in which a port meets them, the project's own work first."""
    phase_of = {category: name for name, _, categories in PHASES for category in categories}
    groups = _split(report.findings, lambda finding: phase_of.get(finding.category, "Build"))
    lines: dict[str, list[EffortLine]] = defaultdict(list)
    for line in report.estimate.lines:
        lines[phase_of.get(line.category, "Build") if line.kind == "finding" else "Project"].append(line)
    goals = (("Project", "Strategy, environment, continuous integration, tests: work that no single finding asks for."),) + tuple(
        (name, goal) for name, goal, _ in PHASES
    )
    rows = [_row(name, groups.get(name, []), lines.get(name, []), goal) for name, goal in goals]
    return tuple(row for row in rows if row.findings or row.lines)


def by_directory(report: Report, limit: int = 12) -> tuple[Row, ...]:
    """Directories with findings, at most two levels deep, most hours first; what is over the limit is one last row."""
    groups = _split(report.findings, lambda finding: directory_of(finding.path))
    rows = sorted((_row(name, found, []) for name, found in groups.items()), key=lambda row: (-row.hours.likely, -row.findings, row.name))
    if len(rows) <= limit:
        return tuple(rows)
    rest = rows[limit - 1 :]
    counts = tuple(sum(row.counts[i] for row in rest) for i in range(len(SEVERITIES)))
    return (*rows[: limit - 1], Row("", counts, total(row.hours for row in rest), f"{len(rest)} more directories"))


def directory_of(path: str) -> str:
    """The first two folders of a path; "." for the root."""
    return "/".join(path.split("/")[:-1][:2]) or "."


def _split(findings: Iterable[Finding], key: object) -> dict[str, list[Finding]]:
    groups: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[key(finding)].append(finding)  # type: ignore[operator]
    return groups


def _row(name: str, findings: list[Finding], lines: list[EffortLine], note: str = "") -> Row:
    counts = tuple(sum(1 for finding in findings if finding.severity is severity) for severity in SEVERITIES)
    hours = total(line.hours for line in lines) if lines else total(finding.effort_hours for finding in findings)
    return Row(name, counts, hours, note, tuple(lines))


def dependencies(report: Report) -> tuple[RuleGroup, ...]:
    """Rules about a library or package that was found, work before good news, by title."""
    groups = by_rule(report, (*report.findings, *report.insights))
    wanted = [g for g in groups if g.rule.category == "cuda-only-library" or DEPENDENCY_KINDS & set(g.rule.match)]
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
    found = [finding for finding in report.insights if finding.category == category]
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


def targets_text(report: Report) -> str:
    """The targets as words: gfx942 and gfx950."""
    names = list(report.targets)
    if len(names) < 2:
        return "".join(names) or "AMD GPUs"
    return ", ".join(names[:-1]) + " and " + names[-1]


def matters(report: Report) -> int:
    """Number of problems that may have cost a finding."""
    return sum(1 for problem in report.problems if problem.matters)


def verdict(report: Report) -> str:
    """The audit in one sentence, or two where the audit is incomplete."""
    parts = [sentence(report)]
    if not report.complete:
        parts.append(f"The audit is incomplete: {numbers.plural(matters(report), 'problem')} may hide findings.")
    return " ".join(parts)


def sentence(report: Report) -> str:
    """What the port asks for, in one sentence."""
    name = one_line(report.root.rstrip("/").rsplit("/", 1)[-1], 60) or "This project"
    where = targets_text(report)
    if not report.findings:
        if not report.cuda_files and not report.insights:
            return (
                f"{name} holds nothing that ties it to NVIDIA GPUs, as far as {numbers.plural(len(report.files), 'scanned file')} can tell."
            )
        known = f"{name} already builds for AMD GPUs, and nothing" if report.already_ported else f"Nothing in {name}"
        return f"{known} was found that needs work for {where}."
    effort = report.estimate.hours
    already = f"{name} already builds for AMD GPUs, as its own code shows; " if report.already_ported else f"{name}: "
    still = "what was found still asks for about" if report.already_ported else "about"
    if effort.p50 <= 0:
        return f"{already}no hand work for {where} was found beyond {numbers.plural(len(report.findings), 'place')} to check."
    text = (
        f"{already}{still} {numbers.long_hours(effort.p50)} of work to run on {where} (eight times in ten between {numbers.band(effort)})"
    )
    return f"{text}, {_mainly(report)}."


def _mainly(report: Report) -> str:
    stops = [g for g in by_rule(report, report.findings) if g.severity is Severity.BLOCKER]
    if stops:
        titles = [one_line(g.rule.title, 70) for g in stops[:2]]
        more = f" and {numbers.plural(len(stops) - 2, 'more blocker')}" if len(stops) > 2 else ""
        return f"with {numbers.plural(blockers(report), 'blocking place')}: {', '.join(titles)}{more}"
    rows = [row.name for row in by_category(report) if row.hours.likely > 0][:2]
    names = [_in_prose(CATEGORY_NAMES.get(name, name)) for name in rows]
    return "with no blocker; most of it is " + " and ".join(names) if names else "with no blocker"
