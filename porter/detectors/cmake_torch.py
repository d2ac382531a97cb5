"""CMake projects that build CUDA sources against PyTorch: outside setuptools nobody translates them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from porter.config import Config
from porter.model import Hit, Live
from porter.parse import Parsed

KINDS = ("cmake",)
RULE = "cmake-torch-cuda-sources"


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """One hit at find_package(Torch) of a file that also compiles CUDA and knows no HIP language."""
    facts = [fact for fact in parsed.facts if fact.live is not Live.NO]
    commands = {fact.name for fact in facts if fact.kind == "cmake_command"}
    if any(name.endswith(":HIP") for name in commands):
        return
    if not parsed.extra.get("cuda_sources") and not any(name.endswith(":CUDA") for name in commands):
        return
    for fact in facts:
        if fact.kind == "cmake_package" and fact.name == "Torch":
            yield Hit(RULE, fact.span, "finds Torch and compiles CUDA sources", "Torch", RULE, live=fact.live)
            return
