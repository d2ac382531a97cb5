"""The simulation: sums of correlated PERT-beta hours, seeded, so that the same lines give the same range on any machine.

Every line draws from a generator of its own, named by its key: adding a line, or making one dearer, leaves the draws of the
others alone, so no quantile ever falls because work was added.
"""

from __future__ import annotations

import functools
import random
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from math import erf, sqrt

from porter.model import Hours, Quantiles

DRAWS = 2000
CORRELATION = 0.5  # one factor for all lines: same team, same unknowns
STEPS = 200
SHAPES = 40
MOST_LINES = 300
_FIELDS = ("p10", "p50", "p80", "p90")


def quantiles(lines: Sequence[Hours], seed: int, keys: Sequence[str] = ()) -> Quantiles:
    """P10, P50, P80 and P90 of the sum, to two significant digits; zero for no lines. Order of the lines changes nothing.

    ``keys`` name the lines (unique names, in the order of ``lines``); without them equal hours share a numbered name.
    """
    named = sorted(zip(keys or _names(lines), lines, strict=True), key=lambda item: (-item[1].worst, -item[1].likely, item[0]))
    spread = [(key, hours) for key, hours in named if hours.worst > 0]
    if not spread:
        return Quantiles()
    rest = spread[MOST_LINES:]
    spread = spread[:MOST_LINES]
    if rest:  # the small ones move together, which is the careful assumption
        spread.append(("the rest", functools.reduce(lambda a, b: a + b, (hours for _, hours in rest))))
    sums = [0.0] * DRAWS
    generator = random.Random(seed)
    shared = [sqrt(CORRELATION) * generator.gauss(0.0, 1.0) for _ in range(DRAWS)]
    for key, hours in spread:
        _add(sums, shared, hours, random.Random(f"{seed}:{key}"))
    sums.sort()
    return Quantiles(*(two_digits(sums[int(DRAWS * p)]) for p in (0.1, 0.5, 0.8, 0.9)))


def _add(sums: list[float], shared: list[float], hours: Hours, generator: random.Random) -> None:
    """One line's draws on top of the sums, in place."""
    own = sqrt(1 - CORRELATION)
    best, width, table = hours.best, hours.worst - hours.best, _table_of(_shape(hours))
    gauss = generator.gauss
    for i in range(DRAWS):
        u = 0.5 * (1.0 + erf((shared[i] + own * gauss(0.0, 1.0)) / 1.4142135623730951))
        sums[i] += best + width * table[int(u * STEPS)]


def _names(lines: Sequence[Hours]) -> list[str]:
    """Names from the hours themselves, equal ones numbered, so that the order of the lines cannot matter."""
    seen: dict[Hours, int] = {}
    out = []
    for hours in lines:
        seen[hours] = seen.get(hours, 0) + 1
        out.append(f"{hours.best!r} {hours.likely!r} {hours.worst!r} {seen[hours]}")
    return out


def two_digits(value: float) -> float:
    """A number to two significant digits."""
    return float(f"{value:.2g}")


def times(value: Quantiles, factor: float) -> Quantiles:
    """Each quantile multiplied, to two significant digits."""
    return Quantiles(*(two_digits(getattr(value, name) * factor) for name in _FIELDS))


def _shape(hours: Hours) -> float:
    """Where the likely value lies between best and worst, in SHAPES steps."""
    width = hours.worst - hours.best
    return SHAPES * (hours.likely - hours.best) / width if width > 0 else 0.0


def _table_of(shape: float) -> Sequence[float]:
    """The table of a shape between two whole steps: interpolated, so that a small change never jumps."""
    low = min(int(shape), SHAPES - 1)
    part = shape - low
    if part < 1e-9:
        return _table(low)
    return [a + part * (b - a) for a, b in zip(_table(low), _table(low + 1), strict=True)]


@functools.lru_cache(maxsize=SHAPES + 1)
def _table(shape: int) -> tuple[float, ...]:
    """Quantiles of the PERT-beta distribution on 0..1 with its mode at shape/SHAPES, at STEPS + 1 even probabilities."""
    mode = shape / SHAPES
    alpha, beta = 1 + 4 * mode, 1 + 4 * (1 - mode)
    grid = [(i + 0.5) / 1000 for i in range(1000)]
    weights = list(accumulate(x ** (alpha - 1) * (1 - x) ** (beta - 1) for x in grid))
    total = weights[-1]
    places = (bisect_left(weights, total * (i + 0.5) / (STEPS + 1)) for i in range(STEPS + 1))
    return tuple(grid[min(place, 999)] for place in places)
