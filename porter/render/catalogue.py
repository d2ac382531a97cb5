"""The catalogue as one HTML page: every rule with its reasons, example and sources, searchable, closed as the report is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from porter.model import CATEGORIES, Rule
from porter.render import code, html, summary
from porter.render.neutral import one_line

LOOKS_FOR = 40  # names of a rule that the page lists; API rules have hundreds
WORKS = "works-as-is"


class Entry(msgspec.Struct, frozen=True):
    """A rule, its first example as HTML, and the first names that it looks for."""

    rule: Rule
    example: code.ShownExample | None
    looks_for: tuple[str, ...]


def render(rules: Iterable[Rule], version: str) -> str:
    """The page as text: categories in the report's order, good news last, rules by id; the same bytes for the same rules."""
    groups: dict[str, list[Entry]] = defaultdict(list)
    for rule in sorted(rules, key=lambda rule: rule.id):
        groups[WORKS if rule.is_insight else rule.category].append(_entry(rule))
    order = {name: at for at, name in enumerate((*CATEGORIES, WORKS))}
    style, script = html.asset("report.css"), html.asset("catalogue.js")
    page: str = html.environment().get_template("catalogue.html").render(
        groups=sorted(groups.items(), key=lambda item: (order.get(item[0], len(order)), item[0])),
        total=sum(map(len, groups.values())), version=one_line(version), severities=[str(severity) for severity in summary.SEVERITIES],
        style=style, script=script, style_hash=html.digest(style), script_hash=html.digest(script),
    )  # fmt: skip
    return page


def _entry(rule: Rule) -> Entry:
    names = dict.fromkeys(name for found in rule.match.values() for name in found)
    return Entry(rule, code.example(rule), tuple(names)[:LOOKS_FOR])
