"""Model configurations of Triton Inference Server: which of their back ends AMD's build of the server has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from porter.config import Config
from porter.model import Hit
from porter.parse import Parsed

KINDS = ("pbtxt",)
RULE_OF = {
    "backend=onnxruntime": "triton-server-portable-backend",
    "backend=python": "triton-server-portable-backend",
    "backend=vllm": "triton-server-portable-backend",
    "backend=tensorflow": "triton-server-portable-backend",
    "platform=onnxruntime_onnx": "triton-server-portable-backend",
    "platform=tensorflow_savedmodel": "triton-server-portable-backend",
    "platform=tensorflow_graphdef": "triton-server-portable-backend",
    "platform=ensemble": "triton-server-portable-backend",
    "backend=pytorch": "triton-server-pytorch-backend",
    "platform=pytorch_libtorch": "triton-server-pytorch-backend",
    "backend=dali": "triton-server-nvidia-backend",
    "backend=fil": "triton-server-nvidia-backend",
    "backend=hugectr": "triton-server-nvidia-backend",
    "backend=hps": "triton-server-nvidia-backend",
    "backend=fastertransformer": "triton-server-nvidia-backend",
}


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """One hit for a configuration's back end or platform."""
    seen: set[str] = set()
    for fact in parsed.facts:
        rule = RULE_OF.get(fact.name) if fact.kind == "model_key" else None
        if rule and rule not in seen:
            seen.add(rule)
            yield Hit(rule, fact.span, f"has {fact.name}", fact.name, rule if rule.endswith("portable-backend") else "", live=fact.live)
