"""The strategy advisor: each way to port this repository, costed from the same findings, and one of them recommended with the reason."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from porter.advise.traits import Traits, blocking_libraries, redesign_hours, traits
from porter.errors import RuleError
from porter.estimate import parameters
from porter.estimate.words import duration
from porter.model import Hours, Quantiles, Report, Source, Strategy
from porter.rules import parse_duration

WAYS = ("run-as-is", "header", "hipify-build", "copy", "library", "backend")
OTHERS = ("scale", "zluda")
BOTH = (
    0.7,
    2.0,
    2.5,
    3.0,
)  # where one source serves both vendors, lines under #ifdef stand beside the old ones: P10 to P90, docs/effort.md
HEADER = (0.5, 1.0, 2.0, 3.0)  # lines of a header, of one line a name and a frame
MATRIX_CATEGORIES = frozenset({"inline-ptx", "unsupported-feature"})
MOST_NAMES = 400  # past that a header is a port of the whole API, and translation is less work
HEADER_LINES = 12
MOST_NAMED = 3
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


def strategies(report: Report) -> tuple[Strategy, ...]:
    """The recommended way first, then the others that fit by likely hours, those that do not, and the alternatives; none without work."""
    if not report.estimate.lines:
        return ()
    seen = traits(report)
    made = [_costed(name, report, seen) for name in WAYS]
    best, reason = _choice(report, seen)
    made = [msgspec.structs.replace(way, recommended=True, reason=reason) if way.id == best else way for way in made]
    ordered = sorted(made, key=lambda way: (not way.recommended, not way.fits, way.hours.likely, WAYS.index(way.id)))
    others = OTHERS if seen.has_cuda and not report.already_ported else ()
    return (*ordered, *(_named(name) for name in others))


def _named(name: str) -> Strategy:
    way = _ways()[name]
    return Strategy(
        id=name, name=way.name, what=way.what, fits=False, why=way.why, maintenance=way.maintenance, costed=False, sources=way.source
    )  # fmt: skip


def _costed(name: str, report: Report, seen: Traits) -> Strategy:
    way = _ways()[name]
    fits, why = _fits(name, report, seen)
    hours = _hours(name, way, report, seen) if fits else Hours()
    port = report.estimate.total
    yearly = Hours(port.best * way.yearly[0], port.likely * way.yearly[1], port.worst * way.yearly[2]) if fits else Hours()
    lines = _lines(name, report, seen) if fits else Quantiles()
    return Strategy(
        id=name, name=way.name, what=way.what, fits=fits, why=why, hours=hours, added_lines=lines, maintenance=way.maintenance,
        maintenance_hours=yearly, sources=way.source,
    )  # fmt: skip


def _fits(name: str, report: Report, seen: Traits) -> tuple[bool, str]:
    """Whether a way can be gone here, and why."""
    if name == "run-as-is":
        if seen.has_cuda:
            return False, f"the repository has CUDA sources of its own ({report.cuda_lines:,} lines)"
        return True, "the repository has no CUDA sources of its own"
    blocked = blocking_libraries(report)
    if name == "library" and not seen.has_cuda and blocked:
        return True, f"what it stands on has no drop-in for ROCm: {_titles(blocked)}"
    if not seen.has_cuda:
        return False, "there are no CUDA sources to port"
    if name == "library" and not seen.matrix_kernels:
        return False, "no kernel on tensor cores, asynchronous copies or clusters was found"
    words = {
        "header": f"{seen.names:,} CUDA names are in use, so many lines has the header",
        "hipify-build": "PyTorch's extension build translates by itself" if seen.is_extension else "the build gets a step that translates",
        "copy": f"{report.cuda_lines:,} lines of CUDA sources would be there twice",
        "library": f"{seen.matrix_kernels} of {seen.kernels} kernels are built on what AMD GPUs do in another way",
        "backend": f"{seen.kernels} kernels with {seen.kernel_lines:,} lines would be written again",
    }
    return True, words[name]


def _hours(name: str, way: _Way, report: Report, seen: Traits) -> Hours:
    """The hours of the whole way: those of the findings and the project, what the way adds, and what it makes needless."""
    share = parameters.project().share(report.cuda_lines)
    extra = way.extra.times(share)
    total = report.estimate.total
    if name == "header":
        extra = extra + Hours(0.2 / 60, 0.5 / 60, 2 / 60).times(seen.names)
    if name == "hipify-build" and seen.is_extension:
        extra = extra.times(0.25)
    if name == "library":
        replaced = _of_categories(report, MATRIX_CATEGORIES)
        kept = Hours(total.best - replaced.best, total.likely - replaced.likely, total.worst - replaced.worst)
        return kept + extra + way.kernel.times(seen.matrix_kernels)
    if name == "backend":
        project = Hours()
        for line in report.estimate.lines:
            if line.kind == "project" or line.category in ("build", "container", "environment", "deployment", "python-api"):
                project = project + line.hours
        return project + extra + parameters.project().rewrite.times(seen.kernel_lines)
    return total + extra


def _of_categories(report: Report, categories: frozenset[str]) -> Hours:
    total = Hours()
    for line in report.estimate.lines:
        if line.category in categories:
            total = total + line.hours
    return total


def _lines(name: str, report: Report, seen: Traits) -> Quantiles:
    """Lines that the way adds to the tree, by hand or by machine."""
    hand = report.estimate.hand_lines
    four = (hand.p10, hand.p50, hand.p80, hand.p90)
    if name == "copy":
        return _rounded(*(lines + report.cuda_lines for lines in four))
    if name in ("header", "hipify-build"):
        header = float(seen.names + HEADER_LINES) if name == "header" else 0.0
        return _rounded(*(lines * both + header * part for lines, both, part in zip(four, BOTH, HEADER, strict=True)))
    if name == "backend":
        return _rounded(0.5 * report.cuda_lines, report.cuda_lines, 1.5 * report.cuda_lines, 2.0 * report.cuda_lines)
    if name == "library":
        return _rounded(*(lines + new * seen.matrix_kernels for lines, new in zip(four, KERNEL_LINES, strict=True)))
    return _rounded(*four)


def _rounded(*values: float) -> Quantiles:
    return Quantiles(*(float(f"{round(value):.2g}") for value in values))


def _titles(blocked: list[tuple[str, str]]) -> str:
    named = "; ".join(f"{title} → {replacement}" for title, replacement in blocked[:MOST_NAMED])
    return named + (f"; and {len(blocked) - MOST_NAMED} more" if len(blocked) > MOST_NAMED else "")


def _choice(report: Report, seen: Traits) -> tuple[str, str]:
    """The way to recommend, and the reason in a sentence that the report's own numbers carry."""
    blocked = blocking_libraries(report)
    if not seen.has_cuda and blocked:
        return "library", f"No sources to translate, but these have no drop-in for ROCm and are replaced first: {_titles(blocked)}."
    if not seen.has_cuda:
        return "run-as-is", "Nothing has to be translated: what is left are dependencies, images, settings and the checks of the runbook."
    if report.already_ported:
        return "hipify-build", "The project builds for AMD already; what is left is best done in the way it has, inside its guards."
    total, redesign = report.estimate.total.likely, redesign_hours(report)
    if seen.matrix_kernels and redesign > 0.4 * total:
        return "library", (
            f"{duration(redesign)} of {duration(total)} are findings that ask for another design, in {seen.matrix_kernels} kernels: "
            "translation does not carry those over, and every measured port replaced them (flash-attention, xformers)."
        )
    if seen.is_extension:
        return "hipify-build", (
            "PyTorch translates the sources of a CUDAExtension when it builds on ROCm, so one source stays and only guards are added; "
            "causal-conv1d, mamba and pytorch_scatter went this way."
        )
    if seen.names > MOST_NAMES:
        return "hipify-build", (
            f"{seen.names:,} different CUDA names are too many for a header that people keep by hand; "
            "the build translates instead, as in faiss."
        )
    return "header", (
        f"One header with {seen.names:,} names keeps a single source for both vendors (porter shim writes it). "
        "llama.cpp, CTranslate2 and QuEST went this way; bitsandbytes came back to it after eight months with copies."
    )
