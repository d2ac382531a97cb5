"""Comparisons of a compute capability: AMD GPUs answer with their gfx number, so gfx942 (9,4) passes for Hopper.

Follows the value of get_device_capability() and its like through tuples, subscripts, `major * 10 + minor`, local names and
functions of the same file that return it, up to the comparison with a constant.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from porter.config import Config
from porter.detectors.python_scope import KINDS, File, assigned_names, file_of, scope_of, uses
from porter.model import Confidence, Hit
from porter.parse import Parsed
from porter.parse.python_tree import field, inside, named

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["KINDS", "WORDS", "detect"]

WORDS = (b"device_capability", b"cuda_capability", b"get_device_properties", b"compute_capability", b"get_device_sm")
HOPPER = "capability-passes-for-hopper"
OLDER = "capability-passes-for-ampere"
SOURCES = {
    "get_device_capability": "tuple",
    "compute_capability": "tuple",
    "get_compute_capability": "tuple",
    "get_device_properties": "properties",
}
TESTS = {"has_device_capability": ">=", "has_cuda_capability": ">=", "is_device_capability": "==", "is_device_capability_family": "family"}
COMPARE = {">=": operator.ge, ">": operator.gt, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le}
MIRROR = {">=": "<=", "<=": ">=", ">": "<", "<": ">", "==": "==", "!=": "!="}
MAX_STEPS = 200
CHOICE = 600  # bytes of a branch that can be read as nothing but a choice of type
BF16 = re.compile(r"bf_?16|bfloat_?16", re.IGNORECASE)
MORE = re.compile(r"import |flash|xformers|fp8|float8|\btma|sdpa|cutlass|marlin|kernel|raise |sm_?[89]0|tf_?32|graph|triton", re.IGNORECASE)


class Value(NamedTuple):
    """A place in the tree whose value is a capability in some shape: tuple, major, minor, number (94), properties."""

    path: tuple[Any, ...]
    shape: str
    hops: int


def capability(target: str) -> tuple[int, int]:
    """What PyTorch answers for a gfx target: gfx90a is (9, 0), gfx942 (9, 4), gfx1100 (11, 0)."""
    return int(target[3:-2]), int(target[-2], 16)


def detect(parsed: Parsed, index: object, config: Config) -> Iterable[Hit]:
    """Hits on every comparison that takes an AMD GPU for an NVIDIA generation."""
    file = file_of(parsed)
    if file is None:
        return
    done: set[int] = set()
    for value in _values(file):
        for node, sign, other in _comparisons(file, value, done):
            yield from _judge(file, config, node, value.shape, sign, other)
    for fact in file.facts("py_call"):
        sign = TESTS.get(fact.name.rpartition(".")[2], "")
        if sign:
            yield from _asked(file, config, file.path(fact), sign)


def _values(file: File) -> Iterator[Value]:
    """Every expression that holds a capability, followed from its source, breadth first."""
    todo: list[Value] = []
    for fact in file.facts("py_call"):
        shape = SOURCES.get(fact.name.rpartition(".")[2])
        path = _up_to_call(file.path(fact)) if shape else []
        if path and shape:
            todo.append(Value(tuple(path), shape, 0))
    steps = 0
    while todo and steps < MAX_STEPS:
        steps += 1
        value = _climb(file, todo.pop(0))
        yield value
        if value.hops < 3:
            todo += _follow(file, value)


def _up_to_call(path: list[Node]) -> list[Node]:
    """The path cut at the innermost call whose function ends it."""
    for at in range(len(path) - 1, 0, -1):
        if path[at].type == "call":
            return path[: at + 1]
    return []


def _climb(file: File, value: Value) -> Value:
    """Up through parentheses, subscripts, attributes and arithmetic, to the outermost node that is still the capability."""
    path, shape = list(value.path), value.shape
    while len(path) > 1:
        node, parent = path[-1], path[-2]
        kind = parent.type
        if kind == "subscript" and node == field(parent, "value"):
            key = field(parent, "subscript")
            place = file.source.text(key) if key is not None else ""
            shape = {"0": "major", "1": "minor"}.get(place, shape if ":" in place else "unknown")
        elif kind == "attribute" and node == field(parent, "object"):
            name = file.source.text(field(parent, "attribute") or parent)
            shape = {"major": "major", "minor": "minor", "to_int": "number", "as_version_str": "unknown"}.get(name, "unknown")
        elif kind == "call" and node == field(parent, "function"):
            pass
        elif kind == "binary_operator" and shape in ("major", "number"):
            text = file.source.text(parent)
            shape = "number" if "10" in text else "unknown"
        elif kind == "binary_operator" and shape == "minor":
            shape = "unknown"
        elif kind == "argument_list" and len(path) > 2 and _callee(file, path[-3]) in ("tuple", "int", "list", "torch.device"):
            path.pop()
        elif kind != "parenthesized_expression":
            break
        path.pop()
    return Value(tuple(path), shape, value.hops)


def _callee(file: File, node: Node) -> str:
    function = field(node, "function") if node.type == "call" else None
    return file.source.resolve(function) if function is not None else ""


def _follow(file: File, value: Value) -> Iterator[Value]:
    """Names that get the value, and calls of the function that returns it."""
    path = list(value.path)
    scope = scope_of(path)
    for name, place in assigned_names(file.source, path, path[-1]):
        shape = value.shape if place < 0 else {0: "major", 1: "minor"}.get(place, "unknown")
        if (place >= 0 and value.shape != "tuple") or shape == "unknown":
            continue
        for use in uses(file.source, scope, name.rpartition(".")[2] if name.startswith("self.") else name):
            if use[-1].start_byte > path[-1].end_byte:
                yield Value(tuple(use), shape, value.hops + 1)
    if len(path) > 1 and path[-2].type == "return_statement" and scope.type == "function_definition" and value.shape != "unknown":
        name_node = field(scope, "name")
        for use in uses(file.source, path[0], file.source.text(name_node)) if name_node is not None else ():
            if len(use) > 1 and use[-2].type == "call" and use[-1] == field(use[-2], "function"):
                yield Value(tuple(use[:-1]), value.shape, value.hops + 1)


def _comparisons(file: File, value: Value, done: set[int]) -> Iterator[tuple[Node, str, Node]]:
    """The comparison a value stands in, with the operator and the other side as if the value stood on the left."""
    if len(value.path) < 2 or value.path[-2].type != "comparison_operator" or value.shape in ("minor", "unknown", "properties"):
        return
    node, parent = value.path[-1], value.path[-2]
    parts = parent.children
    at = next((i for i, child in enumerate(parts) if child == node), -1)
    for sign_at, other_at, flip in ((at + 1, at + 2, False), (at - 1, at - 2, True)):
        if not (0 <= other_at < len(parts) and 0 <= sign_at < len(parts)):
            continue
        sign = parts[sign_at].type
        sign = MIRROR.get(sign, "") if flip else sign
        if sign and parts[sign_at].start_byte not in done:
            done.add(parts[sign_at].start_byte)
            yield parent, sign, parts[other_at]


def _numbers(file: File, node: Node) -> list[int]:
    """Integers of a constant: 9, (9, 0), [90], "9.0", DeviceCapability(9, 0)."""
    if node.type == "call":
        arguments = field(node, "arguments")
        return _numbers(file, arguments) if arguments is not None else []
    if node.type in ("tuple", "list", "argument_list", "set"):
        items = [_numbers(file, item) for item in named(node)]
        return [number for item in items for number in item] if all(items) else []
    if node.type == "parenthesized_expression":
        return _numbers(file, named(node)[0]) if named(node) else []
    text = file.source.text(node)
    return [int(text)] if node.type == "integer" and text.isdigit() else ([int(float(text))] if node.type == "float" else [])


def _judge(file: File, config: Config, node: Node, shape: str, sign: str, other: Node) -> Iterator[Hit]:
    numbers = _numbers(file, other)
    if not numbers:
        return
    if sign == "in":
        wanted = [numbers] if shape == "tuple" and len(numbers) == 2 and other.type != "list" else [[n] for n in numbers]
        for one in wanted:
            yield from _report(file, config, node, shape, "==", one)
        return
    if sign in COMPARE:
        yield from _report(file, config, node, shape, sign, numbers)


def _asked(file: File, config: Config, path: list[Node], sign: str) -> Iterator[Hit]:
    """`platform.has_device_capability(90)`: the comparison is inside the call."""
    call = _up_to_call(path)
    arguments = field(call[-1], "arguments") if call else None
    items = named(arguments) if arguments is not None else []
    numbers = _numbers(file, items[0]) if items else []
    if len(items) == 2 and len(numbers) == 1:  # has_cuda_capability(9, 0)
        numbers += _numbers(file, items[1])
    if call and numbers:
        shape = "tuple" if len(numbers) > 1 else "number"
        if sign == "family":
            shape, numbers, sign = "major", [numbers[0] // 10], "=="
        yield from _report(file, config, call[-1], shape, sign, numbers)


def _report(file: File, config: Config, node: Node, shape: str, sign: str, numbers: list[int]) -> Iterator[Hit]:
    """A hit when the test holds on a target for a generation that the target is not."""
    threshold = numbers[0] // 10 if shape == "number" else numbers[0]
    if shape == "number" and numbers[0] < 20 or not 8 <= threshold <= 12:
        return
    fooled = [target for target in config.targets if _fooled(target, shape, sign, numbers)]
    if not fooled or file.amd_only(node) or file.made_for_amd or _skips_a_test(file, node):
        return
    generation = "Ada" if numbers in ([8, 9], [89]) else {8: "Ampere", 9: "Hopper"}.get(threshold, "Blackwell")
    rule = HOPPER if threshold >= 9 else OLDER
    answers = ", ".join(f"{target} answers {capability(target)}" for target in fooled)
    subject = f"capability {sign} {'.'.join(map(str, numbers))}"
    message = f"the test for {generation} ({sign} {', '.join(map(str, numbers))}) takes AMD for it: {answers}"
    if rule == OLDER and _chooses_bf16(file, node):
        hit = file.hit(rule, node, f"{message}; it chooses bfloat16 alone, which these have", subject)
        yield msgspec.structs.replace(hit, targets=tuple(fooled), confidence=Confidence.LOW)
        return
    yield msgspec.structs.replace(file.hit(rule, node, message, subject), targets=tuple(fooled))


def _chooses_bf16(file: File, node: Node) -> bool:
    """Whether all that a test decides is a type of sixteen bits: its branches, the name it is put into, the function that returns it."""
    path = file.source.path(node.start_byte)
    holder = inside(path, ("if_statement", "elif_clause", "conditional_expression", "assignment", "return_statement", "keyword_argument"))
    if holder is None or holder.end_byte - holder.start_byte > CHOICE:
        return False
    text = file.source.text(holder)
    if holder.type == "return_statement":
        function = inside(path, ("function_definition",))
        name = field(function, "name") if function is not None else None
        text += file.source.text(name) if name is not None else ""
    return BF16.search(text) is not None and MORE.search(text) is None


def _skips_a_test(file: File, node: Node) -> bool:
    """True for the condition of a skipped test: what runs or not concerns no user."""
    path = file.source.path(node.start_byte)
    holder = next(
        (n for n in reversed(path) if n.type in ("decorator", "if_statement", "expression_statement", "assignment", "block")), None
    )
    if holder is None:
        return False
    text = file.source.data[holder.start_byte : holder.start_byte + 2000]
    return b"skipif" in text or b"skipIf" in text or (file.is_test and b"skip(" in text)


def _fooled(target: str, shape: str, sign: str, numbers: list[int]) -> bool:
    """Whether a target lands on the side of the test that is meant for the NVIDIA generation."""
    major, minor = capability(target)
    mine: list[int] = {"tuple": [major, minor], "major": [major], "number": [major * 10 + minor]}.get(shape, [])
    if not mine:
        return False
    theirs = numbers
    if sign in ("==", "!="):
        return mine[: len(theirs)] == theirs
    if sign in ("<", "<="):
        return not COMPARE[sign](mine, theirs)
    return bool(COMPARE[sign](mine, theirs))
