"""Which Python code an AMD machine never runs: tests on the vendor, early returns, skipped tests, evaluated three-valued.

Reading order: `python_vendor.py` says what a condition is worth on AMD, this module says which code that switches off.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from porter.model import Live
from porter.parse.python_tree import Source, field, named
from porter.parse.python_vendor import Vendor

if TYPE_CHECKING:
    from tree_sitter import Node

HINTS = (
    b"hip",
    b"rocm",
    b"amd",
    b"nvidia",
    b"is_cuda",
    b"version.cuda",
    b"xpu",
    b"npu",
    b"hpu",
    b"tpu",
    b"is_mps",
    b"musa",
    b"darwin",
    b"target",
)
OTHER_WORDS = {b"npu": b"input", b"tpu": b"output"}  # hints, and words that hold them by chance
LEAVES = ("return_statement", "raise_statement", "continue_statement", "break_statement")
STOPPING_CALLS = ("pytest.skip", "sys.exit", "exit", "os._exit", "unittest.SkipTest", "self.skipTest")
BLOCKS = ("block", "module")
MAX_HINTS = 20_000
MAX_NAMES = 200
CALLED = re.compile(rb"(?<!\w)([A-Za-z_]\w{2,80})\(")
DEFINED = re.compile(rb"(?m)^[ \t]*def (\w+)\(")


class PythonGuards:
    """Dead stretches of a file on AMD, by byte; ``aware`` holds stretches that run on AMD only.

    ``refusals`` are the statements with which the project turns AMD away (raise, assert, exit), each with the vendor test.
    """

    def __init__(self, source: Source) -> None:
        """Nothing is dead yet; guards_of fills it."""
        self._source = source
        self._dead: list[tuple[int, int]] = []
        self._aware: list[tuple[int, int]] = []
        self._doubtful: list[tuple[int, int]] = []
        self.refusals: list[tuple[Node, Node]] = []

    def at_byte(self, offset: int) -> Live:
        """Whether the code at a byte runs on AMD."""
        return Live.NO if _within(self._dead, offset) else Live.YES

    def amd_only(self, offset: int) -> bool:
        """True where only AMD machines come: the author has thought of them."""
        return _within(self._aware, offset)

    def doubtful(self, offset: int) -> bool:
        """True in functions that this file calls from dead code only; other files may still call them."""
        return _within(self._doubtful, offset)

    def at(self, line: int) -> Live:
        """Whether the first thing on a line of the file's text runs on AMD."""
        data, start = self._source.data, self._source.start_of(line)
        if start < 0:
            return Live.YES
        while start < len(data) and data[start] in b" \t":
            start += 1
        return self.at_byte(start)


def _within(ranges: list[tuple[int, int]], offset: int) -> bool:
    at = bisect_right(ranges, (offset, 1 << 62)) - 1
    return at >= 0 and ranges[at][0] <= offset < ranges[at][1]


def guards_of(source: Source, script: bool = False) -> PythonGuards:
    """Find every test on the vendor and what it switches off; in a ``script``, which nobody imports, what only dead code calls is dead."""
    guards = PythonGuards(source)
    vendor = Vendor(source)
    dead: list[tuple[int, int]] = []
    aware: list[tuple[int, int]] = []
    for node in _tests(source, vendor.names(HINTS)):
        if node.type == "if_statement":
            _if_chain(source, vendor, node, guards, dead, aware)
        elif node.type == "conditional_expression":
            _ternary(vendor, node, dead, aware)
        elif node.type == "boolean_operator":
            _short_circuit(vendor, node, dead)
        elif node.type == "assert_statement":
            _assertion(vendor, node, guards, dead)
        elif node.type == "decorated_definition":
            _skipped(source, vendor, node, dead)
    guards._dead = _merged(dead)
    guards._aware = _merged(aware)
    guards._doubtful = _merged(_called_from_dead(source, guards))
    if script:
        guards._dead = _merged([*guards._dead, *guards._doubtful])
    guards.refusals = [pair for pair in guards.refusals if guards.at_byte(pair[0].start_byte) is Live.YES]
    return guards


def _tests(source: Source, names: tuple[bytes, ...]) -> list[Node]:
    """The statements and expressions whose condition names a vendor, in order, each once."""
    found: dict[int, Node] = {}
    for path in source.paths(_hinted(source, names)[:MAX_HINTS]):
        if path[-1].type == "comment":
            continue
        for above, below in zip(reversed(path[:-1]), reversed(path[1:]), strict=True):
            if above.type in BLOCKS:
                break
            _note(above, below, found)
    return sorted(found.values(), key=lambda node: (node.start_byte, -node.end_byte))


def by_chance(lower: bytes, hint: bytes, at: int) -> bool:
    """Whether a hint is only part of another word: `input` and `output` hold npu and tpu, and name no vendor."""
    word = OTHER_WORDS.get(hint)
    return word is not None and lower.startswith(word, max(at - word.index(hint), 0))


def _hinted(source: Source, names: tuple[bytes, ...]) -> list[int]:
    """Where the hints and names of the file's own stand, in order.

    In a function that was left out a test decides nothing, but one for want of CUDA may turn AMD away.
    """
    hints = {at for hint in HINTS for at in source.find(hint) if not source.leaves_out(at) and not by_chance(source.lower, hint, at)}
    own = {at for name in names for at in source.find(name)}
    return sorted(hints | {at for at in own if not source.leaves_out(at) or source.leaves_out(at, b"cuda")})


def _note(above: Node, below: Node, found: dict[int, Node]) -> None:
    kind = above.type
    if (
        (kind == "if_statement" and below.type not in ("block", "else_clause"))
        or (kind == "conditional_expression" and above.named_child_count == 3 and below == above.named_children[1])
        or (kind == "boolean_operator" and below == field(above, "left"))
        or (kind == "assert_statement" and named(above)[:1] == [below])
        or (kind == "decorated_definition" and below.type == "decorator")
    ):
        found[above.id] = above


def _called_from_dead(source: Source, guards: PythonGuards) -> list[tuple[int, int]]:
    """Functions whose every mention in the file, beside the definition, is in dead code."""
    names = {m.group(1) for start, end in guards._dead for m in CALLED.finditer(source.data, start, end)}
    definitions: dict[bytes, re.Match[bytes]] = {}
    for match in DEFINED.finditer(source.data) if names else ():
        definitions.setdefault(match[1], match)
    out: list[tuple[int, int]] = []
    for name in sorted(names & definitions.keys())[:MAX_NAMES]:
        start, end = definitions[name].span()
        is_mentioned = False
        if source.leaves_out(end - 1):
            continue
        for at in source.mentions(name):
            if not start <= at < end:
                is_mentioned = True
                if guards.at_byte(at) is not Live.NO:
                    break
        else:
            function = next((node for node in source.path(end - 1) if node.type == "function_definition"), None) if is_mentioned else None
            out += [_extent(function)] if function is not None else []
    return out


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def _extent(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte


def _rest(node: Node, dead: list[tuple[int, int]]) -> None:
    """What follows a statement in its block never runs."""
    parent = node.parent
    if parent is not None and parent.type in BLOCKS:
        dead.append((node.end_byte, parent.end_byte))


def stops(source: Source, block: Node | None) -> bool:
    """True when a block always leaves: return, raise, continue, break, exit, skip."""
    body = named(block) if block is not None else []
    if not body:
        return False
    last = body[-1]
    if last.type in LEAVES:
        return True
    call = last.named_children[0] if last.type == "expression_statement" and last.named_children else None
    function = field(call, "function") if call is not None and call.type == "call" else None
    return function is not None and source.resolve(function) in STOPPING_CALLS


def _if_chain(
    source: Source, vendor: Vendor, node: Node, guards: PythonGuards, dead: list[tuple[int, int]], aware: list[tuple[int, int]]
) -> None:
    taken = leaves = False
    condition, block = field(node, "condition"), field(node, "consequence")
    steps: list[tuple[Node, Node | None, Node | None]] = [(node, condition, block)]
    for clause in node.children_by_field_name("alternative"):
        if clause.type == "elif_clause":
            steps.append((clause, field(clause, "condition"), field(clause, "consequence")))
        else:
            steps.append((clause, None, field(clause, "body")))
    live = 0
    for _, test, body in steps:
        if body is None:
            continue
        worth = vendor.value(test) if test is not None else True
        if taken or worth is False:
            dead.append(_extent(body))
            continue
        live += 1
        if worth is True:
            taken = True
            leaves = live == 1 and stops(source, body)
            sure = test is not None and vendor.amd_only(test)
            if sure:
                aware.append(_extent(body))
            if leaves:
                _refusal(source, body, test or condition or node, guards)
    if leaves:
        _rest(node, dead)


def _refusal(source: Source, body: Node, test: Node, guards: PythonGuards) -> None:
    last = named(body)[-1]
    if last.type == "raise_statement" or (last.type == "expression_statement" and "exit" in source.text(last)[:12]):
        guards.refusals.append((last, test))


def _ternary(vendor: Vendor, node: Node, dead: list[tuple[int, int]], aware: list[tuple[int, int]]) -> None:
    yes, test, no = named(node)[:3]
    worth = vendor.value(test)
    if worth is None:
        return
    dead.append(_extent(no if worth else yes))
    if worth and vendor.amd_only(test):
        aware.append(_extent(yes))


def _short_circuit(vendor: Vendor, node: Node, dead: list[tuple[int, int]]) -> None:
    left, right, operator = field(node, "left"), field(node, "right"), field(node, "operator")
    if left is None or right is None or operator is None:
        return
    worth = vendor.value(left)
    if (worth is False and operator.type == "and") or (worth is True and operator.type == "or"):
        dead.append(_extent(right))


def _assertion(vendor: Vendor, node: Node, guards: PythonGuards, dead: list[tuple[int, int]]) -> None:
    test = named(node)
    if test and vendor.value(test[0]) is False:
        guards.refusals.append((node, test[0]))
        _rest(node, dead)


def _skipped(source: Source, vendor: Vendor, node: Node, dead: list[tuple[int, int]]) -> None:
    """`@pytest.mark.skipif(test, …)` and `@unittest.skipIf/skipUnless(test, …)` over a function or class."""
    for decorator in node.named_children:
        call = decorator.named_children[0] if decorator.type == "decorator" and decorator.named_children else None
        function = field(call, "function") if call is not None and call.type == "call" else None
        arguments = field(call, "arguments") if call is not None else None
        if function is None or arguments is None or not named(arguments):
            continue
        name = source.dotted(function).rpartition(".")[2].lower()
        first = named(arguments)[0]
        test = field(first, "value") if first.type == "keyword_argument" else first
        worth = vendor.value(test) if test is not None else None
        if (name == "skipif" and worth is True) or (name == "skipunless" and worth is False):
            dead.append(_extent(node))
