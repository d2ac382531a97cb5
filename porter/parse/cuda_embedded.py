"""CUDA in C++ strings, as programs for NVRTC and HIPRTC hold it: parsed at its place in the file, everything else blanked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from porter.model import Problem, SourceFile
from porter.parse import Guards, Parsed
from porter.parse.cuda_lex import blank, mask
from porter.parse.ptx_tokens import scanner
from porter.parse.string_guards import put_within

FUNCTION = re.compile(rb"__(?:global|device)__[\w\s*&<>:,\\]{1,200}\(")
ESCAPE = re.compile(rb"\\(\r?\n|x[0-9a-fA-F]{2}|[0-7]{1,3}|.)", re.DOTALL)
KEPT = {b"\\": b" \\", b"'": b" '", b'"': b' "'}  # escapes that are code; all others are space
MAX_PROGRAMS = 200
MAX_CONTINUED = 200  # lines of one logical line that are looked back at


def embedded(file: SourceFile, guards: Guards, parse: Callable[[SourceFile], Parsed], problems: list[Problem]) -> list[Parsed]:
    """The CUDA in a file's string literals as one source of the same length; empty where there is none."""
    masked = mask(file.data)
    if not any(_in_string(file.data, masked, word) for word in (b"__global__", b"__device__")):
        return []
    programs = [run for run in _runs(file.data) if _is_program(b"".join(file.data[start:end] for start, end in run))]
    if not programs:
        return []
    text = bytearray(blank(file.data))
    if len(programs) > MAX_PROGRAMS:
        line = file.data.count(b"\n", 0, programs[MAX_PROGRAMS][0][0]) + 1
        problems.append(Problem("parse", file.path, line, f"more than {MAX_PROGRAMS} programs in strings; the rest was not read"))
    for run in programs[:MAX_PROGRAMS]:
        for start, end in run:
            inside = _inside(file.data[start:end])
            text[start:end] = inside
    inner = parse(SourceFile(file.path, "cuda", bytes(text), file.origin))
    put_within(inner, guards)
    return [inner]


def _in_string(data: bytes, masked: bytes, word: bytes) -> bool:
    """Whether a word may stand in a string: it is blanked somewhere, and somewhere a quote stands before it on its logical line."""
    if data.count(word) == masked.count(word):
        return False
    if b'R"' in data:
        return True
    clear, at = 0, data.find(word)  # no quote stands on the logical line in front of ``clear``
    while at >= 0:
        start = at
        for _ in range(MAX_CONTINUED):
            start = max(data.rfind(b"\n", clear, start) + 1, clear)
            if start == clear or (data[start - 2 : start] != b"\\\n" and data[start - 3 : start] != b"\\\r\n"):
                break
            start -= 1
        else:
            return True
        if data.find(b'"', start, at) >= 0:
            return True
        clear, at = at, data.find(word, at + 1)
    return False


def _runs(data: bytes) -> Iterator[list[tuple[int, int]]]:
    """String literals that stand next to each other, with nothing but space and comments between them, as byte ranges."""
    run: list[tuple[int, int]] = []
    end = 0  # of the last literal, or of a comment behind it
    for match in scanner(data).finditer(data):
        is_comment = match[0].startswith((b"//", b"/*"))
        if not is_comment and not match[0].endswith(b'"'):
            continue
        if run and data[end : match.start()].strip(b" \t\r\n\\"):
            yield run
            run = []
        end = match.end()
        if not is_comment:
            run.append(match.span())
    if run:
        yield run


def _is_program(text: bytes) -> bool:
    """True for text with a function of the device and its body; a message that only names the words has neither."""
    return b"{" in text and b";" in text and FUNCTION.search(text) is not None


def _inside(token: bytes) -> bytes:
    """A literal without its marks, of the same length: the code of a raw one as it is, escapes of a plain one undone."""
    quote = token.index(b'"')
    if token[:quote].endswith(b"R"):
        mark = token.index(b"(", quote) + 1
        tail = mark - quote
        return b" " * mark + token[mark : len(token) - tail] + b" " * tail
    body = ESCAPE.sub(_plain, token[quote + 1 : -1])
    return b" " * (quote + 1) + body + b" "


def _plain(match: re.Match[bytes]) -> bytes:
    return KEPT.get(match[1], blank(match[0]))
