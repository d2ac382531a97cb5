"""Checkpoints of NVIDIA's Model Optimizer, unless their configuration says NVFP4: that is the rule of that format alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from porter.config import Config
from porter.model import Hit
from porter.parse import Parsed

KINDS = ("json",)
RULE = "checkpoint-modelopt"
METHOD = re.compile(r"quantization_config\.quant_method=modelopt(?:_fp8)?\Z")
ALGORITHM = re.compile(r"quantization\.quant_algo=(?:FP8|W4A\w*AWQ|W4A8|MIXED_PRECISION)")
NVFP4 = re.compile(r"quant_algo=\w*NVFP4")


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """One hit a file, on its method or else on its algorithm."""
    facts = [fact for fact in parsed.facts if fact.kind == "model_key"]
    if any(NVFP4.search(fact.name) for fact in facts):
        return
    found = [fact for fact in facts if METHOD.match(fact.name)] or [fact for fact in facts if ALGORITHM.match(fact.name)]
    for fact in found[:1]:
        yield Hit(RULE, fact.span, f"has {fact.name}", "modelopt", RULE)
