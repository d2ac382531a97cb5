"""Classes and lambdas in a syntax tree: who owns a method, which members a class has, which lambdas run on the device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from porter.flow.declared import type_of
from porter.flow.expr import Expr, Origin, build

CLASSES = frozenset({"class_specifier", "struct_specifier", "union_specifier"})
MAX_UP = 12  # nodes between a method and its class
DEVICE_WORDS = (b"__device__", b"DEVICE", b"LAMBDA")


class Field(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A data member of a class: its declared type and the value it starts with, None where it has none."""

    name: str
    type: str
    value: Expr | None


def last_name(text: str) -> str:
    """The last part of a qualified name, template arguments aside."""
    start, end = text.find("<"), text.rfind(">")
    plain = text[:start] + text[end + 1 :] if 0 <= start < end else text
    return plain.rpartition("::")[2].strip()


def owner_of(node: Any, name: str, at: Origin) -> str:
    """The class that a function belongs to: around it, or before the :: of its name; empty for a free function."""
    before = name.rpartition("::")[0]
    if before:
        return last_name(before)
    parent = node.parent
    for _ in range(MAX_UP):
        if parent is None or parent.type in ("function_definition", "translation_unit", "declaration_list"):
            return ""
        if parent.type in CLASSES:
            named = parent.child_by_field_name("name")
            return last_name(at.text(named)) if named is not None else ""
        parent = parent.parent
    return ""


def fields_of(nodes: Iterable[Any], at: Origin) -> dict[str, tuple[Field, ...]]:
    """The data members that some declarations make, by class."""
    found: dict[str, list[Field]] = {}
    for node in nodes:
        made = _field(node, at) if node.type == "field_declaration" else None
        if made is not None:
            found.setdefault(made[0], []).append(made[1])
    return {name: tuple(fields) for name, fields in found.items()}


def _field(node: Any, at: Origin) -> tuple[str, Field] | None:
    name, value = node.child_by_field_name("declarator"), node.child_by_field_name("default_value")
    if name is None or name.type != "field_identifier":
        return None
    owner = owner_of(node, "", at)
    if not owner:
        return None
    if value is not None and value.type == "initializer_list" and value.named_child_count == 1:
        value = value.named_children[0]
    return owner, Field(at.text(name), type_of(node, at), build(value, at) if value is not None else None)


def initialisers(node: Any, at: Origin) -> Iterator[tuple[Any, Expr, Expr]]:
    """The members that a constructor sets before its body: the place, the member, and the value."""
    listed = next((child for child in node.children if child.type == "field_initializer_list"), None)
    for child in listed.named_children if listed is not None else ():
        parts = child.named_children
        if len(parts) == 2 and parts[1].named_child_count == 1:
            yield child, build(parts[0], at), build(parts[1].named_children[0], at)


def is_for_device(node: Any, data: bytes) -> bool:
    """True for a lambda that is marked to run on the device: [=] __device__ (int i) { … }."""
    body = node.child_by_field_name("body")
    return body is not None and any(word in data[node.start_byte : body.start_byte] for word in DEVICE_WORDS)


def device_lambdas(body: Any, data: bytes) -> Iterator[Any]:
    """The lambdas for the device within a body, outermost ones only, in source order."""
    text = data[body.start_byte : body.end_byte]
    if b"[" not in text or not any(word in text for word in DEVICE_WORDS):
        return
    stack = [body]
    while stack:
        node = stack.pop()
        if node.type == "lambda_expression" and is_for_device(node, data):
            yield node
        else:
            stack.extend(reversed(node.named_children))
