"""What setup.py and extension builds say: dependencies, CUDA extensions, compiler flags."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from porter.model import Fact, Live, SourceFile
from porter.parse.python_guards import PythonGuards
from porter.parse.python_imports import SEEN_BY
from porter.parse.python_strings import string_value
from porter.parse.python_tree import Source, field, inside, named

if TYPE_CHECKING:
    from tree_sitter import Node

REQUIREMENT_KEYS = (b"install_requires", b"extras_require", b"setup_requires", b"tests_require")
EXTENSIONS = ("CUDAExtension", "CppExtension", "BuildExtension", "load_inline")
FLAG_CLUES = (b"nvcc", b"cudaextension", b"extra_cuda_cflags", b"cpp_extension", b"--gpu-architecture")
FLAG = re.compile(r"-{1,2}[A-Za-z][\w.,=:+/-]*(?: [\w.,=:+/-]+)?\Z")
TWO_WORDS = (
    "-gencode",
    "--generate-code",
    "-arch",
    "-code",
    "-Xcompiler",
    "-Xptxas",
    "-Xcudafe",
    "--compiler-options",
    "-ccbin",
    "--threads",
)
ARGPARSE = ("add_argument", "option", "Argument", "argument", "add_option")
LIBRARY_CLUES = (b"extension(", b"load_inline(", b"cpp_extension")
LIBRARY_KEYS = ("libraries", "extra_link_args", "extra_ldflags")
MAX_FLAGS = 2000


def setup_facts(file: SourceFile, source: Source, guards: PythonGuards, known: list[Fact]) -> list[Fact]:
    """Requirement, build_symbol, compile_flag and link_library facts of a file that builds or declares a package."""
    facts: list[Fact] = []
    if PurePosixPath(file.path).name.startswith("setup"):
        facts += _requirements(source, guards)
    for fact in known:
        last = fact.name.rpartition(".")[2]
        if fact.kind == "py_call" and last in EXTENSIONS:
            facts.append(Fact("build_symbol", last, fact.span, "build", fact.live, SEEN_BY, fact.args))
    if any(clue in source.lower for clue in FLAG_CLUES):
        found = _flags(source, guards)
        source.cut = found[-1].span.line if len(found) >= MAX_FLAGS else source.cut
        facts += found
    if any(clue in source.lower for clue in LIBRARY_CLUES):
        facts += _libraries(source, guards)
    return facts


def _libraries(source: Source, guards: PythonGuards) -> list[Fact]:
    """Libraries that an extension links: libraries=["cudart"], extra_link_args=["-lcudart"], and the same keys of dicts and variables."""
    facts: list[Fact] = []
    for key in LIBRARY_KEYS:
        for offset in source.find(key.encode()):
            holder = inside(source.path(offset), ("keyword_argument", "pair", "assignment", "augmented_assignment"))
            value = (field(holder, "value") or field(holder, "right")) if holder is not None else None
            for node in _strings(value) if value is not None else ():
                text = string_value(source, node) or ""
                name = text if key == "libraries" else text[2:] if text.startswith("-l") else ""
                if name and len(facts) < MAX_FLAGS:
                    live = guards.at_byte(node.start_byte)
                    facts.append(Fact("link_library", name, source.span(node), "build", live, SEEN_BY))
    return _once(facts)


def _once(facts: list[Fact]) -> list[Fact]:
    """The first fact of each place and name: a key may be found twice on the way to one list."""
    seen = {(fact.name, fact.span): fact for fact in reversed(facts)}
    return list(reversed(seen.values()))


def _requirements(source: Source, guards: PythonGuards) -> list[Fact]:
    """Constant dependencies of setup(); a variable is followed to the lists assigned to it in the file."""
    facts: list[Fact] = []
    values: list[Node] = []
    for key in REQUIREMENT_KEYS:
        for offset in source.find(key):
            path = source.path(offset)
            holder = inside(path, ("keyword_argument", "pair", "assignment", "call"))
            if holder is not None:
                value = field(holder, "value") or field(holder, "right") or field(holder, "arguments")
                values.append(value or holder)
    names = [source.text(value) for value in values if value.type == "identifier"]
    values += [node for name in names for node in _assigned(source, name)]
    done: set[int] = set()
    for value in values:
        for node in _strings(value):
            if node.id not in done:
                done.add(node.id)
                fact = _requirement(source, guards, node)
                facts += [fact] if fact is not None else []
    return facts


def _requirement(source: Source, guards: PythonGuards, node: Node) -> Fact | None:
    text = string_value(source, node)
    if not text or len(text) > 400:
        return None
    from porter.parse.requirement_line import read_requirement  # what reads markers is slow to load, and few files need it

    try:
        need = read_requirement(text)
    except ValueError:
        return None
    if need is None:
        return None
    live = guards.at_byte(node.start_byte)
    return Fact("requirement", need.name, source.span(node), "build", live if live is Live.NO else need.live, SEEN_BY, (), need.detail)


def _assigned(source: Source, name: str) -> list[Node]:
    """Values that a name or an item of it gets in the file: `name = [...]`, `name["gpu"] = [...]`, `name.append("x")`."""
    out: list[Node] = []
    for offset in source.find(name.lower().encode()):
        path = source.path(offset)
        if len(path) < 2 or source.text(path[-1]) != name:
            continue
        if len(path) > 2 and path[-2].type == "subscript" and path[-1] == field(path[-2], "value"):
            path = path[:-1]
        parent = path[-2]
        if parent.type in ("assignment", "augmented_assignment") and path[-1] == field(parent, "left"):
            right = field(parent, "right")
            out += [right] if right is not None else []
        elif parent.type == "attribute" and len(path) > 2 and path[-3].type == "call":
            arguments = field(path[-3], "arguments")
            out += [arguments] if arguments is not None else []
    return out


def _strings(node: Node) -> list[Node]:
    """String nodes in a value that are items of lists or values of dicts: dict keys are names of extras."""
    out: list[Node] = []
    todo = [node]
    while todo and len(out) < MAX_FLAGS:
        at = todo.pop()
        if at.type == "string":
            out.append(at)
        elif at.type == "pair":
            value = field(at, "value")
            todo += [value] if value is not None else []
        elif at.type in (
            "list",
            "tuple",
            "set",
            "dictionary",
            "argument_list",
            "binary_operator",
            "parenthesized_expression",
            "list_splat",
        ):
            todo.extend(reversed(named(at)))
        elif at.type == "conditional_expression":
            todo.extend(named(at))
    return out


def _flags(source: Source, guards: PythonGuards) -> list[Fact]:
    """Compiler flags: strings with a dash in lists, joined with the word after them where the flag takes one."""
    facts: list[Fact] = []
    for quote in (b'"-', b"'-"):
        for offset in source.find(quote):
            path = source.path(offset + 1)
            fact = _flag(source, guards, path) if path and len(facts) < MAX_FLAGS else None
            facts += [fact] if fact is not None else []
    return facts


def _flag(source: Source, guards: PythonGuards, path: list[Node]) -> Fact | None:
    at = next((i for i, node in enumerate(path) if node.type == "string"), None)
    if at is None or at < 2:
        return None
    node, parent = path[at], path[at - 1]
    call = inside(path[:at], ("call",))
    function = field(call, "function") if call is not None else None
    callee = source.dotted(function).rpartition(".")[2] if function is not None else ""
    if parent.type not in ("list", "argument_list", "binary_operator", "conditional_expression", "pair") or callee in ARGPARSE:
        return None
    if parent.type == "argument_list" and callee not in ("append", "extend", "insert", "add"):
        return None
    value = _joined(source, node) or ""
    if value in TWO_WORDS and node.next_named_sibling is not None and node.next_named_sibling.type == "string":
        value = f"{value} {_joined(source, node.next_named_sibling) or '…'}"
    if not FLAG.match(value.replace("…", "x")):
        return None
    detail = {"key": _key(source, path[:at])}
    live = guards.at_byte(node.start_byte)
    return Fact("compile_flag", value, source.span(node), "build", live, SEEN_BY, (), {k: v for k, v in detail.items() if v})


def _joined(source: Source, node: Node) -> str | None:
    """A string with "…" for what is filled in."""
    value = string_value(source, node)
    if value is not None:
        return value
    return "".join(
        "…" if c.type == "interpolation" else source.text(c) for c in node.named_children if c.type in ("interpolation", "string_content")
    )


def _key(source: Source, path: list[Node]) -> str:
    """What the flags are for: the dict key or keyword they stand under, or the variable they go to."""
    for node in reversed(path[-8:]):
        if node.type == "pair":
            key = field(node, "key")
            return (string_value(source, key) or "") if key is not None else ""
        if node.type == "keyword_argument":
            key = field(node, "name")
            return source.text(key) if key is not None else ""
        if node.type in ("assignment", "augmented_assignment"):
            left = field(node, "left")
            return source.text(left)[:80] if left is not None else ""
        if node.type == "call":
            function = field(node, "function")
            return source.dotted(function).rpartition(".")[0] if function is not None else ""
    return ""
