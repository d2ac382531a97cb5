"""Ignore marks: reads `porter: ignore[rule-id] reason` and its forms for blocks and files out of a file's comments."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from porter.parse import Parsed, cuda_lex
from porter.parse.python_tree import Source

WORD = b"porter:"
HEAD_LINES = 20  # where a mark for the whole file may stand
MAX_MARKS = 1_000  # a file
MAX_RULES = 50  # a mark
MAX_LINE = 4_000  # characters of a line that are looked at
MARK = re.compile(r"porter:[ \t]{0,8}ignore(?P<form>-file|-start|-end)?(?![\w-])[ \t]{0,8}(?:\[(?P<rules>[^\]\n]{0,1000})\])?(?P<rest>.*)")
BEFORE = re.compile(r"(?:.*(?:\#|//|--|;|%|<!--|/\*))?[ \t*!/<>#;-]{0,80}\Z")
UNTIL = re.compile(r"(?<!\S)until=(\S{1,40})")
DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])\Z")
C_KINDS = frozenset({"cuda", "cxx", "ptx"})
SIGNS = {
    "cmake": ("#",), "conda": ("#",), "cython": ("#",), "docker": ("#",), "hcl": ("#", "//", "/*"), "jenkins": ("#", "//", "/*"),
    "json": ("//", "/*"), "make": ("#",), "notebook": ("#", "//", "/*"), "pbtxt": ("#",), "pipfile": ("#",), "pyproject": ("#",),
    "python-lock": ("#",), "requirements": ("#",), "setup-cfg": ("#", ";"), "shell": ("#",), "toml": ("#",), "yaml": ("#",),
    "bazel": ("#",), "meson": ("#",), "rust": ("//",),
}  # fmt: skip
ALL_SIGNS = ("//", "/*", "#", "--", "<!--", ";", "%")
CLOSERS = re.compile(r"\s*(?:\*+/|--+>|\\n\"?,?|\",?)\s*\Z")


class IgnoreMark(msgspec.Struct, frozen=True):
    """One mark: the line it stands on, the lines it covers (both ends included), rule globs, and its reason and last day.

    ``wrong`` says why the mark cannot count, empty for a good one.
    """

    line: int
    first: int
    last: int
    rules: tuple[str, ...] = ()
    reason: str = ""
    until: str = ""
    wrong: str = ""


def read(parsed: Parsed) -> tuple[IgnoreMark, ...]:
    """All marks in the comments of a file and of the CUDA sources embedded in it, in order."""
    data, kind = parsed.file.data, parsed.file.kind
    if WORD not in data or kind == "binary":
        return ()
    comments: list[tuple[int, str]] = []
    for part in (parsed, *parsed.embedded):
        comments += itertools.islice(_comments(part), MAX_MARKS)
    lines = data.split(b"\n")
    return tuple(_marks(sorted(set(comments)), lines, _alone(lines, data, kind)))


def _comments(parsed: Parsed) -> Iterator[tuple[int, str]]:
    """(line, comment text) of every line of a comment that holds the word."""
    data, kind = parsed.file.data, parsed.file.kind
    if kind in C_KINDS:
        yield from _c_comments(data)
    elif kind == "python":
        tree = parsed.tree if parsed.tree is not None or parsed.coverage < 1.0 else Source(data).tree
        yield from _tree_comments(data, tree) if tree is not None else ()
    else:
        for line, text in _lines_with_word(data):
            if kind == "notebook":  # a line of a cell is a string of JSON
                text = text.strip().removeprefix('"').replace('\\"', '"')
            at = _comment_start(text, SIGNS.get(kind, ALL_SIGNS))
            if at >= 0:
                yield line, text[at:]


def _lines_with_word(data: bytes) -> Iterator[tuple[int, str]]:
    line, seen, at = 1, 0, data.find(WORD)
    while at >= 0:
        line += data.count(b"\n", seen, at)
        seen = at
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield line, data[start:end].decode("utf-8", "replace").rstrip("\r")[:MAX_LINE]
        at = data.find(WORD, end)


def _c_comments(data: bytes) -> Iterator[tuple[int, str]]:
    line, seen = 1, 0
    for start, text in cuda_lex.comments(data):
        if WORD in text:
            line += data.count(b"\n", seen, start)
            seen = start
            for shift, part in enumerate(text.split(b"\n")):
                if WORD in part:
                    yield line + shift, part[:MAX_LINE].decode("utf-8", "replace").rstrip("\r")


def _tree_comments(data: bytes, tree: Any) -> Iterator[tuple[int, str]]:
    """The comments of a Python file, by its tree: what stands in a string is no comment."""
    line, seen, at = 1, 0, data.find(WORD)
    while at >= 0:
        node = tree.root_node.descendant_for_byte_range(at, at + len(WORD))
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        line += data.count(b"\n", seen, at)
        seen = at
        if node is not None and node.type == "comment":
            yield line, data[node.start_byte : end][:MAX_LINE].decode("utf-8", "replace").rstrip("\r")
            at = data.find(WORD, end)
        else:
            at = data.find(WORD, at + len(WORD))


def _comment_start(text: str, signs: tuple[str, ...]) -> int:
    """Where the line's comment starts, outside quotes; -1 for none."""
    quote, skip = "", -1
    for at, char in enumerate(text):
        if at <= skip:
            continue
        if quote:
            if char == "\\":
                skip = at + 1
            elif char == quote:
                quote = ""
        elif char in "\"'" and not (char == "'" and at and text[at - 1].isalnum()):
            quote = char  # an apostrophe inside a word opens nothing
        elif text.startswith(signs, at) and (at == 0 or text[at - 1].isspace() or text.startswith(("/*", "<!--"), at)):
            return at
    return -1


def _marks(comments: list[tuple[int, str]], lines: list[bytes], alone: Callable[[int], bool]) -> Iterator[IgnoreMark]:
    """The comments as marks; ``alone`` tells lines that hold nothing but a comment."""
    opened: list[tuple[IgnoreMark, tuple[str, ...]]] = []
    for line, text in comments:
        found = MARK.search(text)
        if found is None or not BEFORE.match(text[: found.start()]):
            continue
        mark, form = _mark(line, found), found["form"] or ""
        if form == "-end":
            at = next((i for i in reversed(range(len(opened))) if not mark.rules or opened[i][1] == mark.rules), -1)
            if at < 0:
                yield msgspec.structs.replace(mark, wrong="ends a block that nothing starts")
            else:
                yield msgspec.structs.replace(opened.pop(at)[0], last=line)
        elif mark.wrong:
            yield mark
        elif form == "-start":
            opened.append((mark, mark.rules))
        elif form == "-file":
            late = f"counts for the file only in its first {HEAD_LINES} lines" if line > HEAD_LINES else ""
            yield msgspec.structs.replace(mark, first=1, last=len(lines), wrong=late)
        else:
            yield msgspec.structs.replace(mark, last=_last_line(line, len(lines), alone))
    for mark, _ in opened:
        yield msgspec.structs.replace(mark, last=mark.line, wrong="starts a block that nothing ends")


def _mark(line: int, found: re.Match[str]) -> IgnoreMark:
    rest = CLOSERS.sub("", found["rest"])
    until = UNTIL.search(rest)
    reason = " ".join(UNTIL.sub(" ", rest).split()).strip(" :-\u2013\u2014")
    rules = tuple(part.strip() for part in (found["rules"] or "").split(",") if part.strip())[:MAX_RULES]
    wrong = ""
    if not rules and found["form"] != "-end":
        wrong = "names no rule; write ignore[rule-id] and the reason"
    elif until and not DATE.match(until[1]):
        wrong = f"has an end that is no date: until={until[1][:20]}; write until=2027-01-31"
    return IgnoreMark(line, line, line, rules, reason[:500], until[1] if until and not wrong else "", wrong)


def _last_line(line: int, end: int, alone: Callable[[int], bool]) -> int:
    """A mark behind code is for its line; one that stands alone is for the first line below that is no comment."""
    at = line
    while at < end and at - line <= HEAD_LINES and alone(at):
        at += 1
    return at


def _alone(lines: list[bytes], data: bytes, kind: str) -> Callable[[int], bool]:
    """A test for lines (from 1) that hold a comment and nothing else."""
    if kind in C_KINDS:
        code = cuda_lex.mask(data).split(b"\n")
        return lambda line: not code[line - 1].strip() and bool(lines[line - 1].strip())
    signs = tuple(sign.encode() for sign in ("#", "//") if kind == "python") or tuple(s.encode() for s in SIGNS.get(kind, ALL_SIGNS))
    lead = b' \t"' if kind == "notebook" else b" \t"
    return lambda line: lines[line - 1].lstrip(lead).startswith(signs)
