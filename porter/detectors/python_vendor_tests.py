"""Tests that take "CUDA" for "has a GPU": torch.version.cuda parsed or tested, and code that turns AMD away by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from porter.config import Config
from porter.detectors.python_scope import KINDS, File, assigned_names, file_of, scope_of, uses
from porter.model import Hit
from porter.parse import Parsed
from porter.parse.python_tree import field

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["KINDS", "WORDS", "detect"]

WORDS = (b"version.cuda", b"import version", b"torch.version", b"is_hip", b"is_rocm", b"is_cuda", b"version.hip")
NAME = "torch.version.cuda"
PARSERS = ("int", "float", "len", "tuple", "list")
ORDERED = ("<", ">", "<=", ">=")
AWARE = (b"version.hip", b"is_hip", b"is_rocm", b"rocm", b'"hip"', b"'hip'")


def detect(parsed: Parsed, index: object, config: Config) -> Iterable[Hit]:
    """Hits on uses of torch.version.cuda that fail on None, on tests of it, and on refusals of AMD."""
    file = file_of(parsed)
    if file is None:
        return
    for fact in parsed.facts:
        if fact.kind == "py_call" and fact.name.startswith(NAME + "."):
            path = file.path(fact)
            node = next((n for n in reversed(path) if n.type == "call"), None)
            if node is not None and not _tested_before(file, path):
                yield file.hit("torch-version-cuda-parsed", node, "calls a method of None on ROCm", NAME)
        elif fact.kind == "py_attr" and fact.name == NAME:
            yield from _use(file, _whole(file.path(fact)), 0)
    if file.guards is not None:
        yield from _refusals(file)


def _refusals(file: File) -> Iterator[Hit]:
    """Leaving under a test for AMD, or for want of CUDA; a test for both vendors, or for a third one, is neither."""
    for node, test in file.guards.refusals if file.guards is not None else ():
        if node.type == "assert_statement" and file.is_test:
            continue  # what a test expects of its own stand-ins is no refusal
        text = " ".join(file.source.text(test).split())
        amd = any(word in text.lower() for word in ("hip", "rocm", "amd"))
        nvidia = any(word in text.lower() for word in ("cuda", "nvidia"))
        if amd and nvidia or not (amd or nvidia) or "xpu" in text:
            continue
        rule = "python-refuses-amd" if amd else "python-requires-cuda-build"
        yield file.hit(rule, node, f"leaves on AMD: {text[:80]}", "refusal")


def _whole(path: list[Node]) -> list[Node]:
    """The path cut at the outermost attribute that ends it."""
    at = len(path) - 1
    while at > 0 and path[at - 1].type == "attribute":
        at -= 1
    return path[: at + 1]


def _use(file: File, path: list[Node], hops: int) -> Iterator[Hit]:
    """What becomes of the value at the end of a path."""
    while len(path) > 2 and path[-2].type == "parenthesized_expression":
        path = path[:-1]
    if len(path) < 2:
        return
    node, parent = path[-1], path[-2]
    kind = parent.type
    if kind == "comparison_operator":
        signs = {child.type for child in parent.children}
        if signs & set(ORDERED) and not _tested_before(file, path):
            yield file.hit("torch-version-cuda-parsed", parent, "orders None against a version on ROCm", NAME)
        else:
            yield from _test(file, parent, path)
    elif kind == "subscript" and node == field(parent, "value"):
        if not _tested_before(file, path):
            yield file.hit("torch-version-cuda-parsed", parent, "subscripts None on ROCm", NAME)
    elif kind == "argument_list" and _parses(file, path) and not _tested_before(file, path):
        yield file.hit("torch-version-cuda-parsed", path[-3], "parses None as a version on ROCm", NAME)
    elif kind in ("not_operator", "boolean_operator", "assert_statement") or _is_condition(node, parent):
        yield from _test(file, parent if kind == "not_operator" else node, path)
    elif kind == "attribute" and len(path) > 2 and path[-3].type == "call" and hops:
        if not _tested_before(file, path):
            yield file.hit("torch-version-cuda-parsed", path[-3], "calls a method of None on ROCm", NAME)
    elif hops == 0:
        for name, place in assigned_names(file.source, path, node):
            later = [use for use in uses(file.source, scope_of(path), name) if use[-1].start_byte > node.end_byte] if place < 0 else []
            if not any(_is_target(use) for use in later):  # a second assignment may be the default for None
                for use in later:
                    yield from _use(file, use, 1)


def _is_target(use: list[Node]) -> bool:
    return len(use) > 1 and use[-2].type == "assignment" and use[-1] == field(use[-2], "left")


def _is_condition(node: Node, parent: Node) -> bool:
    if parent.type in ("if_statement", "elif_clause", "while_statement"):
        return node == field(parent, "condition")
    return parent.type == "conditional_expression" and parent.named_child_count == 3 and node == parent.named_children[1]


def _parses(file: File, path: list[Node]) -> bool:
    """Whether the call around an argument needs a string: Version(x), parse(x), int(x)."""
    call = path[-3] if len(path) > 2 else None
    function = field(call, "function") if call is not None and call.type == "call" else None
    last = file.source.dotted(function).rpartition(".")[2] if function is not None else ""
    return last in PARSERS or last.lower().endswith(("version", "parse", "versioninfo"))


def _word(file: File, path: list[Node]) -> str:
    """What the value is called at the end of a path: version.cuda, or the local name that holds it."""
    whole = _whole(path)[-1]
    if path[-1].type != "identifier" or file.source.resolve(whole).startswith(NAME):
        return "version.cuda"
    return file.source.text(path[-1])


def _tested_before(file: File, path: list[Node]) -> bool:
    """True where an enclosing or preceding test of the same value keeps None away."""
    word = _word(file, path).encode()
    for above, below in zip(path, path[1:], strict=False):
        if above.type in ("if_statement", "elif_clause", "conditional_expression"):
            test = field(above, "condition") or (above.named_children[1] if above.named_child_count > 2 else None)
            if test is not None and below != test and word in file.source.data[test.start_byte : test.end_byte]:
                return True
        if above.type == "boolean_operator" and below == field(above, "right"):
            left = field(above, "left")
            if left is not None and word in file.source.data[left.start_byte : left.end_byte]:
                return True
        if above.type == "try_statement" and below == field(above, "body"):
            return True
    return False


def _handles_none(file: File, node: Node, path: list[Node]) -> bool:
    """`x or "default"`, `x is not None and f(x)`, `f(x) if x else …`: None is thought of, and no GPU feature hangs on it."""
    word = _word(file, path)
    for above in reversed(path):
        if above.type == "boolean_operator":
            right = field(above, "right")
            text = file.source.text(right) if right is not None else ""
            return right is not None and (right.type in ("string", "none") or word in text)
        if above.type in ("conditional_expression", "if_statement"):
            read = field(above, "consequence") if above.type == "if_statement" else above.named_children[0]
            return read is not None and word in file.source.text(read)
    return False


def _test(file: File, node: Node, path: list[Node]) -> Iterator[Hit]:
    """A test of the value, unless the function or the file also asks for AMD, or leaves there (told as a refusal)."""
    if any(word in file.source.lower for word in AWARE) or _handles_none(file, node, path):
        return
    statement = next((n for n in reversed(path) if n.type in ("if_statement", "assert_statement")), None)
    refusals = file.guards.refusals if file.guards is not None and statement is not None else []
    if statement is not None and any(statement.start_byte <= leaf.start_byte < statement.end_byte for leaf, _ in refusals):
        return
    body = field(statement, "consequence") if statement is not None and statement.type == "if_statement" else None
    if body is not None and file.source.data[body.start_byte : body.end_byte].strip() in (b"return", b"return None", b"return False"):
        return  # a guard that keeps CUDA-only code away from AMD
    yield file.hit("torch-version-cuda-tested", node, "None on ROCm: the branch without a GPU is taken", NAME)
