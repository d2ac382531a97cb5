"""Names of CUDA's to which a repository itself gives a meaning: macros for AMD, -D of its build, functions of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from porter.model import Live
from porter.origin import is_amd_name
from porter.parse import Parsed
from porter.parse.cuda_build import NVIDIAS
from porter.parse.guards import SourceGuards
from porter.survey import FunctionDef, Macro, Survey

if TYPE_CHECKING:
    from porter.link import Index

KINDS = frozenset({"call", "identifier", "type"})
ASKS_BOTH = re.compile(r"\b__HIP_DEVICE_COMPILE__\b|\b__HIP__\b|\b__HIP_PLATFORM_\w+__\b|\bdefined\s*\(?\s*\w*(?:ROCM|HIP)\w*")
XF32 = re.compile(r"__builtin_amdgcn_mfma_f32_\w*xf32\Z")
OF_MI300 = re.compile(r"\A#(?:ifdef |(?:el)?if (?!.*(?:!|\|\|))).*(?:__gfx942__|\bCDNA3\b)")
OTHER_GPUS = re.compile(r"gfx9(?!42)\w+__|CDNA[124]|__GFX")
OF_AMD = re.compile(r"(?:hip|roc)[a-z]*[A-Z]\w*\Z")  # hipMalloc, hipblasCreate, roctxRangePop: what no header of CUDA declares


def macros_for_amd(macros: Mapping[str, Iterable[tuple[str, Macro]]]) -> dict[str, frozenset[str]]:
    """The files that define a name for the AMD build alone, in a file of its own or as a name of AMD's, by name."""
    return {
        name: files
        for name, found in macros.items()
        if (files := frozenset(path for path, macro in found if macro.live is not Live.NO and _is_for_amd(path, macro)))
    }


def _is_for_amd(path: str, macro: Macro) -> bool:
    return macro.nvidia is Live.NO or is_amd_name(path) or OF_AMD.match(macro.text) is not None


def named_warp_size(macros: Mapping[str, Iterable[tuple[str, Macro]]]) -> dict[str, frozenset[str]]:
    """The files that make a macro another name for warpSize in a build for AMD, by name."""
    found = {
        name: frozenset(path for path, macro in listed if macro.text.strip("() ") == "warpSize" and macro.live is not Live.NO)
        for name, listed in macros.items()
    }
    return {name: files for name, files in found.items() if files}


def device_functions(functions: Mapping[str, Iterable[tuple[str, FunctionDef]]]) -> dict[str, frozenset[str]]:
    """The files that hold the body of a device function with a name like a builtin's, __trap or __nv_expf, by name.

    An overload that ends in the builtin is no such body.
    """
    return {
        name: files
        for name, found in functions.items()
        if name.startswith("__")
        and (files := frozenset(path for path, f in found if f.live is not Live.NO and f.side in ("device", "both") and not f.overloads))
    }


def backends(files: Iterable[Survey]) -> dict[str, tuple[str, str]]:
    """What macros that choose a back end are in a build for AMD, by name, where all files that say it say the same."""
    found: dict[str, set[tuple[str, str]]] = {}
    for one in files:
        for name, holds, text in one.chosen:
            found.setdefault(name, set()).add((holds, text))
    return {name: next(iter(states)) for name, states in found.items() if len(states) == 1}


def shimmed(index: Index, path: str) -> frozenset[str]:
    """Names of CUDA's that a header of the project's own redefines for AMD, or its build, as one file sees them."""
    around = set(index.reach(path))
    given = NVIDIAS & (index.given.keys() | index.build_defines.seen_from(path, index.build_defines.answered)[0].keys())
    return given.union(name for name, files in index.shims.items() if files & around)


def enrich(parsed: Parsed, index: Index) -> None:
    """Let the facts of a CUDA or C++ file know of such names: a call of the file's own function is no use of a builtin."""
    _conditions(parsed)
    for_amd = shimmed(index, parsed.file.path)
    around = set(index.reach(parsed.file.path)) if index.own_builtins else set()
    own = {name for name, files in index.own_builtins.items() if files & around}
    if not for_amd and not own:
        return
    parsed.facts = [
        msgspec.structs.replace(fact, live=Live.NO) if fact.kind in KINDS and fact.name in for_amd else fact
        for fact in parsed.facts
        if fact.kind != "call" or fact.name not in own
    ]


def _conditions(parsed: Parsed) -> None:
    """Leave out NVIDIA's macros in a macro that asks for both vendors, `(__CUDA_ARCH__ || __HIP_DEVICE_COMPILE__)`: it is made for #if.

    And XF32 instructions in lines that only gfx942 reads.
    """
    lines = {
        line
        for fact in parsed.facts
        if fact.kind == "define" and ASKS_BOTH.search(fact.detail.get("value", ""))
        for line in range(fact.span.line, fact.span.end_line + 1)
    }
    if b"_xf32" in parsed.file.data and isinstance(parsed.guards, SourceGuards):
        guards = parsed.guards
        parsed.facts = [fact for fact in parsed.facts if not (XF32.match(fact.name) and _for_mi300(guards.condition(fact.span.line)))]
    if lines:
        parsed.facts = [
            fact for fact in parsed.facts if fact.kind != "identifier" or fact.name not in NVIDIAS or fact.span.line not in lines
        ]


def _for_mi300(condition: str) -> bool:
    """Whether a chain of conditions lets only gfx942 in, by its own macro or by one called after its generation."""
    return any(OF_MI300.search(part) and not OTHER_GPUS.search(part) for part in condition.split(" > "))
