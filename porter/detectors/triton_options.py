"""Options of Triton launches and configurations that only NVIDIA's back end has: clusters, register caps, dependent launch."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from porter.config import Config
from porter.detectors.python_scope import KINDS, file_of
from porter.model import Hit
from porter.parse import Parsed

__all__ = ["KINDS", "WORDS", "detect"]

WORDS = (b"num_ctas", b"maxnreg", b"launch_pdl")
RULES = (
    (re.compile(r"num_ctas=(?:[2-9]|1\d)\Z"), "triton-cta-cluster"),
    (re.compile(r"maxnreg=\d+\Z"), "triton-maxnreg"),
    (re.compile(r"launch_pdl=True\Z"), "triton-launch-pdl"),
)


def detect(parsed: Parsed, index: object, config: Config) -> Iterable[Hit]:
    """Hits on constant options, where the call or dictionary around them can be one of Triton's."""
    file = file_of(parsed)
    if file is None or not any(word in file.source.lower for word in WORDS):
        return
    for fact in file.facts("py_arg"):
        rule = next((rule for pattern, rule in RULES if pattern.match(fact.name)), None)
        path = file.path(fact) if rule is not None else []
        holder = next((node for node in reversed(path) if node.type in ("call", "dictionary")), None)
        if rule is not None and holder is not None and not file.amd_only(holder) and file.may_be_triton(holder):
            hit = file.hit(rule, path[-1], f"passes {fact.name}", fact.name)
            yield msgspec.structs.replace(hit, span=fact.span, live=fact.live)
