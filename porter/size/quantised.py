"""Reads quantization_config of a checkpoint: which format, and which parts of the network are left as they were."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from porter.errors import InputError
from porter.size.dtypes import DTYPES, DType, fp8_blocks, grouped
from porter.size.shape import Quantised

IGNORE_KEYS = ("ignore", "modules_to_not_convert", "exclude_modules", "exclude")
SCALES = {"gptq": 20, "awq": 20, "auto-round": 20}


def quantisation(said: Any, path: Path) -> Quantised | None:
    """The format of a quantised checkpoint, None for one that is not; raises InputError for a method that is not known."""
    if said is None or said == {}:
        return None
    if not isinstance(said, dict):
        raise InputError(f"{path}: quantization_config is no object")
    method = str(said.get("quant_method") or said.get("quant_algo") or ("bitsandbytes" if "load_in_4bit" in said else "")).lower()
    dtype = _dtype(method, said)
    if dtype is None:
        raise InputError(f"{path}: the quantisation '{method[:40] or 'without a name'}' is not known", "give --dtype")
    left = " ".join(name for key in IGNORE_KEYS for name in _strings(said.get(key)))
    parts = tuple(part for part in ("attention", "mlp", "experts") if not (part == "attention" and "self_attn" in left))
    return Quantised(dtype, parts, method)


def _dtype(method: str, said: Mapping[str, Any]) -> DType | None:
    block = said.get("weight_block_size")
    if method == "fp8" and isinstance(block, list) and len(block) == 2 and all(isinstance(n, int) and n > 0 for n in block):
        return fp8_blocks(block[0], block[1])
    if method in ("fp8", "fbgemm_fp8", "mxfp4", "mxfp6", "mxfp8", "nvfp4"):
        return DTYPES["fp8" if method.endswith("fp8") and method != "mxfp8" else method]
    if method in SCALES:
        return _integers(method, said.get("bits", 4), said.get("group_size", 128), SCALES[method])
    if method == "bitsandbytes":
        return DTYPES["nf4" if said.get("load_in_4bit") or said.get("_load_in_4bit") else "int8"]
    if method == "compressed-tensors":
        return _compressed(said)
    if method == "modelopt" or "fp4" in method or "fp8" in method:
        return _modelopt(said, method)
    return _quark(said) if method == "quark" else None


def _integers(name: str, bits: Any, group: Any, scale: int) -> DType | None:
    if bits not in (2, 3, 4, 8) or not isinstance(group, int):
        return None
    family = "int8" if bits == 8 else "int4"
    return grouped(name, bits, group if group > 0 else 4096, scale, family)  # -1: one scale a row; 4,096 is a common width


def _compressed(said: Mapping[str, Any]) -> DType | None:
    groups = said.get("config_groups")
    for group in groups.values() if isinstance(groups, dict) else ():
        weights = group.get("weights") if isinstance(group, dict) else None
        if not isinstance(weights, dict):
            continue
        bits, kind, size = weights.get("num_bits"), weights.get("type"), weights.get("group_size")
        if kind == "float":
            return DTYPES["fp8"] if bits == 8 else DTYPES["mxfp4" if size == 32 else "nvfp4"] if bits == 4 else None
        if bits == 8:
            return DTYPES["int8"]
        return _integers("int4", bits, size if isinstance(size, int) else 128, 16)
    return None


def _modelopt(said: Mapping[str, Any], method: str) -> DType | None:
    inner = said.get("quantization")
    algo = f"{said.get('quant_algo') or ''} {inner.get('quant_algo') if isinstance(inner, dict) else ''} {method}".lower()
    return DTYPES["nvfp4"] if "fp4" in algo else DTYPES["fp8"] if "fp8" in algo else None


def _quark(said: Mapping[str, Any]) -> DType | None:
    settings = said.get("global_quant_config")
    weight = settings.get("weight") if isinstance(settings, dict) else None
    kind = str(weight.get("dtype", "")).lower() if isinstance(weight, dict) else ""
    if kind.startswith("fp8"):
        return DTYPES["fp8"]
    if kind.startswith(("fp4", "mx_fp4")):
        return DTYPES["mxfp4"]
    if kind.startswith(("fp6", "mx_fp6")):
        return DTYPES["mxfp6"]
    return DTYPES["int8"] if kind == "int8" else DTYPES["int4"] if kind in ("int4", "uint4") else None


def _strings(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
