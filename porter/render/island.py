"""The findings as one compact JSON value inside the HTML file: scripts read it to filter, to page and to follow links."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from markupsafe import Markup

from porter.model import Confidence, Finding, Rule, Severity
from porter.pages import Pages, spill_of
from porter.render.code import PATTERNS, excerpt
from porter.render.neutral import encodable, one_line, shorten
from porter.render.summary import RuleGroup, directory_of, remark
from porter.render.tongue import ENGLISH, Tongue
from porter.render.words import SCRIPT_PLURALS, SCRIPT_WORDS
from porter.spill import Place

LONG_REPORT = 20_000
ROWS = 20_000  # that are in memory together
_NOT_IN_NAMES = re.compile(r"[^0-9A-Za-z_-]")
SHORT_CODE = 120
CODE = 10  # where the code stands in a row
# Characters of code: past the first the lines of context go, past the second all but the first line of each place.
CONTEXT_BUDGET, CODE_BUDGET = 2_500_000, 4_000_000


class _Table:
    """Strings numbered in the order in which they first come."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}

    def of(self, text: str) -> int:
        return self.index.setdefault(text, len(self.index))

    def all(self) -> list[str]:
        return list(self.index)


class Anchors:
    """The id attributes of the findings of some groups: f- and the fingerprint, numbered where it comes twice."""

    def __init__(self, groups: Iterable[RuleGroup]) -> None:
        """Look for those that come twice; not where findings are put aside, since those of one scan never do."""
        seen: dict[str, int] = {}
        self._again: dict[int, str] = {}
        at = 0
        for group in groups:
            for finding in group.findings if not isinstance(group.findings, Pages) else ():
                name = _anchor(finding, at)
                seen[name] = seen.get(name, 0) + 1
                if seen[name] > 1:
                    self._again[at] = f"{name}-{seen[name]}"
                at += 1
            at += len(group.findings) if isinstance(group.findings, Pages) else 0

    def of(self, finding: Finding, at: int) -> str:
        """The name of the finding at a place in the order of the groups."""
        return self._again.get(at) or _anchor(finding, at)


def _anchor(finding: Finding, at: int) -> str:
    return "f-" + (_NOT_IN_NAMES.sub("-", finding.fingerprint) or str(at))


def pieces(
    groups: Sequence[RuleGroup], names: Anchors, context: dict[str, dict[int, str]] | None = None, words: Tongue = ENGLISH
) -> Iterator[Markup]:
    """The JSON text in pieces, safe inside a script element: no < or > or & in it; ``names`` are the anchors of the groups.

    ``context`` holds the lines near findings by path and line.
    """
    paths, messages, targets, folders = _Table(), _Table(), _Table(), _Table()
    spill = spill_of(next((group.findings for group in groups if isinstance(group.findings, Pages)), ()))
    rows: list[list[object]] = []
    aside: list[Place] = []  # texts of rows that are made before what stands above them
    long = sum(len(group.findings) for group in groups) > LONG_REPORT
    at = spent = 0
    for number, group in enumerate(groups):
        for finding in group.findings:
            lines = (context or {}).get(finding.path) if spent < CONTEXT_BUDGET else None
            long = long or spent >= CODE_BUDGET
            rows.append([number, names.of(finding, at)[2:], *_row(group.rule, finding, paths, messages, targets, folders, lines, long)])
            spent += len(str(rows[-1][CODE]))
            at += 1
            if len(rows) >= ROWS:
                aside.append(spill.put(_rows(rows).encode()))
                rows.clear()
    tables = {"paths": paths.all(), "messages": messages.all(), "targets": targets.all(), "folders": folders.all()}
    yield _head(groups, tables, words)
    before = ""
    for place in aside:
        yield Markup(before + spill.get(place).decode())
        before = ","
    if rows:
        yield Markup(before + _rows(rows))
    yield Markup("]}")


def _head(groups: Sequence[RuleGroup], tables: dict[str, list[str]], words: Tongue) -> Markup:
    """All that stands above the rows."""
    data = {
        "rules": [group.rule.id for group in groups],
        "categories": [group.rule.category for group in groups],
        **tables,
        "severities": [str(severity) for severity in Severity],
        "confidences": [str(confidence) for confidence in Confidence],
        "words": _words(words),
        "lang": words.code,
        "patterns": {name: re.sub(r"\?P<", "?<", pattern) for name, pattern in PATTERNS.items()},
        "rows": [],
    }
    return _safe(json.dumps(data, ensure_ascii=False, separators=(",", ":")).removesuffix("]}"))


def _rows(rows: list[list[object]]) -> str:
    return _safe(json.dumps(rows, ensure_ascii=False, separators=(",", ":"))[1:-1])


def _words(words: Tongue) -> dict[str, object]:
    """What the script says: single messages as text, messages with a number as their plural forms."""
    return {key: words.text(text) for key, text in SCRIPT_WORDS.items()} | {
        key: list(words.forms(*pair)) for key, pair in SCRIPT_PLURALS.items()
    }


def _row(
    rule: Rule,
    finding: Finding,
    paths: _Table,
    messages: _Table,
    targets: _Table,
    folders: _Table,
    lines: dict[int, str] | None,
    long: bool,
) -> list[object]:
    """Path, folder, line, severity, confidence, minutes, message, targets, code, mark, related places and fix, as numbers and text."""
    shown = excerpt(finding, lines)
    code, start, end = shown.text, shown.start, shown.end
    if long:
        code = shorten(code.split("\n")[0], SHORT_CODE)
        start, end = min(start, len(code)), min(end, len(code))
    row: list[object] = [
        paths.of(one_line(finding.path)), folders.of(one_line(directory_of(finding.path))), finding.line,
        finding.severity.rank, finding.confidence.rank, round(finding.effort_hours.likely * 60, 1),
        messages.of(remark(rule, finding)), targets.of(" ".join(finding.targets)), code, start, end,
        1 if finding.state == "unchanged" else 0,
    ]  # fmt: skip
    if finding.related or finding.fix:
        row.append(_related(finding, paths))
    if finding.fix:
        row.append([one_line(finding.fix.text), 1 if finding.fix.safe else 0])
    return row


def _related(finding: Finding, paths: _Table) -> list[list[object]]:
    return [[paths.of(one_line(item.path)), item.line, one_line(item.note)] for item in finding.related[:8]]


def _safe(text: str) -> Markup:
    escaped = encodable(text)
    for character in "<>&\u2028\u2029":
        escaped = escaped.replace(character, f"\\u{ord(character):04x}")
    return Markup(escaped)
