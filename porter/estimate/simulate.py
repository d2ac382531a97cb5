"""The simulation: sums of correlated PERT-beta hours, seeded, so that the same lines give the same range on any machine."""

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


def quantiles(lines: Sequence[Hours], seed: int) -> Quantiles:
    """P10, P50, P80 and P90 of the sum, to two significant digits; zero for no lines. Order of the lines changes nothing."""
    spread = sorted((h for h in lines if h.worst > 0), key=lambda h: (-h.worst, -h.likely, -h.best))
    if not spread:
        return Quantiles()
    rest = spread[MOST_LINES:]
    spread = spread[:MOST_LINES]
    if rest:  # the small ones move together, which is the careful assumption
        spread.append(functools.reduce(lambda a, b: a + b, rest))
    tables = [(h.best, h.worst - h.best, _table(_shape(h))) for h in spread]
    generator = random.Random(seed)
    own, shared = sqrt(1 - CORRELATION), sqrt(CORRELATION)
    sums = []
    for _ in range(DRAWS):
        factor = shared * generator.gauss(0.0, 1.0)
        total = 0.0
        for best, width, table in tables:
            u = 0.5 * (1.0 + erf((factor + own * generator.gauss(0.0, 1.0)) / 1.4142135623730951))
            total += best + width * table[int(u * STEPS)]
        sums.append(total)
    sums.sort()
    return Quantiles(*(two_digits(sums[int(DRAWS * p)]) for p in (0.1, 0.5, 0.8, 0.9)))


def two_digits(value: float) -> float:
    """A number to two significant digits."""
    return float(f"{value:.2g}")


def _shape(hours: Hours) -> int:
    """Where the likely value lies between best and worst, in SHAPES steps."""
    width = hours.worst - hours.best
    return round(SHAPES * (hours.likely - hours.best) / width) if width > 0 else 0


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
