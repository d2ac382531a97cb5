"""Commands that Python puts together in a variable before it runs them: cmd = ["nvcc", "-O3"]; cmd += flags; subprocess.run(cmd)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from porter.parse.python_calls import SHELLS, Emit, command_facts
from porter.parse.python_strings import string_pieces, words_of_command
from porter.parse.python_tree import Source, field, named

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_USES = 60  # of one variable that are looked at
MAX_NAME = 60
SCOPES = ("function_definition", "lambda")
ADDS = ("extend", "append")


class _Use(msgspec.Struct, frozen=True, eq=False):
    """A use of the variable: it is run, set anew, or nodes are added to it."""

    runs: bool = False
    anew: bool = False
    added: tuple[Node, ...] = ()


def built_command(source: Source, node: Node, above: list[Node], emit: Emit) -> None:
    """The facts of a command that an assignment starts, where its variable is run later in the same function."""
    left, right = field(node, "left"), field(node, "right")
    if left is None or right is None or left.type not in ("identifier", "attribute") or left.end_byte - left.start_byte > MAX_NAME:
        return
    words = _words(source, right)
    if not words or words[0] == "…":
        return
    uses = list(_uses(source, left, right, above))
    if not any(use.runs for use in uses):
        return
    command_facts(words, right, emit)
    for use in uses:
        for added in use.added:
            command_facts([words[0], *_words(source, added)], added, _flags_only(emit))


def _flags_only(emit: Emit) -> Emit:
    def kept(kind: str, name: str, node: Node, **more: object) -> None:
        if kind != "command":
            emit(kind, name, node, **more)

    return kept


def _words(source: Source, node: Node) -> list[str]:
    """The leading constant words of a list, a string, or of what `+` adds to one; "…" stands for what is computed."""
    if node.type == "binary_operator" and string_pieces(node) is None:
        first = node
        while first.type == "binary_operator" and first.child_count == 3 and first.children[1].type == "+":
            first = first.children[0]
        return [*words_of_command(source, first), "…"] if first.type in ("list", "string") else []
    return (
        words_of_command(source, node)
        if node.type in ("list", "tuple", "string", "concatenated_string", "parenthesized_expression")
        else []
    )


def _uses(source: Source, left: Node, right: Node, above: list[Node]) -> Iterator[_Use]:
    """What becomes of a variable after its assignment, up to the next one, in source order."""
    key = source.text(left)
    scope = next((one for one in reversed(above) if one.type in SCOPES), None)
    end = scope.end_byte if scope is not None and left.type == "identifier" else len(source.data)
    for offset in itertools.islice(source.find(key.lower().encode(), right.end_byte), MAX_USES):
        if offset >= end:
            return
        path = source.path(offset)
        at = next((i for i, one in enumerate(path) if one.type == left.type and one.start_byte == offset and source.text(one) == key), 0)
        use = _use(source, path, at) if at else None
        if use is not None and use.anew:
            return
        if use is not None:
            yield use


def _use(source: Source, path: list[Node], at: int) -> _Use | None:
    node, parent = path[at], path[at - 1]
    if parent.type == "assignment" and node == field(parent, "left"):
        added = _added_to_itself(source, node, field(parent, "right"))
        return _Use(added=added, anew=not added)
    if parent.type == "augmented_assignment" and node == field(parent, "left"):
        right = field(parent, "right")
        return _Use(added=(right,) if right is not None else ())
    if parent.type == "attribute" and node == field(parent, "object"):
        name, call = field(parent, "attribute"), path[at - 2]
        arguments = field(call, "arguments") if call.type == "call" and name is not None and source.text(name) in ADDS else None
        return _Use(added=(named(arguments)[0],)) if arguments is not None and named(arguments) else None
    while parent.type in ("binary_operator", "parenthesized_expression") and parent.start_byte == node.start_byte and at > 2:
        at -= 1
        node, parent = path[at], path[at - 1]
    around = path[at - 2] if parent.type == "argument_list" and at > 1 else parent
    function = field(around, "function") if around.type == "call" and named(parent)[:1] == [node] else None
    return _Use(runs=True) if function is not None and source.resolve(function) in SHELLS else None


def _added_to_itself(source: Source, name: Node, right: Node | None) -> tuple[Node, ...]:
    """What cmd = cmd + a + b adds to cmd, in order; nothing for a value that does not begin with the variable."""
    added: list[Node] = []
    node = right
    while node is not None and node.type == "binary_operator" and node.child_count == 3 and node.children[1].type == "+":
        added.append(node.children[2])
        node = node.children[0]
    return tuple(reversed(added)) if node is not None and source.text(node) == source.text(name) else ()
