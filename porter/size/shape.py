"""What porter size knows of a model: parameters by part and the dimensions of its KV cache."""

from __future__ import annotations

import msgspec

from porter.size.dtypes import DTYPES, DType


class Parts(msgspec.Struct, frozen=True):
    """Parameters by part of the network. ``other`` are norms, routers and biases, which no common format quantises."""

    embedding: int = 0
    head: int = 0
    attention: int = 0
    mlp: int = 0
    experts: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        """All parameters."""
        return self.embedding + self.head + self.attention + self.mlp + self.experts + self.other


class Quantised(msgspec.Struct, frozen=True):
    """The format of a quantised checkpoint, which parts are stored in it, and where that is said."""

    dtype: DType
    parts: tuple[str, ...] = ("attention", "mlp", "experts")
    method: str = ""


class Cache(msgspec.Struct, frozen=True):
    """What a token leaves in the KV cache. ``latent`` values a layer replace keys and values of heads (MLA).

    ``windowed`` of the ``layers`` see only the last ``window`` tokens.
    """

    layers: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    latent: int = 0
    windowed: int = 0
    window: int = 0

    @property
    def values_a_layer(self) -> int:
        """Values that one token leaves in one layer."""
        return self.latent or 2 * self.kv_heads * self.head_dim

    @property
    def values(self) -> int:
        """Values that one token leaves in all layers."""
        return self.layers * self.values_a_layer


class Shape(msgspec.Struct, frozen=True):
    """A model. ``stored_bytes`` is the size of its checkpoint where an index file says it; 0 where none does."""

    name: str
    params: int
    parts: Parts = Parts()
    cache: Cache = Cache()
    heads: int = 0
    dtype: DType = DTYPES["bf16"]
    quantised: Quantised | None = None
    kv_dtype: DType = DTYPES["bf16"]
    max_context: int = 0
    stored_bytes: int = 0
    source: str = ""
    notes: tuple[str, ...] = ()

    @property
    def weight_bytes(self) -> float:
        """Bytes of the weights in the checkpoint's own format."""
        if self.stored_bytes:
            return float(self.stored_bytes)
        if self.quantised is None:
            return self.params * self.dtype.bytes
        small = sum(int(getattr(self.parts, part)) for part in self.quantised.parts)
        return small * self.quantised.dtype.bytes + (self.params - small) * self.dtype.bytes

    @property
    def format(self) -> DType:
        """The format that most weights are stored in."""
        return self.quantised.dtype if self.quantised else self.dtype
