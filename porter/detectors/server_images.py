"""Images of model servers whose tag says for which GPU they are built: the plain tag is CUDA, a rocm tag is AMD's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from porter.config import Config
from porter.model import Hit
from porter.parse import Parsed

KINDS = ("docker", "yaml", "shell", "jenkins", "json", "make", "python", "notebook", "hcl")
OTHER_BUILDS = ("rocm", "cpu", "xpu", "hpu", "tpu", "gaudi", "npu", "intel", "ascend", "neuron", "arm64-cpu")
REPOSITORIES = {
    "vllm/vllm-openai": "vllm-cuda-image",
    "lmsysorg/sglang": "sglang-cuda-image",
    "huggingface/text-generation-inference": "tgi-cuda-image",
    "nvcr.io/nvidia/tritonserver": "triton-server-image",
    "nvcr.io/nvidia/tensorrtserver": "triton-server-image",
}

NOT_A_SERVER = re.compile(r"-sdk\Z")  # Triton's clients
CUDA_NAME = re.compile(r"(?:^|[-_.])cuda(?:[-_]|\Z)", re.IGNORECASE)  # llm-d-cuda, llama.cpp:server-cuda
CUDA_TAG = re.compile(r"(?:^|[^a-z0-9])(?:cu-?\d{2,3}|cuda-?\d+(?:[._-]\d+)*)(?:[^0-9]|\Z)", re.IGNORECASE)
NGC = re.compile(r"nvcr\.io/(?!nim/|nvidia/(?:base|distroless)/)(?![\w./-]*(?:frontend|playground|[-_]ui)\Z)[\w./-]+\Z")
NAMED_ELSEWHERE = re.compile(
    r"nvcr\.io/(?:nim/|nvidia/(?:cuda|cuda-dl-base|pytorch|tensorflow|tensorrt\b|tensorrt-llm|tritonserver|jax|nemo|deepstream|rapidsai|k8s|cloud-native"
    r"|driver|gpu-operator|gpu-feature-discovery))|(?:docker\.io/|ghcr\.io/)?(?:nvidia/(?:cuda|cudagl|dcgm-exporter|k8s-device-plugin|jax)|pytorch/"
    r"|rapidsai/|tensorflow/tensorflow|deepspeed/deepspeed|huggingface/)|\$"
)


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """One hit for each reference to a server image whose tag names no other accelerator."""
    for fact in parsed.facts:
        if fact.kind != "image":
            continue
        repository, _, tag = _split(fact.name)
        if _is_for_cuda(repository, tag):
            yield Hit("cuda-tagged-image", fact.span, f"runs on image {fact.name}", fact.name, "cuda-tagged-image", live=fact.live)
        for name, rule in REPOSITORIES.items():
            mine = repository == name or repository.endswith("/" + name)
            if mine and not NOT_A_SERVER.search(tag) and not any(build in tag.lower() for build in OTHER_BUILDS):
                yield Hit(rule, fact.span, f"runs on image {fact.name}", fact.name, rule, live=fact.live)


def _is_for_cuda(repository: str, tag: str) -> bool:
    """Whether the name, the tag or NVIDIA's registry says that an image is built on CUDA, and no rule of its own names it."""
    if NAMED_ELSEWHERE.match(repository) or any(repository == name or repository.endswith("/" + name) for name in REPOSITORIES):
        return False
    if NGC.match(repository):
        return True
    is_named = CUDA_NAME.search(repository.rpartition("/")[2]) or CUDA_NAME.search(tag) or CUDA_TAG.search(tag)
    return is_named is not None and not any(word in tag.lower() for word in OTHER_BUILDS)


def _split(image: str) -> tuple[str, str, str]:
    """Repository, separator and tag of an image reference; a port in the registry is no tag, a digest is cut off."""
    image = image.split("@", 1)[0]
    head, colon, tag = image.rpartition(":")
    return (head, colon, tag) if colon and "/" not in tag else (image, "", "")
