"""The portfolio as one HTML page, closed and offline as the report is, and as JSON; the same bytes for the same portfolio."""

from __future__ import annotations

from typing import Any

import msgspec

from porter.model import Hours
from porter.portfolio.merge import Portfolio
from porter.render import charts, html
from porter.render.neutral import encodable, json_text

SCHEMA = "porter.portfolio/1"
SHOWN_NAMES = 12
SHOWN_COPIES = 200


def render(portfolio: Portfolio) -> str:
    """The page as text."""
    style = html.asset("report.css")
    longest = max((row.hours.p90 for row in portfolio.rows), default=0.0)
    bars = [charts.hours_bar(Hours(row.hours.p10, row.hours.p50, row.hours.p90), longest) for row in portfolio.rows]
    page: str = html.environment().get_template("portfolio.html").render(
        portfolio=portfolio, rows=list(zip(portfolio.rows, bars, strict=True)), style=style, style_hash=html.digest(style),
        audited=[row for row in portfolio.rows if not row.error], failed=[row for row in portfolio.rows if row.error],
        saved=portfolio.apart.likely - portfolio.together.likely, names=SHOWN_NAMES, copies=SHOWN_COPIES,
        dependencies=[one for one in portfolio.shared if one.category == "cuda-only-library"],
        others=[one for one in portfolio.shared if one.category != "cuda-only-library"],
    )  # fmt: skip
    return page


def as_json(portfolio: Portfolio) -> str:
    """The portfolio as JSON text, indented by two; hours are rounded to a ten-thousandth."""
    out = {"schema": SCHEMA, "complete": portfolio.complete} | msgspec.to_builtins(portfolio)
    return json_text(msgspec.json.encode(_clean(out)))


def _clean(value: Any) -> Any:
    """Encodable strings and rounded numbers; the nesting is that of Portfolio, so recursion is bounded."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value
