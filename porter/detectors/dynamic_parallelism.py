"""Dynamic parallelism: kernels launched, and CUDA runtime calls made, inside device code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from porter.config import Config
from porter.detectors import places
from porter.model import Confidence, Fact, Hit
from porter.parse import Parsed

if TYPE_CHECKING:
    from porter.link import Index

KINDS = ("cuda", "cxx")
# What CUDA's device runtime offers and HIP's device code does not have.
DEVICE_RUNTIME = frozenset({
    "cudaDeviceSynchronize", "cudaStreamCreateWithFlags", "cudaStreamDestroy", "cudaEventCreateWithFlags", "cudaEventDestroy",
    "cudaEventRecord", "cudaStreamWaitEvent", "cudaGetLastError", "cudaPeekAtLastError", "cudaGetDevice", "cudaGetDeviceCount",
    "cudaDeviceGetAttribute", "cudaMalloc", "cudaFree", "cudaMemcpyAsync", "cudaMemsetAsync", "cudaMemcpy2DAsync", "cudaLaunchDevice",
    "cudaGetParameterBuffer", "cudaLaunchDeviceV2", "cudaGetParameterBufferV2", "cudaGraphLaunch", "cudaGetCurrentGraphExec",
    "cudaFuncGetAttributes",
})  # fmt: skip


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """Hits of dynamic-parallelism and device-runtime-call."""
    return [hit for fact in parsed.facts if fact.kind in ("launch", "call") and fact.context == "device" for hit in _hits(parsed, fact)]


def _hits(parsed: Parsed, fact: Fact) -> Iterator[Hit]:
    is_launch = fact.kind == "launch" and bool(fact.args)
    name = fact.name.rpartition("::")[2]
    if not is_launch and name not in DEVICE_RUNTIME:
        return
    function = places.function_at(parsed, fact.span)
    if function is None:
        return
    words = places.head(parsed, function)
    if b"__device__" not in words and b"__global__" not in words:
        return  # a macro's name alone does not prove device code
    both = b"__host__" in words
    if both and not is_launch:
        return  # functions for both sides keep host calls under guards of their own
    confidence = Confidence.MEDIUM if both else Confidence.HIGH
    if is_launch:
        shape = ", ".join(fact.args[:2])
        yield Hit("dynamic-parallelism", fact.span, f"launches {fact.name}<<<{shape}>>> in device code", fact.name, confidence=confidence)
    else:
        yield Hit("device-runtime-call", fact.span, f"calls {name} in device code", name, confidence=confidence)
