"""Inline assembly in C++: every asm statement in every spelling, with its joined template, constraints and place.

Works on tokens, so it also reads bodies of #define and regions that a grammar cannot; comments and strings are no code.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Collection, Iterator, Mapping

import msgspec

from porter.model import Span
from porter.parse import ptx_text
from porter.parse.ptx_macros import Definition, Macros
from porter.parse.ptx_text import Instruction
from porter.parse.ptx_tokens import MAX_STATEMENT, Lines, Token, literal, logical_line_end, scanner, tokens

MAX_TOKENS = 20_000
MAX_STATEMENTS = 20_000
KEYWORDS = frozenset((b"asm", b"__asm__", b"__asm"))
QUALIFIERS = frozenset((b"volatile", b"__volatile__", b"__volatile", b"goto", b"inline", b"__inline__"))
ALIAS = re.compile(rb"[ \t]+(?:asm|__asm__|__asm)(?:[ \t]+(?:volatile|__volatile__))?[ \t]*(?://[^\n]*)?\r?\n")


class Operand(msgspec.Struct, frozen=True, gc=False):
    """An output or input of an asm statement: the constraint as written ("=r") and the C++ expression."""

    constraint: str
    expression: str


class AsmStatement(msgspec.Struct, frozen=True):
    """One asm statement. ``dialect`` is ptx, amd, host or empty; ``macro`` is the #define whose body holds it.

    ``places`` gives the file line and byte column of the string piece in which each instruction starts.
    """

    span: Span
    template: str
    instructions: tuple[Instruction, ...]
    places: tuple[Span, ...]
    operands: tuple[Operand, ...]
    dialect: str
    macro: str = ""


def statements(data: bytes, around: Mapping[str, Definition] | None = None, spellings: Collection[bytes] = ()) -> list[AsmStatement]:
    """Every asm statement of a C++ text in order; ``around`` are the macros of other files, ``spellings`` their words for asm."""
    if b"asm" not in data and not spellings:
        return []
    lines = Lines(data)
    macros = Macros(around)
    keywords = {*KEYWORDS, *spellings}
    found: list[AsmStatement] = []
    macro, macro_end, position = "", 0, 0
    scan = scanner(data, only_asm=not spellings)
    while len(found) < MAX_STATEMENTS:
        match = scan.search(data, position)
        if match is None:
            break
        position = match.end()
        if match["define"] is not None and position > macro_end:
            macro, macro_end = match["define"].decode(), logical_line_end(data, position)
            if _learn(data, match, macro_end, macros, keywords):
                scan = scanner(data)
        elif match["word"] in keywords:
            statement = _statement(data, match.start(), position, lines, macros, macro if position < macro_end else "")
            if statement is not None:
                found.append(statement)
                position = max(position, _offset(lines, statement.span))
    return found


def _offset(lines: Lines, span: Span) -> int:
    return lines.starts[span.end_line - 1] + span.end_column - 1


def _learn(data: bytes, match: re.Match[bytes], end: int, macros: Macros, keywords: set[bytes]) -> bool:
    """Remember what a macro stands for: another spelling of asm (then True), or a text that may hold a template."""
    name, params = match["define"], match["params"]
    if params is None and ALIAS.match(data, match.end()):
        keywords.add(name)
        return True
    text = data[match.end() : min(end, match.end() + MAX_STATEMENT)].decode("utf-8", "replace")
    named = tuple(part.strip() for part in params.decode("utf-8", "replace").strip("()").split(",")) if params is not None else None
    macros.learn(name.decode("utf-8", "replace"), Definition(named, text))
    return False


def is_spelling(text: str) -> bool:
    """Whether a macro's text is a spelling of asm."""
    return "asm" in text and ALIAS.match(b" " + text.encode() + b"\n") is not None


def _statement(data: bytes, start: int, after: int, lines: Lines, macros: Macros, macro: str) -> AsmStatement | None:
    """The asm statement whose keyword ends at ``after``, or None where no parenthesis with a string follows."""
    sections: list[list[Token]] = [[]]
    depth = count = 0
    for token in tokens(data, after, min(len(data), after + MAX_STATEMENT)):
        count += 1
        text = token.text
        if count > MAX_TOKENS or text in KEYWORDS:
            return None
        if depth == 0:
            if text in QUALIFIERS:
                continue
            if text != b"(":
                return None
            depth = 1
        elif text in b"([{" and len(text) == 1:
            depth += 1
            sections[-1].append(token)
        elif text in b")]}" and len(text) == 1:
            depth -= 1
            if depth == 0:
                return _build(sections, lines.span(start, token.end), lines, macros, macro)
            sections[-1].append(token)
        elif text == b":" and depth == 1:
            sections.append([])
        else:
            sections[-1].append(token)
    return None


def _build(sections: list[list[Token]], span: Span, lines: Lines, macros: Macros, macro: str) -> AsmStatement | None:
    template, pieces = macros.template(sections[0])
    if not pieces:
        return None
    simple = len(sections) == 1
    instructions = ptx_text.split(template)
    offsets = [offset for offset, _ in pieces]
    places = tuple(
        lines.span(*_token_place(pieces[bisect.bisect_right(offsets, item.offset) - 1], template, item.offset)) for item in instructions
    )
    operands = tuple(operand for section in sections[1:3] for operand in _operands(section))
    kind = ptx_text.dialect(template, instructions)
    if simple and kind == "host" and not instructions:
        return None
    return AsmStatement(span, template, tuple(instructions), places, operands, kind, macro)


def _token_place(piece: tuple[int, Token], template: str, offset: int) -> tuple[int, int]:
    """Byte range of the piece; within a raw string of many lines, of the line where the instruction starts."""
    start, token = piece
    newlines = template.count("\n", start, offset) if b"\n" in token.text and token.text.endswith(b')"') else 0
    position = token.start
    for _ in range(newlines):
        position = token.text.find(b"\n", position - token.start) + 1 + token.start
    return position, token.end


def _operands(tokens: list[Token]) -> Iterator[Operand]:
    """Constraint and expression of each operand in a section."""
    depth = 0
    constraint: list[str] = []
    expression: list[str] = []
    for token in tokens:
        text = token.text
        if text == b"," and depth == 0:
            if constraint:
                yield Operand("".join(constraint), " ".join(expression))
            constraint, expression = [], []
            continue
        depth += (text in (b"(", b"[", b"{")) - (text in (b")", b"]", b"}"))
        if depth == 0 and text.endswith(b'"'):
            constraint.append(literal(text))
        elif constraint and depth > 0 and not (depth == 1 and text == b"("):
            expression.append(text.decode("utf-8", "replace"))
    if constraint:
        yield Operand("".join(constraint), " ".join(expression))


def literals(data: bytes) -> Iterator[tuple[Span, str]]:
    """Every string literal of a C++ text with its place, neighbours joined; for programs that stand in strings."""
    lines = Lines(data)
    start = end = 0
    parts: list[str] = []
    for match in scanner(data).finditer(data):
        text = match[0]
        if not text.endswith(b'"') or text.startswith((b"//", b"/*")):
            continue
        if parts and data[end : match.start()].strip(b" \t\r\n\\"):
            yield lines.span(start, end), "".join(parts)
            parts = []
        if not parts:
            start = match.start()
        parts.append(literal(text))
        end = match.end()
    if parts:
        yield lines.span(start, end), "".join(parts)
