"""Good news from Python and CUDA files: what needs no work on ROCm, one hit a file and rule, at the first use, with the number of uses."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Iterable

from porter.config import Config
from porter.model import Fact, Hit, Live
from porter.parse import Parsed

KINDS = ("python", "notebook", "cython", "cuda", "cxx")
WORDS = (
    *((b"=cuda", word) for word in (b".cuda", b"^cuda(", b"@cuda", b"torch import")),  # an attribute, called, or imported
    *((b"torch.compile", word) for word in (b"torch.compile(", b"@torch.compile")),
    b'"cuda', b"'cuda", b"=nccl", b'"nccl', b"'nccl", b"=cudnn", b"matmul_precision", b"emit_nvtx",
    (b"torch.device(", b"cuda"),  # with some name of CUDA as its argument
    (b"", b"triton", b"=language"), (b"", b"triton", b"=tl"),  # imported
)  # fmt: skip
# rule -> kind of fact -> globs of its names
USES: dict[str, dict[str, tuple[str, ...]]] = {
    "torch-cuda-api": {
        "py_call": ("torch.cuda.*", "*.cuda", "torch.device"),
        "py_attr": ("torch.cuda.*",),
        "py_arg": ("device=cuda*", "device_type=cuda", "map_location=cuda*"),
    },
    "torch-cuda-graphs": {
        "py_call": ("torch.cuda.graph", "torch.cuda.CUDAGraph", "torch.cuda.make_graphed_callables", "torch.cuda.graphs.*")
    },
    "torch-cudnn-switches": {"py_attr": ("torch.backends.cudnn.*",)},
    "torch-tf32-switches": {
        "py_attr": ("torch.backends.cuda.matmul.*", "torch.backends.cudnn.allow_tf32"),
        "py_call": ("torch.set_float32_matmul_precision",),
    },
    "torch-nvtx": {"py_call": ("torch.cuda.nvtx.*", "torch.autograd.profiler.emit_nvtx"), "py_import": ("torch.cuda.nvtx",)},
    "torch-nccl-backend": {
        "py_arg": ("backend=nccl*", "dist_backend=nccl", "backend=cpu:gloo,cuda:nccl", "ddp_backend=nccl"),
        "py_call": ("torch.cuda.nccl.*",),
    },
    "torch-compile": {"py_call": ("torch.compile",)},
    "torch-cuda-extension": {
        "build_symbol": ("CUDAExtension", "BuildExtension", "load_inline"),
        "py_attr": ("torch.utils.cpp_extension.CUDAExtension",),  # named and called by another name, as pytorch_scatter does
    },
    "triton-language": {"py_import": ("triton.language",)},
    "thrust-headers": {"include": ("thrust/*",)},
    "nccl-api": {"call": ("nccl[A-Z]*",)},
    "cooperative-groups-basics": {
        "call": ("cooperative_groups::this_thread_block", "cg::this_thread_block", "cooperative_groups::this_grid", "cg::this_grid"),
    },
    "stream-ordered-allocation": {
        "call": (
            "cudaMallocAsync",
            "cudaFreeAsync",
            "cudaMallocFromPoolAsync",
            "cudaMemPool*",
            "cudaDevice[GS]et*MemPool",
            "cuMemAllocAsync",
            "cuMemFreeAsync",
        ),
    },
    "graph-capture": {
        "call": ("cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphInstantiate*", "cudaGraphLaunch", "cudaGraphExecUpdate"),
    },
    "device-printf": {},
}
OWN_MEANING_OF_DEVICE = ("xgboost.", "lightgbm.", "catboost.")  # their device="cuda" is not torch's
DEVICE_CALLS = {"printf": "device-printf", "assert": "device-printf"}


def _compiled() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """kind of fact -> (rule, regex) pairs."""
    out: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for rule, kinds in USES.items():
        for kind, globs in kinds.items():
            out.setdefault(kind, []).append((rule, re.compile("|".join(fnmatch.translate(glob) for glob in globs))))
    return out


GLOBS = _compiled()


def detect(parsed: Parsed, index: object, config: Config) -> Iterable[Hit]:
    """One hit a rule, where the file first shows it; its message counts the lines."""
    lines: dict[str, set[int]] = {}
    first: dict[str, Fact] = {}
    for fact in parsed.facts:
        if fact.kind not in GLOBS or fact.live is Live.NO or not (_by_glob(fact.kind, fact.name) or fact.name in DEVICE_CALLS):
            continue
        for rule in _rules_of(fact):
            lines.setdefault(rule, set()).add(fact.span.line)
            first.setdefault(rule, fact)
    for rule, fact in first.items():
        count = len(lines[rule])
        more = f", and on {count - 1} more line{'s' if count > 2 else ''} of this file" if count > 1 else ""
        yield Hit(rule, fact.span, f"{fact.name}{more}", rule)


def _rules_of(fact: Fact) -> Iterable[str]:
    if fact.kind == "py_arg" and fact.detail.get("callee", "").startswith(OWN_MEANING_OF_DEVICE):
        return
    if fact.kind == "call":
        if fact.context == "device" and fact.name in DEVICE_CALLS:
            yield DEVICE_CALLS[fact.name]
    elif fact.kind == "py_call" and fact.name == "torch.device" and not any("cuda" in arg for arg in fact.args):
        return
    yield from _by_glob(fact.kind, fact.name)


@functools.lru_cache(maxsize=20_000)
def _by_glob(kind: str, name: str) -> tuple[str, ...]:
    return tuple(rule for rule, regex in GLOBS.get(kind, ()) if regex.match(name))
