"""Cloud machine and accelerator types of NVIDIA GPUs, found by the value wherever a setting, a flag or a variable holds one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from porter.config import Config
from porter.model import Fact, Hit, Related
from porter.parse import Parsed

KINDS = ("yaml", "hcl", "shell", "json", "jenkins", "toml", "make", "python", "notebook")
WORDS = tuple((b"=gpu", b"=modal", word) for word in (b"import modal", b"from modal", b", modal"))
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
MODAL = re.compile(r"modal\.gpu\.(?:A10G?|A100|H100|H200|B200|L4|L40S|T4|Any)")
MODAL_ARGUMENT = re.compile(r"gpu=(?:A10G?|A100|H100!?|H200|B200\+?|L4|L40S|T4|RTX-PRO-6000|any)(?:-\d+GB)?(?::\d+)?", re.IGNORECASE)
MODEL_KEY = re.compile(r"(?:^|[._])(?:accelerators?|accelerator_type|gpu|gpu_?type|gpuType)\Z", re.IGNORECASE)
DEFAULT = re.compile(r"\$\{\w+:?-([^}]*)\}")
BETWEEN = re.compile(r"[,\s]+")
# Each type and model holds one of these.
HINTS = ("large", "metal", "gpu", "nvidia", "g2-standard", "standard_n", "a10", "h100", "h200", "b200", "l4", "t4", "v100")
PREFIX = re.compile(r"(?:type|accelerator)=", re.IGNORECASE)


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """One hit for each setting, however many types it lists."""
    if parsed.file.kind in ("python", "notebook"):
        yield from _modal(parsed)
        return
    found: dict[str, list[tuple[Fact, str]]] = {}
    lines: set[int] = set()
    for fact in parsed.facts:
        if fact.kind not in ("manifest_key", "command_flag", "env_var") or fact.span.line in lines or "nvidia.com/" in fact.name:
            continue  # labels of NVIDIA's operator have a rule of their own
        text = f"{fact.name} {fact.detail.get('value', '')}".lower()
        if not any(hint in text for hint in HINTS):
            continue
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


def _modal(parsed: Parsed) -> Iterator[Hit]:
    """GPUs that Modal's decorators ask for, by class or by argument; one hit a file."""
    found = [
        fact
        for fact in parsed.facts
        if (fact.kind in ("py_call", "py_attr") and MODAL.fullmatch(fact.name))
        or (fact.kind == "py_arg" and MODAL_ARGUMENT.fullmatch(fact.name) and _asks_modal(fact))
    ]
    if not found or not any(fact.kind == "py_import" and fact.name.partition(".")[0] == "modal" for fact in parsed.facts):
        return
    first = found[0]
    asked = first.name.partition("=")[2] or first.name.rpartition(".")[2]
    related = tuple(Related(parsed.file.path, fact.span.line, fact.name) for fact in found[1:MAX_RELATED])
    more = f" and in {len(found) - 1} more places" if len(found) > 1 else ""
    yield Hit(RULE, first.span, f"asks Modal for {asked}{more}", asked, RULE, live=first.live, related=related)


def _asks_modal(fact: Fact) -> bool:
    return fact.detail.get("callee", "").rpartition(".")[2] in ("function", "cls", "create", "with_options")


def _values(fact: Fact) -> Iterator[str]:
    """The words of a fact's value; the default in ${NAME:-default}."""
    value = fact.detail.get("value", "")[:400]
    default = DEFAULT.fullmatch(value)
    for word in BETWEEN.split(default[1] if default else value):
        yield PREFIX.sub("", word.strip("\"'"))


def _is_model(fact: Fact, value: str) -> bool:
    """Whether a bare product name stands under a key that asks for an accelerator."""
    key = fact.name.partition("=")[0]
    if fact.kind != "manifest_key":
        return False
    holder, _, last = key.rpartition(".")
    return MODEL.fullmatch(value if MODEL_KEY.search(key) else last if MODEL_KEY.search(holder) else "") is not None
