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


def mid_quantile(values: Sequence[float], share: float) -> float:
    """The quantile of the mid-distribution (Parzen): values that are often the same, such as 0, still grow with their chances."""
    if not values:
        return 0.0
    below, last = 0, (0.0, 0.0)
    for value in sorted(set(values)):
        here = values.count(value)
        middle = (below + here / 2) / len(values)
        if middle >= share:
            if middle == last[1] or not below:
                return value
            return last[0] + (share - last[1]) / (middle - last[1]) * (value - last[0])
        below, last = below + here, (value, middle)
    return last[0]


def coverage(ranges: Sequence[Quantiles], real: Sequence[float], scale: float = 1.0) -> float:
    """The share of programs whose real lines lie in P10 to P90; ``scale`` stretches the ranges around their P50."""
    inside = sum(1 for r, y in zip(ranges, real, strict=True) if r.p50 - scale * (r.p50 - r.p10) <= y <= r.p50 + scale * (r.p90 - r.p50))
    return inside / len(real) if real else 0.0


def width(ranges: Sequence[Quantiles], real: Sequence[float]) -> float:
    """How wide the ranges are against the narrowest stretching of them around P50 that still covers GOAL; 1 is as wide as needed.

    Below 1 the ranges cover less than GOAL.
    """
    for step in range(1, 4 * STEPS):
        scale = step / STEPS
        if coverage(ranges, real, scale) >= GOAL:
            return 1.0 / scale
    return 0.25
