"""Cloud machine and accelerator types of NVIDIA GPUs, found by the value wherever a setting, a flag or a variable holds one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from porter.config import Config
from porter.model import Fact, Hit, Related
from porter.parse import Parsed

KINDS = ("yaml", "hcl", "shell", "json", "jenkins", "toml", "make")
RULE = "cloud-gpu-node-selector"
MAX_RELATED = 20
TYPE = re.compile(
    r"(?:ml\.)?(?:p3|p3dn|p4d|p4de|p5|p5e|p5en|p6(?:e)?-b\d+|g4dn|g5|g5g|g6|g6e)\.(?:\d*x?large|metal)"  # EC2, SageMaker
    r"|(?:a2|a3|a4|a4x)-(?:high|ultra|mega|edge|max)gpu-\w+|g2-standard-\d+"  # Google Cloud
    r"|nvidia-(?:tesla-)?(?:[tpvalhb]\d{1,3}s?|gb\d{3}|rtx-\w+)(?:-\w+){0,3}"
    r"|Standard_N[CDV]\w*_(?:T4|V100|A10|A100|H100|H200|GB\d{3})_?\w*"  # Azure
    r"|(?:BM|VM)\.GPU\.(?:A10|A100|H100|H200|L40S|B200|GB200)\S*"  # Oracle Cloud
    r"|gpu-(?:h100|h200|b200|l40s)(?:-\w+)?|gd-\dx(?:a100|h100|h200|b200)\w*(?:-\w+)?|AL\d+_x86_64_NVIDIA",  # Nebius, CoreWeave, EKS
    re.IGNORECASE,
)
MODEL = re.compile(r"(?:nvidia[-_ ])?(?:A10G?|A100|H100|H200|B200|GB200|L4|L40S?|T4|V100)(?:-\d+GB)?(?::\d+)?", re.IGNORECASE)
MODEL_KEY = re.compile(r"(?:^|[._])(?:accelerators?|accelerator_type|gpu|gpu_?type|gpuType)\Z", re.IGNORECASE)
PREFIX = re.compile(r"(?:type|accelerator)=", re.IGNORECASE)


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """One hit for each setting, however many types it lists."""
    found: dict[str, list[tuple[Fact, str]]] = {}
    lines: set[int] = set()
    for fact in parsed.facts:
        if fact.kind not in ("manifest_key", "command_flag", "env_var") or fact.span.line in lines or "nvidia.com/" in fact.name:
            continue  # labels of NVIDIA's operator have a rule of their own
        value = next((value for value in _values(fact) if TYPE.fullmatch(value) or _is_model(fact, value)), "")
        if value:
            lines.add(fact.span.line)
            asked = value if not value.isdigit() else fact.name.partition("=")[0].rpartition(".")[2]
            found.setdefault(fact.name.partition("=")[0], []).append((fact, asked))
    for places in found.values():
        first, asked = places[0]
        more = f" and {len(places) - 1} more types" if len(places) > 1 else ""
        related = tuple(Related(parsed.file.path, fact.span.line, name) for fact, name in places[1:MAX_RELATED])
        yield Hit(RULE, first.span, f"asks for {asked}{more}", asked, RULE, live=first.live, related=related)


def _values(fact: Fact) -> Iterator[str]:
    """The words of a fact's value; the default in ${NAME:-default}."""
    value = fact.detail.get("value", "")[:400]
    default = re.fullmatch(r"\$\{\w+:?-([^}]*)\}", value)
    for word in re.split(r"[,\s]+", default[1] if default else value):
        yield PREFIX.sub("", word.strip("\"'"))


def _is_model(fact: Fact, value: str) -> bool:
    """Whether a bare product name stands under a key that asks for an accelerator."""
    key = fact.name.partition("=")[0]
    if fact.kind != "manifest_key":
        return False
    holder, _, last = key.rpartition(".")
    return MODEL.fullmatch(value if MODEL_KEY.search(key) else last if MODEL_KEY.search(holder) else "") is not None
