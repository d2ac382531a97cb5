"""The fit of the hand-line model: weights by expectation maximisation, ranges by quantile regression on scores of programs left out.

A program's real lines are taken as a Poisson sum of what its features cause (identity link). The multiplicative update keeps every
weight at or above zero, so that more findings never cost less. Programs count at most CAP lines, so that one freak does not rule.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

import msgspec

from porter.calibrate import quantile_lines
from porter.calibrate.quantile_lines import Line
from porter.calibrate.statistics import quantile
from porter.estimate import features, hand_lines
from porter.estimate.features import Knot, LineModel
from porter.model import Quantiles

CAP = 100.0
ROUNDS = 150
PRIOR_PROGRAMS, PRIOR_LINES = 4.0, 5.0  # beside the corpus: so many programs with one place of one feature and so many lines, a feature
BINS = 5  # of programs with a feature; those without are one more
LOW, PLANNED = 0.1, 0.8  # the levels of P10 and P80; that of P90 follows from the share that the range is to hold
LOWEST_START, LAST_START = -10.0, 30.0  # where the quantiles' lines may leave zero, in units of the score
FOLDS = 10
SEEDS = (1, 2, 3, 4, 5)  # cross-validations, each with other folds: one alone moves the rank correlation by 0.02
INNER = (0, 1, 2)  # seeds of the folds inside a fit: one alone leaves the ends of the range to chance


class Observation(msgspec.Struct, frozen=True):
    """One program: its features, lines of CUDA code, the lines that people changed, and what the shipped model predicted."""

    name: str
    real: float
    loc: int
    counts: dict[str, float]
    predicted: Quantiles = Quantiles()
    domain: str = ""  # what the program is about, where the table says so


def fitted(programs: Sequence[Observation], start: LineModel) -> LineModel:
    """The model with weights and knots of these programs; the features are those of ``start``."""
    model = _weighted(programs, start)
    pairs: list[tuple[float, float]] = []  # what the features add to a program's score in a model that never saw it, and its real lines
    for seed in INNER:
        for held, inner in _held_out(programs, start, _folds(programs, seed), _weighted):
            pairs += [(features.score(programs[i].counts, inner) - inner.base, programs[i].real) for i in held]
    return msgspec.structs.replace(model, knot=_knots(sorted(pairs), model))


def _weighted(programs: Sequence[Observation], start: LineModel) -> LineModel:
    names = [feature.name for feature in start.feature]
    full = [[1.0, *(program.counts.get(name, 0.0) ** start.exponent for name in names)] for program in programs]
    most = [max(column) or 1.0 for column in zip(*full, strict=True)]
    rows = [[(k, value / most[k]) for k, value in enumerate(row) if value] for row in full]
    real = [min(program.real, CAP) for program in programs]
    for k in range(1, len(most)):  # a weight that the corpus does not settle stays near the prior, and away from zero
        rows.append([(k, PRIOR_PROGRAMS / most[k])])
        real.append(PRIOR_PROGRAMS * PRIOR_LINES)
    weights = _maximised(rows, real, len(most))
    scaled = [float(f"{w / top:.4g}") for w, top in zip(weights, most, strict=True)]
    found = zip(start.feature, scaled[1:], strict=True)
    return msgspec.structs.replace(
        start, base=scaled[0], feature=tuple(msgspec.structs.replace(feature, weight=weight) for feature, weight in found)
    )


def _maximised(rows: Sequence[Sequence[tuple[int, float]]], real: Sequence[float], count: int) -> list[float]:
    """The weights of ``count`` columns; a row holds what is not zero in it. Rows alike are one: their lines are summed."""
    sums, same = [0.0] * count, defaultdict[tuple[tuple[int, float], ...], float](float)
    for row, lines in zip(rows, real, strict=True):
        same[tuple(row)] += lines
        for k, x in row:
            sums[k] += x
    weights = [1.0] * count
    for _ in range(ROUNDS):
        pull = [0.0] * count
        for key, lines in same.items():
            ratio = lines / max(1e-9, sum(weights[k] * x for k, x in key))
            for k, x in key:
                pull[k] += x * ratio
        weights = [w * p / s for w, p, s in zip(weights, pull, sums, strict=True)]
    return weights


def _knots(pairs: Sequence[tuple[float, float]], model: LineModel) -> tuple[Knot, ...]:
    """P10, P80 and P90 from lines, P50 from bins of like score; ``pairs`` are scores without the model's base, in order, and real lines.

    Where P10 is 0 nothing can lie below the range, so P90 alone decides what it holds; elsewhere a tenth lies below.
    """
    scores, real = [score for score, _ in pairs], [lines for _, lines in pairs]
    span = (LOWEST_START, LAST_START)
    low = quantile_lines.fitted(scores, real, [LOW] * len(real), *span)
    planned = quantile_lines.fitted(scores, real, [PLANNED] * len(real), *span)
    levels = [min(1.0, model.cover + (LOW if score > low.start else 0.0)) for score in scores]
    high = quantile_lines.fitted(scores, real, levels, *span)
    middle = _middle(pairs)
    places = sorted({score for score, _ in middle} | {line.start for line in (low, planned, high) if 0.0 < line.start < middle[-1][0]})
    return tuple(_knot(place, low, _between(middle, place), planned, high, model.base) for place in places)


def _knot(place: float, low: Line, p50: float, planned: Line, high: Line, base: float) -> Knot:
    p80 = max(p50, planned.at(place))
    values = (min(p50, low.at(place)), p50, p80, max(p80, high.at(place)))
    return Knot(round(base + place, 3), *(round(value, 2) for value in values))


def _middle(pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """P50 at the mean score of each bin, made to grow: the median; or below it, where most need nothing, the chance of a change."""
    plain = [(score, lines) for score, lines in pairs if score <= 0.0]
    rest = pairs[len(plain) :]
    out: list[tuple[float, float]] = []
    for members in (plain, *(rest[len(rest) * i // BINS : len(rest) * (i + 1) // BINS] for i in range(BINS))):
        if members:
            chance = sum(1 for _, lines in members if lines) / len(members)
            here = chance if chance < 0.5 else max(0.5, quantile([lines for _, lines in members], 0.5))
            out.append((sum(score for score, _ in members) / len(members), max(here, out[-1][1] if out else 0.0)))
    return out


def _between(points: Sequence[tuple[float, float]], place: float) -> float:
    """The height at a place between the first and the last point."""
    for (left, low), (right, high) in zip(points, points[1:], strict=False):
        if place <= right:
            return low + (high - low) * max(0.0, place - left) / (right - left) if right > left else high
    return points[-1][1]


def _folds(programs: Sequence[Observation], seed: int) -> list[Hashable]:
    """The part, of FOLDS, that each program is in.

    The parts are stratified: each holds alike many programs with and without a feature, and with and without a real line, so that the
    models of different parts start at the same place and their predictions can be ranked together.
    """
    order = list(range(len(programs)))
    random.Random(seed).shuffle(order)
    order.sort(key=lambda i: (any(programs[i].counts.values()), programs[i].real > 0))
    part: list[Hashable] = [0] * len(programs)
    for place, i in enumerate(order):
        part[i] = place % FOLDS
    return part


def _held_out(
    programs: Sequence[Observation],
    start: LineModel,
    part: Sequence[Hashable],
    fit: Callable[[Sequence[Observation], LineModel], LineModel],
) -> list[tuple[list[int], LineModel]]:
    """For each part the programs in it, and a model fitted on all others."""
    out = []
    for one in dict.fromkeys(part):
        held = [i for i, of in enumerate(part) if of == one]
        out.append((held, fit([program for program, of in zip(programs, part, strict=True) if of != one], start)))
    return out


def _predicted(programs: Sequence[Observation], start: LineModel, part: Sequence[Hashable]) -> list[Quantiles]:
    out = [Quantiles()] * len(programs)
    for held, model in _held_out(programs, start, part, fitted):
        for i in held:
            out[i] = hand_lines.rounded(hand_lines.range_of(features.score(programs[i].counts, model), model))
    return out


def cross_validated(programs: Sequence[Observation], start: LineModel, seed: int = 1) -> list[Quantiles]:
    """What models that never saw a program predict for it, in the order of ``programs``; FOLDS parts, drawn by ``seed``."""
    return _predicted(programs, start, _folds(programs, seed))


def by_domain(programs: Sequence[Observation], start: LineModel) -> list[Quantiles]:
    """The same with all programs of a domain left out at a time: how the model does on work of a kind it has not seen."""
    return _predicted(programs, start, [program.domain for program in programs])
