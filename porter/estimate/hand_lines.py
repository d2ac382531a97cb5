"""Hand lines: how many source lines people will have to change, as a range fitted on real ports; build files are counted apart.

A changed line counts as git counts it, once removed and once added. The model and its back-test are in docs/effort.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from porter.estimate import features
from porter.estimate.features import Knot, LineModel, Seen
from porter.model import Backtest, Finding, Quantiles

CODE_OUTSIDE_CUDA = frozenset({"python", "cython", "notebook"})
WIDER = 0.25  # past the corpus the range widens with the distance: ports of large projects scatter more (docs/effort.md)
BUILD_SCRIPTS = ("setup.py",)
_NONE = (0.0, 0.0, 0.0)
_Places = dict[tuple[str, int], tuple[float, float, float]]  # by path and line, the most that an action there takes


def hand_lines(findings: Sequence[Finding], own: Sequence[Seen], ported: bool = False) -> tuple[Quantiles, Quantiles]:
    """P10 to P90 in whole lines: of the sources, and of everything else (build, packages, images, deployment).

    In a project that is ``ported`` only findings count: its names are translated, and whatever that took has been done.
    """
    used = features.model()
    kinds = {one.path: one.kind for one in own}
    has_cuda = any(one.kind == "cuda" for one in own)
    counted = features.counts(findings, own, used.feature, not ported)
    work = has_cuda and (not ported or any(counted.values()))
    source = range_of(features.score(counted, used), used) if work else Quantiles()
    python: _Places = {}
    build: _Places = {}
    for finding in findings:
        kind = kinds.get(finding.path, "")
        if kind in CODE_OUTSIDE_CUDA and finding.path.rsplit("/", 1)[-1] not in BUILD_SCRIPTS:
            _see(finding, python, used)
        elif kind not in features.SOURCE_KINDS:
            _see(finding, build, used)
    return rounded(_plus(source, _sum(python))), rounded(_sum(build))


def range_of(score: float, used: LineModel) -> Quantiles:
    """The quantiles at a score: between two knots interpolated, beyond the last in proportion, and wider."""
    knots = used.knot
    if score <= knots[0].score:
        return _of(knots[0], 1.0)
    for low, high in zip(knots, knots[1:], strict=False):
        if score <= high.score:
            part = (score - low.score) / (high.score - low.score)
            return _plus(_of(low, 1.0 - part), _of(high, part))
    beyond = score / knots[-1].score
    wider = beyond**WIDER
    value = _of(knots[-1], beyond)
    return Quantiles(value.p10 / wider, value.p50, value.p80 * wider, value.p90 * wider)


def backtest() -> Backtest:
    """How the model did in cross-validation, for the report."""
    known = features.model().backtest
    return Backtest(
        version=str(known["version"]), corpus=str(known["corpus"]), programs=int(known["programs"]), coverage=float(known["coverage"]),
        width=float(known["width"]), rank_correlation=float(known["rank_correlation"]), rank_of_loc=float(known["rank_of_loc"]),
        bias=float(known["bias"]), method=str(known["method"]),
    )  # fmt: skip


def _see(finding: Finding, worst: _Places, used: LineModel) -> None:
    """Note a finding outside CUDA sources: a judgement by action, since no corpus measures them; a line counts once."""
    here = used.other.get(str(finding.action), _NONE)
    key = (finding.path, finding.line)
    worst[key] = max(worst.get(key, _NONE), here, key=lambda three: three[1:])


def _sum(worst: _Places) -> Quantiles:
    low, mid, high = (math.fsum(three[i] for three in worst.values()) for i in range(3))  # the same in any order
    return Quantiles(low, mid, mid + 0.6 * (high - mid), high)


def _of(knot: Knot, factor: float) -> Quantiles:
    return Quantiles(knot.p10 * factor, knot.p50 * factor, knot.p80 * factor, knot.p90 * factor)


def _plus(a: Quantiles, b: Quantiles) -> Quantiles:
    return Quantiles(a.p10 + b.p10, a.p50 + b.p50, a.p80 + b.p80, a.p90 + b.p90)


def rounded(value: Quantiles) -> Quantiles:
    """Whole lines, three digits at most: nobody knows more. A P50 below 10 keeps a decimal: 0.3 is a change in one program of three."""
    low, _, high, most = (float(f"{round(number):.3g}") for number in (value.p10, value.p50, value.p80, value.p90))
    mid = round(value.p50, 1) if value.p50 < 10 else float(f"{round(value.p50):.3g}")
    mid = max(low, float(mid))
    return Quantiles(low, mid, max(mid, high), max(mid, most))
