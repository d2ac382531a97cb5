"""Names that a file gives to integer types: typedef unsigned int U32; using mask_t = std::uint32_t;"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from porter.model import Live

if TYPE_CHECKING:
    from porter.parse import Parsed
    from porter.parse.cuda_facts import Captured

MAX_TYPE = 80  # bytes of a type that may be an integer's
_PLAIN = re.compile(r"[A-Za-z_][\w: ]*\Z")


class TypeName(msgspec.Struct, frozen=True, gc=False):
    """A typedef or using of a plain type outside functions, with the type's text."""

    name: str
    text: str
    line: int
    live: Live = Live.YES


def type_names(found: Captured, parsed: Parsed) -> Iterator[TypeName]:
    """The names of a file for types without template arguments, pointers or members of their own."""
    for node in found.all("type_name"):
        kind = node.child_by_field_name("type")
        name = node.child_by_field_name("declarator" if node.type == "type_definition" else "name")
        if kind is None or name is None or kind.end_byte - kind.start_byte > MAX_TYPE or name.type != "type_identifier":
            continue
        if node.parent is None or node.parent.type == "compound_statement":
            continue
        text = " ".join(found.slice(kind).decode("utf-8", "replace").split())
        line = int(node.start_point[0]) + 1
        if _PLAIN.match(text):
            yield TypeName(found.slice(name).decode("utf-8", "replace"), text, line, parsed.live(line))
