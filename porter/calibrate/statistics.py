"""Small statistics in plain Python: ranks, Spearman's correlation, quantiles, coverage and width of ranges."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from porter.model import Quantiles

GOAL = 0.8  # the share of programs that P10 to P90 is meant to cover
STEPS = 200


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value from 0; equal values share the middle of their ranks."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    out = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in range(start, end + 1):
            out[order[place]] = (start + end) / 2
        start = end + 1
    return out


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's rank correlation; 0 where one side does not vary."""
    first, second = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    top = sum((x - mean) * (y - mean) for x, y in zip(first, second, strict=True))
    below = sqrt(sum((x - mean) ** 2 for x in first) * sum((y - mean) ** 2 for y in second))
    return top / below if below else 0.0


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the values lie, interpolated; 0 for none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def coverage(ranges: Sequence[Quantiles], real: Sequence[float], scale: float = 1.0) -> float:
    """The share of programs whose real lines lie in P10 to P90; ``scale`` stretches the ranges around their P50."""
    inside = sum(1 for r, y in zip(ranges, real, strict=True) if r.p50 - scale * (r.p50 - r.p10) <= y <= r.p50 + scale * (r.p90 - r.p50))
    return inside / len(real) if real else 0.0


def width(ranges: Sequence[Quantiles], real: Sequence[float]) -> float:
    """The mean width of the ranges against that of the same ranges with their upper ends lowered until they just cover GOAL.

    All upper ends go the same part of the way down to P50, the lower ends stay. 1 is as wide as needed; below 1 the ranges cover less
    than GOAL and the upper ends are raised instead, fourfold at most.
    """
    mean = sum(one.p90 - one.p10 for one in ranges)
    for step in range(4 * STEPS):
        part = step / STEPS
        tried = [Quantiles(one.p10, one.p50, one.p80, one.p50 + part * (one.p90 - one.p50)) for one in ranges]
        if coverage(tried, real) >= GOAL:
            needed = sum(one.p90 - one.p10 for one in tried)
            return mean / needed if needed else 1.0
    return 0.25


def stretch(ranges: Sequence[Quantiles], real: Sequence[float]) -> float:
    """The same where each range is stretched around its P50, both ends alike; a range from 0 that shrinks at all leaves 0 outside."""
    for step in range(1, 4 * STEPS):
        scale = step / STEPS
        if coverage(ranges, real, scale) >= GOAL:
            return 1.0 / scale
    return 0.25
