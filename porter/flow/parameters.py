"""Parameters of functions and of templates, with their defaults."""

from __future__ import annotations

from typing import Any

from porter.flow.declared import type_of
from porter.flow.event import Parameter
from porter.flow.expr import Origin, build
from porter.parse.cuda_fields import DECLARATOR, DEFAULT_VALUE, PARAMETERS


def parameters(node: Any, at: Origin) -> tuple[Parameter, ...]:
    """The parameters in a list; none where there is no list."""
    if node is None:
        return ()
    found = []
    for child in node.named_children:
        if not child.type.endswith("parameter_declaration"):
            continue
        default = child.child_by_field_id(DEFAULT_VALUE)
        declarator = child.child_by_field_id(DECLARATOR)
        kind = type_of(child, at)
        while declarator is not None and declarator.type not in ("identifier", "type_identifier"):
            kind += {"pointer_declarator": "*", "array_declarator": "*", "reference_declarator": "&"}.get(declarator.type, "")
            inner = declarator.child_by_field_id(DECLARATOR)
            declarator = inner if inner is not None else (declarator.named_children[0] if declarator.named_child_count else None)
        name = at.text(declarator) if declarator is not None else at.text(child) if child.type == "type_parameter_declaration" else ""
        found.append(Parameter(name, kind, build(default, at) if default is not None else None))
    return tuple(found)


def templates(node: Any, at: Origin) -> tuple[Parameter, ...]:
    """The template parameters of a function and of the classes that it stands in, its own first."""
    found: tuple[Parameter, ...] = ()
    parent = node.parent
    while parent is not None and parent.type not in ("translation_unit", "declaration_list"):
        if parent.type == "template_declaration":
            found += parameters(parent.child_by_field_id(PARAMETERS), at)
        parent = parent.parent
    return found
