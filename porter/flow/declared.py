"""Declarations: the type of one as written, names given to types, and declarations that the grammar takes for comparisons."""

from __future__ import annotations

from typing import Any

import msgspec

from porter.flow.expr import Expr, Origin, build
from porter.flow.fragments import parse_expression

TYPE_WORDS = frozenset({
    "type_qualifier", "storage_class_specifier", "primitive_type", "type_identifier", "template_type", "qualified_identifier",
    "dependent_type",
})  # fmt: skip


def misread(value: Expr) -> tuple[str, str, Expr | None] | None:
    """Name, type and value of a declaration such as ``Tile<32> t = f();``, which the grammar may take for two comparisons."""
    if value.kind != "binary" or value.op != ">" or value.args[0].kind != "binary" or value.args[0].op != "<":
        return None
    (left, right), last = value.args[0].args, value.args[1]
    if left.kind != "name":
        return None
    kind = f"{left.op}<{right.op}>"
    if last.kind == "name":
        return last.op, kind, None
    if last.kind == "assign" and last.op == "=" and last.args[0].kind == "name":
        return last.args[0].op, kind, last.args[1]
    return None


def named_type(node: Any, at: Origin, word: bytes) -> tuple[str, Expr] | None:
    """The name and the type of a using or typedef whose type holds a word; None for any other."""
    kind = node.child_by_field_name("type")
    name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
    if kind is None or name is None or word not in at.data[kind.start_byte : kind.end_byte]:
        return None
    return at.text(name), build(kind, at)


def type_of(node: Any, at: Origin) -> str:
    """Type of a declaration with its qualifiers, as written."""
    words = []
    for child in node.children:
        kind = child.type
        if kind in TYPE_WORDS or kind.endswith("type_specifier"):
            words.append(at.text(child))
        elif kind in ("init_declarator", "identifier", "array_declarator", "pointer_declarator"):
            break
    return " ".join(words)


def constructed(node: Any, at: Origin) -> Expr | None:
    """The extents of ``dim3 block(WIDTH, ROWS * 2);``, which the grammar takes for the declaration of a function."""
    listed = node.child_by_field_name("parameters") if node.type == "function_declarator" else None
    found = [_extent(child, at) for child in listed.named_children if child.type != "comment"] if listed is not None else []
    args = tuple(one for one in found if one is not None)
    if listed is None or not args or len(args) != len(found):
        return None
    return msgspec.structs.replace(build(listed, at), kind="list", op="", args=args)


def _extent(node: Any, at: Origin) -> Expr | None:
    row, column = node.start_point
    first = column + (at.column if row == 0 else 0)
    return parse_expression(at.data[node.start_byte : node.end_byte], row + at.row, first)
