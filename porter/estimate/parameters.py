"""The numbers of the effort model, read from rules/effort/*.toml; a broken table is a RuleError before anything is estimated."""

from __future__ import annotations

import functools
import tomllib
from typing import Any

import msgspec

from porter.errors import RuleError
from porter.model import Hours
from porter.rules import parse_duration, rules_folder


class Size(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a whole project is, in lines of own code, and how a smaller one shrinks."""

    lines: float
    exponent: float
    least: float
    least_of_work: float  # of a project without CUDA sources that needs more than another wheel


class Sharing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The part of its first fix that a group pays when another one has paid for the pattern; 0 to 1."""

    same_rule: float
    same_pattern: float


class ProjectLine(msgspec.Struct, frozen=True):
    """A line that no finding causes: hours of a whole project, a file, a thing, and when it applies."""

    label: str
    phase: str
    applies: str
    hours: Hours = Hours()
    file: Hours = Hours()
    each: Hours = Hours()
    learning: float = 1.0
    most: int = 0
    share: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of the hours of all findings
    fixed: bool = False  # a small project pays it whole
    pattern: str = ""  # the decision that it shares with findings: one of the names of [[pattern]]


class Library(msgspec.Struct, frozen=True):
    """Limits of the first fix of a library (see rules/effort/project.toml)."""

    known: Hours  # getting to know what takes its place; the code that calls it, written again, comes on top
    named: Hours  # nothing of the own code calls it: requirements, build files, images


class PhaseOf(msgspec.Struct, frozen=True):
    """A phase and the categories whose findings are fixed in it."""

    id: str
    name: str
    what: str
    categories: tuple[str, ...]


class Project(msgspec.Struct, frozen=True):
    """rules/effort/project.toml."""

    size: Size
    scaled: frozenset[str]
    whole: frozenset[str]
    sharing: Sharing
    rewrite: Hours
    replaced: Library
    redesigned: Library
    work: float  # likely hours of findings that make a project without CUDA sources a whole one
    lines: dict[str, ProjectLine]
    phases: tuple[PhaseOf, ...]
    pattern_of: dict[str, str]  # rule id -> name of its pattern
    pattern_of_category: dict[str, str]  # the same for all rules of a category that are in no pattern of their own

    def family(self, rule: str, category: str) -> str:
        """The decision that settles findings of a rule: its pattern, its category's where it is no work of its own, or the rule itself."""
        shared = "" if rule in self.whole else self.pattern_of_category.get(category, "")
        return self.pattern_of.get(rule) or shared or rule

    def shrinks(self, rule: str, category: str) -> bool:
        """Whether the first fix of a rule is smaller in a small CUDA project: setting up how it is built, run and watched."""
        return category in self.scaled and rule not in self.whole

    def share(self, lines: int) -> float:
        """The part of a whole project's hours that one of so many lines of code pays, 0 to 1."""
        part = (lines / self.size.lines) ** self.size.exponent if lines > 0 else 0.0
        return min(1.0, max(self.size.least, part))

    def share_of_work(self, fixing: float, wheels_only: bool = False) -> float:
        """The same for a project without CUDA sources, by the likely hours of its findings: it is as large as what has to be changed.

        Where other wheels are all that it needs, no more is set up than those.
        """
        return min(1.0, max(0.0 if wheels_only else self.size.least_of_work, fixing / self.work))

    def phase_of(self, category: str) -> str:
        """The phase in which findings of a category are fixed."""
        return next((phase.id for phase in self.phases if category in phase.categories), "build")


def table(name: str) -> dict[str, Any]:
    """The raw table of rules/effort/<name>.toml; raises RuleError when it is missing or no TOML."""
    path = rules_folder() / "effort" / f"{name}.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RuleError(f"{path}: {error}", "reinstall porter") from error


@functools.lru_cache(maxsize=1)
def project() -> Project:
    """The project's lines, phases and patterns."""
    raw = table("project")
    try:
        work = parse_duration(raw["size"].pop("work"))
        return Project(
            size=msgspec.convert(raw["size"], Size), work=work, scaled=frozenset(raw["scaled"]["categories"]),
            whole=frozenset(raw["scaled"]["except"]),
            sharing=msgspec.convert(raw["sharing"], Sharing), rewrite=_hours(raw["rewrite"]["hours"]),
            replaced=_library(raw["library"]["replaced"]), redesigned=_library(raw["library"]["redesigned"]),
            lines={key: _line(value) for key, value in raw["line"].items()},
            phases=msgspec.convert(raw["phase"], tuple[PhaseOf, ...]),
            pattern_of={rule: one["name"] for one in raw["pattern"] for rule in one.get("rules", ())},
            pattern_of_category={name: one["name"] for one in raw["pattern"] for name in one.get("categories", ())},
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
        raise RuleError(f"rules/effort/project.toml: {error}", "reinstall porter") from error


def _line(raw: dict[str, Any]) -> ProjectLine:
    hours = {key: _hours(raw[key]) for key in ("hours", "file", "each") if key in raw}
    return msgspec.convert({key: value for key, value in raw.items() if key not in hours} | hours, ProjectLine)


def _library(raw: dict[str, Any]) -> Library:
    return Library(_hours(raw["known"]), _hours(raw["named"]))


def _hours(texts: list[str]) -> Hours:
    best, likely, worst = (parse_duration(text) for text in texts)
    if not best <= likely <= worst:
        raise ValueError(f"{texts} does not grow from best to worst")
    return Hours(best, likely, worst)
