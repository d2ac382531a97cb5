"""Images of model servers whose tag says for which GPU they are built: the plain tag is CUDA, a rocm tag is AMD's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from porter.config import Config
from porter.model import Hit
from porter.parse import Parsed

KINDS = ("docker", "yaml", "shell", "jenkins", "json", "make", "python")
OTHER_BUILDS = ("rocm", "cpu", "xpu", "hpu", "tpu", "gaudi", "npu", "intel", "ascend", "neuron", "arm64-cpu")
REPOSITORIES = {
    "vllm/vllm-openai": "vllm-cuda-image",
    "lmsysorg/sglang": "sglang-cuda-image",
    "huggingface/text-generation-inference": "tgi-cuda-image",
}


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """One hit for each reference to a server image whose tag names no other accelerator."""
    for fact in parsed.facts:
        if fact.kind != "image":
            continue
        repository, _, tag = _split(fact.name)
        for name, rule in REPOSITORIES.items():
            mine = repository == name or repository.endswith("/" + name)
            if mine and not any(build in tag.lower() for build in OTHER_BUILDS):
                yield Hit(rule, fact.span, f"runs on image {fact.name}", fact.name, rule, live=fact.live)


def _split(image: str) -> tuple[str, str, str]:
    """Repository, separator and tag of an image reference; a port in the registry is no tag, a digest is cut off."""
    image = image.split("@", 1)[0]
    head, colon, tag = image.rpartition(":")
    return (head, colon, tag) if colon and "/" not in tag else (image, "", "")
