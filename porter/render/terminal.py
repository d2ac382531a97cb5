"""The summary on the terminal: verdict, totals, categories, top findings with their code, problems, and what to do next."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from porter.model import INSIGHT_CATEGORIES, Finding, Report, Severity
from porter.render import numbers, summary, verdict
from porter.render.neutral import block, one_line, shorten

STYLE = {Severity.BLOCKER: "bold red", Severity.MAJOR: "yellow", Severity.MINOR: "cyan", Severity.INFO: "dim"}
MIN_WIDTH, MAX_WIDTH = 40, 120
TOP_FINDINGS, TOP_RULES, TOP_PROBLEMS = 5, 10, 5


def render(report: Report, width: int = 80, colour: bool = False, html_path: str = "", verbose: bool = False) -> str:
    """The summary as text of at most ``width`` columns, totals and top rules last, where a reader's eye is when a run ends.

    ``html_path`` is where the HTML report went, empty for nowhere; ``verbose`` lists every finding.
    """
    stream = io.StringIO()
    console = Console(
        file=stream, width=max(MIN_WIDTH, min(width, MAX_WIDTH)), force_terminal=colour, color_system="standard" if colour else None,
        highlight=False, markup=False, emoji=False, legacy_windows=False, _environ={},
    )  # fmt: skip
    _head(console, report)
    if report.findings:
        if verbose:
            _all_findings(console, report)
        _top_findings(console, report)
    _good_news(console, report)
    _problems(console, report, None if verbose else TOP_PROBLEMS)
    if report.findings:
        _categories(console, report)
        _top_rules(console, report)
    _totals(console, report)
    _next(console, report, html_path)
    return "".join(line.rstrip() + "\n" for line in stream.getvalue().splitlines())


def _head(console: Console, report: Report) -> None:
    commit = f" @{one_line(report.commit, 12)[:10]}" if report.commit else ""
    where = f"{one_line(report.root)}{commit}"
    console.print(Text(f"porter {report.tool_version} · {where} · {', '.join(report.targets)} · ROCm {report.rocm}", "dim"))
    console.print()
    console.print(Text(verdict.verdict(report), "bold"))
    if (part := report.scope) is not None and part.changed:
        files = numbers.plural(part.changed, "file that differs", "files that differ")
        console.print(
            Text(f"Only the {files} from {one_line(part.revision, 60)}; {numbers.count(part.unchanged)} others are in no number.")
        )
    console.print()


def _totals(console: Console, report: Report) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(justify="right", style="bold", no_wrap=True)
    table.add_column()
    effort = report.estimate.hours
    plan = f"{numbers.band(effort)} (P10 to P90); plan with {numbers.hours(effort.p80)} (P80)"
    grade = f"; grade {report.estimate.grade}" if report.estimate.grade else ""
    table.add_row("Effort", numbers.hours(effort.p50), plan + grade if effort.p90 else "no work found")
    stops = summary.blockers(report)
    rules = numbers.plural(len({finding.rule for finding in report.findings}), "rule")
    table.add_row("Findings", numbers.count(len(report.findings)), f"of {rules}; {numbers.plural(stops, 'blocker')}")
    if (base := report.baseline) is not None:
        table.add_row(
            "Baseline", numbers.count(base.new), f"new, {numbers.count(base.fixed)} fixed, {numbers.count(base.unchanged)} unchanged"
        )
        table.add_row("Debt", "", numbers.debt(base.before, base.after, base.change))
    if report.suppressed:
        table.add_row("Suppressed", numbers.count(len(report.suppressed)), "findings, by comments or settings; in no total")
    if (share := summary.untouched(report)) is not None:
        files = numbers.plural(report.cuda_files, "file")
        table.add_row("CUDA", numbers.percent(*share), f"of {numbers.count(share[1])} lines in {files} need no hand work")
    if (names := summary.names_share(report)) is not None:
        engine = "built-in engine" if report.hipify.engine == "builtin" else report.hipify.engine
        table.add_row("hipify", numbers.percent(*names), f"of {numbers.count(names[1])} CUDA names converted ({one_line(engine)})")
    skipped = sum(entry.files for entry in report.skipped)
    table.add_row("Scanned", numbers.count(len(report.files)), f"files; {numbers.count(skipped)} left out and named in the report")
    console.print(table)
    console.print()


def _categories(console: Console, report: Report) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("Category", no_wrap=True)
    for severity in summary.SEVERITIES:
        table.add_column(str(severity), justify="right")
    table.add_column("hours", justify="right", no_wrap=True)
    if console.width >= 70:
        table.add_column("best–worst", justify="right", no_wrap=True)
    for row in summary.by_category(report):
        cells = [Text(one_line(row.name) or "project setup")]
        for severity, n in zip(summary.SEVERITIES, row.counts, strict=True):
            cells.append(Text(numbers.count(n) if n else "·", STYLE[severity] if n else "dim"))
        cells += [Text(numbers.hours(row.hours.likely)), Text(numbers.spread(row.hours), "dim")]
        table.add_row(*cells[: len(table.columns)])
    console.print(table)
    console.print()


def _top_findings(console: Console, report: Report) -> None:
    console.print(Text("Top findings", "bold"))
    for group in summary.decisions(report, TOP_FINDINGS):
        first = group.findings[0]
        head = Text("  ")
        head.append(f"{group.severity}", STYLE[group.severity])
        head.append(f"  {one_line(group.rule.title)}", "bold")
        console.print(head, overflow="fold")
        places = f"{numbers.plural(len(group.findings), 'place')} in {numbers.plural(group.files, 'file')}"
        console.print(Text(f"    {places} · {numbers.hours(group.hours.likely)} ({numbers.spread(group.hours)})", "dim"))
        _excerpt(console, first)
        if group.rule.replacement is not None:
            fix = f"{one_line(group.rule.replacement.name)}: {one_line(group.rule.replacement.how)}"
            console.print(Text(f"    → {fix.rstrip(': ')}"), overflow="ellipsis", no_wrap=True)
        console.print()


def _all_findings(console: Console, report: Report) -> None:
    """Every finding, by file: line, severity, rule, what was found, and its code."""
    console.print(Text(f"Findings ({numbers.count(len(report.findings))})", "bold"))
    path = ""
    for finding in report.findings:
        if finding.path != path:
            path = finding.path
            console.print(Text(f"  {one_line(path)}", "cyan"), overflow="fold")
        head = Text(f"  {finding.line:>6}  ")
        head.append(f"{finding.severity}", STYLE[finding.severity])
        head.append(f"  {one_line(finding.rule)}", "bold")
        console.print(head, overflow="fold")
        console.print(Text(f"          {one_line(finding.message)}"), overflow="fold")
        if code := one_line(finding.snippet.split("\n", 1)[0]).strip():
            console.print(Text(f"          │ {code}", "dim"), overflow="ellipsis", no_wrap=True)
    console.print()


def _excerpt(console: Console, finding: Finding) -> None:
    console.print(Text(f"    {one_line(finding.path)}:{finding.line}", "cyan"), overflow="ellipsis", no_wrap=True)
    lines = [line for line in block(finding.snippet).split("\n")[:3] if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    for line in lines:
        console.print(Text(f"      │ {line[indent:]}", "dim"), overflow="ellipsis", no_wrap=True)


def _top_rules(console: Console, report: Report) -> None:
    groups = sorted(summary.by_rule(report, report.findings), key=lambda g: (-len(g.findings), g.rule.id))
    shown = groups[:TOP_RULES]
    console.print(Text(f"Top rules ({len(shown)} of {len(groups)})", "bold"))
    counts = [numbers.count(len(group.findings)) for group in shown]
    room = min(max(len(group.rule.id) for group in shown), console.width // 2)
    for count, group in zip(counts, shown, strict=True):
        line = Text(f"  {count:>{max(map(len, counts))}}  {shorten(one_line(group.rule.id), room):<{room}}  ")
        line.append(one_line(group.rule.title), "dim")
        console.print(line, overflow="ellipsis", no_wrap=True)
    console.print()


def _good_news(console: Console, report: Report) -> None:
    works, ported = (sum(1 for f in report.insights if f.category == name) for name in INSIGHT_CATEGORIES)
    if works:
        console.print(Text(f"Works as it is: {numbers.plural(works, 'place')}.", "green"))
    if ported:
        console.print(Text(f"Already ported: {numbers.plural(ported, 'place')} in code that an AMD build never compiles.", "green"))
    others = [o for o in report.origins if o.origin != "own" and (o.files or o.cuda_files)]
    if others:
        parts = [f"{o.origin} {numbers.plural(o.files, 'file')} ({numbers.count(o.cuda_lines)} CUDA lines)" for o in others]
        console.print(Text("Not in the totals: " + ", ".join(parts) + ".", "dim"))
    if works or ported or others:
        console.print()


def _problems(console: Console, report: Report, limit: int | None) -> None:
    if not report.problems:
        return
    lost = summary.matters(report)
    title = f"Problems: {len(report.problems)}, of which {lost} may hide findings" if lost else f"Notes: {len(report.problems)}"
    console.print(Text(title, "bold red" if lost else "bold"))
    ordered = sorted(report.problems, key=lambda problem: not problem.matters)
    for problem in ordered[:limit]:
        place = f"{one_line(problem.path)}:{problem.line}: " if problem.line else f"{one_line(problem.path)}: " if problem.path else ""
        console.print(Text(f"  {problem.stage}: {place}{one_line(problem.what)}"), overflow="ellipsis", no_wrap=True)
    if limit is not None and len(ordered) > limit:
        console.print(Text(f"  … {len(ordered) - limit} more in the report, or with --verbose", "dim"))
    console.print()


def _next(console: Console, report: Report, html_path: str) -> None:
    if html_path:
        console.print(Text("Report  ", "dim") + Text(one_line(html_path), "bold"), overflow="fold")
    if first := summary.decisions(report, TOP_FINDINGS):
        console.print(Text("Next    ", "dim") + Text(f"porter explain {first[0].rule.id}"))
