"""Pieces of source that are read on their own: bodies of macros, values of constants that another file defines."""

from __future__ import annotations

import tree_sitter

from porter.flow.expr import Expr, Origin, build
from porter.parse.cuda_query import language


def joined(text: bytes) -> bytes:
    """The body of a macro without the marks of line continuation, every offset kept."""
    return text.replace(b"\\\n", b" \n").replace(b"\\\r\n", b" \r\n")


def parse(source: bytes) -> tree_sitter.Tree:
    """The tree of a piece of CUDA C++."""
    return tree_sitter.Parser(language()).parse(source)


def parse_expression(text: bytes, row: int = 0, column: int = 0) -> Expr | None:
    """An expression that stands alone, as in a macro; None for what is none."""
    prefix = b"int x="
    whole = prefix + joined(text) + b";"
    tree = parse(whole)
    node = tree.root_node.named_children[0] if tree.root_node.named_child_count else None
    if node is None or node.type != "declaration" or tree.root_node.has_error:
        return None
    declarator = node.child_by_field_name("declarator")
    value = declarator.child_by_field_name("value") if declarator is not None else None
    return build(value, Origin(whole, row, column - len(prefix))) if value is not None else None
