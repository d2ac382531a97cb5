"""The simulation: sums of correlated hours, seeded, so that the same parts give the same range on any machine.

A part's likely hours are what half of the cases exceed. Below it the hours fall to the best, above it they rise to the worst, each side
along its half of a symmetric PERT curve: best + (likely - best) × g(u), or likely + (worst - likely) × h(u), for a chance u. For any u
that grows with best, likely and worst alike, and every part has chances of its own, drawn by its name. So no draw, and no quantile, ever
falls because work was added; a PERT-beta of its own shape a part has no such order, since its low quantiles fall when the worst grows.
"""

from __future__ import annotations

import functools
import hashlib
import random
from array import array
from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate
from math import cos, erf, log, sin, sqrt, tau

from porter.model import Hours, Quantiles

DRAWS = 2000
CORRELATION = 0.5  # one factor for all parts: same team, same unknowns
STREAMS = 128  # parts whose names meet in one of them move together, which is the careful assumption
STEPS = 400
_FIELDS = ("p10", "p50", "p80", "p90")


def quantiles(parts: Mapping[str, Hours], seed: int) -> Quantiles:
    """P10, P50, P80 and P90 of the sum of named parts, to two significant digits; zero for none. Their order changes nothing."""
    streams: dict[int, Hours] = {}
    for name, hours in sorted(parts.items()):
        if hours.worst > 0:
            stream = _stream(name)
            streams[stream] = streams.get(stream, Hours()) + hours
    if not streams:
        return Quantiles()
    sums = [0.0] * DRAWS
    for stream, hours in sorted(streams.items()):
        below, above = hours.likely - hours.best, hours.worst - hours.likely
        lows = [below * place for place in _halves()[0]]  # the part of the way from best to likely
        highs = [above * place for place in _halves()[1]]  # and from likely to worst
        best, places = hours.best, _places(seed, stream)
        sums = [total + best + lows[place] + highs[place] for total, place in zip(sums, places, strict=True)]
    sums.sort()
    return Quantiles(*(two_digits(sums[int(DRAWS * p)]) for p in (0.1, 0.5, 0.8, 0.9)))


def _stream(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:4], "big") % STREAMS


@functools.lru_cache(maxsize=8)
def _shared(seed: int) -> array[float]:
    return array("d", (sqrt(CORRELATION) * drawn for drawn in _normal(random.Random(seed), DRAWS)))


@functools.lru_cache(maxsize=2 * STREAMS)
def _places(seed: int, stream: int) -> array[int]:
    """Which of the curve's places each draw of a stream has: 0 to STEPS, its middle at a half."""
    own, root = sqrt(1 - CORRELATION), sqrt(2.0)
    drawn = zip(_shared(seed), _normal(random.Random(f"{seed}:{stream}"), DRAWS), strict=True)
    return array("H", [int(0.5 * (1.0 + erf((shared + own * one) / root)) * STEPS) for shared, one in drawn])


def _normal(generator: random.Random, count: int) -> list[float]:
    """Draws of the standard normal distribution, two at a time by Box and Muller, as ``random.gauss`` makes them one by one."""
    uniform, out = generator.random, []
    for _ in range((count + 1) // 2):
        angle = uniform() * tau
        radius = sqrt(-2.0 * log(1.0 - uniform()))
        out += [cos(angle) * radius, sin(angle) * radius]
    return out[:count]


def two_digits(value: float) -> float:
    """A number to two significant digits."""
    return float(f"{value:.2g}")


def times(value: Quantiles, factor: float) -> Quantiles:
    """Each quantile multiplied, to two significant digits."""
    return Quantiles(*(two_digits(getattr(value, name) * factor) for name in _FIELDS))


@functools.lru_cache(maxsize=1)
def _halves() -> tuple[list[float], list[float]]:
    """The curve up to its middle, and from there on, each on a scale of 0 to 1."""
    return [min(1.0, 2.0 * place) for place in _curve()], [max(0.0, 2.0 * place - 1.0) for place in _curve()]


@functools.lru_cache(maxsize=1)
def _curve() -> tuple[float, ...]:
    """Quantiles of the symmetric PERT-beta distribution on 0..1 at STEPS + 1 even probabilities."""
    grid = [(i + 0.5) / 2000 for i in range(2000)]
    weights = list(accumulate(x**2 * (1 - x) ** 2 for x in grid))
    places = (bisect_left(weights, weights[-1] * (i + 0.5) / (STEPS + 1)) for i in range(STEPS + 1))
    return tuple(grid[min(place, 1999)] for place in places)
