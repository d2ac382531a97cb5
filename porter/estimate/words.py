"""Numbers of the estimate as people write them."""

from __future__ import annotations


def duration(hours: float) -> str:
    """Hours as people write them: 10 min, 2 h, 3 d."""
    if hours < 1:
        return f"{hours * 60:.0f} min"
    return f"{hours:.3g} h" if hours < 16 else f"{hours / 8:.3g} d"


def percent(share: float) -> str:
    """A share of 1 as whole per cents."""
    return f"{share:.0%}".replace("%", " %")
