"""The fit of the hand-line model: weights by expectation maximisation, knots from the quantiles of programs of like score.

A program's real lines are taken as a Poisson sum of what its features cause (identity link). The multiplicative update keeps every
weight at or above zero, so that more findings never cost less. Programs count at most CAP lines, so that one freak does not rule.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from porter.calibrate.statistics import mid_quantile, quantile
from porter.estimate import features, hand_lines
from porter.estimate.features import Knot, LineModel
from porter.model import Quantiles

CAP = 100.0
ROUNDS = 150
SHRINK = 0.1  # pulls the weight of a feature that few programs have towards zero
BINS = 5  # of programs with a feature; those without are one more
LEVELS = (0.1, 0.5, 0.8, 0.9)
FOLDS = 10
SEEDS = (1, 2, 3, 4, 5)  # cross-validations, each with other folds: one alone moves the rank correlation by 0.02


class Observation(msgspec.Struct, frozen=True):
    """One program: its features, lines of CUDA code, the lines that people changed, and what the shipped model predicted."""

    name: str
    real: float
    loc: int
    counts: dict[str, float]
    predicted: Quantiles = Quantiles()


def fitted(programs: Sequence[Observation], start: LineModel) -> LineModel:
    """The model with weights and knots of these programs; the features are those of ``start``."""
    weighted = _weighted(programs, start)
    return msgspec.structs.replace(weighted, knot=_knots(programs, weighted))


def _weighted(programs: Sequence[Observation], start: LineModel) -> LineModel:
    names = [feature.name for feature in start.feature]
    rows = [[1.0, *(program.counts.get(name, 0.0) ** start.exponent for name in names)] for program in programs]
    most = [max(column) or 1.0 for column in zip(*rows, strict=True)]
    rows = [[value / top for value, top in zip(row, most, strict=True)] for row in rows]
    real = [min(program.real, CAP) for program in programs]
    sums = [sum(column) + (SHRINK if i else 0.0) for i, column in enumerate(zip(*rows, strict=True))]
    weights = [1.0] * len(most)
    for _ in range(ROUNDS):
        pull = [0.0] * len(weights)
        for row, lines in zip(rows, real, strict=True):
            ratio = lines / max(1e-9, sum(w * x for w, x in zip(weights, row, strict=True)))
            for k, x in enumerate(row):
                if x:
                    pull[k] += x * ratio
        weights = [w * p / s for w, p, s in zip(weights, pull, sums, strict=True)]
    scaled = [float(f"{w / top:.4g}") for w, top in zip(weights, most, strict=True)]
    found = zip(start.feature, scaled[1:], strict=True)
    return msgspec.structs.replace(
        start, base=scaled[0], feature=tuple(msgspec.structs.replace(feature, weight=weight) for feature, weight in found)
    )


def _knots(programs: Sequence[Observation], model: LineModel) -> tuple[Knot, ...]:
    """Quantiles of the real lines in bins of like score, made to grow with the score."""
    scored = sorted((features.score(program.counts, model), program.real) for program in programs)
    plain = [pair for pair in scored if pair[0] <= model.base * 1.001]
    rest = scored[len(plain) :]
    bins = [plain, *(rest[len(rest) * i // BINS : len(rest) * (i + 1) // BINS] for i in range(BINS))]
    knots: list[Knot] = []
    low = [0.0] * len(LEVELS)
    for members in bins:
        if members:
            real = [lines for _, lines in members]
            here = [quantile(real, LEVELS[0]), mid_quantile(real, LEVELS[1]), *(quantile(real, level) for level in LEVELS[2:])]
            low = [max(a, b) for a, b in zip(low, here, strict=True)]
            score = sum(one for one, _ in members) / len(members)
            knots.append(Knot(round(score, 3), *(round(value, 2) for value in low)))
    return tuple(knots)


def cross_validated(programs: Sequence[Observation], start: LineModel, seed: int = 1) -> list[Quantiles]:
    """What models that never saw a program predict for it, in the order of ``programs``; FOLDS parts, drawn by ``seed``."""
    order = list(range(len(programs)))
    random.Random(seed).shuffle(order)
    out = [Quantiles()] * len(programs)
    for fold in range(FOLDS):
        held = set(order[fold::FOLDS])
        model = fitted([program for i, program in enumerate(programs) if i not in held], start)
        for i in held:
            value = hand_lines.range_of(features.score(programs[i].counts, model), model)
            out[i] = hand_lines.rounded(value)
    return out
