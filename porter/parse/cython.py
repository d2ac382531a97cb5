"""Cython: imports and cimports, C headers it binds, CUDA names it calls. A tokenizer of its own, no tree: Cython is not Python."""

from __future__ import annotations

import re
from bisect import bisect_right

from porter.model import Fact, Live, Problem, SourceFile, Span
from porter.parse import Parsed

SEEN_BY = "cython"
# strings, comments, names with dots, line ends, anything else
TOKEN = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*+(?:"""|\\?\Z)|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*+(?:\'\'\'|\\?\Z)'
    rb'|"(?:[^"\\\n]|\\.)*+(?:"|(?=\n)|\\?\Z)|\'(?:[^\'\\\n]|\\.)*+(?:\'|(?=\n)|\\?\Z)|#[^\n]*'
    rb"|\.{0,8}[A-Za-z_][\w.]*|\n|[(),:;]",
    re.DOTALL,
)
CUDA_NAME = re.compile(r"(cuda|cu|nccl|nvml|cublas|cudnn|cufft|curand|cusparse|cusolver|nvrtc|nvshmem)[A-Z]\w*")
MAX_TOKENS = 2_000_000


def parse(file: SourceFile) -> Parsed:
    """Facts of a .pyx or .pxd file: py_import, include, call."""
    parsed = Parsed(file)
    starts = [0, *(match.end() for match in re.finditer(rb"\n", file.data))]

    def emit(kind: str, name: str, start: int, length: int) -> None:
        line = bisect_right(starts, start)
        column = start - starts[line - 1] + 1
        parsed.facts.append(Fact(kind, name, Span(line, column, line, column + length), "host", Live.YES, SEEN_BY))

    logical: list[tuple[str, int]] = []
    depth = 0
    for count, match in enumerate(TOKEN.finditer(file.data)):
        token = match.group()
        if count > MAX_TOKENS:
            line = bisect_right(starts, match.start())
            parsed.problems.append(Problem("parse", file.path, line, f"more than {MAX_TOKENS:,} tokens; the rest was not read"))
            break
        if token.startswith(b"#"):
            continue
        if token == b"\n" and depth == 0 or token == b";":
            _statement(logical, emit)
            logical = []
        elif token != b"\n":
            depth += (token == b"(") - (token == b")")
            depth = max(depth, 0)
            logical.append((token.decode("utf-8", "replace"), match.start()))
    _statement(logical, emit)
    return parsed


def _statement(tokens: list[tuple[str, int]], emit: object) -> None:
    """The facts of one logical line."""
    assert callable(emit)
    words = [word for word, _ in tokens]
    if not words:
        return
    if words[:3] == ["cdef", "extern", "from"] and len(words) > 3:
        if words[3][:1] in "\"'":
            emit("include", words[3].strip("\"'"), tokens[3][1], len(words[3]))
        return
    if words[0] == "from" and len(words) > 2 and words[2] in ("import", "cimport"):
        _from_import(tokens, emit)
        return
    if words[0] in ("import", "cimport"):
        for (word, start), before in zip(tokens[1:], words, strict=False):
            if before in ("import", "cimport", ",") and word[:1].isalpha():
                emit("py_import", word, start, len(word))
        return
    for (word, start), after in zip(tokens, [*words[1:], ""], strict=True):
        last = word.rpartition(".")[2]
        if after == "(" and CUDA_NAME.fullmatch(last):
            emit("call", last, start, len(word))


def _from_import(tokens: list[tuple[str, int]], emit: object) -> None:
    assert callable(emit)
    module, start = tokens[1]
    if module.startswith("."):
        return
    emit("py_import", module, start, len(module))
    previous = "import"
    for word, at in tokens[3:]:
        if previous in ("import", ",", "(") and (word[:1].isalpha() or word[:1] == "_"):
            emit("py_import", f"{module}.{word}", at, len(word))
        previous = word
