"""Files that belong to another accelerator (TPU, Gaudi, Ascend …): a build for AMD reads none of them, so nothing in them is work."""

from __future__ import annotations

import re

DEVICES = "ascend|npu|cann|gaudi|hpu|habana|tpu|xpu|xla|trainium|inferentia|neuron|openvino|mps|mlu|gcu|musa|macos|osx|mac|apple|darwin"
WORD = re.compile(rf"(?:^|[._-])({DEVICES})(?:[._-]|\Z)")
CPU_WORD = re.compile(r"(?:^|[._-])(cpu)(?:[._-]|\Z)")
GPU_WORD = re.compile(r"(?:^|[._-])(?:cuda\d*|cu\d+|gpu|nvidia|rocm|amd|hip)(?:[._-]|\Z)")
CONFIGURATION = frozenset(("docker", "yaml", "shell", "jenkins", "requirements", "conda", "make", "json", "toml", "hcl", "notebook"))
CPU_KINDS = frozenset(("docker", "shell", "yaml", "conda", "requirements"))
SOURCES = frozenset(("python", "cython"))
AMBIGUOUS = frozenset(("neuron", "mps", "xla", "apple", "mac"))  # other meanings where code stands: Metal beside CUDA, XLA on GPUs


def device_of(path: str, kind: str) -> str:
    """The accelerator that a path says a file is for, "cpu" for a CPU build's files; empty for GPUs and for all."""
    if kind not in CONFIGURATION and kind not in SOURCES:
        return ""
    parts = path.lower().split("/")
    last = re.sub(r"\.(?:py|pyx|ya?ml|sh|json|txt|in|toml|ipynb)\Z", "", parts[-1])
    for part in (*parts[:-1], last):
        found = WORD.search(part)
        if found and not GPU_WORD.search(part) and not (kind in SOURCES and found[1] in AMBIGUOUS):
            return found[1]
    found = CPU_WORD.search(last) if kind in CPU_KINDS else None
    return found[1] if found and not GPU_WORD.search(last) else ""
