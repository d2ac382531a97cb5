"""Facts of a C++ syntax tree: one query gives the nodes, and plain passes over them make the facts.

Names: a call of a member is written ``receiver.method`` (``grid.sync``) or ``.method`` where the receiver is an expression; a
member that is read is its bare name, with ``detail["of"]`` as the receiver. Names that a file declares as a variable or a
parameter of its own are no identifier facts. A name under a namespace alias of the file is given twice, as written and resolved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import tree_sitter

from porter.model import Fact, Span
from porter.parse.cuda_fields import ARGUMENT, ARGUMENTS, BODY, DECLARATOR, FIELD, FUNCTION, NAME, TYPE
from porter.parse.cuda_query import in_order, kinds, query

MAX_TEXT = 400  # bytes of an argument or a name that a fact keeps
MAX_ARGS = 64

_AXES = frozenset((b"x", b"y", b"z", b"w"))
_SPACE = re.compile(r"\s+")
_CHAIN = re.compile(r"[\w:]+(?:(?:\.|->)\w+)*")
_PLAIN_DECLARATORS = kinds("identifier") | kinds("array_declarator")  # of a variable that is given no value
_NAME = re.compile(rb"[A-Za-z_]\w*")
_COMMENT = (b"//", b"/*")
_SKIPPED_PARENTS = frozenset(("preproc_def", "preproc_function_def", "preproc_params", "preproc_ifdef", "namespace_alias_definition"))


@dataclass
class Place:
    """Where a parsed text stands in its file: added to rows and, on the first row, to columns; both from 0."""

    row: int = 0
    column: int = 0

    def span(self, node: Any) -> Span:
        """The span of a node in the file."""
        row, column = node.start_point
        end_row, end_column = node.end_point
        if row == 0:
            column += self.column
        if end_row == 0:
            end_column += self.column
        return Span(row + self.row + 1, column + 1, end_row + self.row + 1, end_column + 1)


@dataclass
class Captured:
    """The nodes of one tree by capture name, and the place of its text."""

    text: bytes
    nodes: dict[str, list[Any]]
    place: Place
    declared: set[bytes] = field(default_factory=set)
    aliases: dict[str, str] = field(default_factory=dict)

    def all(self, name: str) -> list[Any]:
        """Nodes of a capture."""
        return self.nodes.get(name, [])

    def slice(self, node: Any) -> bytes:
        """Source of a node."""
        return self.text[node.start_byte : node.end_byte]


def capture(tree: Any, text: bytes, place: Place | None = None) -> Captured:
    """Run the query over a tree."""
    found = in_order(tree_sitter.QueryCursor(query()).captures(tree.root_node))
    out = Captured(text, found, place or Place())
    plain = [name for node in out.all("declaration") for name in node.children_by_field_id(DECLARATOR)]
    found["declared"] = [*out.all("declared"), *(name for name in plain if name.kind_id in _PLAIN_DECLARATORS)]
    for node in found["declared"]:
        name = _declared_name(node)
        if name is not None:
            out.declared.add(out.slice(name))
    for node in out.all("alias"):
        words = node.named_children
        if len(words) == 2:
            out.aliases[out.slice(words[0]).decode("utf-8", "replace")] = plain_name(out.slice(words[1]))
    return out


def _declared_name(node: Any) -> Any:
    for _ in range(8):
        if node is None or node.type == "identifier":
            return node
        node = node.child_by_field_id(DECLARATOR) or (node.named_children[-1] if node.named_child_count == 1 else None)
    return None


def plain_name(text: bytes) -> str:
    """A name without template arguments, spaces and a leading `::`."""
    if b"<" in text and b"operator" not in text:
        out, depth = bytearray(), 0
        for byte in text[:MAX_TEXT]:
            if byte == 0x3C:
                depth += 1
            elif byte == 0x3E:
                depth = max(0, depth - 1)
            elif not depth:
                out.append(byte)
        text = bytes(out)
    name = text[:MAX_TEXT].decode("utf-8", "replace")
    if not name.replace("::", "").isidentifier():
        name = _SPACE.sub("", name.replace("template ", ""))
    return name.removeprefix("::")


def text_of(raw: bytes) -> str:
    """Source text on one line, cut at MAX_TEXT bytes."""
    if len(raw) <= MAX_TEXT and raw.replace(b"_", b"").isalnum():  # one word, as most are
        return raw.decode()
    return " ".join(raw[:MAX_TEXT].decode("utf-8", "replace").replace("\\\n", " ").split())


def defined_types(found: Captured) -> Iterator[tuple[str, int]]:
    """Names that a typedef of the file gives to a struct, union or enum of its own, each with its line (from 1)."""
    own: set[bytes] = set()
    for node in found.all("type_name"):
        body = node.child_by_field_id(TYPE) if node.type == "type_definition" else None
        if body is None or (body.child_by_field_id(BODY) is None and found.slice(body) not in own):
            continue
        own.update(found.slice(name) for name in node.children_by_field_id(DECLARATOR))
        for name in node.children_by_field_id(DECLARATOR):
            if name.type == "type_identifier":
                yield found.slice(name).decode("utf-8", "replace"), found.place.span(name).line


class Use(msgspec.Struct, eq=False, gc=False):
    """A fact in the making: the node it stands on and what is known of it."""

    node: Any
    kind: str
    name: str
    args: tuple[str, ...] = ()
    detail: dict[str, str] = {}


def uses(found: Captured) -> Iterator[Use]:
    """All uses of names in a tree, in no order."""
    taken: set[int] = set()
    yield from _calls(found, taken)
    yield from _qualified(found, taken)
    for node in found.all("type"):
        if node.start_byte not in taken:
            yield Use(node, "type", found.slice(node).decode("utf-8", "replace"))
    yield from _identifiers(found, taken)
    for node in found.all("field"):
        if node.start_byte in taken:
            continue
        name = found.slice(node)
        if name in _AXES:
            continue
        yield Use(node, "identifier", name.decode("utf-8", "replace"), (), _receiver(found, node))


def _receiver(found: Captured, node: Any) -> dict[str, str]:
    parent = node.parent
    argument = parent.child_by_field_id(ARGUMENT) if parent is not None and parent.type == "field_expression" else None
    return {"of": text_of(found.slice(argument)[:80])} if argument is not None else {}


def arguments(found: Captured, node: Any) -> tuple[str, ...]:
    """Source texts of the arguments of a list node."""
    if node is None:
        return ()
    texts = map(found.slice, node.named_children[:MAX_ARGS])
    return tuple(text_of(text) for text in texts if not text.startswith(_COMMENT))


def _calls(found: Captured, taken: set[int]) -> Iterator[Use]:
    for node in found.all("call"):
        callee = node.child_by_field_id(FUNCTION)
        if callee is None:
            continue
        listed = node.child_by_field_id(ARGUMENTS)
        args = arguments(found, listed)
        between = found.text[callee.end_byte : listed.start_byte if listed is not None else node.end_byte]
        launch = next((child for child in node.named_children if child.type == "kernel_call_syntax"), None) if b"<<<" in between else None
        if launch is not None:
            callee = _unwrapped(callee)
            name = plain_name(found.slice(callee))
            _take(callee, taken)
            config = arguments(found, launch)
            yield Use(node, "launch", name, config, {"arguments": ", ".join(args)[:MAX_TEXT]})
            continue
        use = _call(found, node, callee, args, taken)
        if use is not None:
            yield use


def _unwrapped(callee: Any) -> Any:
    while callee.type == "parenthesized_expression" and callee.named_child_count == 1:
        callee = callee.named_children[0]
    return callee


def _take(callee: Any, taken: set[int]) -> None:
    taken.add(callee.start_byte)
    for _ in range(12):
        inner = callee.child_by_field_id(NAME)
        if inner is None:
            return
        taken.add(inner.start_byte)
        callee = inner


def _call(found: Captured, node: Any, callee: Any, args: tuple[str, ...], taken: set[int]) -> Use | None:
    kind = callee.type
    if kind == "field_expression":
        member = callee.child_by_field_id(FIELD)
        receiver = callee.child_by_field_id(ARGUMENT)
        if member is None or receiver is None:
            return None
        _take(member, taken)
        taken.add(member.start_byte)
        of = text_of(found.slice(receiver)[:120])
        method = plain_name(found.slice(member))
        chain = of.replace("->", ".") if _CHAIN.fullmatch(of) else ""
        return Use(node, "call", f"{chain}.{method}", args, {"of": of, "method": method})
    raw = found.slice(callee)
    if kind == "identifier":
        taken.add(callee.start_byte)
        return Use(node, "call", plain_name(raw), args)
    if kind not in ("qualified_identifier", "template_function"):
        return None
    _take(callee, taken)
    detail = {"template": text_of(raw[raw.index(b"<") :])} if b"<" in raw else {}
    return Use(node, "call", plain_name(raw), args, detail)


def _qualified(found: Captured, taken: set[int]) -> Iterator[Use]:
    end = -1
    for node in found.all("qualified"):
        if node.start_byte < end and node.end_byte <= end:
            parent = node.parent
            if parent is not None and parent.type == "qualified_identifier" and parent.end_byte == node.end_byte:
                continue
        end = max(end, node.end_byte)
        if node.start_byte in taken:
            continue
        last = node
        while last is not None and last.type == "qualified_identifier":
            last = last.child_by_field_id(NAME)
        if last is None:
            continue
        raw = found.slice(node)
        _take(node, taken)
        kind = "type" if last.type in ("type_identifier", "template_type") else "identifier"
        detail = {"template": text_of(raw[raw.index(b"<") :])} if b"<" in raw else {}
        yield Use(node, kind, plain_name(raw), (), detail)


def _identifiers(found: Captured, taken: set[int]) -> Iterator[Use]:
    declared, text = found.declared, found.text
    for node in found.all("identifier"):
        start = node.start_byte
        if start in taken:
            continue
        name = text[start : node.end_byte]
        if name in declared or len(name) < 2 or not name.strip(b"_"):
            continue
        parent = node.parent
        around = parent.type if parent is not None else ""
        if around in _SKIPPED_PARENTS or (around.endswith("declarator") and not _is_value(parent, node)):
            continue
        yield Use(node, "identifier", name.decode("utf-8", "replace"))


def _is_value(declarator: Any, node: Any) -> bool:
    """Whether a name in a declarator is the value or the size, and not what is declared."""
    return any(part.start_byte == node.start_byte for name in ("value", "size") if (part := declarator.child_by_field_name(name)))


def to_facts(found: Captured, list_of_uses: list[Use], at: Callable[[int], str], extra: dict[str, str]) -> Iterator[Fact]:
    """The facts of uses that are sorted by start byte."""
    for use in list_of_uses:
        detail = {**use.detail, **extra} if extra else use.detail
        span = found.place.span(use.node)
        context = at(use.node.start_byte)
        yield Fact(use.kind, use.name, span, context, seen_by="tree-sitter", args=use.args, detail=detail)
        head, colons, rest = use.name.partition("::")
        resolved = found.aliases.get(head) if colons else None
        if resolved:
            more = {**detail, "written": use.name}
            yield Fact(use.kind, f"{resolved}::{rest}", span, context, seen_by="tree-sitter", args=use.args, detail=more)
