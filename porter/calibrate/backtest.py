"""The back-test: predicted against real lines as numbers and as a page: coverage, width, ranks, bias, and error by feature."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from porter.calibrate import statistics
from porter.calibrate.fit import Observation
from porter.model import Quantiles


class Measured(msgspec.Struct, frozen=True):
    """How predictions did on programs whose real lines are known."""

    programs: int
    coverage: float
    width: float
    stretch: float
    rank_correlation: float
    rank_of_loc: float
    bias: float
    absolute_error: float
    features: tuple[FeatureError, ...]


class FeatureError(msgspec.Struct, frozen=True):
    """The same for the programs that have one feature."""

    name: str
    programs: int
    real: float  # mean lines
    predicted: float  # mean P50
    coverage: float


def measured(programs: Sequence[Observation], ranges: Sequence[Quantiles]) -> Measured:
    """The numbers for these predictions, in the order of ``programs``."""
    real = [program.real for program in programs]
    middle = [value.p50 for value in ranges]
    count = max(1, len(real))
    loc = statistics.spearman([program.loc for program in programs], real)
    error = sum(abs(a - b) for a, b in zip(middle, real, strict=True)) / count
    return Measured(
        len(real), statistics.coverage(ranges, real), statistics.width(ranges, real), statistics.stretch(ranges, real),
        statistics.spearman(middle, real), loc, (sum(middle) - sum(real)) / count, error, _by_feature(programs, ranges),
    )  # fmt: skip


def averaged(results: Sequence[Measured]) -> Measured:
    """The mean of several cross-validations, drawn differently; the features are those of the first."""
    names = ("coverage", "width", "stretch", "rank_correlation", "rank_of_loc", "bias", "absolute_error")
    means = {name: sum(getattr(result, name) for result in results) / len(results) for name in names}
    return msgspec.structs.replace(results[0], **means)


def _by_feature(programs: Sequence[Observation], ranges: Sequence[Quantiles]) -> tuple[FeatureError, ...]:
    names = sorted({name for program in programs for name, count in program.counts.items() if count})
    out = [_one("no feature", [i for i, program in enumerate(programs) if not any(program.counts.values())], programs, ranges)]
    out += [_one(name, [i for i, program in enumerate(programs) if program.counts.get(name)], programs, ranges) for name in names]
    return tuple(one for one in out if one.programs)


def _one(name: str, places: Sequence[int], programs: Sequence[Observation], ranges: Sequence[Quantiles]) -> FeatureError:
    count = max(1, len(places))
    real = [programs[i].real for i in places]
    chosen = [ranges[i] for i in places]
    return FeatureError(name, len(places), sum(real) / count, sum(one.p50 for one in chosen) / count, statistics.coverage(chosen, real))


def page(result: Measured, title: str, by_domain: Measured | None = None) -> str:
    """The back-test as Markdown; beside it the same with whole domains left out, where there are domains."""
    columns = [result] + ([by_domain] if by_domain else [])
    measures = [
        ("programs", "{0.programs}", ""),
        ("real lines inside P10 to P90", "{0.coverage:.1%}", "80 % or more"),
        ("mean width of P10 to P90 over that of the same ranges, cut from above to hold 80 %", "{0.width:.2f}", "1.5 at most"),
        ("the same, stretched around P50", "{0.stretch:.2f}", "1.5 at most"),
        ("rank correlation of P50 and real lines", "{0.rank_correlation:.2f}", "0.6 or more"),
        ("the same for lines of CUDA code alone", "{0.rank_of_loc:.2f}", ""),
        ("bias: mean of P50 less real lines", "{0.bias:+.1f}", ""),
        ("mean absolute error of P50, lines", "{0.absolute_error:.1f}", ""),
    ]
    head = ["measure", "value", *(["domain left out"] if by_domain else []), "goal"]
    return "\n".join(
        [
            f"### {title}",
            "",
            f"| {' | '.join(head)} |",
            f"| --- | {'---: | ' * len(columns)}--- |",
            *(f"| {name} | {' | '.join(form.format(one) for one in columns)} | {goal} |" for name, form, goal in measures),
            "",
            "| programs with | programs | real, mean | P50, mean | inside |",
            "| --- | ---: | ---: | ---: | ---: |",
            *(f"| {f.name} | {f.programs} | {f.real:.1f} | {f.predicted:.1f} | {f.coverage:.0%} |" for f in result.features),
            "",
        ]
    )


def rows(programs: Sequence[Observation], ranges: Sequence[Quantiles]) -> list[dict[str, object]]:
    """A row a program, the largest error first."""
    made: list[dict[str, object]] = [
        {
            "name": program.name,
            "real": program.real,
            "p10": value.p10,
            "p50": value.p50,
            "p90": value.p90,
            "inside": value.p10 <= program.real <= value.p90,
        }
        for program, value in zip(programs, ranges, strict=True)
    ]
    return sorted(made, key=lambda row: (-abs(float(str(row["p50"])) - float(str(row["real"]))), str(row["name"])))
