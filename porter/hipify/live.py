"""Live lines: which code the translation leaves alone because the project itself keeps it from the build for AMD."""

from __future__ import annotations

import re
from collections.abc import Callable, Container

from porter.model import Live
from porter.parse.guards import SourceGuards

_AMD_WORD = re.compile(r"HIP|ROCM|hip|rocm|AMD|amdgcn")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NEVER = re.compile(r"#\s*(?:el)?if\s++(?:\(\s*+)?0\s*+(?:\)\s*+)?\Z")


def live_lines(guards: SourceGuards, given: Container[str] = ()) -> Callable[[int], bool]:
    """A test for lines (from 1): False where a condition on a HIP or ROCm macro, or ``#if 0``, shuts the AMD build out.

    A condition on one of the macros that were ``given`` for the AMD build counts too.

    Code under ``CUDA_VERSION`` or ``__CUDA_ARCH__`` is dead on AMD only because those are not defined there, not because
    somebody ported it; it is translated, so that whoever rewrites the condition finds HIP names inside.
    """
    known: dict[tuple[str, ...], bool] = {}

    def live(line: int) -> bool:
        if guards.at(line) is not Live.NO:
            return True
        region = guards.region(line)
        if region is None:
            return False
        if region.conditions not in known:
            known[region.conditions] = not any(_decides(condition, given) for condition in region.conditions)
        return known[region.conditions]

    return live


def _decides(condition: str, given: Container[str]) -> bool:
    """Whether a condition says what the AMD build leaves out."""
    return bool(_AMD_WORD.search(condition) or _NEVER.match(condition.strip())) or any(word in given for word in _WORD.findall(condition))
