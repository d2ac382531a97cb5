"""CUDA's extensions to the host's mathematics: rsqrtf and its like, which nvcc gives host code and HIP only device code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.config import Config
from porter.model import Hit, Live
from porter.parse import Parsed

if TYPE_CHECKING:
    from porter.link import Index

KINDS = ("cuda",)
_NAMES = ("rsqrt", "rcbrt", "sinpi", "cospi", "normcdf", "normcdfinv", "erfcinv", "erfinv", "erfcx")
# Each compiled in a host function with nvcc 13, which takes it, and with clang 19 and HIP 7.1, which finds no host version.
FUNCTIONS = frozenset((*_NAMES, *(name + "f" for name in _NAMES)))


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """One hit a call in host code, but for functions of the project's own."""
    for fact in parsed.facts:
        if fact.kind != "call" or fact.context != "host" or fact.live is Live.NO or fact.name.removeprefix("::") not in FUNCTIONS:
            continue
        name = fact.name.removeprefix("::")
        if not any(getattr(index, held, {}).get(name) for held in ("functions", "macros")):
            yield Hit("host-call-of-cuda-math", fact.span, f"{name} in host code", name)
