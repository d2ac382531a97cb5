"""Macro states: what several definitions of one macro come to."""

from __future__ import annotations

from typing import Any

from porter.hipify import api
from porter.model import Live
from porter.survey import Macro


def specifies(found: list[tuple[str, Macro]]) -> str:
    """The text of a macro that stands for __device__ or __global__, in its first definition that AMD reads; else empty."""
    texts = [m.text for _, m in found if m.params is None and m.live is not Live.NO and ("__device__" in m.text or "__global__" in m.text)]
    return texts[0] if texts else ""


def state(found: list[tuple[Live, Macro]]) -> tuple[str, str]:
    """Whether one of several definitions holds, and its text where only one does."""
    sure = [macro for live, macro in found if live is Live.YES]
    if len({macro.text for macro in sure}) == 1 and sure[0].params is None:
        return ("yes", sure[0].text)
    if sure:
        return ("yes", "")
    return ("unknown", "") if any(live is Live.UNKNOWN for live, _ in found) else ("no", "")


def aliases(index: Any) -> frozenset[str]:
    """CUDA names that the project itself gives another meaning in the build for AMD: #define cudaMalloc hipMalloc under a guard."""
    return frozenset(
        name for name, found in index.macros.items()
        if any(macro.live is not Live.NO and macro.nvidia is Live.NO for _, macro in found) and api.lookup(name) is not None
    )  # fmt: skip
