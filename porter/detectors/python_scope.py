"""What the Python detectors share: the tree behind a file's facts, and names followed inside one function."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.model import Confidence, Fact, Hit, Live
from porter.parse import Parsed
from porter.parse.python_guards import PythonGuards
from porter.parse.python_tree import Source, field, inside, named

if TYPE_CHECKING:
    from tree_sitter import Node

KINDS = ("python", "notebook")
SCOPES = ("function_definition", "module", "lambda")
MAX_USES = 400
TEST_PATH = re.compile(r"(^|/)(tests?|testing)/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.py\Z")
NVIDIA_PATH = re.compile(
    r"flashinfer|flash_?mla|marlin|machete|cutlass|trtllm|cute_?dsl|deep_?gemm|nvfp4|hopper|blackwell|sm(90|100|120)|(^|[/_])(nvidia|cuda)([/_.]|\Z)"
)
OTHER_KERNEL_LANGUAGES = ("cuda.tile", "cutlass", "tilelang")
AMD_PATH = re.compile(r"(^|[/_])(amd|rocm|hip|aiter|flydsl)([/_.]|\Z)")


class File:
    """A parsed Python file as detectors see it."""

    def __init__(self, parsed: Parsed, source: Source) -> None:
        """Keep the parts; use ``file_of`` to get one."""
        self.parsed = parsed
        self.source = source
        self.guards = parsed.guards if isinstance(parsed.guards, PythonGuards) else None

    def facts(self, kind: str) -> Iterator[Fact]:
        """The facts of one kind."""
        return (fact for fact in self.parsed.facts if fact.kind == kind)

    def path(self, fact: Fact) -> list[Node]:
        """The tree path to where a fact stands."""
        offset = self.source.offsets.get(fact.span)
        return self.source.path(offset) if offset is not None else []

    def node(self, fact: Fact, kind: str) -> Node | None:
        """The outermost node of a kind that starts where a fact stands."""
        offset = self.source.offsets.get(fact.span, -1)
        return next((node for node in self.path(fact) if node.type == kind and node.start_byte == offset), None)

    def live(self, node: Node) -> Live:
        """Whether the code at a node runs on AMD."""
        return self.guards.at_byte(node.start_byte) if self.guards is not None else Live.YES

    def amd_only(self, node: Node) -> bool:
        """True where only AMD machines come."""
        return self.guards is not None and self.guards.amd_only(node.start_byte)

    def hit(self, rule: str, node: Node, message: str = "", subject: str = "") -> Hit:
        """A hit at a node."""
        doubt = self.guards is not None and self.guards.doubtful(node.start_byte)
        low = Confidence.LOW if doubt or self.made_for_nvidia or self.is_test else None
        return Hit(rule, self.source.span(node), message, subject, live=self.live(node), confidence=low)

    @property
    def is_test(self) -> bool:
        """True for test files: what fails there stops no user."""
        return TEST_PATH.search(self.parsed.file.path) is not None

    @property
    def made_for_nvidia(self) -> bool:
        """True for a file whose path says that it serves an NVIDIA-only library or GPU, and so may never be reached on AMD."""
        return NVIDIA_PATH.search(self.parsed.file.path.lower()) is not None

    @property
    def other_kernel_language(self) -> bool:
        """True for a file that imports cuTile, CuTe or TileLang: its tiles, stages and options need not be Triton's."""
        return any(fact.name.startswith(OTHER_KERNEL_LANGUAGES) for fact in self.facts("py_import"))

    def may_be_triton(self, holder: Node) -> bool:
        """Whether a call or dictionary can hold options of a Triton kernel: a launch, triton.Config, or no other language here."""
        if not self.other_kernel_language:
            return True
        function = field(holder, "function") if holder.type == "call" else None
        return function is not None and (function.type == "subscript" or self.source.resolve(function).startswith("triton."))

    @property
    def made_for_amd(self) -> bool:
        """True for a file whose path says that it is AMD's side."""
        return AMD_PATH.search(self.parsed.file.path.lower()) is not None


def file_of(parsed: Parsed) -> File | None:
    """The Python file behind a parse; None where it was not read (nothing in it concerns any rule)."""
    source = parsed.extra.get("python")
    return File(parsed, source) if isinstance(source, Source) else None


def scope_of(path: list[Node]) -> Node:
    """The innermost function around a place, else the module."""
    return inside(path, SCOPES) or path[0]


def uses(source: Source, scope: Node, name: str) -> Iterator[list[Node]]:
    """Paths to the uses of a local name inside a scope, in order."""
    pattern = re.compile(rb"(?<![\w.])" + re.escape(name.encode()) + rb"(?!\w)")
    for count, match in enumerate(pattern.finditer(source.data, scope.start_byte, scope.end_byte)):
        if count >= MAX_USES:
            return
        path = source.path(match.start())
        if path and path[-1].type == "identifier":
            yield path


def assigned_names(source: Source, path: list[Node], value: Node) -> list[tuple[str, int]]:
    """Names that get a value, with their place in a tuple target (-1 for the whole): `major, minor = f()` gives (major, 0), (minor, 1)."""
    holder = next((node for node in reversed(path) if node.type in ("assignment", "named_expression")), None)
    if holder is None:
        return []
    right = field(holder, "right") or field(holder, "value")
    left = field(holder, "left") or field(holder, "name")
    if right != value or left is None:
        return []
    if left.type in ("identifier", "attribute"):
        return [(source.text(left), -1)]
    if left.type in ("pattern_list", "tuple_pattern", "list_pattern"):
        return [(source.text(item), at) for at, item in enumerate(named(left)) if item.type == "identifier"]
    return []
