"""Features of the hand-line model: what of a repository's CUDA sources makes people change lines, counted by feature."""

from __future__ import annotations

import fnmatch
import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from porter.errors import RuleError
from porter.estimate.parameters import table
from porter.model import Finding, HipifyCount

_LINE_BITS = 40
SOURCE_KINDS = frozenset({"cuda", "cxx", "ptx"})


class Seen(Protocol):
    """A file of the audit: what the examination gave, or the record of it in a report."""

    @property
    def path(self) -> str:
        """Relative to the root."""

    @property
    def kind(self) -> str:
        """The kind of file."""

    @property
    def hipify(self) -> HipifyCount | None:
        """What the translation did to it; None where it had nothing to do."""


class Feature(msgspec.Struct, frozen=True):
    """One feature: findings by rule, or by category and action; or CUDA names that the translation met, each name once.

    ``weight`` is lines for the first; n of them count n to the power of the model's exponent.
    """

    name: str
    what: str
    rules: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    left: bool = False  # names without a HIP counterpart count too, each place
    weight: float = 0.0

    def takes(self, finding: Finding) -> bool:
        """Whether a finding counts for this feature."""
        if finding.rule in self.rules:
            return True
        return finding.category in self.categories and (not self.actions or str(finding.action) in self.actions)


class Knot(msgspec.Struct, frozen=True):
    """Quantiles of the real lines of programs with a score of about ``score``."""

    score: float
    p10: float
    p50: float
    p80: float
    p90: float


class LineModel(msgspec.Struct, frozen=True):
    """rules/effort/hand_lines.toml: the features with their weights, and the quantiles by score."""

    base: float
    exponent: float
    feature: tuple[Feature, ...]
    cover: float = 0.82  # the share of programs that P10 to P90 is made to hold
    knot: tuple[Knot, ...] = ()
    backtest: dict[str, str | int | float] = {}
    other: dict[str, tuple[float, float, float]] = {}  # lines a place outside CUDA sources, by action


@functools.lru_cache(maxsize=1)
def model() -> LineModel:
    """The model that travels with porter; raises RuleError for a table that is wrong."""
    try:
        read = msgspec.convert(table("hand_lines"), LineModel)
    except msgspec.ValidationError as error:
        raise RuleError(f"rules/effort/hand_lines.toml: {error}", "reinstall porter") from error
    if any(feature.weight < 0 for feature in read.feature):
        raise RuleError("rules/effort/hand_lines.toml: a weight is negative", "more findings must never cost less")
    return read


def counts(findings: Iterable[Finding], own: Iterable[Seen], features: Iterable[Feature], read_names: bool = True) -> dict[str, float]:
    """How often each feature is there; a source line counts once a feature, a finding for the first feature that takes it.

    Without ``read_names`` the names that the translation met count nothing.
    """
    cuda = {one.path: one for one in own if one.kind in SOURCE_KINDS}
    features = list(features)
    numbers = {path: number << _LINE_BITS for number, path in enumerate(cuda)}
    places: dict[str, set[int]] = defaultdict(set)  # file and line as one number: there may be very many
    for finding in findings:
        if finding.path in numbers:
            feature = next((f for f in features if f.takes(finding)), None)
            if feature is not None:
                places[feature.name].add(numbers[finding.path] + finding.line)
    out = {feature.name: float(len(places[feature.name])) for feature in features}
    met: set[str] = set()
    for one in cuda.values():
        if one.hipify is not None and read_names:
            met |= set(one.hipify.names) | set(one.hipify.left)
    for feature in features:
        out[feature.name] += sum(1 for name in met if any(fnmatch.fnmatchcase(name, glob) for glob in feature.names))
        if feature.left and read_names:
            out[feature.name] += sum(one.hipify.unconverted for one in cuda.values() if one.hipify is not None)
    return out


def score(counted: Mapping[str, float], used: LineModel) -> float:
    """The score of a program: the base and the weighted features; grows with every count."""
    total: float = used.base + sum(feature.weight * counted.get(feature.name, 0.0) ** used.exponent for feature in used.feature)
    return total
