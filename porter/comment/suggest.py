"""One-click suggestions: only fixes that are marked safe, only on lines that the change shows, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from porter.comment.values import Line, Marker, Suggestion
from porter.comment.wire import Refused
from porter.model import Finding, Report
from porter.render import summary
from porter.render.markdown import code, text
from porter.render.neutral import is_harmless

MOST = 5
FINGERPRINT = re.compile(r"[0-9a-f]{1,64}\Z")  # a saved report may come from a stranger


class Reviewable(Protocol):
    """What a code host can do with the lines of a change."""

    def changed(self) -> dict[str, dict[int, Line]]:
        """The lines that the change shows, by path and number."""
        ...

    def suggested(self) -> frozenset[str]:
        """Fingerprints of the findings that have a suggestion."""
        ...

    def suggest(self, suggestion: Suggestion, line: Line) -> None:
        """Add one."""
        ...


def suggestions(report: Report, findings: Iterable[Finding], name: str) -> list[Suggestion]:
    """The first few new findings with a safe fix of one line, as suggestions."""
    made = []
    for finding in findings:
        fix, line = finding.fix, finding.snippet.split("\n", 1)[0]
        if fix is None or not fix.safe or not line or not _is_one_line(fix.text) or not FINGERPRINT.match(finding.fingerprint):
            continue
        rule = summary.rule_of(report, finding)
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", fix.text)), default=0))
        words = f"{text(rule.title)}. {text(' '.join(rule.why.split()), 600)}".strip()
        parts = (
            f"{Marker(name, fix=finding.fingerprint)}\n{words}",
            f"{fence}suggestion\n{fix.text}\n{fence}",
            code(f"porter explain {rule.id}"),
        )
        body = "\n\n".join(parts) + "\n"
        made.append(Suggestion(finding.path, finding.line, line, body, finding.fingerprint))
    return made


def post(service: Reviewable, made: list[Suggestion]) -> int:
    """Put the suggestions on their lines, MOST at a time; the number that was added. A line that the service refuses is left out."""
    if not made:
        return 0
    changed = service.changed()
    fit = [(one, changed.get(one.path, {}).get(one.line)) for one in made]
    there = service.suggested() if any(line is not None and line.text == one.before for one, line in fit) else frozenset()
    added = 0
    for one, line in fit:
        if line is None or line.text != one.before or one.fix in there or added == MOST:
            continue
        try:
            service.suggest(one, line)
        except Refused as error:
            if error.status not in (400, 422):
                raise
            continue
        added += 1
    return added


def _is_one_line(fix: str) -> bool:
    """No line end, no control, replaced or invisible character; no slash first, which GitLab would read as a command."""
    return is_harmless(fix) and "\ufffd" not in fix and not fix.startswith("/")
