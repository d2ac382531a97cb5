"""The words of the comment: Markdown that stays Markdown whatever the scanned repository is called, and fits where it goes."""

from __future__ import annotations

import re
from urllib.parse import quote

from porter.comment.choose import Chosen, Row
from porter.comment.values import Marker, Place
from porter.errors import ConfigError
from porter.model import Finding, Hours, Report, Rule, Severity
from porter.render import numbers, summary
from porter.render.markdown import code, text
from porter.render.neutral import block, shorten
from porter.render.words import ACTIONS

LIMIT = 60_000  # bytes of UTF-8; GitHub takes 65,536 characters
SIGNS = {Severity.BLOCKER: "🔴", Severity.MAJOR: "🟠", Severity.MINOR: "🟡", Severity.INFO: "⚪"}
PLACES = 3  # in a row for one rule
CODE_LINES, CODE_WIDTH, REMARK = 4, 200, 160
LANGUAGES = {
    "cu": "cuda", "cuh": "cuda", "h": "cpp", "hpp": "cpp", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "c": "c", "py": "python",
    "sh": "sh", "cmake": "cmake", "yml": "yaml", "yaml": "yaml", "toml": "toml", "json": "json",
}  # fmt: skip


def comment(report: Report, chosen: Chosen, marker: Marker, place: Place, url: str = "", limit: int = LIMIT) -> str:
    """The whole comment, marker first, at most ``limit`` bytes; what does not fit goes in a fixed order, and that is said.

    ``url`` is where the full report is.
    """
    first = [str(marker), head(report, chosen, url)]
    last = footer(report, chosen)
    rows = [_row(report, row, place) for row in chosen.rows]
    explained = _one_a_rule(chosen)
    details = [_detail(report, row.first) for row in explained]
    aside = not_counted(report, chosen)
    while True:
        cut = len(rows) < len(chosen.rows) or len(details) < len(explained)
        body = "\n".join([*first, *_table(rows), *_more(chosen, rows), *_folded(details), *aside, *_cut(cut, url), last])
        if len(body.encode("utf-8", "replace")) < limit:
            return body + "\n"
        if details:
            details.pop()
        elif aside:
            aside = []
        elif rows:
            rows.pop()
        else:
            return body.encode("utf-8", "replace")[: limit - 1].decode("utf-8", "ignore")


def head(report: Report, chosen: Chosen, url: str = "") -> str:
    """The first line: what came and went, what it costs, for which GPUs."""
    new = numbers.plural(len(chosen.new), "new ROCm porting finding") if chosen.new else "no new ROCm porting findings"
    gone = f", {numbers.count(len(chosen.fixed))} fixed" if chosen.fixed else ""
    parts = [f"**porter: {new}{gone}**{_cost(report, chosen)}", f"targets {text(', '.join(report.targets))}"]
    if url:
        parts.append(f"[full report]({check_url(url)})")
    return " · ".join(parts) + "\n"


def check_url(url: str) -> str:
    """An address that can stand in a link; raises ConfigError for one that is none."""
    if not re.match(r"https?://[^\s<>\"'\\^`{|}\x00-\x1f\x7f]{3,2000}\Z", url):
        raise ConfigError("the report's address is no http(s) address", "--report-url https://…")
    return quote(url, safe=":/?#@!$&'*+,;=%~-._")


def _cost(report: Report, chosen: Chosen) -> str:
    """What the change costs or saves in the sum of likely hours, and the range of what came."""
    change = report.baseline.change if report.baseline else 0.0
    parts = [f"{'+' if change > 0 else '−'}{numbers.hours(abs(change))}"] if abs(change) >= 1 / 120 else []
    came = summary.total(finding.effort_hours for finding in chosen.new)
    parts += [f"new work {numbers.spread(came)}"] if came.worst else []
    return f" ({', '.join(parts)})" if parts else ""


def _table(rows: list[str]) -> list[str]:
    return ["| | Where | What | Hours | Fix |", "| --- | --- | --- | ---: | --- |", *rows, ""] if rows else []


def _row(report: Report, row: Row, place: Place) -> str:
    finding, rule = row.first, summary.rule_of(report, row.first)
    sign = "🟢 fixed" if row.fixed else f"{SIGNS[max(f.severity for f in row.findings)]} new"
    where = ", ".join(_where(one, place if not row.fixed else Place()) for one in row.findings[:PLACES])
    if len(row.findings) > PLACES:
        where += f" and {numbers.count(len(row.findings) - PLACES)} more"
    title = text(rule.title)
    if len(row.findings) == 1 and not row.fixed and (remark := summary.remark(rule, finding)):
        title += f": {text(remark, REMARK)}"
    cost = summary.total(one.effort_hours for one in row.findings)
    return f"| {sign} | {where} | {title} | {'' if row.fixed else _hours(cost)} | {'' if row.fixed else _fix(rule, finding)} |"


def _where(finding: Finding, place: Place) -> str:
    label = code(f"{_short(finding.path)}:{finding.line}")
    link = place.link(finding.path, finding.line)
    return f"[{label}]({link})" if link else label


def _short(path: str) -> str:
    """The end of a long path."""
    return path if len(path) <= 80 else "…" + path[-79:]


def _hours(hours: Hours) -> str:
    return numbers.spread(hours) if hours.worst else "0 h"


def _fix(rule: Rule, finding: Finding) -> str:
    if finding.fix is not None and finding.fix.safe:
        return "safe one-line fix"  # whether it becomes a suggestion is known only after the comment stands
    return text(rule.replacement.name, 80) if rule.replacement else ACTIONS[str(finding.action)]


def _more(chosen: Chosen, rows: list[str]) -> list[str]:
    """How many findings no row shows."""
    hidden = chosen.rows[len(rows) :]
    new = chosen.more_new + sum(len(row.findings) for row in hidden if not row.fixed)
    fixed = chosen.more_fixed + sum(len(row.findings) for row in hidden if row.fixed)
    parts = [f"{numbers.count(new)} more new"] * bool(new) + [f"{numbers.count(fixed)} more fixed"] * bool(fixed)
    return [f"And {' and '.join(parts)}, in the full report.", ""] if parts else []


def _one_a_rule(chosen: Chosen) -> list[Row]:
    seen: dict[str, Row] = {}
    for row in chosen.rows:
        if not row.fixed:
            seen.setdefault(row.first.rule, row)
    return list(seen.values())


def _folded(details: list[str]) -> list[str]:
    if not details:
        return []
    return ["<details><summary>Why, and what to do</summary>", "", *details, "</details>", ""]


def _detail(report: Report, finding: Finding) -> str:
    """One rule explained at its first place: reason, code, way out, sources."""
    rule = summary.rule_of(report, finding)
    out = [f"#### {text(rule.title)}", ""]
    if rule.why:
        out += [text(" ".join(rule.why.split()), 1500), ""]
    if finding.snippet.strip():
        out += [f"{code(f'{_short(finding.path)}:{finding.line}', in_table=False)}{_bites(finding, report)}", "", *_code(finding), ""]
    if rule.replacement:
        how = f": {text(rule.replacement.how, 600)}" if rule.replacement.how else ""
        out += [f"**{ACTIONS[str(finding.action)].capitalize()}**: {text(rule.replacement.name)}{how}", ""]
    for source in rule.sources[:2]:
        if re.fullmatch(r"https://[^\s<>]{3,500}", source.url):
            out.append(f"- {text(source.says)} <{source.url}> (read {text(source.checked, 20)})")
    return "\n".join([*out, f"- {code(f'porter explain {rule.id}')}", ""])


def _bites(finding: Finding, report: Report) -> str:
    """On which targets, where not on all."""
    if not finding.targets or set(finding.targets) == set(report.targets):
        return ""
    return f" matters on {text(', '.join(finding.targets))}"


def _code(finding: Finding) -> list[str]:
    """The code in a fence that it cannot leave; no line of it starts with a slash, since GitLab would read a command."""
    lines = [shorten(line, CODE_WIDTH) for line in block(finding.snippet).split("\n")[:CODE_LINES]]
    language = LANGUAGES.get(finding.path.rsplit(".", 1)[-1].lower(), "")
    if finding.fix is not None and "\n" not in finding.fix.text:
        language = "diff"
        lines = [f"-{lines[0]}", f"+{shorten(block(finding.fix.text), CODE_WIDTH)}", *(f" {line}" for line in lines[1:])]
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall("`+", line)), default=0))
    return [fence + language, *((" " if line.startswith(("/", ":", "#")) else "") + line for line in lines), fence]


def not_counted(report: Report, chosen: Chosen) -> list[str]:
    """What a reviewer may ask for and the rows leave out, folded."""
    lines = []
    if chosen.unchanged_near:
        lines.append(f"{numbers.plural(chosen.unchanged_near, 'older finding')} in the same files.")
    if chosen.remarks:
        lines.append(f"{numbers.plural(chosen.remarks, 'new remark')} below the severity that this comment shows.")
    if report.suppressed:
        lines.append(f"{numbers.plural(len(report.suppressed), 'finding')} suppressed by comments or settings.")
    if not report.complete:
        lines.append(f"The audit is incomplete: {numbers.plural(summary.matters(report), 'problem')} may hide findings.")
    lines += [f"{text(problem.what, 200)}." for problem in report.problems if problem.stage == "baseline"][:5]
    if not lines:
        return []
    return ["<details><summary>Not counted</summary>", "", *(f"- {line}" for line in lines), "", "</details>", ""]


def _cut(is_cut: bool, url: str) -> list[str]:
    where = "the full report" if url else "the report's other formats"
    return [f"_This comment was cut to its limit; {where} holds the rest._", ""] if is_cut else []


def footer(report: Report, chosen: Chosen) -> str:
    """The debt before and after, and how to answer."""
    base = report.baseline
    words = []
    if base is not None:
        against = f"{text(base.source, 60)}{f' ({code(base.commit[:12])})' if base.commit and base.commit != base.source else ''}"
        words.append(f"Porting debt against {against}: {numbers.debt(base.before, base.after, base.change)}")
    if chosen.new:
        words.append(f"not for you? a comment {code(f'porter: ignore[{chosen.rows[0].first.rule}] reason')}")
    return f"<sub>{' · '.join(words)}</sub>" if words else ""
