"""What a Triton kernel's source says in NVIDIA's terms: PTX in inline assembly, PTX and cubin of a compiled kernel, warps of 32."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from porter.config import Config
from porter.detectors.python_scope import KINDS, File, assigned_names, file_of, uses
from porter.model import Hit
from porter.parse import Parsed
from porter.parse.python_strings import string_pieces
from porter.parse.python_tree import field, named

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["KINDS", "WORDS", "detect"]

WORDS = (b"inline_asm_elementwise", b"num_warps", *((word, b".asm[") for word in (b'["ptx"', b"['ptx'", b'["cubin"', b"['cubin'")))
AMD_OPCODE = re.compile(r"(v|s|ds|buffer|global|flat)_[a-z0-9_]+\b")
PTX_OPCODE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_:]+)*")
CONSTRAINT = re.compile(r"=?&?([a-z])\b")
NVIDIA_LETTERS = frozenset("frlhdqn")
SORTED_BY = (b"warp_size", b"warpsize", b"wavefront", b"max_threads_per_block")
NVIDIA_FORMS = ("ptx", "cubin")


def detect(parsed: Parsed, index: object, config: Config) -> Iterable[Hit]:
    """Hits of the Triton rules that need the tree."""
    file = file_of(parsed)
    if file is None:
        return
    for fact in file.facts("py_call"):
        if fact.name.rpartition(".")[2] == "inline_asm_elementwise":
            yield from _assembly(file, file.path(fact))
    for fact in file.facts("py_string"):
        if fact.name in NVIDIA_FORMS:
            yield from _form(file, file.path(fact), fact.name)
    if (b"import triton" in file.source.lower or b"from triton" in file.source.lower) and config.wave64_targets:
        yield from _warps(file, config)
        yield from _too_many_warps(file, config)


def _assembly(file: File, path: list[Node]) -> Iterator[Hit]:
    call = next((node for node in reversed(path) if node.type == "call"), None)
    arguments = field(call, "arguments") if call is not None else None
    if call is None or arguments is None or file.amd_only(call):
        return
    given = _arguments(file, named(arguments), ("asm", "constraints"))
    text = _text(file, path[0], given.get("asm"))
    constraints = _text(file, path[0], given.get("constraints"))
    letters = set(CONSTRAINT.findall(constraints))
    if AMD_OPCODE.search(text) or "v" in letters or "s" in letters:
        return
    opcodes = ptx_opcodes(text)
    if not opcodes and not letters & NVIDIA_LETTERS:
        return
    message = "PTX " + ", ".join(opcodes[:4]) if opcodes else "assembly with NVIDIA's register constraints"
    yield file.hit("triton-inline-ptx", call, message, opcodes[0] if opcodes else "inline assembly")


def _arguments(file: File, items: list[Node], names: tuple[str, ...]) -> dict[str, Node]:
    """Arguments by name, given by place or by keyword."""
    out: dict[str, Node] = {}
    for at, item in enumerate(items):
        if item.type == "keyword_argument":
            key, value = field(item, "name"), field(item, "value")
            if key is not None and value is not None:
                out[file.source.text(key)] = value
        elif at < len(names):
            out[names[at]] = item
    return out


def _text(file: File, root: Node, node: Node | None) -> str:
    """The text of a string, or of the strings assigned to a name in the file; empty where it is computed."""
    if node is None:
        return ""
    pieces = string_pieces(node)
    if pieces is not None:
        return "\n".join(file.source.text(child) for piece in pieces for child in piece.children if child.type == "string_content")
    if node.type == "identifier":
        name = file.source.text(node)
        for use in uses(file.source, root, name):
            for above in reversed(use):
                right = field(above, "right") if above.type == "assignment" else None
                if right is not None and any(n == name for n, _ in assigned_names(file.source, use, right)) and string_pieces(right):
                    return _text(file, root, right)
    return ""


def ptx_opcodes(text: str) -> list[str]:
    """PTX opcodes of assembly text, in order, each once; escapes, predicates, declarations and braces are passed over."""
    found: dict[str, None] = {}
    text = re.sub(r"\\[nt]", " ", re.sub(r"//[^\n]*", " ", text))
    for statement in re.split(r"[;{}\n]", text):
        words = statement.split()
        if words and words[0].startswith("@"):
            words = words[1:]
        if words and not words[0].startswith((".", "$", "/", "#")) and PTX_OPCODE.fullmatch(words[0]):
            found[words[0]] = None
    return list(found)


def _form(file: File, path: list[Node], word: str) -> Iterator[Hit]:
    """`kernel.asm["ptx"]`: a dictionary that holds "amdgcn" and "hsaco" on AMD."""
    holder = next((node for node in reversed(path) if node.type == "subscript"), None)
    value = field(holder, "value") if holder is not None else None
    if holder is not None and value is not None and file.source.dotted(value).endswith(".asm"):
        yield file.hit("triton-ptx-of-kernel", holder, f'no "{word}" in the compiled kernel on AMD', "kernel.asm")


def _too_many_warps(file: File, config: Config) -> Iterator[Hit]:
    """`num_warps=32` and more: over 1,024 threads on 64 lanes, unless the file sorts its configurations by the warp size."""
    if any(word in file.source.lower for word in SORTED_BY):
        return
    for fact in file.facts("py_arg"):
        if fact.name in ("num_warps=32", "num_warps=64"):
            message = f"{fact.name}: {int(fact.name[-2:]) * 64:,} threads on 64 lanes"
            yield Hit("triton-num-warps-32", fact.span, message, fact.name, live=fact.live, targets=config.wave64_targets)


def _warps(file: File, config: Config) -> Iterator[Hit]:
    """`num_warps * 32`: a number of threads, if a warp has 32 lanes."""
    done: set[int] = set()
    for offset in file.source.find(b"num_warps"):
        path = file.source.path(offset)
        at = len(path) - 1
        while at > 1 and path[at - 1].type in ("attribute", "parenthesized_expression"):
            at -= 1
        parent = path[at - 1] if at > 0 else None
        if parent is None or parent.type != "binary_operator" or parent.id in done or path[-1].type != "identifier":
            continue
        sign = field(parent, "operator")
        others = [child for child in named(parent) if child != path[at]]
        if sign is not None and sign.type == "*" and others and file.source.text(others[0]) == "32" and not file.amd_only(parent):
            done.add(parent.id)
            hit = file.hit("triton-warps-times-32", parent, "a warp has 64 lanes on gfx9", "num_warps * 32")
            yield msgspec.structs.replace(hit, targets=config.wave64_targets)
