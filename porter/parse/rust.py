"""Build scripts of Rust crates, build.rs: who compiles CUDA in them, flags for nvcc, and the libraries that Cargo is told to link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from porter.model import Live, SourceFile
from porter.parse import Parsed, compiler_line
from porter.parse.sheet import Sheet
from porter.parse.shell_words import Word

BUILDERS = frozenset(("bindgen_cuda", "cudaforge", "cuda_builder", "find_cuda_helper"))  # crates that call nvcc or look for its toolkit
MAX_TOKENS = 200_000
_TOKEN = re.compile(
    r"//[^\n]*|(?P<open>/\*)|b?r(?P<hashes>#{0,9})\"|b?\"(?P<text>(?:[^\"\\]|\\.)*+)\"|b?'(?:[^'\\\n]|\\[^\n']{1,9})'|(?P<name>[A-Za-z_]\w*+)"
    r"|(?P<mark>::|[.(){}\[\]!])",
    re.DOTALL,
)
_BLOCK = re.compile(r"/\*|\*/")
_LINK = re.compile(r"cargo:{1,2}rustc-link-lib=(?:[\w+,-]+=)?(?:[\w+-]+:)?([A-Za-z][\w+-]*)\Z")
_SEARCH = re.compile(r"cargo:{1,2}rustc-link-search=(?:\w+=)?(/\S+)\Z")
_FLAGS = frozenset(("arg", "args", "flag", "flags", "flag_if_supported"))
_READS = frozenset(("var", "var_os", "env", "option_env"))
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


class Token(NamedTuple):
    """A name, a mark, or the inside of a string, with its place in characters."""

    kind: str
    text: str
    start: int
    end: int


def parse(file: SourceFile) -> Parsed:
    """Facts of a build script: builders and nvcc as build symbols and commands, flags, libraries, variables of the environment."""
    sheet = Sheet(file, "rust")
    tokens = list(islice(_tokens(sheet.text), MAX_TOKENS))
    if len(tokens) == MAX_TOKENS:
        sheet.problem(tokens[-1].end, f"more than {MAX_TOKENS:,} words; the rest was not read")
    flags: list[Word] = []
    calls: list[str] = []  # for each open bracket, the name before the nearest "(" that has one
    told: set[str] = set()
    for at, token in enumerate(tokens):
        if token.kind == "name":
            _builder(sheet, tokens, at, told)
        elif token.text in _OPENING and token.kind == "mark":
            name = _name_before(tokens, at) if token.text == "(" else ""
            calls.append(name or (calls[-1] if calls else ""))
        elif token.kind == "mark" and token.text in _CLOSING and calls:
            calls.pop()
        elif token.kind == "text":
            _string(sheet, token, calls[-1] if calls else "", flags)
    if told:
        compiler_line.read_flags(sheet, flags, Live.YES)
    return sheet.parsed


def _tokens(text: str) -> Iterator[Token]:
    """Names, brackets and strings in order; comments, which nest, and characters are left out."""
    at = 0
    while match := _TOKEN.search(text, at):
        at = match.end()
        if match["open"]:
            at = _after_comment(text, at)
        elif match["hashes"] is not None:
            close = text.find('"' + match["hashes"], at)
            close = len(text) if close < 0 else close
            yield Token("text", text[at:close], at, close)
            at = close + 1
        elif match["text"] is not None:
            yield Token("text", match["text"], match.start("text"), match.end("text"))
        elif match["name"] or match["mark"]:
            yield Token("name" if match["name"] else "mark", match[0], match.start(), at)


def _after_comment(text: str, at: int) -> int:
    depth = 1
    for match in _BLOCK.finditer(text, at):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    return len(text)


def _name_before(tokens: list[Token], at: int) -> str:
    """The name of the function or macro whose bracket opens."""
    before = at - 1
    if before >= 0 and tokens[before].text == "!":
        before -= 1
    return tokens[before].text if before >= 0 and tokens[before].kind == "name" else ""


def _builder(sheet: Sheet, tokens: list[Token], at: int, told: set[str]) -> None:
    """A crate that compiles CUDA, `bindgen_cuda::Builder`, or the switch of cc for it, `.cuda(true)`; each is told once."""
    token, after = tokens[at], [one.text for one in tokens[at + 1 : at + 3]]
    if token.text in BUILDERS and after[:1] == ["::"]:
        name = f"rust:{token.text}"
    elif token.text == "cuda" and after == ["(", "true"] and at and tokens[at - 1].text == ".":
        name = "rust:cc.cuda"
    else:
        return
    if name not in told:
        told.add(name)
        sheet.add("build_symbol", name, token.start, token.end)


def _string(sheet: Sheet, token: Token, called: str, flags: list[Word]) -> None:
    """A string by what takes it: a program, a flag, a variable's name, a line for Cargo."""
    library, search = _LINK.match(token.text), _SEARCH.match(token.text)
    if library:
        sheet.add("link_library", library[1], token.start, token.end)
    elif search:
        sheet.add("compile_flag", f"-L{search[1]}", token.start, token.end)
    elif called == "new" and compiler_line.is_nvcc(token.text):
        sheet.add("command", "nvcc", token.start, token.end)
    elif called in _READS:
        sheet.add("env_var", token.text, token.start, token.end, access="read")
    elif called in _FLAGS:
        flags.append(Word(token.text, token.start, token.end))
