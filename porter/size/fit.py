"""The arithmetic of porter size: bytes of weights and cache, and the smallest number of GPUs of each kind that holds them.

1 GB is 10^9 bytes everywhere. A GPU may be filled up to its memory less the reserve; vLLM leaves 8 to 10 % by default
(gpu_memory_utilization), which is where the default of the reserve comes from.
"""

from __future__ import annotations

import math

import msgspec

from porter.size.dtypes import DType
from porter.size.hardware import PER_SERVER, Gpu
from porter.size.shape import Shape

GB = 1e9
RESERVE = 0.10  # of each GPU's memory
MOST_SERVERS = 64


class Load(msgspec.Struct, frozen=True):
    """What is asked of the model: sequences at a time, tokens in each, formats (None: the checkpoint's), reserve of each GPU."""

    context: int
    concurrency: int
    dtype: DType | None = None
    kv_dtype: DType | None = None
    reserve_share: float = RESERVE
    reserve_gb: float = 0.0

    def usable_gb(self, gpu: Gpu) -> float:
        """Memory of one GPU that weights and cache may take."""
        return max(0.0, gpu.memory_gb * (1 - self.reserve_share) - self.reserve_gb)


class Need(msgspec.Struct, frozen=True):
    """Sizes in GB. ``windowed_gb`` is the cache of an engine that drops tokens out of sliding windows, equal where there are none."""

    weights_gb: float
    kv_mb_per_token: float
    kv_gb: float
    windowed_gb: float

    @property
    def total_gb(self) -> float:
        """Weights and cache, without the reserve."""
        return self.weights_gb + self.kv_gb


class Fit(msgspec.Struct, frozen=True):
    """How one kind of GPU holds the model; ``gpus`` is 0 where MOST_SERVERS servers do not.

    ``copies`` is how often the cache is stored: more than once where tensor parallelism has to repeat KV heads.
    """

    gpu: Gpu
    gpus: int
    tensor: int = 1
    pipeline: int = 1
    copies: int = 1
    replicas: int = 0
    free_gb: float = 0.0
    used_gb: float = 0.0


def need(shape: Shape, load: Load) -> Need:
    """Sizes of weights and cache."""
    weights = shape.params * load.dtype.bytes if load.dtype else shape.weight_bytes
    value = (load.kv_dtype or shape.kv_dtype).bytes
    cache = shape.cache
    a_token = cache.values * value
    full = cache.layers - cache.windowed
    seen = full * load.context + cache.windowed * min(load.context, cache.window or load.context)
    return Need(
        weights / GB, a_token / 1e6, a_token * load.context * load.concurrency / GB,
        seen * cache.values_a_layer * value * load.concurrency / GB,
    )  # fmt: skip


def fit(shape: Shape, load: Load, sizes: Need, gpu: Gpu) -> Fit:
    """The smallest number of this GPU that holds weights and cache: 1, 2, 4, 8, then whole servers."""
    usable = load.usable_gb(gpu)
    for gpus in (1, 2, 4, *(PER_SERVER * servers for servers in range(1, MOST_SERVERS + 1))):
        tensor = _tensor(shape, gpus * gpu.devices, PER_SERVER * gpu.devices)
        copies = _copies(shape, tensor)
        used = sizes.weights_gb + sizes.kv_gb * copies
        if usable * gpus >= used:
            replicas = PER_SERVER // gpus
            return Fit(gpu, gpus, tensor, gpus * gpu.devices // tensor, copies, replicas, gpu.memory_gb * gpus - used, used)
    return Fit(gpu, 0)


def _tensor(shape: Shape, devices: int, server: int) -> int:
    """The widest tensor parallelism inside a server that the heads allow; the rest of the devices become pipeline stages.

    Engines split query heads evenly, and KV heads evenly or repeated evenly.
    """
    width = math.gcd(devices, server)
    while width > 1 and not _divides(shape, width):
        width //= 2
    return width


def _divides(shape: Shape, width: int) -> bool:
    kv = shape.cache.kv_heads
    if shape.heads and shape.heads % width:
        return False
    return shape.cache.latent > 0 or not kv or kv % width == 0 or width % kv == 0


def _copies(shape: Shape, tensor: int) -> int:
    """How often the cache is stored over the ranks: a latent cache has no heads to split and is stored on every rank."""
    if shape.cache.latent:
        return tensor
    kv = shape.cache.kv_heads
    return tensor // kv if kv and tensor > kv else 1
