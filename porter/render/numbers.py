"""How numbers are written for people: hours and shares to two significant digits, counts with thin grouping."""

from __future__ import annotations

import math

from porter.model import Hours, Quantiles

DAY = 8.0
WEEK = 40.0


def significant(value: float, digits: int = 2) -> float:
    """The value rounded to so many significant digits."""
    if value == 0 or not math.isfinite(value):
        return 0.0
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))


def count(value: float) -> str:
    """A whole number with commas: 12,345."""
    return f"{round(value):,}"


def _decimal(value: float) -> str:
    """Two significant digits without an exponent or a useless zero: 0.25, 1.5, 12, 1,200."""
    rounded = significant(value)
    if rounded >= 10 or rounded == int(rounded):
        return f"{rounded:,.0f}"
    return f"{rounded:.2g}"


def hours(value: float) -> str:
    """Person-hours as text: minutes below one hour, two significant digits above."""
    if value <= 0:
        return "0 h"
    minutes = significant(value * 60)
    if minutes < 1:
        return "< 1 min"
    if minutes < 60:
        return f"{minutes:.0f} min"
    return f"{_decimal(value)} h"


def hours_range(low: float, high: float) -> str:
    """Two person-hour values as a range that shares its unit where it can: 3–12 h, 20 min – 2 h."""
    first, last = hours(low), hours(high)
    if first == last:
        return first
    if low <= 0 and high > 0:
        return f"0–{last}"
    if first.endswith(" h") and last.endswith(" h"):
        return f"{first[:-2]}–{last}"
    if first.endswith(" min") and last.endswith(" min") and not first.startswith("<"):
        return f"{first[:-4]}–{last}"
    return f"{first} – {last}"


def spread(value: Hours) -> str:
    """Best to worst of a three-point estimate."""
    return hours_range(value.best, value.worst)


def long_hours(value: float) -> str:
    """Person-hours in the unit that a planner would use: hours, days (8 h) or weeks (40 h)."""
    if value < 2 * DAY:
        return hours(value)
    if value < 2 * WEEK:
        return f"{_decimal(value / DAY)} person-days"
    return f"{_decimal(value / WEEK)} person-weeks"


def band(value: Quantiles) -> str:
    """P10 to P90 of the simulated total."""
    return hours_range(value.p10, value.p90)


def percent(part: float, whole: float) -> str:
    """A share with one decimal where it matters; 100 % and 0 % only when exact."""
    if whole <= 0:
        return "n/a"
    share = 100.0 * part / whole
    if part >= whole:
        return "100 %"
    if share <= 0:
        return "0 %"
    if share > 99:
        return f"{min(math.floor(share * 10) / 10, 99.9):.1f} %"
    if share < 1:
        return f"{max(math.ceil(share * 10) / 10, 0.1):.1f} %"
    return f"{math.floor(share):.0f} %"


def plural(value: int, one: str, many: str = "") -> str:
    """A count with its noun: 1 file, 2 files."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def debt(before: Quantiles, after: Quantiles, change: float) -> str:
    """Hours of work before and after in words (P50, rounded), and the difference of the sums of likely hours."""
    words = "no change in the sum" if abs(change) < 0.005 else f"{hours(abs(change))} {'more' if change > 0 else 'less'} in the sum"
    return f"{hours(before.p50)} before, {hours(after.p50)} now (P50); {words}"
