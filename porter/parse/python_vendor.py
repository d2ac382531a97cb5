"""What a condition is worth on an AMD machine: true, false or unknown, from the names that projects use for the vendor.

Sources for the values: PyTorch's HIP semantics page (torch.version.hip is a string and torch.version.cuda is None on ROCm,
torch.cuda.is_available() is true, device type is "cuda").
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from porter.parse.python_platforms import COLLECTIONS, platform_words, sign_of
from porter.parse.python_strings import string_value
from porter.parse.python_tree import Source, field, named

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_NEST = 24
MAX_NAMES = 50
MAX_DEFINED = 2001  # places of a word
AMD_NAME = re.compile(
    r"(is|on|has|use|using|have|build|with|target|running|enable)?_?(torch_?)?(hip|rocm|amd|amdgpu)"
    r"(_(available|gpu|build|platform|pytorch|torch|backend|device|env|enabled|version|support|installed|extension|home|system|only))*"
)
NVIDIA_NAME = re.compile(
    r"(is|on|has|use|using|running)_?(nvidia|nv_gpu)(_(available|gpu|platform|backend|device|hopper|blackwell|sm\d+))*"
)
OTHER_NAME = re.compile(r"(is|on|use)_(torch_)?(xpu|npu|hpu|tpu|mps|musa|mlu)(_(available|platform|device|backend))?")
CUDA_TEST = re.compile(r"(is|on)_cuda")
ALWAYS = ("is_cuda_alike", "is_cuda_or_rocm", "is_gpu")
TRUE_CALLS = ("torch.cuda.is_available",)
AMD_WORDS = ("hip", "rocm", "amd")
OTHER_WORDS = ("nvidia", "xpu", "npu", "hpu", "tpu", "musa", "mps")
TARGET_CLUES = ("target", "vendor", "platform", "driver")


class Vendor:
    """Evaluates conditions of one file; names that the file defines by a vendor test count as that test."""

    def __init__(self, source: Source) -> None:
        """Definitions are read when first asked for."""
        self._source = source
        self._knows_amd: bool | None = None
        self._defined: dict[str, list[Node]] | None = None
        self._values: dict[str, bool | None] = {}
        self._platforms: dict[str, str] | None = None

    def names(self, hints: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Names that the file defines by a vendor test, or that hold a vendor's word, without those that hold a hint; lower case."""
        if self._defined is None:
            self._defined = _definitions(self._source)
        told = (name.partition("(")[0] for name in self._held_words())
        words = (name.rpartition(".")[2].lower().encode() for name in (*self._defined, *told))
        return tuple(sorted({word for word in words if len(word) > 2 and not any(hint in word for hint in hints)}))[:MAX_NAMES]

    def value(self, node: Node | None, nest: int = 0) -> bool | None:
        """True, False, or None for unknown, on an AMD machine."""
        if node is None or nest > MAX_NEST:
            return None
        kind = node.type
        if kind in ("parenthesized_expression", "named_expression"):
            inner = named(node)
            return self.value(inner[-1], nest + 1) if inner else None
        if kind == "not_operator":
            worth = self.value(field(node, "argument"), nest + 1)
            return None if worth is None else not worth
        if kind == "boolean_operator":
            return self._both(node, nest)
        if kind == "comparison_operator":
            return self._comparison(node, nest)
        if kind == "call":
            return self._call(node, nest)
        if kind in ("identifier", "attribute"):
            return self._name(self._source.resolve(node), called=False, nest=nest)
        if kind in ("true", "false"):
            return kind == "true"
        return None

    def amd_only(self, test: Node) -> bool:
        """True when a condition that holds on AMD holds because of a test for AMD, not for any GPU."""
        text = self._source.text(test).lower()
        return any(word in text for word in AMD_WORDS) and " or " not in text and '"cuda"' not in text and "'cuda'" not in text

    def _both(self, node: Node, nest: int) -> bool | None:
        """and / or; a long chain leans to the left, so it is followed in a loop."""
        operator = field(node, "operator")
        word = operator.type if operator is not None else ""
        worths: list[bool | None] = []
        at: Node | None = node
        while at is not None and at.type == "boolean_operator" and (field(at, "operator") or at).type == word and len(worths) < 200:
            worths.append(self.value(field(at, "right"), nest + 1))
            at = field(at, "left")
        worths.append(self.value(at, nest + 1))
        decisive = word == "or"
        if decisive in worths:
            return decisive
        return None if None in worths else not decisive

    def _comparison(self, node: Node, nest: int) -> bool | None:
        parts = named(node)
        if len(parts) != 2:
            return None
        left, right = parts
        operator = sign_of(node)
        told = self._told(left, right, operator)
        if told is not None:
            return told
        if right.type == "none":
            worth = self._present(left, nest)
            return (
                None
                if worth is None or operator not in ("is", "is not", "==", "!=")
                else (worth if "n" in operator or "!" in operator else not worth)
            )
        if operator in ("==", "!="):
            equal = self._equal(left, right)
            if equal is None and right.type in ("true", "false"):
                worth = self.value(left, nest + 1)
                equal = None if worth is None else worth == (right.type == "true")
            return None if equal is None else equal == (operator == "==")
        return None

    def _told(self, left: Node, right: Node, operator: str) -> bool | None:
        """`DEVICE_TYPE == "cuda"`, `DEVICE_TYPE in ("xpu", "hip")`, of names that the file uses to tell AMD from CUDA."""
        items = named(right) if right.type in COLLECTIONS else [right]
        words = [string_value(self._source, item) for item in items]
        if operator not in ("==", "!=", "in", "not in") or not words or None in words or (right.type == "string" and "in" in operator):
            return None
        held = self._held_words().get(self._source.text(left))
        return None if held is None else (held in words) == (operator in ("==", "in"))

    def _held_words(self) -> dict[str, str]:
        if self._platforms is None:
            self._platforms = platform_words(self._source)
        return self._platforms

    def _present(self, node: Node, nest: int) -> bool | None:
        """Whether a value is other than None on AMD."""
        text = self._source.resolve(node) if node.type in ("identifier", "attribute") else self._source.text(node)
        if text.endswith(("version.hip", "ROCM_HOME", "ROCM_VERSION", "HIP_HOME")):
            return True
        if text.endswith("version.cuda"):
            return False
        return self.value(node, nest + 1) if "version" in text and "hip" in text else None

    def _equal(self, left: Node, right: Node) -> bool | None:
        """`target.backend == "hip"` and its like."""
        word = (string_value(self._source, right) or "").lower()
        clue = self._source.text(left).lower()
        if not word or len(clue) > 200:
            return None
        if clue in ("sys.platform", "platform.system()"):
            return False if word == "darwin" else None
        clear = any(hint in clue for hint in TARGET_CLUES)
        if word in AMD_WORDS:
            return True if clear or "backend" in clue else None
        if word in OTHER_WORDS:
            return False if clear or "device" in clue else None
        return False if word == "cuda" and "target" in clue and "target_device" not in clue else None

    def _call(self, node: Node, nest: int) -> bool | None:
        function, arguments = field(node, "function"), field(node, "arguments")
        if function is None or arguments is None:
            return None
        name, inner = self._source.resolve(function), named(arguments)
        if name == "bool" and inner:
            return self.value(inner[0], nest + 1)
        if name in ("getattr", "hasattr") and len(inner) > 1 and self._source.resolve(inner[0]).endswith("torch.version"):
            word = string_value(self._source, inner[1])
            return True if word == "hip" else (False if word == "cuda" and name == "getattr" else None)
        return self._name(name, called=True, nest=nest)

    def _name(self, name: str, called: bool, nest: int) -> bool | None:
        """A name as a condition: what the file defines it to be, else what its words say."""
        head, _, last = name.rpartition(".")
        if name in TRUE_CALLS or last in ALWAYS:
            return True
        if name.endswith("version.hip"):
            return True
        if name.endswith("version.cuda"):
            return False
        if head in ("", "self"):
            worth = self._definition(name, nest)
            if worth is not None:
                return worth
        word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", last).lower().strip("_")
        if AMD_NAME.fullmatch(word):
            return True
        if NVIDIA_NAME.fullmatch(word) or OTHER_NAME.fullmatch(word):
            return False
        if CUDA_TEST.fullmatch(word):
            return self._cuda_test(head, called)
        return None

    def _cuda_test(self, head: str, called: bool) -> bool | None:
        """`is_cuda`: false of a platform, unknown of a tensor, and of a bare name only where the file knows AMD too."""
        if "platform" in head.lower():
            return False
        if head not in ("", "self") and not called:
            return None  # a tensor's attribute: true or false by tensor, not by vendor
        if self._knows_amd is None:
            self._knows_amd = re.search(rb"(?<![a-z])(is_hip|is_rocm|rocm|hip|is_amd)(?![a-z])", self._source.lower) is not None
        return False if self._knows_amd else None

    def _definition(self, name: str, nest: int) -> bool | None:
        if self._defined is None:
            self._defined = _definitions(self._source)
        if name not in self._defined or nest > MAX_NEST // 2:
            return None
        if name not in self._values:
            self._values[name] = None  # a name defined by itself stays unknown
            worths = {self.value(node, nest + 4) for node in self._defined[name]}
            self._values[name] = worths.pop() if len(worths) == 1 else None
        return self._values[name]


def _definitions(source: Source) -> dict[str, list[Node]]:
    """Names that a file assigns, or functions that return, an expression with a vendor word in it."""
    found: dict[str, dict[int, Node]] = {}
    for word in (b"version.hip", b"version.cuda", b"hip", b"rocm", b"nvidia", b"is_cuda"):
        for path in source.paths(itertools.islice(source.find(word), MAX_DEFINED)):
            for above, below in zip(path, path[1:], strict=False):
                _define(source, path, above, below, found)
    return {name: list(nodes.values()) for name, nodes in found.items()}


def _define(source: Source, path: list[Node], above: Node, below: Node, found: dict[str, dict[int, Node]]) -> None:
    if above.type == "assignment" and below == field(above, "right"):
        left = field(above, "left")
        if left is not None and (left.type == "identifier" or source.text(left).startswith("self.")):
            found.setdefault(source.text(left), {})[below.id] = below
    elif above.type == "return_statement":
        function = next((node for node in reversed(path) if node.type == "function_definition" and node.end_byte >= above.end_byte), None)
        name = field(function, "name") if function is not None else None
        if name is not None:
            found.setdefault(source.text(name), {})[below.id] = below
