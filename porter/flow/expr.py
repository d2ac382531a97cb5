"""Expressions of CUDA C++ as small plain values, built from the syntax tree of tree-sitter once and read by everything after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from porter.model import Span
from porter.parse.cuda_fields import ARGUMENT, ARGUMENTS, FIELD, FUNCTION, INDICES, LEFT, NAME, OPERATOR, RIGHT, SCOPE, TYPE, VALUE
from porter.parse.cuda_query import kinds

MAX_DEPTH = 120  # deeper nesting than this is not written by people; what lies below becomes an opaque expression
CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "bit_cast"})
DIVIDERS = {"mod": "%", "rem": "%", "div": "/", "quot": "/"}  # methods of a class that is given what it divides by
COMMENTS = kinds("comment")
TYPE_CALLS = frozenset({"int", "unsigned", "uint32_t", "int32_t", "uint64_t", "int64_t", "size_t", "long", "short", "uint", "char"})


class Expr(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One expression. ``kind`` is num, name, field, binary, unary, call, method, index, cond, cast, assign, list, invoke (of
    what another call made; it is the first of ``args``) or other.

    ``op`` is the operator, the literal, the name (qualified as written, template arguments removed) or the type of a cast;
    ``args`` are the operands, of a call its arguments, of a method the object and then the arguments; ``targs`` are template
    arguments; ``shape`` holds the expressions inside <<< >>>.
    """

    kind: str
    op: str
    args: tuple[Expr, ...]
    line: int
    column: int
    end_line: int
    end_column: int
    targs: tuple[Expr, ...] = ()
    shape: tuple[Expr, ...] = ()

    @property
    def span(self) -> Span:
        """Where the expression stands."""
        return Span(self.line, self.column, self.end_line, self.end_column)

    @property
    def name(self) -> str:
        """The last component of a qualified name."""
        return self.op if ":" not in self.op else self.op.rpartition("::")[2]


class Origin(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The bytes that a syntax tree was made of, and where they stand: rows to add, and columns to add on the first row."""

    data: bytes
    row: int = 0
    column: int = 0

    def text(self, node: Any) -> str:
        """Source text of a node, as far as it is UTF-8."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def walk(expr: Expr) -> list[Expr]:
    """The expression and all its parts, outermost first, left to right."""
    if not expr.args and not expr.shape:
        return [expr]  # half of all calls are for a name or a number
    parts = []
    stack = [expr]
    while stack:
        top = stack.pop()
        parts.append(top)
        if top.shape:
            stack.extend(top.shape[::-1])
        if top.args:
            stack.extend(top.args[::-1])
    return parts


def build(node: Any, at: Origin, depth: int = 0) -> Expr:
    """The expression that a syntax node stands for; parentheses vanish, what is unknown becomes kind ``other``."""
    if depth > MAX_DEPTH:
        return _make(node, at, "other", "")
    return _MAKER_OF.get(node.kind_id, _other)(node, at, depth)


def _other(node: Any, at: Origin, depth: int) -> Expr:
    children = tuple([build(child, at, depth + 1) for child in node.named_children]) if node.named_child_count <= 64 else ()
    return _make(node, at, "other", node.type, children)


def _make(
    node: Any, at: Origin, kind: str, op: str, args: tuple[Expr, ...] = (), targs: tuple[Expr, ...] = (), shape: tuple[Expr, ...] = ()
) -> Expr:
    row, column = node.start_point
    end_row, end_column = node.end_point
    if at.row or at.column:
        column += at.column if row == 0 else 0
        end_column += at.column if end_row == 0 else 0
        row += at.row
        end_row += at.row
    return Expr(kind, op, args, row + 1, column + 1, end_row + 1, end_column + 1, targs, shape)


def _name(node: Any, at: Origin, depth: int, kind: str = "name") -> Expr:
    """One word, which ends on its line: two of three expressions."""
    start, end = node.start_byte, node.end_byte
    row, column = node.start_point
    column += 1 if row else 1 + at.column
    row += at.row + 1
    return Expr(kind, at.data[start:end].decode("utf-8", "replace"), (), row, column, row, column + end - start)


def _number(node: Any, at: Origin, depth: int) -> Expr:
    return _name(node, at, depth, "num")


def _inside(node: Any, at: Origin, depth: int) -> Expr:
    children = [child for child in node.named_children if child.kind_id not in COMMENTS]
    if len(children) == 1:
        return build(children[0], at, depth + 1)
    return _make(node, at, "other", node.type, tuple([build(child, at, depth + 1) for child in children]))


def _binary(node: Any, at: Origin, depth: int) -> Expr:
    left, right, sign = node.child_by_field_id(LEFT), node.child_by_field_id(RIGHT), node.child_by_field_id(OPERATOR)
    if left is None or right is None or sign is None:
        return _make(node, at, "other", node.type)
    parts = (build(left, at, depth + 1), build(right, at, depth + 1))
    kind = "assign" if node.type == "assignment_expression" else "binary"
    return _make(node, at, kind, sign.type, parts)


def _unary(node: Any, at: Origin, depth: int) -> Expr:
    operand, sign = node.child_by_field_id(ARGUMENT), node.child_by_field_id(OPERATOR)
    if operand is None or sign is None:
        return _make(node, at, "other", node.type)
    kind = "assign" if node.type == "update_expression" else "unary"
    return _make(node, at, kind, sign.type, (build(operand, at, depth + 1),))


def _condition(node: Any, at: Origin, depth: int) -> Expr:
    parts = [child for name in ("condition", "consequence", "alternative") if (child := node.child_by_field_name(name)) is not None]
    return _make(node, at, "cond", "?", tuple(build(part, at, depth + 1) for part in parts))


def _field(node: Any, at: Origin, depth: int) -> Expr:
    owner, member = node.child_by_field_id(ARGUMENT), node.child_by_field_id(FIELD)
    if owner is None or member is None:
        return _make(node, at, "other", node.type)
    if owner.type == "identifier":
        full = f"{at.text(owner)}.{at.text(member)}"
        if full in BUILTIN_FIELDS:
            return _make(node, at, "name", full)
    name, targs = _callee_name(member, at, depth)
    return _make(node, at, "field", name, (build(owner, at, depth + 1),), targs)


BUILTIN_FIELDS = frozenset(f"{name}.{axis}" for name in ("threadIdx", "blockIdx", "blockDim", "gridDim") for axis in "xyz")


def _callee_name(node: Any, at: Origin, depth: int) -> tuple[str, tuple[Expr, ...]]:
    """A name without its template arguments, and these arguments."""
    names: list[str] = []
    targs: tuple[Expr, ...] = ()
    while node is not None and depth <= MAX_DEPTH:
        depth += 1
        kind = node.type
        if kind == "qualified_identifier":
            scope = node.child_by_field_id(SCOPE)
            if scope is not None:
                inner = scope.child_by_field_id(NAME) if scope.type == "template_type" else scope
                names.append(at.text(inner))
            node = node.child_by_field_id(NAME)
        elif kind in ("template_function", "template_type", "template_method"):
            found = node.child_by_field_id(ARGUMENTS)
            targs = tuple([build(child, at, depth + 1) for child in found.named_children]) if found is not None else ()
            node = node.child_by_field_id(NAME)
        elif kind in ("dependent_name", "dependent_type") and node.named_child_count:
            node = node.named_children[-1]
        else:
            names.append(at.text(node))
            node = None
    return "::".join(names), targs


def _qualified(node: Any, at: Origin, depth: int) -> Expr:
    name, targs = _callee_name(node, at, depth)
    return _make(node, at, "name", name, (), targs)


def _call(node: Any, at: Origin, depth: int) -> Expr:
    callee, given = node.child_by_field_id(FUNCTION), node.child_by_field_id(ARGUMENTS)
    listed = [child for child in given.named_children if child.kind_id not in COMMENTS] if given is not None else []
    args = tuple([build(child, at, depth + 1) for child in listed])
    shape: tuple[Expr, ...] = ()
    for child in node.named_children if node.named_child_count > 2 else ():
        if child.type == "kernel_call_syntax":
            shape = tuple([build(part, at, depth + 1) for part in child.named_children if part.kind_id not in COMMENTS])
    if callee is None:
        return _make(node, at, "other", node.type, args)
    kind = callee.type
    if kind == "field_expression":
        member = _field(callee, at, depth + 1)
        kind = "method" if member.kind == "field" else "call"  # threadIdx.x() is a call of something that has no owner
        return _make(node, at, kind, member.op, (*member.args, *args), member.targs)
    if kind == "primitive_type":
        return _make(node, at, "cast", at.text(callee), args[:1])
    if kind in ("compound_literal_expression", "call_expression"):
        return _make(node, at, "invoke", "", (build(callee, at, depth + 1), *args))
    name, targs = (at.text(callee), ()) if kind == "identifier" else _callee_name(callee, at, depth + 1)
    if len(args) == 1 and name in CASTS:
        return _make(node, at, "cast", _type_text(callee, at), args)
    if len(args) == 1 and name.rpartition("::")[2] in TYPE_CALLS:
        return _make(node, at, "cast", name, args)
    by = _divisor(callee, at, depth) if len(args) == 1 and name.rpartition("::")[2] in DIVIDERS else None
    if by is not None:
        return _make(node, at, "binary", DIVIDERS[name.rpartition("::")[2]], (args[0], by))
    return _make(node, at, "call", name, args, targs, shape)


def _divisor(callee: Any, at: Origin, depth: int) -> Expr | None:
    """The one template argument of the class whose method is called: 32 of Pow2<32>::mod; None for any other call."""
    scope = callee.child_by_field_id(SCOPE) if callee.type == "qualified_identifier" else None
    while scope is not None and scope.type != "template_type":
        callee = callee.child_by_field_id(NAME)  # a namespace before the class
        scope = callee.child_by_field_id(SCOPE) if callee is not None and callee.type == "qualified_identifier" else None
    given = scope.child_by_field_id(ARGUMENTS) if scope is not None else None
    return build(given.named_children[0], at, depth + 1) if given is not None and given.named_child_count == 1 else None


def _made(node: Any, at: Origin, depth: int) -> Expr:
    """T{a, b} is what T(a, b) is."""
    kind, given = node.child_by_field_id(TYPE), node.child_by_field_id(VALUE)
    if kind is None or given is None:
        return _make(node, at, "other", node.type)
    name, targs = _callee_name(kind, at, depth + 1)
    args = _list(given, at, depth + 1).args
    if len(args) == 1 and name.rpartition("::")[2] in TYPE_CALLS:
        return _make(node, at, "cast", name, args)
    return _make(node, at, "call", name, args, targs)


def _type_text(callee: Any, at: Origin) -> str:
    found = callee.child_by_field_id(ARGUMENTS)
    return at.text(found).strip("<> ") if found is not None else ""


def _cast(node: Any, at: Origin, depth: int) -> Expr:
    kind, value = node.child_by_field_id(TYPE), node.child_by_field_id(VALUE)
    if value is None:
        return _make(node, at, "other", node.type)
    return _make(node, at, "cast", at.text(kind) if kind is not None else "", (build(value, at, depth + 1),))


def _index(node: Any, at: Origin, depth: int) -> Expr:
    owner, where = node.child_by_field_id(ARGUMENT), node.child_by_field_id(INDICES)
    if owner is None:
        return _make(node, at, "other", node.type)
    places = where.named_children if where is not None else []
    return _make(node, at, "index", "[]", (build(owner, at, depth + 1), *(build(place, at, depth + 1) for place in places)))


def _descriptor(node: Any, at: Origin, depth: int) -> Expr:
    children = node.named_children
    if len(children) == 1:
        return build(children[0], at, depth + 1)
    return _make(node, at, "other", at.text(node)[:80])


def _list(node: Any, at: Origin, depth: int) -> Expr:
    return _make(node, at, "list", "{}", tuple(build(child, at, depth + 1) for child in node.named_children[:64]))


WORDS = ("true", "false", "identifier", "field_identifier", "type_identifier", "primitive_type", "namespace_identifier", "this")
MAKERS: dict[str, Callable[[Any, Origin, int], Expr]] = {
    **dict.fromkeys(WORDS, _name),
    **dict.fromkeys(("number_literal", "char_literal"), _number),
    "sized_type_specifier": lambda node, at, depth: _make(node, at, "name", at.text(node)),
    "parenthesized_expression": _inside,
    "condition_clause": _inside,
    "binary_expression": _binary,
    "assignment_expression": _binary,
    **dict.fromkeys(("unary_expression", "pointer_expression", "update_expression"), _unary),
    "conditional_expression": _condition,
    "field_expression": _field,
    "call_expression": _call,
    "qualified_identifier": _qualified,
    "template_function": _qualified,
    "template_type": _qualified,
    "dependent_type": _qualified,
    "cast_expression": _cast,
    "compound_literal_expression": _made,
    "subscript_expression": _index,
    "type_descriptor": _descriptor,
    "initializer_list": _list,
    "argument_list": _list,
}
_MAKER_OF = {number: maker for kind, maker in MAKERS.items() for number in kinds(kind)}
