"""Changed signatures: calls in the form that CUDA 12 and 13 gave a function whose HIP twin still has the older one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from porter.config import Config
from porter.hipify import api, arguments, lexer
from porter.model import Fact, Hit, Live
from porter.parse import Parsed

if TYPE_CHECKING:
    from porter.link import Index

KINDS = ("cuda", "cxx")
RULE = "changed-cuda-signature"
# Arguments of the newer form, counted in cuda_runtime_api.h of CUDA 13.0 (cudaGraphExecUpdate: 12.0), against those of the twin in
# hip_runtime_api.h of HIP 7.1; with the change in words.
COUNTS = {
    "cudaGraphAddDependencies": ((5,), "takes the data of edges"),
    "cudaGraphRemoveDependencies": ((5,), "takes the data of edges"),
    "cudaGraphGetEdges": ((5,), "gives the data of edges"),
    "cudaGraphNodeGetDependencies": ((4,), "gives the data of edges"),
    "cudaGraphNodeGetDependentNodes": ((4,), "gives the data of edges"),
    "cudaGraphAddNode": ((6,), "takes the data of edges"),
    "cudaGraphExecUpdate": ((3,), "gives its result in one struct"),
    "cudaStreamGetCaptureInfo": ((4, 5, 6, 7), "gives the graph and its edges"),
    "cudaStreamUpdateCaptureDependencies": ((5,), "takes the data of edges"),
    "cudaMemPrefetchAsync": ((5,), "takes a cudaMemLocation and flags"),
}
# The argument that was the number of a device and is a location: the number of arguments alone does not tell.
LOCATIONS = {"cudaMemPrefetchAsync": 2, "cudaMemAdvise": 3}
# ROCm releases from which HIP has the newer form under the plain name.
CAUGHT_UP = {"cudaMemAdvise": "10.2"}
_DECLARED = re.compile(rb"\bcudaMemLocation\s+(?:const\s+)?[&*]?\s*([A-Za-z_]\w*)")
_LOCATION = re.compile(rb"\s*(?:(?:struct\s+)?cudaMemLocation\b|\{|([A-Za-z_]\w*)\s*\Z)")


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """One hit a call in the newer form, but for functions of the project's own."""
    newer = {name for name, since in CAUGHT_UP.items() if api.version(config.rocm) >= api.version(since)}
    changed = (COUNTS.keys() | LOCATIONS.keys()) - newer
    calls = [fact for fact in parsed.facts if fact.kind == "call" and fact.live is not Live.NO and _name(fact) in changed]
    calls = [fact for fact in calls if not any(getattr(index, held, {}).get(_name(fact)) for held in ("functions", "macros"))]
    return _hits(parsed.file.data, calls) if calls else ()


def _name(fact: Fact) -> str:
    return fact.name.removeprefix("::")


def _hits(data: bytes, calls: list[Fact]) -> Iterator[Hit]:
    masked = lexer.mask(data)
    brackets = lexer.Brackets(masked)
    starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]
    locations = {match[1] for match in _DECLARED.finditer(masked)}
    for fact in sorted(calls, key=lambda fact: fact.span):
        name = _name(fact)
        if fact.span.line > len(starts):  # code inside another file, whose lines these are not
            continue
        at = masked.find(name.encode(), starts[fact.span.line - 1] + fact.span.column - 1)
        call = arguments.call_at(masked, at + len(name), brackets) if at >= 0 else None
        if call is None:
            continue
        counts, change = COUNTS.get(name, ((), "takes a cudaMemLocation"))
        if len(call.arguments) in counts or _gives_location(masked, name, call, locations):
            words = change if len(call.arguments) in counts else "takes a cudaMemLocation"
            yield Hit(RULE, fact.span, f"{name} with {len(call.arguments)} arguments, which {words}; HIP has the older form", name)


def _gives_location(masked: bytes, name: str, call: arguments.Call, locations: set[bytes]) -> bool:
    """Whether the argument that was a device's number is a location: made in place, or a variable declared as one."""
    at = LOCATIONS.get(name, len(call.arguments))
    if at >= len(call.arguments):
        return False
    match = _LOCATION.match(masked[slice(*call.arguments[at])])
    return match is not None and (match[1] is None or match[1] in locations)
