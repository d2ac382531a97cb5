"""CUDA in Python strings: found by the API it is passed to or by its look, and parsed at its place in the file.

All strings of a file become one CUDA source: the file's bytes with everything else blanked, so lines and columns stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.model import SourceFile
from porter.parse import Parsed, parser_of
from porter.parse.python_guards import PythonGuards
from porter.parse.python_strings import prefix_of
from porter.parse.python_tree import Source, field, named
from porter.parse.string_guards import put_within

if TYPE_CHECKING:
    from tree_sitter import Node

LOOKS = (b"__global__", b"__device__")
TAKERS = (
    "cupy.RawKernel", "cupy.RawModule", "pycuda.compiler.SourceModule", "SourceModule", "pycuda.compiler.DynamicSourceModule", "RawKernel",
    "torch.utils.cpp_extension.load_inline", "load_inline", "cuda.core.Program", "cuda.core.experimental.Program", "Program",
    "torch.cuda._compile_kernel", "nvrtc.nvrtcCreateProgram", "cupy.ElementwiseKernel", "cupy.ReductionKernel",
)  # fmt: skip
TAKER_WORDS = (
    b"rawkernel",
    b"rawmodule",
    b"sourcemodule",
    b"load_inline",
    b"nvrtccreateprogram",
    b"_compile_kernel",
    b"program(",
    b"elementwisekernel",
    b"reductionkernel",
)
KEYWORDS = ("code", "operation", "preamble", "map_expr", "source", "cuda_sources", "cuda_source", "src", "kernel_source")
ESCAPE = re.compile(rb"\\(\r?\n|x[0-9a-fA-F]{2}|[0-7]{1,3}|.)", re.DOTALL)
PLAIN_ESCAPES = {b"\\": b" \\", b"'": b" '", b'"': b' "', b"\n": b" \n", b"\r\n": b" \r\n"}
CODE = re.compile(rb"[;{}(]")
MAX_PIECES = 2000


def embedded_cuda(file: SourceFile, source: Source, guards: PythonGuards) -> list[Parsed]:
    """The CUDA in a file's strings, parsed; empty where there is none."""
    pieces = _pieces(source)
    parse = parser_of("cuda") if pieces else None
    if parse is None:
        return []
    if len(pieces) > MAX_PIECES:
        source.cut = pieces[MAX_PIECES].start_point[0] + 1
    inner = parse(SourceFile(file.path, "cuda", blanked_but(file, source, pieces[:MAX_PIECES]), file.origin))
    put_within(inner, guards)
    return [inner]


def blanked_but(file: SourceFile, source: Source, strings: Iterable[Node]) -> bytes:
    """A file with everything but the contents of these strings blanked, so that lines and columns stay."""
    text = bytearray(re.sub(rb"[^\n]", b" ", file.data))
    for node in strings:
        _copy(source, node, text)
    return bytes(text)


def _pieces(source: Source) -> list[Node]:
    """The string nodes that hold CUDA, in order."""
    found: dict[int, Node] = {}
    for word in LOOKS:
        for offset in source.find(word):
            path = source.path(offset)
            string = _string_of(path)
            if string is not None and not _is_prose(source, string, path):
                for piece in _whole(string, path):
                    found[piece.start_byte] = piece
    for word in TAKER_WORDS:
        for offset in source.find(word):
            for piece in _passed(source, source.path(offset)):
                found[piece.start_byte] = piece
    return [found[start] for start in sorted(found)]


def _string_of(path: list[Node]) -> Node | None:
    return next((node for node in path if node.type == "string"), None)


def _whole(string: Node, path: list[Node]) -> list[Node]:
    """A string with the pieces it is joined to."""
    for node in path:
        if node.type == "concatenated_string":
            return [child for child in node.named_children if child.type == "string"]
    return [string]


def _is_prose(source: Source, string: Node, path: list[Node]) -> bool:
    """A docstring, a search pattern or a message that only names CUDA's keywords."""
    at = path.index(string)
    parent = path[at - 1] if at else None
    if parent is not None and parent.type == "expression_statement":
        return True
    text = source.data[string.start_byte : string.end_byte]
    return not (b"{" in text and b";" in text) and not re.search(rb"__(global|device)__[^\n]*\(", text)


def _passed(source: Source, path: list[Node]) -> list[Node]:
    """Strings passed to a call that takes CUDA source; names are followed to the constants assigned to them."""
    call = next((node for node in reversed(path) if node.type == "call"), None)
    function = field(call, "function") if call is not None else None
    arguments = field(call, "arguments") if call is not None else None
    if function is None or arguments is None:
        return []
    name = source.resolve(function)
    if name not in TAKERS and not name.endswith((".RawKernel", ".RawModule", ".SourceModule", ".load_inline")):
        return []
    out: list[Node] = []
    for item in named(arguments):
        value = item
        if item.type == "keyword_argument":
            key, given = field(item, "name"), field(item, "value")
            if key is None or given is None or source.text(key) not in KEYWORDS:
                continue
            value = given
        out += _strings_in(source, value)
    return [node for node in out if CODE.search(source.data[node.start_byte : node.end_byte])]


def _strings_in(source: Source, node: Node) -> list[Node]:
    out: list[Node] = []
    todo = [(node, 0)]
    while todo and len(out) < MAX_PIECES:
        at, hops = todo.pop()
        if at.type == "string":
            out.append(at)
        elif at.type == "identifier" and hops < 3:
            todo += [(value, hops + 1) for value in _assigned(source, source.text(at))]
        elif at.type in ("list", "tuple", "concatenated_string", "binary_operator", "parenthesized_expression"):
            todo += [(child, hops) for child in named(at)]
        elif at.type in ("call", "attribute"):  # "…".format(…), Template("…").substitute(…), textwrap.dedent("…")
            todo += [(child, hops + 1) for child in named(at) if hops < 3]
        elif at.type == "argument_list" and hops < 3:
            todo += [(child, hops + 1) for child in named(at) if child.type in ("string", "concatenated_string")]
    return out


def _assigned(source: Source, name: str) -> list[Node]:
    out: list[Node] = []
    pattern = re.compile(rb"(?<![\w.])" + re.escape(name.encode()) + rb"\s*\+?=(?!=)")
    for count, match in enumerate(pattern.finditer(source.data)):
        path = source.path(match.start())
        parent = path[-2] if len(path) > 1 else None
        if parent is not None and parent.type in ("assignment", "augmented_assignment"):
            right = field(parent, "right")
            out += [right] if right is not None and right.type != "identifier" else []
        if count > 20:
            break
    return out


def _copy(source: Source, node: Node, text: bytearray) -> None:
    """Put a string's content into the blanked text: escapes undone in place, filled-in parts as a name of the same length."""
    raw = "r" in prefix_of(source, node)
    form = "f" in prefix_of(source, node)
    for child in node.children:
        start, end = child.start_byte, child.end_byte
        data = source.data[start:end]
        if child.type == "string_content":
            data = data if raw else ESCAPE.sub(_plain, data)
            text[start:end] = data.replace(b"{{", b" {").replace(b"}}", b"} ") if form else data
        elif child.type == "interpolation":
            text[start:end] = re.sub(rb"[^\n]", b"_", data)


def _plain(match: re.Match[bytes]) -> bytes:
    """An escape sequence as code of the same length."""
    return PLAIN_ESCAPES.get(match.group(1), b" " * len(match.group(0)))
