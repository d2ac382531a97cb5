"""CMake's CUDA language: what only sets it up has no effect in a build for AMD that never enables it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from porter.examine import Examined
from porter.model import Hit, Live

ENABLED = frozenset({"enable_language:CUDA", "project:CUDA"})  # names of facts
OLD_MODULE = "cmake-find-cuda"  # the rule: FindCUDA has variables of the same names, and needs no language
# The list of architectures is none of them: projects choose sources by it.
SETTING = re.compile(
    r"CMAKE_CUDA_(?!ARCHITECTURES|COMPILER_VERSION|COMPILER_ID)\w+"
    r"|CUDA_(?:SEPARABLE_COMPILATION|RESOLVE_DEVICE_SYMBOLS|RUNTIME_LIBRARY|STANDARD(?:_REQUIRED)?|EXTENSIONS|PTX_COMPILATION)"
)
FOR_CUDA = re.compile(r"(?:COMPILE_LANGUAGE|LINK_LANGUAGE):CUDA>|\bCMAKE_CUDA_FLAGS\w*\s")


def is_off(examined: Iterable[Examined]) -> bool:
    """Whether every place that enables the language, and there is one, is left out of the build for AMD."""
    hits = [hit for one in examined if one.kind == "cmake" for hit in one.hits]
    enabling = [hit for hit in hits if hit.fact_name in ENABLED]
    return bool(enabling) and all(hit.live is Live.NO for hit in hits if hit.fact_name in ENABLED or hit.rule == OLD_MODULE)


def only_sets_it_up(hit: Hit, one: Examined) -> bool:
    """Whether this is a setting of the language, or a flag that is passed for it alone, in a CMake file."""
    if one.kind != "cmake":
        return False
    if hit.fact_kind == "compile_flag":
        line = one.snippets.get(hit.span.line, "").split("\n", 1)[0] if isinstance(one.snippets, dict) else ""
        match = FOR_CUDA.search(line)
        return match is not None and 0 <= match.end() <= line.find(hit.fact_name.split(" ")[0].split("=")[0])
    return hit.fact_kind == "cmake_var" and SETTING.fullmatch(hit.fact_name) is not None
