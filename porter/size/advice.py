"""What the numbers mean: one GPU or several, replicas or wider tensor parallelism, and where NVIDIA hardware stays the better choice."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from porter.size.fit import Fit, Load, Need
from porter.size.hardware import PER_SERVER
from porter.size.shape import Shape

SMALL_GB = 80  # the memory of the smallest NVIDIA GPU in the table
TENSOR_SOURCE = "https://github.com/vllm-project/vllm/issues/11797"
COPIES_SOURCE = "https://github.com/vllm-project/vllm/blob/main/docs/serving/context_parallel_deployment.md"
SMALL_SOURCE = "https://github.com/alpharomercoma/MI300X-vs-H200"
NVFP4_SOURCE = "https://github.com/vllm-project/vllm/pull/35733"
DOMAIN_SOURCE = "https://docs.nvidia.com/base-command-manager/product-manuals/nvidia-mission-control/nvlinkinfo"


class Advice(msgspec.Struct, frozen=True):
    """One sentence for the reader, the source it rests on (empty: the arithmetic above), and the side it speaks for."""

    text: str
    source: str = ""
    side: str = ""  # nvidia: NVIDIA hardware stays the better choice in this point


def advise(shape: Shape, load: Load, sizes: Need, fits: tuple[Fit, ...]) -> tuple[Advice, ...]:
    """All that has to be said beside the table, in a fixed order."""
    return (*_sizes(shape, load, sizes), *_layout(shape, load, fits), *_nvidia(shape, load, fits))


def _sizes(shape: Shape, load: Load, sizes: Need) -> Iterator[Advice]:
    if not shape.cache.values:
        yield Advice("the KV cache is not counted: give --layers, --kv-heads and --head-dim, or a config.json")
    if load.dtype and shape.parts.total:
        rest = shape.parts.total - shape.parts.attention - shape.parts.mlp - shape.parts.experts
        extra = rest * (shape.dtype.bytes - load.dtype.bytes) / 1e9
        if extra > 0.05:
            yield Advice(
                f"{load.dtype.name} is counted for every weight; embeddings, output layer, norms and routers left in {shape.dtype.name} "
                f"add {extra:.1f} GB"
            )
    if sizes.windowed_gb < sizes.kv_gb * 0.999:
        yield Advice(
            f"{shape.cache.windowed} of {shape.cache.layers} layers look back {shape.cache.window:,} tokens only: an engine that frees the "
            f"rest needs {sizes.windowed_gb:.1f} GB of KV cache in place of {sizes.kv_gb:.1f} GB"
        )
    if shape.max_context and load.context > shape.max_context:
        yield Advice(f"the context of {load.context:,} tokens is more than the {shape.max_context:,} of the model's config.json")
    yield from (Advice(note) for note in shape.notes)


def _layout(shape: Shape, load: Load, fits: tuple[Fit, ...]) -> Iterator[Advice]:
    form = load.dtype or shape.format
    without = [fit.gpu.gpu for fit in fits if fit.gpu.runs(form.family) == "no"]
    if without:
        yield Advice(
            f"no {form.name} in the recorded rates of {', '.join(without)}: the weights fit in memory there, but an engine has to convert "
            "them as it computes, if it can"
        )
    several = [fit for fit in fits if fit.gpus and fit.replicas > 1]
    if several:
        yield Advice(
            "where a server holds several replicas, measure them against one wider tensor-parallel group: replicas need no traffic between "
            "GPUs, a wider group leaves more memory for the cache and answers a single request sooner; your load decides"
        )
    if any(fit.copies > 1 for fit in fits):
        kind = "a latent (MLA) cache has no heads to split" if shape.cache.latent else f"there are {shape.cache.kv_heads} KV heads only"
        yield Advice(
            f"{kind}, so tensor parallelism stores the cache more than once and the rows count every copy; decode context parallelism "
            "(vLLM -dcp) or data-parallel attention stores fewer",
            COPIES_SOURCE,
        )
    split = [fit for fit in fits if fit.gpus and fit.gpus <= PER_SERVER and fit.pipeline > 1]
    if split:
        yield Advice(
            f"{shape.heads} query heads and {shape.cache.kv_heads} KV heads do not divide by {split[0].tensor * split[0].pipeline}: "
            f"tensor parallel {split[0].tensor}, the rest as pipeline stages",
            TENSOR_SOURCE,
        )


def _nvidia(shape: Shape, load: Load, fits: tuple[Fit, ...]) -> Iterator[Advice]:
    smallest = next((fit for fit in fits if fit.gpu.vendor == "NVIDIA" and fit.gpu.memory_gb <= SMALL_GB), None)
    if smallest is not None and smallest.gpus == 1:
        yield Advice(
            f"small: one {smallest.gpu.gpu} ({smallest.gpu.memory_gb} GB) holds it, so more memory on a GPU wins nothing by itself, and "
            "one public comparison saw an H200 ahead of an MI300X on small models: NVIDIA hardware that is there already stays the better "
            "choice unless throughput that you measure, for the price you pay, says otherwise",
            SMALL_SOURCE, "nvidia",
        )  # fmt: skip
    if (load.dtype or shape.format).family == "nvfp4":
        yield Advice(
            "NVFP4: no AMD row is known to have it in its matrix units; vLLM emulates it there, for correctness rather than speed. "
            "NVIDIA B200 and B300 stay the better choice for this checkpoint as it is; on MI350X and MI355X quantise from BF16 to MXFP4 "
            "and check the accuracy",
            NVFP4_SOURCE, "nvidia",
        )  # fmt: skip
    amd = [fit for fit in fits if fit.gpu.vendor == "AMD" and fit.gpu.memory_verified]
    if amd and all(fit.gpus == 0 or fit.gpus > PER_SERVER for fit in amd):
        yield Advice(
            "one server of eight does not hold it on any AMD row with a verified memory size: every step crosses the network between "
            "servers. NVIDIA's GB200 and GB300 systems join more GPUs than one server in an NVLink domain and stay the better choice "
            "where that traffic limits you",
            DOMAIN_SOURCE, "nvidia",
        )  # fmt: skip
