"""Unsupported API: CUDA names that HIP lacks, has only later, or has on probation, each with what takes its place."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from porter.config import Config
from porter.detect import Matcher
from porter.hipify import api, engine
from porter.hipify.advice import advice
from porter.hipify.api import ApiName
from porter.hipify.engine import Left, Options
from porter.model import Confidence, Hit, Live, Related
from porter.parse import Parsed
from porter.parse.guards import SourceGuards
from porter.rules import RuleSet, load_file, rules_folder

if TYPE_CHECKING:
    from porter.link import Index

KINDS = ("cuda", "cxx")
RULE_OF_API = {
    "runtime": "unsupported-cuda-runtime-api", "driver": "unsupported-cuda-driver-api", "blas": "unsupported-cublas-api",
    "dnn": "unsupported-cudnn-api", "sparse": "unsupported-cusparse-api", "solver": "unsupported-cusolver-api",
    "tensor": "unsupported-cutensor-api", "device": "unsupported-device-function",
}  # fmt: skip
OTHER_LIBRARY = "unsupported-cuda-library-api"
CONSTANT = "unsupported-cuda-constant"
FUNCTIONS = ("function", "device-function", "library-device-function")
OTHER_AREAS = ("feature", "precision", "performance")  # their rules speak of single names too, and say more
FACT_KINDS = ("call", "type", "identifier")
MOST_RELATED = 8
NEAR_LINES = 20
_FAMILY = {"driver": "runtime"}
_WORDS = re.compile(r"[A-Z]?[a-z]{5,}|[A-Z]{6,}")
_EVERYDAY = frozenset(
    ("device", "memory", "attribute", "function", "stream", "create", "destroy", "library", "handle", "version", "default", "matrix")
)


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """Hits of the unsupported-api rules."""
    found, remarks = engine.left_in(parsed.file.data, Options(rocm=config.rocm), lambda line: parsed.live(line) is not Live.NO)
    for_amd = parsed.guards.amd_only if isinstance(parsed.guards, SourceGuards) else lambda line: False  # such code compiles there already
    left = [i for i in found if not _covered(i.name) and not _is_own(i.name, index) and not for_amd(i.span.line)]
    yield from _missing(left, parsed.file.path)
    for item in remarks:
        yield Hit("deprecated-hip-api", item.span, f"{item.name} becomes {_hip(item.name)}, {item.reason}", item.name)


def _missing(left: list[Left], path: str) -> Iterator[Hit]:
    """A hit for every function; names that only come with one of them are told with it and not again."""
    calls = [(item, entry) for item, entry in _known(left) if entry.kind in FUNCTIONS]
    others = [(item, entry) for item, entry in _known(left) if entry.kind not in FUNCTIONS and entry.kind != "header"]
    company: dict[str, list[Related]] = {}
    alone: list[tuple[Left, ApiName]] = []
    for item, entry in others:
        leader = next((call for call, whose in calls if _go_together(call, whose, item, entry)), None)
        if leader is None:
            alone.append((item, entry))
        else:
            company.setdefault(leader.name, []).append(Related(path, item.span.line, item.name))
    for item, entry in calls:
        related = tuple(company.pop(item.name, [])[:MOST_RELATED])
        yield Hit(_rule(item, entry), item.span, _message(item, entry), item.name, confidence=_confidence(item, entry), related=related)
    for item, entry in alone:
        rule = CONSTANT if item.reason not in ("experimental", engine.LEGACY_BLAS) else _rule(item, entry)
        yield Hit(rule, item.span, _message(item, entry), item.name, confidence=_confidence(item, entry))


def _known(left: list[Left]) -> Iterator[tuple[Left, ApiName]]:
    for item in left:
        entry = api.lookup(item.name)
        if entry is not None and entry.api != "caffe2":
            yield item, entry


def _rule(item: Left, entry: ApiName) -> str:
    """The rule that speaks of a name: by the reason it stays, else by its library."""
    if item.reason == "experimental":
        return "experimental-hip-api"
    if item.reason.startswith("legacy cuBLAS"):
        return "legacy-cublas-api"
    if entry.cuda_removed and entry.kind in FUNCTIONS:
        return "removed-cuda-api"
    return RULE_OF_API.get(entry.api, OTHER_LIBRARY)


def _message(item: Left, entry: ApiName) -> str:
    """What the name is, why it stays, and what to use; the name comes first."""
    if item.reason == "experimental":
        return f"{item.name} becomes {entry.hip}, which HIPIFY lists as experimental"
    if item.reason.startswith("added in HIP"):
        return f"{item.name}{'' if entry.hip == item.name else f' becomes {entry.hip}'}, {item.reason}"
    if item.reason.startswith("legacy cuBLAS"):
        return f"{item.name} is the {item.reason}: include cublas_v2.h and pass one"
    gone = f", and CUDA {entry.cuda_removed} removed it" if entry.cuda_removed else ""
    found = advice(item.name)
    instead = f"; {'' if found.action == 'redesign' else 'instead: '}{found.hint}" if found.hint else ""
    return f"{item.name} ({entry.library}) has no HIP name{gone}{instead}"


def _confidence(item: Left, entry: ApiName) -> Confidence | None:
    """Lower where only HIPIFY's table of August 2025 says so and no header of HIP 7.1 was at hand to check."""
    return Confidence.MEDIUM if item.reason == "unsupported" and "hip7.1-absent" not in entry.notes else None


def _hip(name: str) -> str:
    entry = api.lookup(name)
    return entry.hip if entry is not None else ""


@functools.lru_cache(maxsize=4096)
def _key_words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORDS.findall(name)) - _EVERYDAY


def _go_together(call: Left, whose: ApiName, item: Left, entry: ApiName) -> bool:
    """Whether a type or constant only accompanies a function: same library, and near it or of a word that few names have."""
    if _FAMILY.get(whose.api, whose.api) != _FAMILY.get(entry.api, entry.api):
        return False
    near = abs(call.span.line - item.span.line) <= NEAR_LINES
    return near or bool(_key_words(call.name) & _key_words(item.name))


def _is_own(name: str, index: Index) -> bool:
    """Whether the project itself defines a function or macro under a name that happens to be CUDA's, in code for AMD."""
    found = (getattr(index, attribute, {}).get(name, ()) for attribute in ("functions", "macros"))
    return any(one.live is not Live.NO for places in found for _, one in places)


@functools.lru_cache(maxsize=1)
def _other_rules() -> Matcher:
    """The data rules that speak of single CUDA names."""
    folder = rules_folder()
    found = (load_file(path, area) for area in OTHER_AREAS for path in sorted((folder / area).glob("*.toml")))
    return Matcher(RuleSet({rule.id: rule for rule in found if not rule.detector}, ""))


@functools.lru_cache(maxsize=4096)
def _covered(name: str) -> bool:
    """Whether another rule speaks of this very name."""
    return any(_other_rules().rules_of(kind, name) for kind in FACT_KINDS)
