"""Constant folding for feature detectors: the number an expression stands for, from the file's own constants and the index."""

from __future__ import annotations

from typing import Any

from porter.detectors import places
from porter.model import Live
from porter.parse import Parsed
from porter.parse.cuda_expr import UNKNOWN, Value, evaluate
from porter.parse.cuda_fields import DECLARATOR, DEFAULT_VALUE, NAME, VALUE

MAX_DEPTH = 8
MAX_TEXT = 400


def constants(parsed: Parsed) -> dict[str, str]:
    """Constants of the file by name, as written; a name with two values in code that AMD reads is left out."""
    kept: dict[str, str] | None = parsed.extra.get("folding_constants")
    if kept is not None:
        return kept
    found: dict[str, set[str]] = {}
    for fact in parsed.facts:
        if fact.kind == "define" and "params" not in fact.detail and fact.live is not Live.NO:
            found.setdefault(fact.name, set()).add(fact.detail.get("value", ""))
    for name, value, node in named_values(parsed):
        if parsed.live(node.start_point[0] + 1) is not Live.NO:
            found.setdefault(name, set()).add(value)
    kept = {name: values.pop() for name, values in found.items() if len(values) == 1}
    parsed.extra["folding_constants"] = kept
    return kept


def named_values(parsed: Parsed) -> list[tuple[str, str, Any]]:
    """Name, text and node of every constant with a value: constexpr, const, enumerators."""
    kept: list[tuple[str, str, Any]] | None = parsed.extra.get("folding_named")
    if kept is not None:
        return kept
    kept = []
    for node in (*places.captured(parsed, "declaration", b"const"), *places.captured(parsed, "enumerator")):
        for name, value in _pairs(parsed, node):
            if name is not None and value is not None and name.child_count == 0:
                texts = [places.text(parsed, one).decode("utf-8", "replace") for one in (name, value)]
                kept.append((texts[0], texts[1], node))
    parsed.extra["folding_named"] = kept
    return kept


def _pairs(parsed: Parsed, node: Any) -> list[tuple[Any, Any]]:
    """Nodes of the names and values that a declaration makes, none for one that is not const."""
    kind = node.type
    if kind == "enumerator":
        return [(node.child_by_field_id(NAME), node.child_by_field_id(VALUE))]
    if not any(places.text(parsed, child) in (b"constexpr", b"const") for child in node.children if child.type == "type_qualifier"):
        return []
    if kind == "field_declaration":
        return [(node.child_by_field_id(DECLARATOR), node.child_by_field_id(DEFAULT_VALUE))]
    inits = [child for child in node.named_children if child.type == "init_declarator"]
    return [(init.child_by_field_id(DECLARATOR), init.child_by_field_id(VALUE)) for init in inits]


def fold(parsed: Parsed, text: str, index: Any = None) -> int | None:
    """The number an expression stands for, or None."""
    value = _value(parsed, text, index, 0)
    return value if isinstance(value, int) else None


def _value(parsed: Parsed, text: str, index: Any, depth: int) -> Value:
    if depth > MAX_DEPTH or not text or len(text) > MAX_TEXT:
        return UNKNOWN

    def lookup(name: str) -> Value:
        own = constants(parsed).get(name)
        if own is not None:
            return _value(parsed, own, index, depth + 1)
        constant = getattr(index, "constant", None)
        found = constant(name, parsed.file.path) if constant is not None else None
        return found if isinstance(found, int) else UNKNOWN

    return evaluate(text, lookup)
