"""Dockerfiles in Python strings, as build scripts write them: read at their place in the file, everything else blanked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from porter.model import Fact, Live, SourceFile
from porter.parse import parser_of
from porter.parse.python_embedded import blanked_but
from porter.parse.python_guards import PythonGuards
from porter.parse.python_tree import Source

if TYPE_CHECKING:
    from tree_sitter import Node

DOCKER_WORDS = (
    b"run apt-get", b"run apt ", b"run dnf ", b"run yum ", b"run pip", b"run python", b"run curl ", b"run wget ", b"from nvcr.io",
    b"from nvidia/cuda", b"env nvidia_",
)  # fmt: skip
DOCKER_CLUES: tuple[tuple[bytes, ...], ...] = tuple((word, other) for word in DOCKER_WORDS for other in (b"cuda", b"nvidia", b"nvcr.io"))
INSTRUCTION = re.compile(rb"^[ \t]*(?:FROM|RUN|ENV|ARG|COPY|ADD|WORKDIR|ENTRYPOINT|CMD|SHELL|LABEL)[ \t]+[^\s=]", re.MULTILINE)
MAX_STRINGS = 200


def docker_facts(file: SourceFile, source: Source, guards: PythonGuards) -> list[Fact]:
    """What instructions of Docker in the strings of a file install, run on and set; none where no string holds several of them."""
    strings: dict[int, Node] = {}
    looked: set[int] = set()
    for word in DOCKER_WORDS:
        for offset in source.find(word):
            node = next((node for node in source.path(offset) if node.type == "string"), None)
            if node is None or node.start_byte in looked or len(strings) == MAX_STRINGS:
                continue
            looked.add(node.start_byte)
            if _is_dockerfile(source, node):
                strings[node.start_byte] = node
    parse = parser_of("docker") if strings else None
    if parse is None:
        return []
    text = blanked_but(file, source, [strings[start] for start in sorted(strings)])
    found = parse(SourceFile(file.path, "docker", text, file.origin)).facts
    return [msgspec.structs.replace(fact, live=Live.NO) if guards.at(fact.span.line) is Live.NO else fact for fact in found]


def _is_dockerfile(source: Source, node: Node) -> bool:
    """Several instructions in one string of several lines: one is a word of a sentence, or a line that somebody prints."""
    text = source.data[node.start_byte : node.end_byte].strip(b"frbuFRBU\"'")
    return b"\n" in text and len(INSTRUCTION.findall(text)) > 1
