"""NVIDIA product names and sm_ numbers that a program looks for in the GPU's name or the list of architectures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.config import Config
from porter.detectors.python_scope import KINDS, File, file_of
from porter.model import Hit
from porter.parse import Parsed
from porter.parse.python_tree import field, named

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["KINDS", "WORDS", "detect"]

CLUE_WORDS = (b"get_device_name", b"device_name", b"gpu_name", b"get_arch_list", b"get_device_properties")
PRODUCT_WORDS = (
    b"h100", b"h200", b"a100", b"v100", b"b200", b"b100", b"gh200", b"l40", b"geforce", b"tesla", b"quadro", b"titan", b"jetson",
)  # fmt: skip
WORDS = CLUE_WORDS + PRODUCT_WORDS  # the parser keeps only places that hold one
PRODUCT = re.compile(
    r"(nvidia |tesla |geforce |quadro )?"
    r"(nvidia|tesla|geforce|quadro|rtx ?\d*|gtx ?\d*|titan|[aphtvlb]\d{1,3}s?|gh?200|gb\d{3}|rtx a\d{4}|l40s?|thor|spark|jetson)"
    r"(?:[ _-]?(?:pcie|sxm\d?|nvl|\d+ ?gb|ti|super)){0,3}",
    re.IGNORECASE,
)
AMD_NAME = re.compile(r"[\"'](?:amd|advanced micro devices|radeon|instinct|mi\d{2,3}x?|gfx\w+)\b")
ARCH = re.compile(r"(sm|compute)_\d{2,3}[af]?")
CLUES = ("device_name", "gpu_name", "get_device_properties", "props.name", "properties.name", "device_type_name", "card_name")
ARCH_CLUES = ("get_arch_list", "arch_list", "gencode")
RULE = "nvidia-device-name-test"


def detect(parsed: Parsed, index: object, config: Config) -> Iterable[Hit]:
    """Hits on comparisons of a device name with an NVIDIA product."""
    file = file_of(parsed)
    if file is None or not any(word in file.source.lower for word in CLUE_WORDS):
        return
    done: set[int] = set()
    for fact in file.facts("py_string"):
        product = PRODUCT.fullmatch(fact.name.strip()) is not None
        if not product and not ARCH.fullmatch(fact.name):
            continue
        path = file.path(fact)
        node = _comparison(file, path, CLUES if product else ARCH_CLUES)
        if file.is_test and any(above.type == "assert_statement" for above in path):
            continue  # a test of the test's own data, or one that fails visibly
        if node is not None and node.id not in done and not file.amd_only(node) and not _knows_amd(file, path):
            done.add(node.id)
            yield file.hit(RULE, node, f'looks for "{fact.name}"', fact.name)


def _comparison(file: File, path: list[Node], clues: tuple[str, ...]) -> Node | None:
    """The comparison around a string whose other side is about the device's name."""
    for node in reversed(path):
        if node.type == "comparison_operator":
            text = file.source.text(node).lower()
            name = re.search(r"\bname\b", text) is not None and "device" in _function_text(file, path)
            return node if any(clue in text for clue in clues) or name else None
        if node.type in ("block", "module", "pair", "list"):
            return None
    return None


def _knows_amd(file: File, path: list[Node]) -> bool:
    """Whether another condition of the same if statement looks for an AMD name: then the program has a way for AMD already."""
    chain = next((node for node in reversed(path) if node.type == "if_statement"), None)
    if chain is None:
        return False
    parts = [chain, *(node for node in named(chain) if node.type == "elif_clause")]
    conditions = [condition for node in parts if (condition := field(node, "condition")) is not None]
    return any(AMD_NAME.search(file.source.text(condition).lower()) is not None for condition in conditions)


def _function_text(file: File, path: list[Node]) -> str:
    """The text of the function (or the first 20,000 bytes of the module) around a place, lower case."""
    holder = next((node for node in reversed(path) if node.type in ("function_definition", "module")), path[0])
    text = file.source.lower[holder.start_byte : min(holder.end_byte, holder.start_byte + 20_000)]
    return "device" if b"get_device_name" in text else ""
