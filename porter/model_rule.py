"""The rule as a value: prose, severity, effort, sources and examples of one thing that porter finds."""

from __future__ import annotations

import msgspec

from porter.words import Action, Confidence, Severity


class Hours(msgspec.Struct, frozen=True):
    """Person-hours: best, likely, worst."""

    best: float = 0.0
    likely: float = 0.0
    worst: float = 0.0

    def __add__(self, other: Hours) -> Hours:
        return Hours(self.best + other.best, self.likely + other.likely, self.worst + other.worst)

    def times(self, factor: float) -> Hours:
        """Each of the three multiplied."""
        return Hours(self.best * factor, self.likely * factor, self.worst * factor)


class Quantiles(msgspec.Struct, frozen=True):
    """Ten, fifty, eighty and ninety per cent points of the simulated total."""

    p10: float = 0.0
    p50: float = 0.0
    p80: float = 0.0
    p90: float = 0.0


class Effort(msgspec.Struct, frozen=True):
    """Cost of a rule's group: once a project, a file, a hit; hits after the first in a file cost m**(learning exponent).

    ``learning`` is the learning rate of a doubling (0.8: the second costs 80 % of the first).
    """

    once: Hours = Hours()
    file: Hours = Hours()
    each: Hours = Hours()
    learning: float = 0.85


class Replacement(msgspec.Struct, frozen=True):
    """What takes the place of the thing found on ROCm."""

    name: str
    how: str = ""
    status: str = ""
    rocm: str = ""


class Source(msgspec.Struct, frozen=True):
    """Evidence of a rule: where, what it says, and the day it was read (ISO date)."""

    url: str
    says: str
    checked: str


class Example(msgspec.Struct, frozen=True):
    """Code that must be flagged, and code that must not; shown in the documentation and run as a test.

    ``port`` is false where ``after`` is only a near miss and nobody should write it in place of ``before``.
    """

    file: str
    before: str
    after: str
    port: bool = True


class RuleFix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What can take the place of the words a hit stands on; ``safe`` where it changes nothing for an NVIDIA build and cannot be wrong.

    A line that holds one of the texts in ``unless`` gets no fix.
    """

    replace: dict[str, str] = {}
    unless: tuple[str, ...] = ()
    safe: bool = False


class Rule(msgspec.Struct, frozen=True):
    """One TOML file under rules/: all the prose, severity, effort and sources of a thing that porter finds.

    ``by_target`` says what happens on the targets that a glob names; the first glob that fits counts.
    """

    id: str
    title: str
    category: str
    severity: Severity
    confidence: Confidence
    action: Action
    why: str
    effort: Effort = Effort()
    targets: tuple[str, ...] = ()
    replacement: Replacement | None = None
    match: dict[str, tuple[str, ...]] = {}
    detector: str = ""
    sources: tuple[Source, ...] = ()
    examples: tuple[Example, ...] = ()
    formerly: tuple[str, ...] = ()
    origins: tuple[str, ...] = ("own",)
    area: str = ""
    fix: RuleFix | None = None
    by_target: dict[str, str] = {}

    @property
    def is_insight(self) -> bool:
        """True where nothing has to be done: the hit is reported as good news, never as work."""
        return self.action is Action.NONE

    @property
    def shown_example(self) -> Example | None:
        """The first example that people can read: an archive or a binary is none."""
        return next((example for example in self.examples if "\0" not in example.before), None)

    @property
    def shows_port(self) -> bool:
        """True where the shown example's ``after`` is the port, to be shown as such; what works as it is has none."""
        return self.shown_example is not None and self.shown_example.port and not self.is_insight
