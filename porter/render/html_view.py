"""Everything that the templates of the HTML report read, made from a report once."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from markupsafe import Markup

from porter import packed
from porter.model import CATEGORIES, FileRecord, Finding, HipifyCount, Report, RunbookStep
from porter.render import charts, code, island, numbers, summary, verdict
from porter.render.look import Look
from porter.render.neutral import block, one_line
from porter.render.summary import RuleGroup
from porter.render.tongue import Tongue, tongue
from porter.render.words import ALTERNATIVES, CATEGORY_WORDS, GLOSSARY, LADDER, RUNBOOK_PHASES, standing

SHOWN_TOTAL, SHOWN_MIN, SHOWN_RULE = 1500, 3, 60
SHOWN_IN_PRINT = 5  # as the style sheet has it; the others stand in the list by file
CONTEXT_TOTAL = 20_000  # findings; a report with more shows their own lines only
DIFF_TOTAL = 2_000_000
LIST_LIMIT, KERNEL_LIMIT = 400, 2000
FOLDER_LIMIT = 500
READ_IN_FULL = 0.999
SAME_THING = ("works-with-rocm-build", "works-as-is", "drop-in-replacement")  # nobody has to leave that out
NO_BREAK = "\u00a0"
ISLAND = Markup("\x00island\x00")  # where the pieces of the island go: no text of a page has such a character


class Place(msgspec.Struct, frozen=True):
    """One finding as it stands in the page without scripts: its anchor and its highlighted code."""

    finding: Finding
    anchor: str
    code: Markup
    remark: str


class Section(msgspec.Struct, frozen=True):
    """A rule's section: the group, the places that are in the page, all places by file where they are many, the example as HTML."""

    group: RuleGroup
    places: tuple[Place, ...]
    example: code.ShownExample | None
    by_file: list[tuple[str, list[int]]]
    by_target: tuple[tuple[str, str], ...]

    @property
    def left(self) -> int:
        """How many places are not in the page."""
        return len(self.group.findings) - len(self.places)


class Rung(msgspec.Struct, frozen=True):
    """One rung of the evidence ladder; ``known`` is false where nobody tried."""

    name: str
    bar: Markup
    files: int = 0
    lines: int = 0
    known: bool = True


def view(report: Report, look: Look) -> dict[str, Any]:
    """The values by the names that the templates use."""
    words = tongue(look.lang)
    groups = summary.by_rule(report, report.findings)
    project = verdict.project_name(report) or report.root
    fixed = {
        "report": report, "look": look, "project": project, "title": look.title or project, "glossary": GLOSSARY, "limit": LIST_LIMIT,
        "en": Markup("" if look.lang == "en" else ' lang="en"'), "status": lambda group: words.text(_status(group)), "by_file": by_file,
        "alternatives": lambda group: [words.text(text) for text in _alternatives(group)], "merged": summary.merged,
        "category_words": CATEGORY_WORDS, "severities": [str(severity) for severity in summary.SEVERITIES],
    }  # fmt: skip
    return fixed | _numbers(report, words) | _breakdowns(report, words) | _findings(report, groups, words) | _lists(report, words)


def _numbers(report: Report, words: Tongue) -> dict[str, Any]:
    """The headline."""
    lines, names = summary.untouched(report), summary.names_share(report)
    base = report.baseline
    found = words.plural("{n} finding", "{n} findings", len(report.findings))
    return {
        "verdict": verdict.sentence(report, words),
        "effort": report.estimate.hours,
        "band": numbers.band(report.estimate.hours, words),
        "strip": charts.effort_strip(report.estimate.hours, words),
        "share": numbers.percent(*lines, words).replace(" ", NO_BREAK) if lines else "",
        "share_rows": _share_rows(report, words),
        "names": numbers.percent(*names, words).replace(" ", NO_BREAK) if names else "",
        "blockers": summary.blockers(report),
        "finding_link": Markup('<a href="#findings" data-filter="">{}</a>').format(found),
        "matters": summary.matters(report),
        "links": _baseline_links(report, words),
        "debt": numbers.debt(base.before, base.after, base.change, words) if base else "",
    }


def _baseline_links(report: Report, words: Tongue) -> dict[str, Markup]:
    """The counts against the baseline, each a link to its list."""
    base = report.baseline
    if base is None:
        return {}
    link = Markup('<a href="#{}"{}>{}</a>')
    return {
        "new": link.format("findings", Markup(' data-filter="state=new"'), numbers.count(base.new, words)),
        "fixed": link.format("fixed" if report.fixed else "summary", "", numbers.count(base.fixed, words)),
        "unchanged": link.format("findings", Markup(' data-filter="state=unchanged"'), numbers.count(base.unchanged, words)),
    }


def _share_rows(report: Report, words: Tongue) -> list[tuple[str, str]]:
    """The subtraction behind the share of CUDA lines without hand work."""
    lines = summary.untouched(report)
    if lines is None:
        return []
    untouched, every = lines
    return [
        (words.text("CUDA lines of the project's own"), numbers.count(every, words)),
        (words.text("less hand-changed lines in CUDA files, as git counts them (P50)"), numbers.count(math.ceil(every - untouched), words)),
        (words.text("Lines without hand work"), f"{numbers.count(math.floor(untouched), words)} ({numbers.percent(*lines, words)})"),
    ]


def _breakdowns(report: Report, words: Tongue) -> dict[str, Any]:
    """Decisions, phases, categories and directories, with their charts."""
    categories, directories = summary.by_category(report), summary.by_directory(report)
    names = tuple(str(severity) for severity in summary.SEVERITIES)
    longest = max((row.hours.worst for row in categories), default=0.0)
    most = max((row.findings for row in directories), default=1)
    lines: Counter[str] = Counter()
    for record in report.files:
        lines[summary.directory_of(record.path)] += record.lines
    cells = [(row.name, row.hours.likely, lines[row.name]) for row in directories if row.name and row.hours.likely > 0]
    folders = len({summary.directory_of(finding.path) for finding in report.findings})
    return {
        "decisions": summary.decisions(report),
        "phases": summary.phases(report),
        "total": summary.total(line.hours for line in report.estimate.lines),
        "categories": [(row, charts.hours_bar(row.hours, longest)) for row in categories],
        "directories": [(row, charts.severity_bar(row.counts, names, most), lines[row.name] if row.name else 0) for row in directories],
        "by_severity": [sum(row.counts[i] for row in directories) for i in range(len(names))],
        "found_hours": summary.total(row.hours for row in directories),
        "more_directories": folders - sum(1 for row in directories if row.name),
        "treemap": charts.treemap(cells, words) if len(cells) > 1 else "",
        "ladder": _ladder(report),
    }


def _ladder(report: Report) -> list[Rung]:
    """How many CUDA files hold on each rung that a scan climbs, those that compilers showed, and the names of the rungs above."""
    cuda = [record for record in report.files if record.kind == "cuda"]
    if not cuda:
        return []
    read = [record for record in cuda if record.coverage >= READ_IN_FULL]
    whole = [record for record in read if record.hipify is not None and not record.hipify.unconverted]
    known = [(cuda, LADDER[0]), (read, LADDER[1]), (whole, LADDER[2])]
    rungs = [Rung(name, charts.share_bar(len(files), len(cuda)), len(files), sum(f.lines for f in files)) for files, name in known]
    for name, least in zip(LADDER[3:5], ("compiles", "links"), strict=True) if report.evidence else ():
        files = [record for record in whole if summary.reaches(report, record.path, least)]
        rungs.append(Rung(name, charts.share_bar(len(files), len(cuda)), len(files), sum(f.lines for f in files)))
    return rungs + [Rung(name, charts.share_bar(0, 1), known=False) for name in LADDER[len(rungs) :]]


def _findings(report: Report, groups: Sequence[RuleGroup], words: Tongue) -> dict[str, Any]:
    """The rules' sections, what the filters offer, and the island."""
    anchors = island.Anchors(groups)
    present = {finding.category for finding in report.findings}
    context = {record.path: packed.lines_of(record.context) for record in report.files} if len(report.findings) <= CONTEXT_TOTAL else {}
    return {
        "sections": _sections(groups, anchors, context),
        "island": ISLAND,
        "island_pieces": island.pieces(groups, anchors, context, words),
        "used": [name for name in CATEGORIES if name in present],
        "folders": sorted({summary.directory_of(finding.path) for finding in report.findings})[:FOLDER_LIMIT],
        "linked": {group.rule.id for group in groups},
        "baseline": summary.is_compared(report),
    }


def _lists(report: Report, words: Tongue) -> dict[str, Any]:
    """Good news, the lists at the end, and the runbook."""
    kernels = summary.dearest_kernels(report, KERNEL_LIMIT)
    engine = words.text("porter's built-in engine") if report.hipify.engine == "builtin" else one_line(report.hipify.engine)
    kinds: dict[str, list[FileRecord]] = defaultdict(list)
    for record in report.files:
        kinds[record.kind].append(record)
    return {
        "works": summary.insights_of(report, "works-as-is"),
        "ported": summary.insights_of(report, "already-ported"),
        "dependencies": summary.dependencies(report),
        "kernels": kernels,
        "kernel_count": len(report.kernels),
        "kernel_limit": KERNEL_LIMIT,
        "kernel_lines": sum(kernel.lines for kernel, _ in kernels),
        "kernel_hours": summary.total(hours for _, hours in kernels),
        "converted": _converted(report),
        "cuda_sum": sum(record.lines for record in report.files if record.kind == "cuda"),
        "engine": f"{engine}, {one_line(report.hipify.version)}" if report.hipify.version else engine,
        "diffs": sum(1 for record in report.files if record.hipify and record.hipify.diff),
        "skipped_files": sum(entry.files for entry in report.skipped),
        "others": [origin for origin in report.origins if origin.origin != "own" and (origin.files or origin.cuda_files)],
        "problems": sorted(report.problems, key=lambda problem: not problem.matters),
        "file_kinds": sorted(
            ((kind, len(found), sum(r.lines for r in found)) for kind, found in kinds.items()), key=lambda k: (-k[1], k[0])
        ),
        "runbook": _runbook(report),
        "sizing": report.sizing,
    }


def _runbook(report: Report) -> list[tuple[str, list[RunbookStep]]]:
    """The steps by the names of their phases, in the order they are done."""
    out: dict[str, list[RunbookStep]] = defaultdict(list)
    for step in report.runbook:
        out[RUNBOOK_PHASES.get(step.phase, step.phase)].append(step)
    return list(out.items())


def _sections(groups: Sequence[RuleGroup], anchors: island.Anchors, context: dict[str, dict[int, str]]) -> list[Section]:
    """The rules' sections with as many places in the page as the budget allows; the island has them all."""
    left = SHOWN_TOTAL
    at = 0
    out = []
    for group in groups:
        room = min(SHOWN_RULE, max(SHOWN_MIN, left))
        places = _places(group, room, anchors, at, context)
        at += len(group.findings)
        left -= len(places)
        files = by_file(group.findings) if len(group.findings) > SHOWN_IN_PRINT else []
        out.append(Section(group, places, code.example(group.rule), files, tuple(group.rule.by_target.items())))
    return out


def _places(group: RuleGroup, room: int, anchors: island.Anchors, at: int, context: dict[str, dict[int, str]]) -> tuple[Place, ...]:
    """The first places of a group; a remark that only repeats the one above is left out."""
    out = []
    said = ""
    for i, finding in enumerate(group.findings[:room]):
        remark = summary.remark(group.rule, finding)
        shown = code.finding_code(finding, context.get(finding.path)) if finding.snippet.strip() else Markup("")
        out.append(Place(finding, anchors.of(finding, at + i), shown, "" if remark == said else remark))
        said = remark
    return tuple(out)


def by_file(findings: Iterable[Finding]) -> list[tuple[str, list[int]]]:
    """The lines of findings by file, in report order: the shortest list that names every place."""
    out: dict[str, list[int]] = defaultdict(list)
    for finding in findings:
        if finding.line not in out[finding.path][-1:]:
            out[finding.path].append(finding.line)
    return list(out.items())


def _alternatives(group: RuleGroup) -> tuple[str, ...]:
    """What else could be decided: by the category, else by what the rule asks for; nothing where ROCm has the thing itself."""
    if group.rule.replacement is not None and group.rule.replacement.status in SAME_THING:
        return ()
    return ALTERNATIVES.get(group.rule.category) or ALTERNATIVES.get(str(group.rule.action), ())


def _status(group: RuleGroup) -> str:
    """The replacement's status as words."""
    replacement = group.rule.replacement
    if all(finding.category == "already-ported" for finding in group.findings):
        return "already ported"
    if replacement is None:
        return "works as is" if group.rule.is_insight else "none known"
    return standing(replacement.status)


def _converted(report: Report) -> list[tuple[Any, list[tuple[str, str]]]]:
    """CUDA files with what the translation did, and each diff as (class, line) pairs as far as the size budget goes."""
    left = DIFF_TOTAL
    out: list[tuple[Any, list[tuple[str, str]]]] = []
    for record in report.files:
        if record.hipify is None and record.kind == "cuda":
            record = msgspec.structs.replace(record, hipify=HipifyCount())
        if record.hipify is None:
            continue
        diff = packed.text_of(record.hipify.diff)
        left -= len(diff)
        out.append((record, _diff_lines(diff) if left > 0 else []))
    return out


def _diff_lines(diff: str) -> list[tuple[str, str]]:
    kinds = {"+": "add", "-": "del", "@": "at"}
    return [(kinds.get(line[:1], ""), line) for line in block(diff).rstrip("\n").split("\n")] if diff else []
