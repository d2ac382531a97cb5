"""cuDNN chosen as the only back end of PyTorch's scaled_dot_product_attention; in a list, the others serve AMD."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from porter.config import Config
from porter.detectors.python_scope import KINDS, file_of
from porter.model import Hit
from porter.parse import Parsed
from porter.parse.python_tree import field, inside, named

__all__ = ["KINDS", "WORDS", "detect"]

WORDS = (b"cudnn_attention",)
RULE = "torch-sdpa-cudnn-only"
CHOOSERS = ("sdpa_kernel", "SDPBackend")
SEVERAL = ("list", "tuple", "set")


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """A hit for each call of sdpa_kernel that is given cuDNN and nothing else."""
    file = file_of(parsed)
    if file is None:
        return
    for fact in file.facts("py_attr"):
        if not fact.name.endswith("SDPBackend.CUDNN_ATTENTION"):
            continue
        path = file.path(fact)
        call, several = inside(path, ("call",)), inside(path, SEVERAL)
        function = field(call, "function") if call is not None else None
        if call is None or function is None or file.source.resolve(function).rpartition(".")[2] not in CHOOSERS:
            continue
        if several is None or several.start_byte < call.start_byte or len(named(several)) < 2:
            yield file.hit(RULE, path[-1], "sdpa_kernel is given cuDNN alone", "SDPBackend.CUDNN_ATTENTION")
