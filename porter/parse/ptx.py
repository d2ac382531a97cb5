"""PTX as a source: .ptx files, and the facts that PTX inside other files gives (one a PTX instruction)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from porter.model import Fact, Live, Problem, SourceFile, Span
from porter.parse import Parsed, ptx_asm, ptx_text
from porter.parse.ptx_macros import Definition

if TYPE_CHECKING:
    from porter.survey import Survey

HEAD = re.compile(r"^[ \t]*\.version\s+\d+\.\d+", re.MULTILINE)
TARGET = re.compile(r"^[ \t]*\.target\s+sm_\d+", re.MULTILINE)
ENTRY = re.compile(r"^[ \t]*(?:\.\w+\s+)*\.entry\s+([\w$]+)", re.MULTILINE)
MAX_BYTES = 2 * 1024 * 1024  # of PTX text read for instructions


def is_program(text: str) -> bool:
    """True for the text of a whole PTX program: it has a version and a target directive."""
    return ".version" in text and ".target" in text and bool(HEAD.search(text) and TARGET.search(text))


def parse(file: SourceFile) -> Parsed:
    """A .ptx file: one fact an instruction, at its line; not a PTX program is a problem that loses nothing."""
    parsed = Parsed(file)
    text = file.text
    if not is_program(text):
        parsed.problems.append(Problem("parse", file.path, 1, "no PTX program: a .version or a .target line is missing", matters=False))
        return parsed
    if len(text) > MAX_BYTES:
        parsed.problems.append(
            Problem("parse", file.path, 1, f"only the first {MAX_BYTES} bytes of PTX were read for opcodes", matters=False)
        )
    starts = [0] + [match.end() for match in re.finditer(r"\n", text)]
    line = 0
    for instruction in ptx_text.split(text[:MAX_BYTES]):
        while line + 1 < len(starts) and starts[line + 1] <= instruction.offset:
            line += 1
        column = instruction.offset - starts[line] + 1
        span = Span(line + 1, column, line + 1, column + len(instruction.opcode))
        if ptx_text.is_ptx(instruction):
            parsed.facts.append(Fact("ptx", instruction.opcode, span, context="device", seen_by="ptx", args=instruction.operands))
    parsed.extra["ptx_entries"] = tuple(ENTRY.findall(text))
    return parsed


def asm_of(parsed: Parsed) -> list[ptx_asm.AsmStatement]:
    """The asm statements of a C++ file, read once."""
    found: list[ptx_asm.AsmStatement] | None = parsed.extra.get("asm")
    if found is None:
        found = ptx_asm.statements(parsed.file.data)
        parsed.extra["asm"] = found
    return found


def enrich(parsed: Parsed, headers: Iterable[Survey], words: Collection[str]) -> None:
    """Read a file's asm statements again where its ``headers`` define strings, macros or spellings of asm that they use.

    ``words`` are the spellings of asm in the whole repository.
    """
    data = parsed.file.data
    if b"asm" not in data and not any(word.encode() in data for word in words):
        return
    macros = [m for one in headers for m in one.macros if m.live is not Live.NO]
    used = [m for m in macros if (m.name in words or '"' in m.text) and m.name.encode() in data]
    if not used:
        return
    spellings = [m.name.encode() for m in used if m.name in words]
    around = {m.name: Definition(m.params, m.text) for m in reversed(macros)}  # the nearest header counts
    parsed.extra["asm"] = ptx_asm.statements(parsed.file.data, around, spellings)
    facts = [fact for fact in parsed.facts if fact.kind != "ptx"] + facts_of(parsed.extra["asm"], parsed)
    parsed.facts = sorted(facts, key=lambda fact: (fact.span, fact.kind, fact.name))


def facts_of(statements: list[ptx_asm.AsmStatement], parsed: Parsed) -> list[Fact]:
    """Facts of kind ptx for the PTX instructions in asm statements."""
    return [
        Fact("ptx", instruction.opcode, place, "device", _live(parsed, place), "asm", instruction.operands)
        for statement in statements
        if statement.dialect == "ptx"
        for instruction, place in zip(statement.instructions, statement.places, strict=True)
    ]


def _live(parsed: Parsed, place: Span) -> Live:
    return parsed.live(place.line)
