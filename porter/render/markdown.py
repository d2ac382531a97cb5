"""The report as Markdown for an issue, a wiki or a pull request: tables that hold, and no text that a renderer would obey."""

from __future__ import annotations

import re

from porter.model import Report
from porter.render import markdown_advice, numbers, summary, verdict
from porter.render.markdown_text import code, prose, table, text
from porter.render.words import ACTIONS, CATEGORY_NAMES, ORIGIN_WORDS, standing

__all__ = ["code", "render", "text"]

PLACES, PROBLEMS, LINES = 20, 50, 100


def render(report: Report) -> str:
    """The report as Markdown text in GitHub's dialect."""
    advice = (markdown_advice.strategies, markdown_advice.nvidia)
    makers = (
        _head,
        *advice,
        _findings,
        _effort,
        _dependencies,
        markdown_advice.sizes,
        _good_news,
        markdown_advice.runbook,
        _scope,
        _problems,
    )
    return "\n".join(line for make in makers for line in make(report)).rstrip() + "\n"


def _head(report: Report) -> list[str]:
    name = report.root.rstrip("/").rsplit("/", 1)[-1] or report.root
    facts = [f"targets {text(', '.join(report.targets))}", f"ROCm {text(report.rocm)}", f"porter {report.tool_version}"]
    if report.commit:
        facts.insert(0, f"commit {code(report.commit[:12])}")
    if report.date:
        facts.insert(0, text(report.date))
    effort = report.estimate.hours
    rows = [
        ("Effort, median", numbers.hours(effort.p50)),
        ("Effort, P10 to P90", numbers.band(effort)),
        ("Plan with, P80", numbers.hours(effort.p80)),
    ]
    rows = rows if effort.p90 else [("Effort", "0 h")]
    if (share := summary.untouched(report)) is not None:
        rows.append(("CUDA lines without hand work", f"{numbers.percent(*share)} of {numbers.count(share[1])}"))
    if (names := summary.names_share(report)) is not None:
        rows.append(("CUDA names converted", f"{numbers.percent(*names)} of {numbers.count(names[1])}"))
    if (proof := report.evidence) is not None:
        compiled = sum(1 for path in proof.rungs if summary.reaches(report, path, "compiles"))
        rows.append(("CUDA files that compile for AMD", f"{numbers.count(compiled)} of {numbers.count(len(proof.rungs))}"))
        rows.append(("Compilers asked", "; ".join(f"{target}: {text(words)}" for target, words in proof.compilers.items())))
    rows += [("Findings", numbers.count(len(report.findings))), ("Blockers", numbers.count(summary.blockers(report)))]
    if (base := report.baseline) is not None:
        counts = f"{numbers.count(base.new)} new, {numbers.count(base.fixed)} fixed, {numbers.count(base.unchanged)} unchanged"
        rows += [(f"Against {text(base.source, 60)}", counts), ("Debt", numbers.debt(base.before, base.after, base.change))]
    out = [f"# {text(name)}: porting to ROCm", "", f"**{text(verdict.verdict(report), 1000)}**", "", " · ".join(facts), ""]
    out += table(("", ""), [(f"**{key}**", value) for key, value in rows])
    return out + ([f"Made with {code(report.command, 400)}", ""] if report.command else [])


def _findings(report: Report) -> list[str]:
    groups = summary.by_rule(report, report.findings)
    if not groups:
        return ["## Findings", "", "Nothing was found that needs work.", ""]
    rows = [
        (
            str(g.severity), text(g.rule.title), CATEGORY_NAMES.get(g.rule.category, text(g.rule.category)), numbers.count(len(g.findings)),
            numbers.count(g.files), numbers.hours(g.hours.likely), numbers.spread(g.hours),
            text(g.rule.replacement.name) if g.rule.replacement else "",
        )
        for g in groups
    ]  # fmt: skip
    heads = ("Severity", "What", "Category", "Places", "Files", "Likely", "Best to worst", "Replacement")
    out = ["## Findings", "", *table(heads, rows, (3, 4, 5, 6))]
    for group in groups:
        out += _group(group)
    return out


def _group(group: summary.RuleGroup) -> list[str]:
    rule = group.rule
    out = [f"### {text(rule.title)}", "", prose(" ".join(rule.why.split()), 2000), ""]
    if rule.replacement is not None:
        how = f": {prose(rule.replacement.how, 1000)}" if rule.replacement.how else ""
        out += [f"**{ACTIONS[str(rule.action)].capitalize()}**: {text(rule.replacement.name)}{how}", ""]
    out += table(("Place", "Code", "What"), [_place(group, i) for i in range(min(PLACES, len(group.findings)))])
    if len(group.findings) > PLACES:
        out += [f"{numbers.plural(len(group.findings) - PLACES, 'more place')} in the other reports.", ""]
    for source in rule.sources[:3]:
        link = f" <{source.url}>" if re.fullmatch(r"https://[^\s<>]+", source.url) else f" {text(source.url)}"
        out.append(f"- {text(source.says)}{link} (read {text(source.checked)})")
    return [*out, ""]


def _place(group: summary.RuleGroup, index: int) -> tuple[str, ...]:
    finding = group.findings[index]
    first = next((line for line in finding.snippet.split("\n") if line.strip()), "")
    note = f" (confidence {finding.confidence})" if str(finding.confidence) != "high" else ""
    return (code(f"{finding.path}:{finding.line}"), code(first, 120), text(summary.remark(group.rule, finding)) + note)


def _effort(report: Report) -> list[str]:
    lines = summary.merged(report.estimate.lines)
    if not lines:
        return []
    rows = [
        (
            text(line.label),
            text(f"{times} × ({line.arithmetic})" if times > 1 else line.arithmetic, 1000),
            numbers.hours(line.hours.likely),
            numbers.spread(line.hours),
        )
        for line, times in lines[:LINES]
    ]
    if rest := lines[LINES:]:
        left = summary.total(line.hours for line, _ in rest)
        rows.append((f"{len(rest)} smaller lines", "", numbers.hours(left.likely), numbers.spread(left)))
    total = summary.total(line.hours for line, _ in lines)
    rows.append(("**Sum**", "", f"**{numbers.hours(total.likely)}**", numbers.spread(total)))
    out = ["## Effort", "", "Person-hours; the median above comes from a simulation of these lines together.", ""]
    out += table(("What", "Arithmetic", "Likely", "Best to worst"), rows, (2, 3))
    if report.estimate.grade:
        out += [f"Grade {text(report.estimate.grade)}. {'; '.join(text(reason) for reason in report.estimate.grade_reasons)}".strip(), ""]
    return out


def _dependencies(report: Report) -> list[str]:
    groups = summary.dependencies(report)
    if not groups:
        return []
    rows = []
    for group in groups:
        replacement = group.rule.replacement
        status = standing(replacement.status) if replacement else "works as is" if group.rule.is_insight else "none known"
        name = text(replacement.name) if replacement else ""
        how = prose(replacement.how, 1000) if replacement else ""
        rows.append((text(group.rule.title), status, name, how, numbers.count(len(group.findings))))
    return ["## Dependencies", "", *table(("Dependency", "On ROCm", "Replacement", "How", "Places"), rows, (4,))]


def _good_news(report: Report) -> list[str]:
    out: list[str] = []
    for title, name in (("Already ported", "already-ported"), ("Works as it is", "works-as-is")):
        groups = summary.insights_of(report, name)
        if groups:
            rows = [(text(g.rule.title), numbers.count(len(g.findings)), numbers.count(g.files)) for g in groups]
            out += [f"## {title}", "", *table(("What", "Places", "Files"), rows, (1, 2))]
    return out


def _scope(report: Report) -> list[str]:
    skipped = sum(entry.files for entry in report.skipped)
    own = f"{numbers.plural(len(report.files), 'file')} read, {numbers.count(skipped)} left out and in no total."
    if report.suppressed:
        own += f" {numbers.plural(len(report.suppressed), 'finding')} suppressed by comments or settings, in no total either."
    rows = [
        (ORIGIN_WORDS.get(o.origin, text(o.origin)), numbers.count(o.files), numbers.count(o.cuda_files), numbers.count(o.cuda_lines))
        for o in report.origins
    ]
    return ["## Scope", "", own, "", *table(("Code", "Files", "CUDA files", "CUDA lines"), rows, (1, 2, 3))]


def _problems(report: Report) -> list[str]:
    if not report.problems:
        return []
    ordered = sorted(report.problems, key=lambda problem: not problem.matters)
    rows = [
        (text(p.stage), code(f"{p.path}:{p.line}" if p.line else p.path), text(p.what), "may" if p.matters else "no")
        for p in ordered[:PROBLEMS]
    ]
    more = [f"{len(ordered) - PROBLEMS} more in the other reports.", ""] if len(ordered) > PROBLEMS else []
    return ["## Problems", "", *table(("Stage", "Place", "What", "Hides findings"), rows), *more]
