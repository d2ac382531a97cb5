"""Environment settings whose value decides: paths of the CUDA toolkit, attention back ends and transports that only CUDA has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from porter.config import Config
from porter.detect import span_text
from porter.model import Fact, Hit
from porter.parse import Parsed

KINDS = ("docker", "yaml", "shell", "jenkins", "json", "make", "cmake", "python", "notebook", "bazel", "meson", "rust")
CUDA_FOLDERS = ("/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda")
TOOLKIT_NAMES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDADIR", "CUDA_DIR", "CUDA_TOOLKIT_ROOT", "CUDAToolkit", "CUDNN_", "CUDA_INSTALL")
NVIDIA_OPS = ("DS_BUILD_CUTLASS_OPS", "DS_BUILD_RAGGED_DEVICE_OPS", "DS_BUILD_INFERENCE_CORE_OPS", "DS_BUILD_GDS", "DS_BUILD_SPARSE_ATTN")
XLA_CUDA = re.compile(r"--xla_gpu_(?:cuda_data_dir|enable_cudnn\w*|cudnn_\w+)")
PLUGINS = ("NCCL_NET_PLUGIN", "NCCL_TUNER_PLUGIN", "NCCL_PROFILER_PLUGIN", "NCCL_ENV_PLUGIN")
WORDS = (
    b"vllm_attention_backend", b"ucx_tls", b"ds_build_", b"xla_flags", b"/cuda", b"rocm", *(name.lower().encode() for name in PLUGINS),
)  # fmt: skip
OLD_ROCM = re.compile(r"(?:^|[:;,\s=])(/opt/rocm-\d[\w.]*|/opt/rocm/(?:hip|hcc)(?=[/:;\s]|\Z))")
CUDA_ATTENTION = ("FLASHINFER", "FLASHINFER_MLA", "FLASHMLA", "CUTLASS_MLA", "FLASH_ATTN_MLA", "XFORMERS")


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """At most one hit of each rule a line."""
    seen: set[tuple[str, int]] = set()
    for fact in parsed.facts:
        for hit in _hits(fact):
            if parsed.file.kind == "docker" and hit.rule == "cuda-install-path" and "cuda" not in _line(parsed, hit):
                continue  # ENV PATH=$PATH:/more: the part that leads there was set, and found, above
            key = (hit.rule, hit.span.line)
            if key not in seen:
                seen.add(key)
                yield hit


def _line(parsed: Parsed, hit: Hit) -> str:
    return span_text(parsed.file.data, hit.span, 4_000).lower()


def _hits(fact: Fact) -> Iterator[Hit]:
    value = fact.detail.get("value", "")
    if fact.kind == "env_var":
        if fact.name == "VLLM_ATTENTION_BACKEND" and value.upper() in CUDA_ATTENTION:
            yield _hit("vllm-attention-backend-variable", fact, f"sets {fact.name} to {value}")
        if fact.name == "UCX_TLS" and "cuda" in value.lower():
            yield _hit("ucx-cuda-transport", fact, f"sets {fact.name} to {value}")
        if fact.name in NVIDIA_OPS and value not in ("", "0"):
            yield _hit("deepspeed-nvidia-ops", fact, f"sets {fact.name} to {value}")
        if fact.name == "XLA_FLAGS" and (flag := XLA_CUDA.search(value)):
            yield _hit("xla-cuda-flags", fact, f"sets {flag[0]}")
        if fact.name in PLUGINS and value.strip("'\"").lower() not in ("", "none"):
            yield _hit("nccl-plugin", fact, f"sets {fact.name} to {value}")
    if fact.kind in ("env_var", "cmake_var") and (old := OLD_ROCM.search(value)):
        yield _hit("rocm-versioned-path", fact, f"{fact.name} leads to {old[1]}")
    toolkit = fact.name.startswith(TOOLKIT_NAMES)
    if fact.kind in ("env_var", "cmake_var") and not toolkit and _in_cuda_folder(value):
        yield _hit("cuda-install-path", fact, f"{fact.name} leads to {_folder(value)}")
    elif fact.kind == "compile_flag" and fact.name.startswith(("-I", "-L", "-Wl,-rpath", "-isystem")) and _in_cuda_folder(fact.name):
        yield _hit("cuda-install-path", fact, f"passes {fact.name}")


def _in_cuda_folder(text: str) -> bool:
    return bool(_folder(text))


def _folder(value: str) -> str:
    """The part of a search path, or of a flag list, that leads into the toolkit; empty for prose and other places."""
    if any(blank in value for blank in " \t") and not value.lstrip().startswith("-"):
        return ""
    for part in re.split(r"[:;,\s]+", value[:2_000]):
        bare = re.sub(r"^(?:-I|-L|-isystem|-Wl,-rpath[=,]?|-rpath=?)", "", part).strip("\"'")
        if bare.startswith(CUDA_FOLDERS):
            return bare[:120]
    return ""


def _hit(rule: str, fact: Fact, message: str) -> Hit:
    return Hit(rule, fact.span, message, fact.name, rule, live=fact.live)
