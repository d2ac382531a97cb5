"""The execution provider for ROCm that ONNX Runtime no longer has, where no other for AMD is named beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from porter.config import Config
from porter.model import Hit
from porter.parse import Parsed

KINDS = ("python", "notebook", "cuda", "cxx")
WORDS = (b"rocmexecutionprovider", b"migraphxexecutionprovider")
RULE = "onnxruntime-rocm-provider"
OLD = ("ROCMExecutionProvider", "OrtSessionOptionsAppendExecutionProvider_ROCM")
NEW = ("MIGraphXExecutionProvider", "OrtSessionOptionsAppendExecutionProvider_MIGraphX")
NEAR = 6  # lines: a list of providers, an enumeration, a chain of tests


def detect(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    """A hit a line that names the old provider; none where the new one stands in the same list, for the runtime takes what it has."""
    if b"_ROCM" not in parsed.file.data and b"ROCMExecutionProvider" not in parsed.file.data:
        return
    facts = [fact for fact in parsed.facts if fact.kind in ("py_string", "call")]
    beside = {fact.span.line + way for fact in facts if fact.name in NEW for way in range(-NEAR, NEAR + 1)}
    lines: set[int] = set()
    for fact in facts:
        line = fact.span.line
        if fact.name in OLD and line not in lines and line not in beside:
            lines.add(line)
            yield Hit(RULE, fact.span, f"uses {fact.name}", fact.name, fact_kind=fact.kind, fact_name=fact.name)
