"""The command `porter diff A.json B.json`: what came, what went and what stayed between two saved reports, and the debt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from porter.baseline import Comparison, between, change, differences, load
from porter.model import Finding, Report, plain
from porter.render import numbers
from porter.render.neutral import json_text, one_line

SCHEMA = "porter.diff/1"
SHOWN = 50  # findings a list on the terminal
POINTS = ("p10", "p50", "p80", "p90")


@click.command()
@click.argument("before", metavar="A.json", type=click.Path())
@click.argument("after", metavar="B.json", type=click.Path())
@click.option("--format", "shape", type=click.Choice(("terminal", "json")), default="terminal", show_default=True, help="How to print it.")
def diff(before: str, after: str, shape: str) -> None:
    """Compare two JSON reports: new, fixed and unchanged findings, matched by content, and the hours before and after."""
    first, second = load(Path(before)), load(Path(after))
    found = between(first, second)
    click.echo(as_json(first, second, found) if shape == "json" else as_text(first, second, found), nl=False)


def as_json(before: Report, after: Report, found: Comparison) -> str:
    """The comparison as JSON text: counts, hours, and the three lists with findings as the reports have them."""
    lists = {"new": found.new, "fixed": found.fixed, "unchanged": found.unchanged}
    hours = {"before": _points(before), "after": _points(after)}
    hours["delta"] = {name: round(hours["after"][name] - hours["before"][name], 2) for name in POINTS}
    out: dict[str, Any] = {
        "schema": SCHEMA,
        "before": _side(before),
        "after": _side(after),
        "counts": {name: len(rows) for name, rows in lists.items()},
        "effort_hours": hours,
        "change": change(before, after),
        "differences": list(differences(before, after)),
        **{name: [plain(row) for row in rows] for name, rows in lists.items()},
    }
    return json_text(msgspec.json.encode(out))


def as_text(before: Report, after: Report, found: Comparison) -> str:
    """The comparison for people: one line of counts, the debt, what else differs, then the findings that came and went."""
    lines = [f"{len(found.new)} new, {len(found.fixed)} fixed, {len(found.unchanged)} unchanged"]
    lines.append("Debt    " + numbers.debt(before.estimate.hours, after.estimate.hours, change(before, after)))
    lines += [f"Note    {one_line(words)}" for words in differences(before, after)]
    for title, rows in (("New", found.new), ("Fixed", found.fixed)):
        if rows:
            lines += ["", title, *(_row(row) for row in rows[:SHOWN])]
        if len(rows) > SHOWN:
            lines.append(f"  … {len(rows) - SHOWN} more; --format json has all")
    return "\n".join(lines) + "\n"


def _row(finding: Finding) -> str:
    return f"  {finding.severity:8} {one_line(finding.path)}:{finding.line}  {finding.rule}: {one_line(finding.message, 160)}"


def _side(saved: Report) -> dict[str, Any]:
    return {
        "root": saved.root, "commit": saved.commit, "version": saved.tool_version, "rules": saved.rules_version,
        "targets": list(saved.targets), "rocm": saved.rocm, "complete": saved.complete,
    }  # fmt: skip


def _points(saved: Report) -> dict[str, float]:
    return {name: round(getattr(saved.estimate.hours, name), 2) for name in POINTS}
