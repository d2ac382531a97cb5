"""Numbers of the estimate as people write them."""

from __future__ import annotations

SAME_DECISION = "of it: the same decision as in another line"


def duration(hours: float) -> str:
    """Hours as people write them, to two digits: < 1 min, 10 min, 2 h, 6.6 h, 140 h."""
    if 0 < hours * 60 < 0.5:
        return "< 1 min"
    if hours < 1:
        return f"{hours * 60:.0f} min"
    return f"{hours:.2g} h" if hours < 9.95 else f"{float(f'{hours:.2g}'):,.0f} h"


def percent(share: float) -> str:
    """A share of 1 as whole per cents."""
    return f"{share:.0%}".replace("%", " %")
