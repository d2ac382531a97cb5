"""Reads config.json of Hugging Face into a Shape: names of dimensions differ between families, and defaults are left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from porter.errors import InputError
from porter.regular import read_regular
from porter.size.count import Dimensions, Experts, Latent, count
from porter.size.dtypes import DTYPES, DType, dtype_of
from porter.size.quantised import quantisation
from porter.size.shape import Cache, Shape

MAX_BYTES = 4 * 1024 * 1024
MOST = 10_000_000  # no dimension of a model is larger
# Families that porter's tests hold against published numbers; others are counted by the same formula, and that is said.
CHECKED = frozenset({
    "llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe", "deepseek_v3", "gemma2", "gemma3", "gemma3_text", "phi3", "gpt_oss",
    "falcon", "cohere",
})  # fmt: skip
TIED_BY_DEFAULT = frozenset({"gemma", "gemma2", "gemma3", "gemma3_text", "cohere", "cohere2", "falcon"})
DEFAULTS: dict[str, dict[str, int]] = {  # what these families leave out of the file
    "gemma3_text": {"vocab_size": 262_208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256},
    "gemma2": {"head_dim": 256},
}
NOT_DECODERS = frozenset({
    "bert", "roberta", "t5", "clip", "whisper", "vit", "mamba", "mamba2", "rwkv", "jamba", "distilbert", "wav2vec2", "bart",
})  # fmt: skip
PLAIN_MLP = frozenset({"falcon", "gpt2", "gpt_neox", "gpt_bigcode", "opt", "bloom", "starcoder2", "phi", "nemotron"})
STATEFUL = ("linear_attention", "mamba", "recurrent", "conv")


def read(path: Path) -> Shape:
    """The model of a config.json; raises InputError with one clear sentence when the file does not say its dimensions."""
    table = load(path)
    inner = table.get("text_config")
    top = {**table, **inner} if isinstance(inner, dict) else table
    kind = str(top.get("model_type", ""))
    if kind in NOT_DECODERS or top.get("is_encoder_decoder") is True:
        raise InputError(f"{path}: a {kind or 'model'} is no decoder with a KV cache", "give --params and the sizes of its cache")
    dims = _dimensions(_Reader(path, kind, top))
    parts = count(dims)
    cache = _cache(_Reader(path, kind, top), dims)
    quantised = quantisation(table.get("quantization_config") or top.get("quantization_config"), path)
    notes = _notes(kind, table, top)
    context = _Reader(path, kind, top).number("max_position_embeddings", "n_positions", "seq_length", default=0)
    kv_dtype = DTYPES["fp8"] if _fp8_cache(table) else _dtype(top, path)
    return Shape(
        name=_name(table, path), params=parts.total, parts=parts, cache=cache, heads=dims.heads, dtype=_dtype(top, path),
        quantised=quantised, kv_dtype=kv_dtype, max_context=context, stored_bytes=_stored(path), source=str(path), notes=notes,
    )  # fmt: skip


def load(path: Path) -> dict[str, Any]:
    """The JSON object of a file; raises InputError when it is missing, too large or no object."""
    data = read_regular(path, MAX_BYTES + 1)
    if data is None:
        raise InputError(f"{path}: no such file, or it cannot be read")
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: larger than {MAX_BYTES // 2**20} MiB", "a model's config.json is small")
    try:
        table = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON ({error})") from error
    if not isinstance(table, dict):
        raise InputError(f"{path}: no JSON object")
    return table


class _Reader:
    """Whole numbers of a config under their many names."""

    def __init__(self, path: Path, kind: str, table: Mapping[str, Any]) -> None:
        self.path, self.kind = path, kind
        self.table = {**DEFAULTS.get(kind, {}), **{key: value for key, value in table.items() if value is not None}}

    def number(self, *names: str, default: int | None = None) -> int:
        """The first of these that is there; raises InputError when none is and there is no default, or when it is no count."""
        for name in names:
            if name in self.table:
                value = self.table[name]
                least = 0 if default is not None else 1
                if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
                    raise InputError(f"{self.path}: {name} is no count: {str(value)[:40]}")
                return value
        if default is None:
            raise InputError(f"{self.path}: {names[0]} is missing", "give a model's config.json, or the sizes as options")
        return default


def _dimensions(r: _Reader) -> Dimensions:
    hidden = r.number("hidden_size", "n_embd", "d_model")
    heads = r.number("num_attention_heads", "n_head")
    layers = r.number("num_hidden_layers", "n_layer", "num_layers")
    if r.kind == "falcon" and r.table.get("multi_query") and not r.table.get("new_decoder_architecture"):
        kv_heads = 1
    else:
        kv_heads = r.number("num_key_value_heads", "num_kv_heads", "n_head_kv", default=0) or heads
    head_dim = r.number("head_dim", default=0) or hidden // heads
    latent = _latent(r)
    bias = "all" if r.kind == "gpt_oss" else "qkv" if r.table.get("attention_bias") is True or r.kind in ("qwen2", "qwen2_moe") else ""
    tied = r.table.get("tie_word_embeddings", r.kind in TIED_BY_DEFAULT)
    experts = _experts(r, layers)
    width = r.number("intermediate_size", "ffn_hidden_size", "n_inner", default=0) or 4 * hidden
    return Dimensions(
        vocab=r.number("vocab_size"), hidden=hidden, layers=layers, heads=heads, kv_heads=kv_heads,
        head_dim=head_dim, width=width, gated=r.kind not in PLAIN_MLP, tied=tied is True,
        attention_bias=bias, latent=latent, experts=experts, norm_values=_norm_values(r, hidden, head_dim),
        final_norm=2 * hidden if r.kind == "falcon" else hidden, sinks=heads if r.kind == "gpt_oss" else 0,
    )  # fmt: skip


def _norm_values(r: _Reader, hidden: int, head_dim: int) -> int:
    """Values of all norms of a layer: two vectors, four in Gemma 2 and 3, one in Cohere; LayerNorm of Falcon has biases as well."""
    vectors = 4 if r.kind.startswith(("gemma2", "gemma3")) else 1 if r.kind == "cohere" else 2
    if r.kind == "falcon":
        vectors = 4 if r.table.get("new_decoder_architecture") else 2
    return vectors * hidden + (2 * head_dim if r.kind.startswith(("qwen3", "gemma3")) else 0)


def _latent(r: _Reader) -> Latent | None:
    if not r.number("kv_lora_rank", default=0):
        return None
    return Latent(
        r.number("q_lora_rank", default=0), r.number("kv_lora_rank"), r.number("qk_nope_head_dim"), r.number("qk_rope_head_dim"),
        r.number("v_head_dim"),
    )  # fmt: skip


def _experts(r: _Reader, layers: int) -> Experts | None:
    number = r.number("num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts", default=0)
    if number < 2:
        return None
    width = r.number("moe_intermediate_size", default=0) or r.number("intermediate_size")
    shared = r.number("shared_expert_intermediate_size", default=0) or width * r.number("n_shared_experts", default=0)
    dense = min(r.number("first_k_dense_replace", default=0), layers)
    only_dense = r.table.get("mlp_only_layers")
    listed = {n for n in only_dense if isinstance(n, int)} if isinstance(only_dense, list) else set()
    every = r.table.get("moe_layer_freq")
    step = 1 if isinstance(every, list) else max(1, r.number("decoder_sparse_step", "moe_layer_freq", default=1))
    sparse = sum(1 for layer in range(dense, min(layers, 100_000)) if (layer + 1) % step == 0 and layer not in listed)
    bias = 2 * width + r.number("hidden_size") + 1 if r.kind == "gpt_oss" else 1 if r.kind == "deepseek_v3" else 0
    return Experts(number, width, shared, sparse, bias)


def _cache(r: _Reader, d: Dimensions) -> Cache:
    types = r.table.get("layer_types")
    known = [t for t in types if isinstance(t, str)] if isinstance(types, list) else []
    layers = d.layers - sum(1 for t in known if t.startswith(STATEFUL))
    window = 0 if r.table.get("use_sliding_window") is False else r.number("sliding_window", default=0)
    if known:
        windowed = sum(1 for t in known if t in ("sliding_attention", "chunked_attention"))
    elif r.kind == "gemma2":
        windowed = (d.layers + 1) // 2
    elif r.kind in ("gemma3_text", "gemma3"):
        pattern = max(1, r.number("sliding_window_pattern", default=6))
        windowed = d.layers - d.layers // pattern
    else:
        windowed = d.layers if window and r.kind in ("mistral", "phi3") else 0
    latent = d.latent.kv_rank + d.latent.rope if d.latent else 0
    return Cache(layers, d.kv_heads, d.head_dim, latent, windowed if window else 0, window)


def _dtype(table: Mapping[str, Any], path: Path) -> DType:
    said = table.get("torch_dtype") or table.get("dtype")
    if not isinstance(said, str) or said == "auto":
        return DTYPES["bf16"]
    try:
        return dtype_of(said)
    except Exception as error:
        raise InputError(f"{path}: torch_dtype is '{said[:40]}', which porter does not know", "give --dtype") from error


def _fp8_cache(table: Mapping[str, Any]) -> bool:
    said = table.get("quantization_config")
    if not isinstance(said, dict):
        return False
    scheme = said.get("kv_cache_scheme") or said.get("kv_cache_quant_algo")
    return isinstance(scheme, dict) and scheme.get("num_bits") == 8 or scheme == "FP8"


def _stored(path: Path) -> int:
    """Bytes of all tensors as the index beside a config.json says; 0 where there is none."""
    index = path.with_name("model.safetensors.index.json")
    if not index.is_file():
        return 0
    data = read_regular(index, 32 * 1024 * 1024)
    try:
        total = json.loads(data or b"{}")["metadata"]["total_size"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0
    return int(total) if isinstance(total, int | float) and 0 < total < 1e16 else 0


def _name(table: Mapping[str, Any], path: Path) -> str:
    said = table.get("_name_or_path")
    return said if isinstance(said, str) and said and len(said) < 120 and not said.startswith(("/", ".")) else path.resolve().parent.name


def _notes(kind: str, table: Mapping[str, Any], top: Mapping[str, Any]) -> tuple[str, ...]:
    notes = []
    if kind not in CHECKED:
        notes.append(f"'{kind or 'no model_type'}' is not among the families whose count is tested; the general decoder formula was used")
    if "vision_config" in table or "audio_config" in table:
        notes.append("the image or audio encoder is not counted")
    if isinstance(top.get("num_nextn_predict_layers"), int) and top["num_nextn_predict_layers"] > 0:
        notes.append("the module for multi-token prediction (num_nextn_predict_layers) is not counted")
    types = top.get("layer_types")
    if isinstance(types, list) and any(isinstance(t, str) and t.startswith(STATEFUL) for t in types):
        notes.append("layers without a KV cache (linear attention or state space) are counted as attention layers for the weights")
    return tuple(notes)
