"""Inline PTX: one hit an asm statement, with the rule of its heaviest instruction; and whole PTX programs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from porter import by_target
from porter.config import Config
from porter.detectors import places
from porter.model import Confidence, Hit, Span
from porter.parse import Parsed, ptx, ptx_asm, ptx_dict, ptx_text
from porter.parse.ptx_dict import Family

if TYPE_CHECKING:
    from porter.link import Index

KINDS = ("cuda", "cxx", "ptx", "python", "notebook", "cython")
WORDS = ((b"", b"^.version", b"^.target"),)  # of whole programs in Python strings
BY_RULE = frozenset(ptx_dict.WEIGHTS[ptx_dict.WEIGHTS.index("inline-ptx-carry-chain") :])  # one decision settles all of a heavy rule
BAD_LETTERS = frozenset("lfhdqC")  # operand letters that only NVIDIA's compiler knows in device code
MAX_OPCODES = 4
VERSION = re.compile(rb"\.version(?:\s|\\n)+\d")  # the directives of a program, in a string of Python
TARGET = re.compile(rb"\.target(?:\s|\\n)+sm_\d")
HELPERS = frozenset(("mov", "setp", "selp", "control", "integer", "cvta", "cvt-integer"))  # they serve another instruction of the block


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """Hits of the inline-ptx rules, ptx-constraint and ptx-source."""
    if parsed.file.kind == "ptx":
        return _ptx_file(parsed)
    if parsed.file.kind in ("cuda", "cxx"):
        return [*_statements(parsed, config.targets), *_programs(parsed)]
    return _python_programs(parsed)


def _statements(parsed: Parsed, targets: tuple[str, ...]) -> Iterator[Hit]:
    for statement in ptx.asm_of(parsed):
        if statement.dialect == "ptx":
            yield _hit(statement, targets)
        elif statement.dialect == "empty" and not statement.macro:
            yield from _constraints(parsed, statement)


def _hit(statement: ptx_asm.AsmStatement, targets: tuple[str, ...]) -> Hit:
    """The hit of a PTX statement: rule and subject of its heaviest instruction, words about all of them."""
    dictionary = ptx_dict.load()
    families: list[Family] = []
    unknown: list[str] = []
    for instruction in statement.instructions:
        family = dictionary.of(instruction)
        if family is not None:
            families.append(family)
        elif not ptx_text.is_amd(instruction):
            unknown.append(instruction.opcode)
    worst = max(families, key=lambda item: (item.family not in HELPERS, item.weight), default=None)
    unknown_weight = ptx_dict.WEIGHTS.index(ptx_dict.UNKNOWN_RULE)
    if statement.instructions and (worst is None or (unknown and unknown_weight > worst.weight)):
        message = f"{_opcodes(statement)}: not in the dictionary: {', '.join(dict.fromkeys(unknown))}"
        return Hit(ptx_dict.UNKNOWN_RULE, statement.span, message, subject=unknown[0] if unknown else "", confidence=Confidence.MEDIUM)
    if worst is None:
        return Hit("inline-ptx-simple", statement.span, "opens or closes a PTX block", subject="block")
    message = f"{_opcodes(statement)}: {_advice(families, worst, targets)}"
    return Hit(worst.rule, statement.span, message, worst.family, group=worst.rule if worst.rule in BY_RULE else "")


def _opcodes(statement: ptx_asm.AsmStatement) -> str:
    """The opcodes with their counts, the most frequent first."""
    special = ptx_dict.load().by_register
    counts = Counter(
        " ".join([instruction.opcode, *(f"%{name}" for name in instruction.registers if name in special)])
        for instruction in statement.instructions
    )
    words = [f"{name} ×{count}" if count > 1 else name for name, count in counts.most_common(MAX_OPCODES)]
    more = len(counts) - len(words)
    return ", ".join(words) + (f" and {more} more" if more > 0 else "")


def _advice(families: list[Family], worst: Family, targets: tuple[str, ...]) -> str:
    """What stands for the heaviest family, its trap, what each target has, and the other families by name."""
    others = [item for item in {one.family: one for one in families}.values() if item is not worst and item.rule != "inline-ptx-simple"]
    text = worst.hip + (f" ({worst.note})" if worst.note else "")
    by_one = by_target.words(worst.by_target, targets)
    text += f"; {by_one}" if by_one else ""
    if others:
        text += "; also " + ", ".join(item.title.lower() for item in others[:3])
    return text


def _constraints(parsed: Parsed, statement: ptx_asm.AsmStatement) -> Iterator[Hit]:
    letters = [o.constraint for o in statement.operands if BAD_LETTERS & set(o.constraint.lstrip("=+&"))]
    if letters and places.in_device_code(parsed, statement.span):
        unique = ", ".join(f'"{letter}"' for letter in dict.fromkeys(letters))
        yield Hit("ptx-constraint", statement.span, f"operand {unique}", subject="empty asm")


def _programs(parsed: Parsed) -> Iterator[Hit]:
    if b".version" not in parsed.file.data or b".target" not in parsed.file.data:
        return
    for span, text in ptx_asm.literals(parsed.file.data):
        if ptx.is_program(text):
            yield Hit("ptx-source", span, _program(text), subject=parsed.file.path)


def _program(text: str) -> str:
    entries = ptx.ENTRY.findall(text)
    kernels = ", ".join(entries[:3]) + (f" and {len(entries) - 3} more" if len(entries) > 3 else "")
    rules = {family.rule for item in ptx_text.split(text[: ptx.MAX_BYTES]) if (family := ptx_dict.load().of(item)) is not None}
    heavy = [rule.removeprefix("inline-ptx-") for rule in reversed(ptx_dict.WEIGHTS) if rule in rules and rule in BY_RULE]
    count = f"{len(entries)} kernel{'s' if len(entries) > 1 else ''} ({kernels})" if entries else "functions and no kernel"
    return f"PTX program with {count}" + (f"; uses {', '.join(heavy)}" if heavy else "")


def _ptx_file(parsed: Parsed) -> Iterator[Hit]:
    text = parsed.file.text
    if ptx.is_program(text):
        match = ptx.HEAD.search(text)
        line = text.count("\n", 0, text.index(".version", match.start() if match else 0)) + 1
        yield Hit("ptx-source", Span(line, 1, line, 1), _program(text), subject=parsed.file.path)


def _python_programs(parsed: Parsed) -> Iterator[Hit]:
    """PTX in string constants of Python code."""
    if parsed.tree is None or not (VERSION.search(parsed.file.data) and TARGET.search(parsed.file.data)):
        return
    for node in _strings(parsed.tree.root_node):
        text = (node.text or b"").decode("utf-8", "replace").replace("\\n", "\n").strip("rbuf\"'")
        if ptx.is_program(text):
            yield Hit("ptx-source", places.span(node), _program(text), subject=parsed.file.path)


def _strings(root: Any) -> Iterator[Any]:
    """The string nodes of a Python tree, in order."""
    todo = [root]
    while todo:
        node = todo.pop()
        if node.type == "string":
            yield node
        todo.extend(reversed(node.children))
