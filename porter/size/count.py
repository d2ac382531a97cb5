"""Parameters of a decoder by its dimensions: grouped-query and latent attention, gated and plain MLP, experts, tied embeddings."""

from __future__ import annotations

import msgspec

from porter.size.shape import Parts


class Latent(msgspec.Struct, frozen=True):
    """Dimensions of multi-head latent attention, named as in config.json; ``q_rank`` is 0 where queries are not compressed."""

    q_rank: int
    kv_rank: int
    nope: int
    rope: int
    v: int


class Experts(msgspec.Struct, frozen=True):
    """The mixture: routed experts a layer and their width, width of what every token uses, layers that have experts.

    ``bias`` are single values beside the matrices: biases of an expert's projections and of its row of the router.
    """

    count: int
    width: int
    shared_width: int = 0
    layers: int = 0
    bias: int = 0


class Dimensions(msgspec.Struct, frozen=True):
    """All that the parameter count depends on. ``gated`` MLPs have three matrices, others two.

    ``norm_values`` are those of all norms of a layer, ``final_norm`` of the last one; ``sinks`` are learned attention sinks a layer.
    """

    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    width: int
    gated: bool = True
    tied: bool = False
    attention_bias: str = ""  # qkv, all
    latent: Latent | None = None
    experts: Experts | None = None
    norm_values: int = 0
    final_norm: int = 0
    sinks: int = 0


def count(d: Dimensions) -> Parts:
    """Parameters by part."""
    expert_layers = d.experts.layers if d.experts else 0
    matrices = 3 if d.gated else 2
    mlp = (d.layers - expert_layers) * matrices * d.hidden * d.width
    routed, router = 0, 0
    if d.experts:
        e = d.experts
        routed = expert_layers * e.count * 3 * d.hidden * e.width
        mlp += expert_layers * 3 * d.hidden * e.shared_width
        router = expert_layers * e.count * (d.hidden + e.bias)
    norms = d.layers * (d.norm_values + d.sinks) + d.final_norm
    attention = d.layers * _attention(d)
    return Parts(
        embedding=d.vocab * d.hidden, head=0 if d.tied else d.vocab * d.hidden, attention=attention, mlp=mlp, experts=routed,
        other=norms + router,
    )  # fmt: skip


def _attention(d: Dimensions) -> int:
    """Parameters of one layer's attention."""
    if d.latent:
        m = d.latent
        q_width = d.heads * (m.nope + m.rope)
        query = d.hidden * m.q_rank + m.q_rank * q_width + m.q_rank if m.q_rank else d.hidden * q_width
        compressed = d.hidden * (m.kv_rank + m.rope) + m.kv_rank + m.kv_rank * d.heads * (m.nope + m.v)
        return query + compressed + d.heads * m.v * d.hidden
    queries, keys = d.heads * d.head_dim, d.kv_heads * d.head_dim
    bias = queries + 2 * keys if d.attention_bias else 0
    if d.attention_bias == "all":
        bias += d.hidden
    return 2 * d.hidden * queries + 2 * d.hidden * keys + bias
