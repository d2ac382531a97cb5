"""The CUDA grammar and the one query behind all facts, detectors and the flow model: walking a tree costs more than what is captured."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

import tree_sitter
import tree_sitter_cuda

Value = TypeVar("Value")
# Patterns of one node, as far as it goes: a pattern for what stands inside a declaration takes milliseconds to compile.
_QUERY = """
(preproc_include path: (_) @include)
(preproc_def) @define
(preproc_function_def) @define
(preproc_call) @directive
(call_expression) @call
(qualified_identifier) @qualified
(type_identifier) @type
(identifier) @identifier
(field_identifier) @field
(function_definition) @function
(lambda_expression) @function
(parameter_declaration declarator: (_) @declared)
(optional_parameter_declaration declarator: (_) @declared)
(init_declarator declarator: (_) @declared) @initialised
(namespace_alias_definition) @alias
(alias_declaration) @type_name
(type_definition) @type_name
(enumerator_list) @enumerator_list
(enumerator) @enumerator
(declaration) @declaration
(field_declaration) @declaration
(launch_bounds) @launch_bounds
(preproc_if) @test
(preproc_elif) @test
(static_assert_declaration) @assert
(ERROR) @error
"""


@cache
def language() -> Any:
    """The CUDA grammar."""
    return tree_sitter.Language(tree_sitter_cuda.language())


@cache
def _kinds() -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number in range(language().node_kind_count):
        found.setdefault(language().node_kind_for_id(number), set()).add(number)
    return {name: frozenset(numbers) for name, numbers in found.items()}


def by_kind(value_of: Callable[[str], Value]) -> dict[int, Value]:
    """A table by the number of a kind of node, of what a function makes of the kind's name."""
    return {number: value_of(name) for name, numbers in _kinds().items() for number in numbers}


def kinds(name: str) -> frozenset[int]:
    """The numbers of the kinds of node with a name: a node's number is had, and looked up, sooner than its type."""
    return _kinds().get(name, frozenset())


@cache
def query() -> Any:
    """The one query behind all facts."""
    return tree_sitter.Query(language(), _QUERY)


_START, _END = attrgetter("start_byte"), attrgetter("end_byte")
_LEAVES = frozenset(("identifier", "type", "field"))  # half of all nodes, of which nobody asks which comes first


def in_order(captures: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Captured nodes by place: tree-sitter promises no order, and the order decides which definition of a name comes first."""
    ordered = {name: nodes for name, nodes in captures.items() if name not in _LEAVES}
    return captures | {name: sorted(sorted(nodes, key=_END, reverse=True), key=_START) for name, nodes in ordered.items()}
