"""The HTML report: one file without network, script or style from outside; the same bytes for the same report."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup, escape

from porter.model import CATEGORIES, Finding, Report, Rule
from porter.render import charts, code, island, numbers, summary
from porter.render.neutral import block, one_line
from porter.render.summary import RuleGroup
from porter.render.words import ACTIONS, CATEGORY_NAMES, CATEGORY_WORDS, GLOSSARY, ORIGIN_WORDS

SHOWN_TOTAL, SHOWN_MIN, SHOWN_RULE = 1500, 3, 60
DIFF_TOTAL = 2_000_000
LIST_LIMIT = 400
FOLDER_LIMIT = 500


class Place(msgspec.Struct, frozen=True):
    """One finding as it stands in the page without scripts: its anchor and its highlighted code."""

    finding: Finding
    anchor: str
    code: Markup
    remark: str


class Section(msgspec.Struct, frozen=True):
    """A rule's section: the group, the places that are in the page, and the example as HTML."""

    group: RuleGroup
    places: tuple[Place, ...]
    example: tuple[Markup, Markup] | None


def render(report: Report) -> str:
    """The report as the text of an HTML file."""
    page: str = environment().get_template("report.html").render(_view(report))
    return page


@functools.cache
def environment() -> jinja2.Environment:
    """The templates of this package, with everything that they print escaped."""
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("porter.render", "templates"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_finalize, keep_trailing_newline=False,
    )  # fmt: skip
    env.filters.update(
        hours=numbers.hours, spread=numbers.spread, count=numbers.count, line=one_line, path=_path, plural=numbers.plural,
        category=lambda name: CATEGORY_NAMES.get(name, name), action=lambda action: ACTIONS[str(action)],
        paragraphs=_paragraphs, prose=_prose, origin=lambda name: ORIGIN_WORDS.get(name, name),
    )  # fmt: skip
    return env


def _finalize(value: Any) -> Any:
    """Every text that a template prints loses its control characters; markup made by this package stays as it is."""
    return block(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _path(path: str) -> Markup:
    """A path that may break after its slashes."""
    return Markup("/<wbr>").join(escape(part) for part in one_line(path).split("/"))


def _paragraphs(text: str) -> list[Markup]:
    """A rule's prose as paragraphs, with what stands between backticks as code."""
    return [_prose(" ".join(part.split())) for part in text.strip().split("\n\n") if part.strip()]


def _prose(text: str) -> Markup:
    """One paragraph of a rule's prose; an odd backtick stays one."""
    parts = block(text).split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = ["`".join(parts[-2:])]
    return Markup("").join(Markup("<code>{}</code>").format(part) if i % 2 else escape(part) for i, part in enumerate(parts))


def _view(report: Report) -> dict[str, Any]:
    """Everything the templates read."""
    style, script = asset("report.css"), asset("report.js")
    groups = summary.by_rule(report, report.findings)
    fixed = {
        "report": report, "style": style, "script": script, "style_hash": digest(style), "script_hash": digest(script),
        "project": report.root.rstrip("/").rsplit("/", 1)[-1] or report.root, "glossary": GLOSSARY, "limit": LIST_LIMIT, "status": _status,
        "category_words": CATEGORY_WORDS, "severities": [str(severity) for severity in summary.SEVERITIES],
    }  # fmt: skip
    return fixed | _numbers(report) | _breakdowns(report) | _findings(report, groups) | _lists(report)


def _numbers(report: Report) -> dict[str, Any]:
    """The headline."""
    lines, names = summary.untouched(report), summary.names_share(report)
    return {
        "verdict": summary.sentence(report),
        "effort": report.estimate.hours,
        "band": numbers.band(report.estimate.hours),
        "strip": charts.effort_strip(report.estimate.hours),
        "share": numbers.percent(*lines) if lines else "",
        "names": numbers.percent(*names) if names else "",
        "blockers": summary.blockers(report),
        "matters": summary.matters(report),
        "debt": numbers.debt(report.baseline.before, report.baseline.after, report.baseline.change) if report.baseline else "",
    }


def _breakdowns(report: Report) -> dict[str, Any]:
    """Decisions, phases, categories and directories, with their bars."""
    categories, directories = summary.by_category(report), summary.by_directory(report)
    words = tuple(str(severity) for severity in summary.SEVERITIES)
    longest = max((row.hours.worst for row in categories), default=0.0)
    most = max((row.findings for row in directories), default=1)
    return {
        "decisions": summary.decisions(report),
        "phases": summary.phases(report),
        "total": summary.total(line.hours for line in report.estimate.lines),
        "categories": [(row, charts.hours_bar(row.hours, longest)) for row in categories],
        "directories": [(row, charts.severity_bar(row.counts, words, most)) for row in directories],
    }


def _findings(report: Report, groups: Sequence[RuleGroup]) -> dict[str, Any]:
    """The rules' sections, what the filters offer, and the island."""
    anchors = island.anchors(island.flat(groups))
    present = {finding.category for finding in report.findings}
    return {
        "sections": _sections(groups, anchors),
        "island": island.island(groups, anchors),
        "used": [name for name in CATEGORIES if name in present],
        "folders": sorted({summary.directory_of(finding.path) for finding in report.findings})[:FOLDER_LIMIT],
        "linked": {group.rule.id for group in groups},
        "baseline": report.baseline is not None or bool(report.fixed) or any(finding.state == "unchanged" for finding in report.findings),
    }


def _lists(report: Report) -> dict[str, Any]:
    """Good news and the lists at the end."""
    return {
        "works": summary.insights_of(report, "works-as-is"),
        "ported": summary.insights_of(report, "already-ported"),
        "dependencies": summary.dependencies(report),
        "kernels": sorted(report.kernels, key=lambda kernel: (-len(kernel.features), kernel.path, kernel.line)),
        "converted": _converted(report),
        "diffs": sum(1 for record in report.files if record.hipify and record.hipify.diff),
        "skipped_files": sum(entry.files for entry in report.skipped),
        "others": [origin for origin in report.origins if origin.origin != "own" and (origin.files or origin.cuda_files)],
        "problems": sorted(report.problems, key=lambda problem: not problem.matters),
    }


def asset(name: str) -> Markup:
    """A style sheet or script of this package, ready to stand inside its element."""
    text = (files("porter.render") / "templates" / name).read_text("utf-8")
    return Markup("\n" + text)


def digest(text: str) -> str:
    """The hash by which the content policy knows an inline element."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _sections(groups: Sequence[RuleGroup], anchors: dict[int, str]) -> list[Section]:
    """The rules' sections with as many places in the page as the budget allows; the island has them all."""
    left = SHOWN_TOTAL
    at = 0
    out = []
    for group in groups:
        room = min(SHOWN_RULE, max(SHOWN_MIN, left))
        places = _places(group, room, anchors, at)
        at += len(group.findings)
        left -= len(places)
        out.append(Section(group, places, example(group.rule)))
    return out


def _places(group: RuleGroup, room: int, anchors: dict[int, str], at: int) -> tuple[Place, ...]:
    """The first places of a group; a remark that only repeats the one above is left out."""
    out = []
    said = ""
    for i, finding in enumerate(group.findings[:room]):
        remark = summary.remark(group.rule, finding)
        out.append(Place(finding, anchors[at + i], code.finding_code(finding), "" if remark == said else remark))
        said = remark
    return tuple(out)


def example(rule: Rule) -> tuple[Markup, Markup] | None:
    """A rule's first example, before and after, as highlighted HTML; None where there is none."""
    if not rule.examples:
        return None
    first = rule.examples[0]
    language = code.language_of(first.file)
    return code.highlight(block(first.before.strip("\n")), language), code.highlight(block(first.after.strip("\n")), language)


def _status(group: RuleGroup) -> str:
    """The replacement's status as words."""
    replacement = group.rule.replacement
    if all(finding.category == "already-ported" for finding in group.findings):
        return "already ported"
    if replacement is None:
        return "works as is" if group.rule.is_insight else "none known"
    return replacement.status.replace("-", " ")


def _converted(report: Report) -> list[tuple[Any, list[tuple[str, str]]]]:
    """CUDA files with what the translation did, and each diff as (class, line) pairs as far as the size budget goes."""
    left = DIFF_TOTAL
    out: list[tuple[Any, list[tuple[str, str]]]] = []
    for record in report.files:
        if record.hipify is None or not (record.hipify.converted or record.hipify.unconverted or record.hipify.diff):
            continue
        diff = record.hipify.diff
        left -= len(diff)
        out.append((record, _diff_lines(diff) if left > 0 else []))
    return out


def _diff_lines(diff: str) -> list[tuple[str, str]]:
    kinds = {"+": "add", "-": "del", "@": "at"}
    return [(kinds.get(line[:1], ""), line) for line in block(diff).rstrip("\n").split("\n")] if diff else []
