"""The CUDA grammar and the one query behind all facts, detectors and the flow model: walking a tree costs more than what is captured."""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import Any

import tree_sitter
import tree_sitter_cuda

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
(init_declarator declarator: (_) @declared)
(declaration declarator: (identifier) @declared)
(declaration declarator: (array_declarator) @declared)
(namespace_alias_definition) @alias
(alias_declaration) @type_name
(type_definition) @type_name
(init_declarator) @initialised
(declaration (type_qualifier) declarator: (init_declarator)) @constant
(field_declaration (type_qualifier) default_value: (_)) @constant
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


def kinds(name: str) -> frozenset[int]:
    """The numbers of the kinds of node with a name: a node's number is had, and looked up, in half the time that its type takes."""
    return _kinds().get(name, frozenset())


@cache
def query() -> Any:
    """The one query behind all facts."""
    return tree_sitter.Query(language(), _QUERY)


_START, _END = attrgetter("start_byte"), attrgetter("end_byte")
_LEAVES = frozenset(("identifier", "type", "field"))  # captures whose nodes never lie inside each other


def in_order(captures: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Captured nodes by place: tree-sitter promises no order, and the order decides which definition of a name comes first."""
    outer_first = {name: nodes if name in _LEAVES else sorted(nodes, key=_END, reverse=True) for name, nodes in captures.items()}
    return {name: sorted(nodes, key=_START) for name, nodes in outer_first.items()}
