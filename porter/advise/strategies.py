"""The strategy advisor: each way to port this repository, costed from the same findings, and one of them recommended with the reason."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from porter.advise.traits import DAYS, SOURCES, Traits, blocking_libraries, library_hours, redesign_hours, traits
from porter.errors import RuleError
from porter.estimate import parameters
from porter.estimate.simulate import two_digits
from porter.estimate.words import duration, percent
from porter.model import EffortLine, Hours, Quantiles, Report, Rule, Source, Strategy
from porter.rules import parse_duration

WAYS = ("run-as-is", "header", "hipify-build", "copy", "library", "backend")
OTHERS = ("scale", "zluda")
IN_ITS_PLACE = "in-its-place"
NO_DROP_IN = "what it stands on has no drop-in for ROCm: "
# Where one source serves both vendors, lines under #ifdef stand beside the old ones: P10 to P90, docs/effort.md.
BOTH = (0.7, 2.0, 2.5, 3.0)
HEADER = (0.5, 1.0, 2.0, 3.0)  # lines of a header, of one line a name and a frame
MATRIX_CATEGORIES = frozenset({"inline-ptx", "unsupported-feature"})
AROUND = 0.25  # of the hours that a line of a kernel takes to write again; a judgement
PROJECT_CATEGORIES = frozenset({"build", "container", "environment", "deployment", "python-api"})
MOST_NAMES = 400  # past that a header is a port of the whole API, and translation is less work
HEADER_LINES = 12
MOST_NAMED = 3
_Blocked = list[tuple[str, str]]  # libraries without a drop-in, each with what takes its place
KERNEL_LINES = (50, 150, 300, 500)  # of a kernel written again in Triton or on a library: P10 to P90, a judgement


class _Way(msgspec.Struct, frozen=True):
    """One table of rules/effort/strategies.toml."""

    name: str
    what: str
    maintenance: str
    why: str = ""
    yearly: tuple[float, float, float] = (0.0, 0.0, 0.0)
    extra: Hours = Hours()
    kernel: Hours = Hours()
    source: tuple[Source, ...] = ()


@functools.lru_cache(maxsize=1)
def _ways() -> dict[str, _Way]:
    raw = parameters.table("strategies")
    try:
        return {name: msgspec.convert(_timed(table), _Way) for name, table in raw.items()}
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise RuleError(f"rules/effort/strategies.toml: {error}", "reinstall porter") from error


def _timed(table: dict[str, Any]) -> dict[str, Any]:
    hours = {key: Hours(*(parse_duration(text) for text in table[key])) for key in ("extra", "kernel") if key in table}
    return table | hours


def strategies(report: Report, itself: tuple[Rule, ...] = ()) -> tuple[Strategy, ...]:
    """The recommended way first, then the others that fit by likely hours, those that do not, and the alternatives; none without work.

    Behind the recommended one stands what AMD's users take in place of this very project, where the rules of ``itself`` know that.
    """
    if not report.estimate.lines:
        return ()
    seen = traits(report)
    blocked = blocking_libraries(report)
    made = [_costed(name, report, seen, blocked) for name in WAYS]
    best, reason = _choice(report, seen, blocked)
    made = [msgspec.structs.replace(way, recommended=True, reason=reason) if way.id == best else way for way in made]
    ordered = sorted(made, key=lambda way: (not way.recommended, not way.fits, way.hours.likely, WAYS.index(way.id)))
    others = OTHERS if seen.has_cuda and not report.already_ported else ()
    return (*ordered[:1], *map(_in_its_place, itself), *ordered[1:], *(_named(name) for name in others))


def _in_its_place(rule: Rule) -> Strategy:
    """What a rule for those who use this project says of it: perhaps somebody has ported it already."""
    taken = rule.replacement
    words = f"{taken.name}: {taken.how}" if taken is not None else ""
    return Strategy(
        id=IN_ITS_PLACE, name="What takes this project's place on AMD GPUs", what="The project itself is one that porter has a rule for.",
        fits=False, why=f"{words}. Not costed: compare with it before anything is ported.", costed=False, sources=rule.sources,
    )  # fmt: skip


def _named(name: str) -> Strategy:
    way = _ways()[name]
    return Strategy(
        id=name, name=way.name, what=way.what, fits=False, why=way.why, maintenance=way.maintenance, costed=False, sources=way.source
    )  # fmt: skip


def _costed(name: str, report: Report, seen: Traits, blocked: _Blocked) -> Strategy:
    """A way with its hours; one that does not fit has none, and says no more than why."""
    fits, why = _fits(name, report, seen, blocked)
    way = _ways()[_told(name, fits, report, seen)]
    if not fits:
        return Strategy(id=name, name=way.name, what=way.what, fits=False, why=why, sources=way.source)
    hours, words = _hours(name, way, report, seen)
    yearly = Hours(*(one * share for one, share in zip((hours.best, hours.likely, hours.worst), way.yearly, strict=True)))
    return Strategy(
        id=name, name=way.name, what=way.what, fits=True, why=f"{why}; {words}", hours=hours, added_lines=_lines(name, report, seen),
        maintenance=way.maintenance, maintenance_hours=yearly, sources=way.source,
    )  # fmt: skip


def _told(name: str, fits: bool, report: Report, seen: Traits) -> str:
    """The table whose words fit: a port that is there is carried on, and a program without kernels replaces what it stands on."""
    if name == "hipify-build" and fits and report.already_ported:
        return "ported"
    return "replaced" if name == "library" and (not seen.has_cuda or seen.libraries_first) else name


def _fits(name: str, report: Report, seen: Traits, blocked: _Blocked) -> tuple[bool, str]:
    """Whether a way can be gone here, and why."""
    if name == "run-as-is":
        if seen.has_cuda:
            return False, f"the repository has CUDA sources of its own ({report.cuda_lines:,} lines)"
        return not blocked, NO_DROP_IN + _titles(blocked) if blocked else "the repository has no CUDA sources of its own"
    if name == "library" and blocked and (not seen.has_cuda or (seen.libraries_first and not report.already_ported)):
        return True, NO_DROP_IN + _titles(blocked)
    if name == "library" and not seen.has_cuda:
        return False, f"what it stands on has a version for ROCm, or takes less than {duration(DAYS)} to replace"
    if not seen.has_cuda:
        return False, "there are no CUDA sources to port"
    if report.already_ported and name != "hipify-build":
        return False, "the project builds for AMD already, in the way it has"
    if name == "library" and not seen.matrix_kernels:
        return False, "no kernel on tensor cores, asynchronous copies or clusters was found"
    if report.already_ported:
        return True, "the project builds for AMD already"
    words = {
        "header": f"a line a CUDA name in use: {seen.names:,}",
        "hipify-build": "PyTorch's extension build translates by itself" if seen.is_extension else "the build gets a step that translates",
        "copy": f"{report.cuda_lines:,} lines of CUDA sources would be there twice",
        "library": f"kernels built on what AMD GPUs do in another way: {seen.matrix_kernels} of {seen.kernels}",
        "backend": f"kernels written again: {seen.kernels}, of {seen.kernel_lines:,} lines, and what sets up and launches them",
    }
    return True, words[name]


def _hours(name: str, way: _Way, report: Report, seen: Traits) -> tuple[Hours, str]:
    """P10, P50 and P90 of the whole way, as the report's own hours, and how they follow from those.

    What a way adds is on top of the report's hours; what it makes needless leaves them in the proportion of the likely hours.
    """
    extra = way.extra.times(parameters.project().share(report.cuda_lines))
    kept, told = 1.0, "the report's hours"
    if name == "header":
        extra = extra + Hours(0.2 / 60, 0.5 / 60, 2 / 60).times(seen.names)
    if name == "hipify-build" and seen.is_extension:
        extra = extra.times(0.25)
    if name == "library" and seen.has_cuda and not seen.libraries_first:
        kept = 1.0 - _likely(report, lambda line: line.category in MATRIX_CATEGORIES)
        extra = extra + way.kernel.times(seen.matrix_kernels)
        told = f"{percent(kept)} of the report's hours"
    if report.already_ported or not seen.has_cuda:
        extra = Hours()  # the findings carry all there is to do
    if name == "backend":
        if seen.libraries_first:  # they stay to be replaced, whatever becomes of the kernels
            kept = 1.0 - _likely(report, lambda line: line.kind != "project" and line.category in SOURCES)
        else:
            kept = _likely(report, lambda line: line.kind == "project" or line.category in PROJECT_CATEGORIES)
        around = max(0, report.cuda_lines - seen.kernel_lines)  # what sets up and launches the kernels, in the new tree too
        extra = extra + parameters.project().rewrite.times(seen.kernel_lines + AROUND * around)
        told = f"{percent(kept)} of the report's hours"
    told += f" and {duration(extra.likely)} for the way itself" if extra.likely else ""
    hours = report.estimate.hours
    both = zip((hours.p10, hours.p50, hours.p90), (extra.best, extra.likely, extra.worst), strict=True)
    return Hours(*(two_digits(kept * whole + more) for whole, more in both)), told


def _likely(report: Report, counts: Callable[[EffortLine], bool]) -> float:
    """The share of the likely hours in lines that count."""
    return sum(line.hours.likely for line in report.estimate.lines if counts(line)) / (report.estimate.total.likely or 1.0)


def _lines(name: str, report: Report, seen: Traits) -> Quantiles:
    """Lines that the way adds to the tree, by hand or by machine, those of build and deployment files among them."""
    hand, build = _four(report.estimate.hand_lines), _four(report.estimate.build_lines)
    if name == "copy":
        return _sum((lines + report.cuda_lines for lines in hand), build)
    if name in ("header", "hipify-build"):  # the factors were set for source lines alone
        header = float(seen.names + HEADER_LINES) if name == "header" else 0.0
        return _sum((lines * both + header * part for lines, both, part in zip(hand, BOTH, HEADER, strict=True)), build)
    if name == "backend":
        return _sum((0.5 * report.cuda_lines, report.cuda_lines, 1.5 * report.cuda_lines, 2.0 * report.cuda_lines))
    if name == "library":
        return _sum((lines + new * seen.matrix_kernels for lines, new in zip(hand, KERNEL_LINES, strict=True)), build)
    return _sum(hand, build)


def _four(value: Quantiles) -> tuple[float, float, float, float]:
    return value.p10, value.p50, value.p80, value.p90


def _sum(values: Iterable[float], more: Iterable[float] = (0.0, 0.0, 0.0, 0.0)) -> Quantiles:
    return Quantiles(*(float(f"{round(one + another):.2g}") for one, another in zip(values, more, strict=True)))


def _titles(blocked: list[tuple[str, str]]) -> str:
    named = "; ".join(f"{title} → {replacement}" for title, replacement in blocked[:MOST_NAMED])
    return named + (f"; and {len(blocked) - MOST_NAMED} more" if len(blocked) > MOST_NAMED else "")


def _choice(report: Report, seen: Traits, blocked: _Blocked) -> tuple[str, str]:
    """The way to recommend, and the reason in a sentence that the report's own numbers carry."""
    if not seen.has_cuda and blocked:
        return "library", f"No sources to translate, but these have no drop-in for ROCm and are replaced first: {_titles(blocked)}."
    if not seen.has_cuda:
        return "run-as-is", "Nothing has to be translated: what is left are dependencies, images, settings and the checks of the runbook."
    if report.already_ported:
        return "hipify-build", "The project builds for AMD already; what is left is done in the way it has."
    if seen.libraries_first:
        part, whole = duration(library_hours(report)), duration(report.estimate.total.likely)
        return "library", (
            f"{part} of {whole} are what the program stands on and has no drop-in for ROCm, which is replaced first: {_titles(blocked)}. "
            f"The {report.cuda_lines:,} lines of CUDA sources are translated beside it."
        )
    total, redesign = report.estimate.total.likely, redesign_hours(report)
    most = seen.matrix_kernels * 2 >= seen.kernels  # half of the kernels are not translated, whatever the rest costs
    if seen.matrix_kernels and redesign > (0.2 if most else 0.4) * total:
        return "library", (
            f"{duration(redesign)} of {duration(total)} are findings that ask for another design, and {seen.matrix_kernels} of "
            f"{seen.kernels} kernels"
            " stand on tensor cores, asynchronous copies or clusters: translation does not carry those over; flash-attention and "
            "xformers replaced theirs."
        )
    if seen.is_extension:
        return "hipify-build", (
            "PyTorch translates the sources of a CUDAExtension when it builds on ROCm, so one source stays and only guards are added; "
            f"causal-conv1d, mamba and pytorch_scatter went this way.{_left(seen)}"
        )
    if seen.names > MOST_NAMES:
        return "hipify-build", (
            f"{seen.names:,} different CUDA names are too many for a header that people keep by hand; "
            f"the build translates instead, as in faiss.{_left(seen)}"
        )
    return "header", (
        f"One header with {seen.names:,} names keeps a single source for both vendors (porter shim writes it). "
        f"llama.cpp, CTranslate2 and QuEST went this way; bitsandbytes came back to it after eight months with copies.{_left(seen)}"
    )


def _left(seen: Traits) -> str:
    """What no translation carries over, for the reason of a way that translates."""
    if not seen.matrix_kernels:
        return ""
    return (
        f" {seen.matrix_kernels} of {seen.kernels} kernels stand on tensor cores, asynchronous copies or clusters and are not carried "
        "over by it: they are written again, or left out of the AMD build at first."
    )
