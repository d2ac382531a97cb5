"""How numbers are written for people: hours and shares to two significant digits, counts with thin grouping."""

from __future__ import annotations

import math

from porter.model import Hours, Quantiles
from porter.render.tongue import ENGLISH, Tongue

DAY = 8.0
WEEK = 40.0


def significant(value: float, digits: int = 2) -> float:
    """The value rounded to so many significant digits."""
    if value == 0 or not math.isfinite(value):
        return 0.0
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))


def count(value: float, words: Tongue = ENGLISH) -> str:
    """A whole number with grouped thousands: 12,345."""
    return words.number(f"{round(value):,}")


def _decimal(value: float) -> str:
    """Two significant digits without an exponent or a useless zero: 0.25, 1.5, 12, 1,200."""
    rounded = significant(value)
    if rounded >= 10 or rounded == int(rounded):
        return f"{rounded:,.0f}"
    return f"{rounded:.2g}"


def _parts(value: float) -> tuple[str, str]:
    """The number as English text and its unit's message: minutes below one hour, two significant digits above."""
    minutes = significant(value * 60)
    if value <= 0:
        return "0", "{n} h"
    if minutes < 1:
        return "1", "< {n} min"
    return (f"{minutes:.0f}", "{n} min") if minutes < 60 else (_decimal(value), "{n} h")


def hours(value: float, words: Tongue = ENGLISH) -> str:
    """Person-hours as text: minutes below one hour, two significant digits above."""
    number, unit = _parts(value)
    return words.say(unit, n=words.number(number))


def hours_range(low: float, high: float, words: Tongue = ENGLISH) -> str:
    """Two person-hour values as a range that shares its unit where it can: 3–12 h, 20 min – 2 h."""
    (first, unit), (last, other) = _parts(low), _parts(high)
    if (first, unit) == (last, other):
        return hours(high, words)
    if low <= 0 < high and not other.startswith("<"):
        return words.say(other, n=f"0–{words.number(last)}")
    if unit == other and not unit.startswith("<"):
        return words.say(unit, n=f"{words.number(first)}–{words.number(last)}")
    if low <= 0:
        return f"0–{hours(high, words)}"
    return f"{hours(low, words)} – {hours(high, words)}"


def spread(value: Hours, words: Tongue = ENGLISH) -> str:
    """Best to worst of a three-point estimate."""
    return hours_range(value.best, value.worst, words)


def long_hours(value: float, words: Tongue = ENGLISH) -> str:
    """Person-hours in the unit that a planner would use: hours, days (8 h) or weeks (40 h)."""
    if value < 2 * DAY:
        return hours(value, words)
    if value < 2 * WEEK:
        return words.say("{n} person-days", n=words.number(_decimal(value / DAY)))
    return words.say("{n} person-weeks", n=words.number(_decimal(value / WEEK)))


def band(value: Quantiles, words: Tongue = ENGLISH) -> str:
    """P10 to P90 of the simulated total."""
    return hours_range(value.p10, value.p90, words)


def percent(part: float, whole: float, words: Tongue = ENGLISH) -> str:
    """A share with one decimal where it matters; 100 % and 0 % only when exact."""
    return words.number(_percent(part, whole))


def _percent(part: float, whole: float) -> str:
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


def debt(before: Quantiles, after: Quantiles, change: float, words: Tongue = ENGLISH) -> str:
    """Hours of work before and after in words (P50, rounded), and the difference of the sums of likely hours."""
    now = {"before": hours(before.p50, words), "after": hours(after.p50, words), "change": hours(abs(change), words)}
    if abs(change) < 0.005:
        return words.say("{before} before, {after} now (P50); no change in the sum", **now)
    if change > 0:
        return words.say("{before} before, {after} now (P50); {change} more in the sum", **now)
    return words.say("{before} before, {after} now (P50); {change} less in the sum", **now)
