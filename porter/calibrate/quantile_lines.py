"""Quantile regression on the score: a hinged line a quantile, slope × max(0, score - start), by the least pinball loss.

Koenker and Bassett 1978. For a start the best slope is a weighted quantile of the programs' ratios; the start is searched on a grid. A
slope is never below zero, so a quantile never falls where the score grows.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

STEP = 0.5  # of the grid of starts, in units of the score
FEWEST = 10  # programs that a line must rest on


class Line(msgspec.Struct, frozen=True):
    """One quantile of the lines that programs of a score need."""

    start: float = 0.0
    slope: float = 0.0

    def at(self, score: float) -> float:
        """The quantile at a score."""
        return self.slope * max(0.0, score - self.start)


def fitted(scores: Sequence[float], real: Sequence[float], levels: Sequence[float], low: float, high: float) -> Line:
    """The line with the least pinball loss whose start lies in ``low`` to ``high``; each program has a level of its own, 0 to 1."""
    best, least = Line(), sum(level * lines for level, lines in zip(levels, real, strict=True))
    for step in range(int((high - low) / STEP) + 1):
        start = low + step * STEP
        slope = _slope(start, scores, real, levels)
        if slope is not None:
            loss = _loss(Line(start, slope), scores, real, levels)
            if loss < least - 1e-9:
                best, least = Line(start, slope), loss
    return best


def _slope(start: float, scores: Sequence[float], real: Sequence[float], levels: Sequence[float]) -> float | None:
    """The best slope of lines from ``start``: where the slope of the convex loss changes its sign."""
    above = [
        (lines / (score - start), score - start, level) for score, lines, level in zip(scores, real, levels, strict=True) if score > start
    ]
    if len(above) < FEWEST:
        return None
    above.sort()
    left = sum(level * distance for _, distance, level in above)
    for ratio, distance, _ in above:
        left -= distance
        if left <= 0:
            return ratio
    return above[-1][0]


def _loss(line: Line, scores: Sequence[float], real: Sequence[float], levels: Sequence[float]) -> float:
    total = 0.0
    for score, lines, level in zip(scores, real, levels, strict=True):
        rest = lines - line.at(score)
        total += level * rest if rest >= 0 else (level - 1.0) * rest
    return total
