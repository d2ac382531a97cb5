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
from porter.parse.ptx_text import Instruction

MAX_TOKENS = 20_000
MAX_STATEMENT = 64 * 1024  # bytes
MAX_STATEMENTS = 20_000
UNKNOWN = "?"  # what a macro or a macro's parameter supplies

RAW = rb'\b(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.{0,65536}?\)(?P=delimiter)"|'
PLAIN = (
    rb"//(?:\\\r?\n|[^\n])*+|/\*.*?(?:\*/|\Z)"
    rb'|"(?:[^"\\\n]|\\.)*+"?'
    rb"|'(?:[^'\\\n]|\\.){1,12}+'"
)
SCANNED = rb"|\d[\w']*|^[ \t]*\#[ \t]*define[ \t]+(?P<define>\w+)(?P<params>\([^)\n]*\))?|(?P<word>[A-Za-z_]\w*)"
DIRECTIVE = rb"\n[ \t]*\#[ \t]*(?:if|ifdef|ifndef|elif|else|endif|pragma|define|undef|include|error)\b(?:\\\r?\n|[^\n])*+"
TOKENS = rb"|" + DIRECTIVE + rb"|[A-Za-z_]\w*|\d[\w'.]*|\\\r?\n|[^\S\n]+|."
SCAN = re.compile(RAW + PLAIN + SCANNED, re.DOTALL | re.MULTILINE)
SCAN_NO_RAW = re.compile(PLAIN + SCANNED, re.DOTALL | re.MULTILINE)
TOKEN = re.compile(RAW + PLAIN + TOKENS, re.DOTALL)
TOKEN_NO_RAW = re.compile(PLAIN + TOKENS, re.DOTALL)
MAX_RAW = 300  # an unterminated raw string costs a scan ahead; where there are more, all are read as plain strings
KEYWORDS = frozenset((b"asm", b"__asm__", b"__asm"))
QUALIFIERS = frozenset((b"volatile", b"__volatile__", b"__volatile", b"goto", b"inline", b"__inline__"))
ALIAS = re.compile(rb"[ \t]+(?:asm|__asm__|__asm)(?:[ \t]+(?:volatile|__volatile__))?[ \t]*(?://[^\n]*)?\r?\n")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\", "0": "\0"}
ESCAPE = re.compile(r"\\(\r?\n|.)", re.DOTALL)


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


class _Token(msgspec.Struct, frozen=True, gc=False):
    text: bytes
    start: int
    end: int


class _Lines:
    """Byte offsets as lines and columns."""

    def __init__(self, data: bytes) -> None:
        self.starts = [0] + [match.end() for match in re.finditer(rb"\n", data)]

    def span(self, start: int, end: int) -> Span:
        line, last = bisect.bisect_right(self.starts, start), bisect.bisect_right(self.starts, end)
        return Span(line, start - self.starts[line - 1] + 1, last, end - self.starts[last - 1] + 1)


def statements(data: bytes, texts: Mapping[str, str] | None = None, spellings: Collection[bytes] = ()) -> list[AsmStatement]:
    """Every asm statement of a C++ text in order; ``texts`` are string macros of other files, ``spellings`` their words for asm."""
    if b"asm" not in data and not spellings and not (texts and b'("' in data):
        return []
    lines = _Lines(data)
    strings = dict(texts or {})
    keywords = {*KEYWORDS, *spellings}
    found: list[AsmStatement] = []
    macro, macro_end, position = "", 0, 0
    scan = _scanner(data)
    while len(found) < MAX_STATEMENTS:
        match = scan.search(data, position)
        if match is None:
            break
        position = match.end()
        if match["define"] is not None and position > macro_end:
            macro, macro_end = match["define"].decode(), _logical_line_end(data, position)
            _learn(data, match, macro_end, strings, keywords)
        elif match["word"] in keywords:
            statement = _statement(data, match.start(), position, lines, strings, macro if position < macro_end else "")
            if statement is not None:
                found.append(statement)
                position = max(position, _offset(lines, statement.span))
    return found


def _scanner(data: bytes) -> re.Pattern[bytes]:
    return SCAN if data.count(b'R"') <= MAX_RAW else SCAN_NO_RAW


def _offset(lines: _Lines, span: Span) -> int:
    return lines.starts[span.end_line - 1] + span.end_column - 1


def _learn(data: bytes, match: re.Match[bytes], end: int, strings: dict[str, str], keywords: set[bytes]) -> None:
    """Remember what an object-like macro stands for: a string, or another spelling of asm."""
    if match["params"] is not None or match["define"] is None:
        return
    if ALIAS.match(data, match.end()):
        keywords.add(match["define"])
        return
    tokens = list(_tokens(data, match.end(), end))
    if tokens and all(token.text.endswith(b'"') for token in tokens):
        strings[match["define"].decode()] = "".join(_literal(token.text) for token in tokens)


def string_value(text: str) -> str | None:
    """What a macro's text comes to where it is string literals and nothing else."""
    data = text.encode()
    tokens = list(_tokens(data, 0, len(data))) if '"' in text else []
    return "".join(_literal(token.text) for token in tokens) if tokens and all(t.text.endswith(b'"') for t in tokens) else None


def is_spelling(text: str) -> bool:
    """Whether a macro's text is a spelling of asm."""
    return "asm" in text and ALIAS.match(b" " + text.encode() + b"\n") is not None


def _logical_line_end(data: bytes, start: int) -> int:
    """End of a preprocessor line with its continuations."""
    position = start
    while True:
        newline = data.find(b"\n", position)
        if newline < 0:
            return len(data)
        if not data[position:newline].rstrip(b"\r").endswith(b"\\"):
            return newline
        position = newline + 1


def _tokens(data: bytes, start: int, end: int) -> Iterator[_Token]:
    """Tokens between two offsets, without space, comments, line continuations and directives (of both branches)."""
    position = start
    token = TOKEN if data.count(b'R"', start, min(end, start + MAX_STATEMENT)) <= MAX_RAW else TOKEN_NO_RAW
    while position < end:
        match = token.match(data, position)
        if match is None:
            return
        position = match.end()
        text = match[0]
        if not text.isspace() and not text.startswith((b"//", b"/*", b"\\", b"\n")):
            yield _Token(text, match.start(), position)


def _statement(data: bytes, start: int, after: int, lines: _Lines, strings: Mapping[str, str], macro: str) -> AsmStatement | None:
    """The asm statement whose keyword ends at ``after``, or None where no parenthesis with a string follows."""
    sections: list[list[_Token]] = [[]]
    depth = count = 0
    for token in _tokens(data, after, min(len(data), after + MAX_STATEMENT)):
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
                return _build(sections, lines.span(start, token.end), lines, strings, macro)
            sections[-1].append(token)
        elif text == b":" and depth == 1:
            sections.append([])
        else:
            sections[-1].append(token)
    return None


def _build(sections: list[list[_Token]], span: Span, lines: _Lines, strings: Mapping[str, str], macro: str) -> AsmStatement | None:
    template, pieces = _template(sections[0], strings)
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


def _token_place(piece: tuple[int, _Token], template: str, offset: int) -> tuple[int, int]:
    """Byte range of the piece; within a raw string of many lines, of the line where the instruction starts."""
    start, token = piece
    newlines = template.count("\n", start, offset) if b"\n" in token.text and token.text.endswith(b')"') else 0
    position = token.start
    for _ in range(newlines):
        position = token.text.find(b"\n", position - token.start) + 1 + token.start
    return position, token.end


def _template(tokens: list[_Token], strings: Mapping[str, str]) -> tuple[str, list[tuple[int, _Token]]]:
    """The joined text of the string pieces, and where each piece starts in it."""
    out: list[str] = []
    pieces: list[tuple[int, _Token]] = []
    length = depth = 0
    for token in tokens:
        text = token.text
        if text in (b"(", b")"):
            depth += 1 if text == b"(" else -1
            continue
        if depth > 0 or text in (b"#", b","):
            continue
        part = _literal(text) if text.endswith(b'"') else strings.get(text.decode("utf-8", "replace"), UNKNOWN)
        pieces.append((length, token))
        out.append(part)
        length += len(part)
    has_string = any(token.text.endswith(b'"') for _, token in pieces) or any(part != UNKNOWN for part in out)
    return ("".join(out), pieces) if has_string else ("", [])


def _operands(tokens: list[_Token]) -> Iterator[Operand]:
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
            constraint.append(_literal(text))
        elif constraint and depth > 0 and not (depth == 1 and text == b"("):
            expression.append(text.decode("utf-8", "replace"))
    if constraint:
        yield Operand("".join(constraint), " ".join(expression))


def _literal(token: bytes) -> str:
    """The value of a string literal token, plain or raw."""
    text = token.decode("utf-8", "replace")
    quote = text.index('"')
    if text[:quote].endswith("R"):
        open_paren = text.index("(", quote)
        return text[open_paren + 1 : len(text) - (open_paren - quote) - 1]
    return ESCAPE.sub(lambda match: "" if "\n" in match[1] else ESCAPES.get(match[1], match[1]), text[quote + 1 : -1])


def literals(data: bytes) -> Iterator[tuple[Span, str]]:
    """Every string literal of a C++ text with its place, neighbours joined; for programs that stand in strings."""
    lines = _Lines(data)
    start = end = 0
    parts: list[str] = []
    for match in _scanner(data).finditer(data):
        text = match[0]
        if not text.endswith(b'"') or text.startswith((b"//", b"/*")):
            continue
        if parts and data[end : match.start()].strip(b" \t\r\n\\"):
            yield lines.span(start, end), "".join(parts)
            parts = []
        if not parts:
            start = match.start()
        parts.append(_literal(text))
        end = match.end()
    if parts:
        yield lines.span(start, end), "".join(parts)
