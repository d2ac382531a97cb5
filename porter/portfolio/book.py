"""The portfolio as an Excel workbook: a sheet each for the ranking, what is shared, copied files and failures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from porter.portfolio.merge import Portfolio
from porter.render.xlsx import COUNT, HOURS, sheets

Heads = Sequence[tuple[str, float]]


def render(portfolio: Portfolio) -> bytes:
    """The bytes of an .xlsx file; the same for the same portfolio."""
    return sheets([_ranking(portfolio), _shared(portfolio), _copied(portfolio), _failed(portfolio)])


def _ranking(portfolio: Portfolio) -> tuple[str, Heads, Iterable[Sequence[Any]], dict[int, str]]:
    heads = (("Rank", 7), ("Repository", 36), ("Commit", 16), ("CUDA files", 11), ("CUDA lines", 11), ("Blockers", 10), ("Major", 8),
             ("P10, h", 10), ("P50, h", 10), ("P80, h", 10), ("P90, h", 10), ("Hand lines", 11), ("Likely, shared, h", 16),
             ("Saved by sharing, h", 18), ("Value", 10), ("Value an hour", 13), ("Recommended way", 44),
             ("Builds for AMD", 15), ("Complete", 10))  # fmt: skip
    rows = (
        (
            i, row.name, row.commit, row.cuda_files, row.cuda_lines, row.severities.get("blocker", 0), row.severities.get("major", 0),
            row.hours.p10, row.hours.p50, row.hours.p80, row.hours.p90, row.hand_lines.p50, row.likely, row.shared,
            "" if row.value is None else row.value, "" if row.worth is None else row.worth,
            row.way, "yes" if row.already_ported else "", "yes" if row.complete else "no",
        )
        for i, row in enumerate((row for row in portfolio.rows if not row.error), 1)
    )  # fmt: skip
    formats = {3: COUNT, 4: COUNT, 5: COUNT, 6: COUNT, 11: COUNT} | dict.fromkeys((7, 8, 9, 10, 12, 13), HOURS)
    return "Ranking", heads, rows, formats


def _shared(portfolio: Portfolio) -> tuple[str, Heads, Iterable[Sequence[Any]], dict[int, str]]:
    heads = (("What", 44), ("Category", 22), ("Repositories", 12), ("Where", 60), ("Places", 9), ("Each on its own, h", 16),
             ("Paid once, h", 13), ("Rule", 30))  # fmt: skip
    rows = (
        (one.title, one.category, len(one.repositories), ", ".join(one.repositories), one.findings, one.apart, one.together, one.rule)
        for one in portfolio.shared
    )
    return "Shared", heads, rows, {2: COUNT, 4: COUNT, 5: HOURS, 6: HOURS}


def _copied(portfolio: Portfolio) -> tuple[str, Heads, Iterable[Sequence[Any]], dict[int, str]]:
    rows = ((number, name, path) for number, file in enumerate(portfolio.copied, 1) for name, path in file.places)
    return "Shared files", (("File", 7), ("Repository", 36), ("Path", 70)), rows, {}


def _failed(portfolio: Portfolio) -> tuple[str, Heads, Iterable[Sequence[Any]], dict[int, str]]:
    rows = ((row.name, row.error) for row in portfolio.rows if row.error)
    return "Not audited", (("Repository", 36), ("Why", 90)), rows, {}
