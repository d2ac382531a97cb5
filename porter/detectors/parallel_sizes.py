"""Sizes of tensor and expert parallel groups beyond a node of eight GPUs, and settings that only an NVLink rack understands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from porter.config import Config
from porter.model import Fact, Hit
from porter.parse import Parsed
from porter.parse.vendor_images import TEST_PATH

KINDS = ("python", "notebook", "shell", "docker", "yaml", "jenkins", "make", "json", "toml")
NODE = 8  # GPUs of an MI300X, MI325X, MI350X or MI355X node
SIZE_NAMES = ("tensor_parallel_size", "tensor_model_parallel_size", "expert_model_parallel_size", "tp_size", "ep_size")
GAPS = ("=", " = ", '": ', "': ")  # between the name of an argument or a key and its number
WORDS = (
    *(f"{name}{gap}{size}".encode() for name in ("parallel_size", "tp_size", "ep_size") for gap in GAPS for size in range(NODE + 1, 100)),
    b"tensor-parallel-size", b"expert-parallel-size", b"--tp", b"--ep-size", b"nvlink-sharp", b"nccl-nvls", b"mnnvl", b"imex_channels",
    b"nccl_nvls", b"nccl_collnet", b"nccl_sharp", b"nccl_nvb", b"nccl_p2p_nvl", b"^sharp_",
)  # fmt: skip
SERVERS = re.compile(r"(?:vllm|sglang|trtllm|python|dynamo|ray|lmdeploy|text-generation)\b", re.IGNORECASE)
SIZE_FLAG = re.compile(
    r"--?(tensor-parallel-size|tensor_parallel_size|tp|tp-size|tp_size|ep-size|ep_size|expert-parallel-size)=(\d{1,4})\Z"
)
SIZE_NAME = re.compile(rf"({'|'.join(SIZE_NAMES)})=(\d{{1,4}})\Z")
SIZE_KEY = re.compile(r"(?:^|\.)(tensor_?[pP]arallel_?[sS]ize|tensor_model_parallel_size|tensor-parallel-size)=(\d{1,4})\Z")
RACK_FLAG = re.compile(r"--(?:enable-mnnvl|enable-nvlink-sharp|enable-nccl-nvls|use-mnnvl|mnnvl)\b")
RACK_VARIABLES = ("NCCL_MNNVL_ENABLE", "MC_FORCE_MNNVL", "SGLANG_USE_MNNVL", "NVIDIA_IMEX_CHANNELS")
NVLINK_VARIABLE = re.compile(r"NCCL_(?:NVLS|MNNVL|COLLNET|SHARP|NVB|P2P_NVL)_\w+\Z|SHARP_\w+\Z")
RACK_KEY = re.compile(
    r"(?:^|\.)kind=ComputeDomain\Z|(?:^|\.)nvidia\.com/gpu\.clique|(?:^|\.)computeDomain(?:Name)?[.=]|deviceClassName=compute-domain"
)


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """One hit of each rule a line."""
    seen: set[tuple[str, int]] = set()
    is_test = parsed.file.kind == "python" and TEST_PATH.search(parsed.file.path) is not None
    for fact in parsed.facts:
        if is_test and fact.kind == "py_arg":
            continue  # a stand-in of a configuration: no test of Python code has that many GPUs
        for hit in _hits(fact):
            if (hit.rule, hit.span.line) not in seen:
                seen.add((hit.rule, hit.span.line))
                yield hit


def _hits(fact: Fact) -> Iterator[Hit]:
    name, size = _size(fact)
    if size > NODE:
        yield Hit(
            "tensor-parallel-over-node", fact.span, f"{name} is {size}, a node has {NODE} GPUs", f"{name}={size}",
            "tensor-parallel-over-node", live=fact.live,
        )  # fmt: skip
    if fact.kind == "env_var" and NVLINK_VARIABLE.match(fact.name) and fact.name not in RACK_VARIABLES and not _is_off(fact):
        yield Hit("nccl-nvlink-variables", fact.span, f"sets or reads {fact.name}", fact.name, "nccl-nvlink-variables", live=fact.live)
    if words := _rack(fact):
        yield Hit("nvlink-domain-assumption", fact.span, words, words, "nvlink-domain-assumption", live=fact.live)


def _size(fact: Fact) -> tuple[str, int]:
    """The option and its number; 0 for facts that are none."""
    found = None
    if fact.kind == "command_flag" and SERVERS.match(fact.name):
        found = SIZE_FLAG.search(fact.name)
    elif fact.kind == "py_arg":
        found = SIZE_NAME.match(fact.name)
    elif fact.kind == "manifest_key":
        found = SIZE_KEY.search(fact.name)
    return (found[1], int(found[2])) if found else ("", 0)


def _rack(fact: Fact) -> str:
    if fact.kind == "command_flag" and (found := RACK_FLAG.search(fact.name)):
        return f"passes {found[0]}"
    if fact.kind == "env_var" and fact.name in RACK_VARIABLES and not _is_off(fact):
        return f"sets {fact.name}"
    if fact.kind == "manifest_key" and (found := RACK_KEY.search(fact.name)):
        return f"asks for {found[0].lstrip('.')}"
    return ""


def _is_off(fact: Fact) -> bool:
    """Whether a variable switches the thing off: then nothing is lost without it."""
    return fact.detail.get("value", "1").strip("'\" ").lower() in ("0", "", "false", "void")
