"""NVIDIA-only features named in Triton kernels: the CUDA extra module, TMA descriptors, OCP fp8 on GPUs without it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from porter.config import Config
from porter.detectors.python_scope import KINDS, File, file_of
from porter.model import Fact, Hit, Live
from porter.parse import Parsed
from porter.parse.python_tree import field

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["KINDS", "WORDS", "detect"]

WORDS = (
    b"extra.cuda",
    b"language.extra",
    b"gdc_",
    b"tensor_descriptor",
    b"tma_descriptor",
    b"tensormap",
    b"_descriptor_load",
    b"_experimental_descriptor_",
    b"float8e4nv",
)
EXTRA = "triton.language.extra.cuda"
DESCRIPTOR_CALLS = re.compile(
    r"triton\.language\.(make_tensor_descriptor|_experimental_make_tensor_descriptor|_experimental_descriptor_\w+|experimental_device_tensormap\w*)"
    r"|.*\.fill_[12]d_tma_descriptor\w*"
)
DESCRIPTOR_MODULES = ("triton.tools.tensor_descriptor", "triton.tools.experimental_descriptor")
HARDWARE_DESCRIPTORS = ("gfx125",)
FLAG = re.compile(r"gdc|pdl|dependent|tma|descriptor|hopper|nvidia|cuda|sm_?\d\d", re.IGNORECASE)
WITHOUT_E4M3 = ("gfx90a", "gfx908", "gfx906", "gfx103", "gfx110", "gfx115")


def detect(parsed: Parsed, index: object, config: Config) -> Iterable[Hit]:
    """Hits outside code that only AMD runs and outside branches that a feature flag of the kernel switches off."""
    file = file_of(parsed)
    if file is None or file.made_for_amd or b"triton" not in file.source.lower:
        return
    yield from _extra(file)
    targets = tuple(t for t in config.targets if not t.startswith(HARDWARE_DESCRIPTORS))
    if targets:
        yield from _first(file, "triton-tma-descriptor", list(_descriptors(file)), "TMA descriptors", targets)
    targets = tuple(t for t in config.targets if t.startswith(WITHOUT_E4M3))
    if targets and b"float8e4b8" not in file.source.lower:
        facts = [fact for fact in file.facts("py_attr") if fact.name == "triton.language.float8e4nv" and not _compared(file, fact)]
        yield from _first(file, "triton-fp8-e4nv", facts, "float8e4nv", targets)


def _extra(file: File) -> Iterator[Hit]:
    """Imports and uses of the CUDA extra module; a use under an import of the same file is told by the import."""
    imported = False
    for fact in file.facts("py_import"):
        if fact.name.startswith(EXTRA) and "optional" not in fact.detail:
            imported = imported or fact.live is not Live.NO
            yield from _hit(file, "triton-cuda-extra", fact, f"imports {fact.name}")
    if imported:
        return
    for fact in file.parsed.facts:
        if fact.kind in ("py_call", "py_attr") and fact.name.startswith(EXTRA + ".") and not _flagged(file, fact):
            yield from _hit(file, "triton-cuda-extra", fact, f"uses {fact.name.removeprefix('triton.language.')}")


def _hit(file: File, rule: str, fact: Fact, message: str) -> Iterator[Hit]:
    path = file.path(fact)
    if path and not file.amd_only(path[-1]):
        yield msgspec.structs.replace(file.hit(rule, path[-1], message, rule), span=fact.span, live=fact.live)


def _descriptors(file: File) -> Iterator[Fact]:
    for fact in file.parsed.facts:
        called = fact.kind == "py_call" and DESCRIPTOR_CALLS.fullmatch(fact.name) is not None and not _flagged(file, fact)
        if called or (fact.kind == "py_import" and fact.name in DESCRIPTOR_MODULES and "optional" not in fact.detail):
            yield fact


def _first(file: File, rule: str, facts: list[Fact], what: str, targets: tuple[str, ...]) -> Iterator[Hit]:
    """One hit a file, at the first live place."""
    facts = [fact for fact in facts if fact.live is not Live.NO] or facts
    if facts:
        more = f", {len(facts)} places in this file" if len(facts) > 1 else ""
        for hit in _hit(file, rule, facts[0], what + more):
            yield msgspec.structs.replace(hit, targets=targets)


def _flagged(file: File, fact: Fact) -> bool:
    """True under `if USE_GDC:` and its like: a constant that the launcher sets by platform; Triton compiles no dead branch."""
    path = file.path(fact)
    for above, below in zip(path, path[1:], strict=False):
        if above.type in ("if_statement", "elif_clause") and below == field(above, "consequence"):
            test = field(above, "condition")
            if test is not None and FLAG.search(file.source.text(test)):
                return True
    return False


def _compared(file: File, fact: Fact) -> bool:
    path: list[Node] = file.path(fact)
    return any(node.type in ("comparison_operator", "conditional_expression") for node in path[-6:])
