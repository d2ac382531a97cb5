"""CUDA C++ (and plain C++) read with tree-sitter: facts, tree, guards and the share of the file that was understood."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import tree_sitter

from porter.model import Fact, Live, Problem, SourceFile, Span
from porter.parse import Parsed, cuda_branches, cuda_lex, cuda_repair, ptx
from porter.parse.cuda_context import contexts, functions
from porter.parse.cuda_embedded import embedded
from porter.parse.cuda_expr import OPERATOR_WORDS
from porter.parse.cuda_facts import Captured, Place, capture, defined_types, text_of, to_facts, uses
from porter.parse.cuda_query import language
from porter.parse.guards import SourceGuards, guards_of

MAX_NESTING = 2000
MAX_CONDITIONALS = 500
MAX_STATEMENT = 32 * 1024  # bytes between two of ; { } , or a directive: a longer one makes a tree too deep to walk
PARSE_SECONDS = 10.0
PLACE = attrgetter("span", "kind", "name")  # the order of facts
_CHUNK = 16384
_SEPARATOR = re.compile(rb"[{},]|\n[ \t]*#")  # and the semicolon
_LOOP = rb"for(?<!\wfor)\s{0,9}\([^(){}]{0,200}\)\s{0,9}"
_LOOPS = re.compile(_LOOP + b"(?:" + _LOOP + b"){99}")  # their semicolons separate nothing
_NO_BRACKETS = bytes(set(range(256)) - set(b"()[]{}"))
_MACRO_NAME = re.compile(r"[A-Za-z_]\w*")
_TESTS = frozenset(("if", "ifdef", "ifndef", "elif", "elifdef", "elifndef"))
_INCLUDED = re.compile(rb'[<"]([^>"\n]{1,400})[>"]')
_DEFINED = re.compile(r"([A-Za-z_]\w*)(?:\(([^)]*)\))?")
_SIMPLE_BODY = re.compile(rb"\s*(?:(?:0[xX])?[0-9a-fA-F.']*[uUlLfF]*|\(\s*-?\d+\s*\))\s*")


def parse(file: SourceFile) -> Parsed:
    """Read one file of CUDA C++ or C++, and the CUDA in its strings."""
    parsed = _parse(file)
    if parsed.tree is not None and parsed.guards is not None:
        parsed.embedded = embedded(file, parsed.guards, _parse, parsed.problems)
    return parsed


def _parse(file: SourceFile) -> Parsed:
    masked = cuda_lex.mask(file.data)
    lines = cuda_lex.directives(masked)
    guards = guards_of(file.data, file.path, masked=masked)
    parsed = Parsed(file, guards=guards)
    facts = list(_directive_facts(file.data, lines))
    reason = _refusal(file.data, masked) or _too_many_conditionals(lines)
    cut = [] if reason or not guards.regions else cuda_branches.cuts(masked, lines, guards)
    stretches = [] if reason else cuda_repair.merged([*cut, *cuda_repair.find(masked)])
    text = cuda_repair.apply(file.data, stretches)
    tree = None if reason else _tree(text)
    if tree is None:
        parsed.coverage = 0.0
        parsed.problems.append(Problem("parse", file.path, 1, reason or f"the parser gave up after {PARSE_SECONDS:g} s"))
    else:
        parsed.tree = tree
        found = capture(tree, text)
        parsed.extra["captured"] = found
        facts.extend(_facts_of(found, file.data, {}))
        facts.extend(_blanked_facts(file.data, stretches))
        facts.extend(_macro_facts(file.data, found, parsed.problems, file.path))
        _measure(parsed, found)
        own = {name for name, row in defined_types(found) if guards.at(row) is not Live.NO}
        if own:  # a file's own type is none of CUDA's
            facts = [fact for fact in facts if fact.kind != "type" or fact.name not in own]
    tested = {number for line in lines if line.word in _TESTS for number in range(line.line, line.end + 1)}
    facts = [fact for fact in facts if fact.kind != "identifier" or fact.span.line not in tested]  # those are macro_test facts
    facts.extend(ptx.facts_of(ptx.asm_of(parsed), parsed))
    facts.sort(key=PLACE)
    parsed.facts = _with_live(facts, guards)
    return parsed


def skim(file: SourceFile) -> Parsed:
    """The directives of a file and nothing else: for headers that no rule reads, but whose macros others use."""
    masked = cuda_lex.mask(file.data)
    lines = cuda_lex.directives(masked)
    guards = guards_of(file.data, file.path, masked=masked)
    facts = [*_directive_facts(file.data, lines), *_lexed_facts(file.data, lines)]
    return Parsed(file, _with_live(sorted(facts, key=lambda fact: fact.span), guards), guards=guards)


def _lexed_facts(data: bytes, lines: Sequence[cuda_lex.Directive]) -> Iterator[Fact]:
    for line in lines:
        span = Span(line.line, 1, line.end, 1)
        if line.word == "include":
            match = _INCLUDED.search(data, line.start_byte, line.end_byte)
            if match is not None:
                yield Fact("include", match.group(1).decode("utf-8", "replace"), span, seen_by="lexer")
        elif line.word == "define" and (named := _DEFINED.match(line.text)) is not None:
            detail = {"value": line.text[named.end() :].strip()[:400]}
            if named.group(2) is not None:
                detail["params"] = named.group(2)
            yield Fact("define", named.group(1), span, seen_by="lexer", detail=detail)


def _refusal(data: bytes, masked: bytes) -> str:
    """Why a file is not given to the parser: shapes that would cost minutes; empty for every sane file."""
    if data.count(0) > 16:
        return "holds NUL bytes: not a text of C++"
    deepest = _deepest(masked.translate(None, _NO_BRACKETS))
    if deepest > MAX_NESTING:
        return f"brackets nest {deepest} deep"
    if masked.count(b"for") >= 100 and _LOOPS.search(masked):
        return "more than 100 loops without braces inside each other"
    parts = [part for part in masked.split(b";") if len(part) > MAX_STATEMENT]
    longest = max((len(statement) for part in parts for statement in _SEPARATOR.split(part)), default=0)
    return f"a statement of {longest} bytes" if longest > MAX_STATEMENT else ""


def _deepest(brackets: bytes) -> int:
    """How deep brackets nest, as far as it can be too deep: fewer openers than the limit need no count."""
    if len(brackets) <= MAX_NESTING:
        return 0
    depth = deepest = 0
    for char in brackets:
        if char in b"([{":
            depth += 1
            if depth > deepest:
                deepest = depth
        elif depth:
            depth -= 1
    return deepest


def _too_many_conditionals(lines: Sequence[cuda_lex.Directive]) -> str:
    depth = deepest = 0
    for line in lines:
        depth += {"if": 1, "ifdef": 1, "ifndef": 1, "endif": -1}.get(line.word, 0)
        deepest = max(deepest, depth)
    return f"conditionals nest {deepest} deep" if deepest > MAX_CONDITIONALS else ""


def _tree(text: bytes) -> Any:
    """The syntax tree, or None when the time is over."""
    end = time.monotonic() + PARSE_SECONDS
    parser = tree_sitter.Parser(language())

    def read(offset: int, _point: Any) -> bytes:
        return text[offset : offset + _CHUNK]

    try:
        return parser.parse(read, progress_callback=lambda _offset, _error: time.monotonic() > end)
    except ValueError:
        return None


def _directive_facts(data: bytes, lines: Sequence[cuda_lex.Directive]) -> Iterator[Fact]:
    for line in lines:
        span = Span(line.line, 1, line.end, line.end_byte - (data.rfind(b"\n", 0, line.end_byte) + 1) + 1)
        if line.word in _TESTS:
            names = dict.fromkeys(name for name in _MACRO_NAME.findall(line.text) if name != "defined" and name not in OPERATOR_WORDS)
            for name in names:
                yield Fact("macro_test", name, span, seen_by="lexer", detail={"directive": line.word, "condition": line.text[:400]})
        elif line.word == "pragma":
            yield Fact("pragma", line.text[:400], span, seen_by="lexer")


def _facts_of(found: Captured, original: bytes, extra: dict[str, str]) -> Iterator[Fact]:
    for node in found.all("include"):
        path = text_of(found.slice(node)).strip('<>"')
        yield Fact("include", path, found.place.span(node), seen_by="tree-sitter", detail=extra)
    ranges = functions(found.all("function"), original)
    ordered = sorted(uses(found), key=attrgetter("node.start_byte"))
    yield from to_facts(found, ordered, contexts(ranges), extra)


def _blanked_facts(data: bytes, stretches: list[cuda_repair.Blanked]) -> Iterator[Fact]:
    """What the parser never saw still uses names: attribute words, and code that is read by itself."""
    row, seen, line_start = 1, 0, 0
    for stretch in stretches:
        row += data.count(b"\n", seen, stretch.start)
        line_start = data.rfind(b"\n", 0, stretch.start) + 1
        seen = stretch.start
        if stretch.code:
            place = Place(row - 1, stretch.start - line_start)
            yield from fragment_facts(data[stretch.start : stretch.end], place, {})
        for word in stretch.word.decode("utf-8", "replace").split():
            column = stretch.start - line_start + 1
            span = Span(row, column, row, column + len(word))
            called = stretch.end - stretch.start > len(stretch.word)
            args = (text_of(data[stretch.start + len(stretch.word) : stretch.end]).strip(" ()"),) if called else ()
            yield Fact("call" if called else "identifier", word, span, seen_by="lexer", args=args, detail={"attribute": "yes"})


def _macro_facts(data: bytes, found: Captured, problems: list[Problem], path: str) -> Iterator[Fact]:
    end, late = time.monotonic() + PARSE_SECONDS, 0
    for node in found.all("define"):
        name_node = node.child_by_field_name("name")
        if name_node is None:
            continue
        name = found.slice(name_node).decode("utf-8", "replace")
        params, value = node.child_by_field_name("parameters"), node.child_by_field_name("value")
        detail = {"value": text_of(data[value.start_byte : value.end_byte])} if value is not None else {}
        if params is not None:
            detail["params"] = text_of(found.slice(params)).strip("()")
        yield Fact("define", name, found.place.span(name_node), seen_by="tree-sitter", detail=detail)
        if value is not None and not late and time.monotonic() > end:
            late = node.start_point[0] + 1
            problems.append(Problem("parse", path, late, f"bodies of macros from here on were not read: {PARSE_SECONDS:g} s were over"))
        if value is None or late:
            continue
        body = data[value.start_byte : value.end_byte]
        if not _SIMPLE_BODY.fullmatch(body):
            own = frozenset(detail.get("params", "").replace(",", " ").encode().split())
            yield from fragment_facts(body, Place(*value.start_point), {"macro": name}, own)


def fragment_facts(body: bytes, place: Place, extra: dict[str, str], own: frozenset[bytes] = frozenset()) -> Iterator[Fact]:
    """Facts of a piece of code that stands at a place of its file, the body of a macro for one; ``own`` are its parameters."""
    text = body.replace(b"\\\r\n", b" \r\n").replace(b"\\\n", b" \n").replace(b"##", b"  ").replace(b"#", b" ")
    masked = cuda_lex.mask(text)
    if _refusal(text, masked):
        return
    text = cuda_repair.apply(text, cuda_repair.find(masked))
    tree = _tree(text)
    if tree is not None:
        found = capture(tree, text, place)
        found.declared.update(own)
        yield from _facts_of(found, text, extra)


def _measure(parsed: Parsed, found: Captured) -> None:
    """Coverage, and a Problem where what was lost is more than the odd macro."""
    size = len(parsed.file.data)
    lost = 0
    worst: tuple[int, int, int] = (0, 0, 0)
    for node in found.all("error"):
        own = _lost(node)
        lost += own
        worst = max(worst, (own, -node.start_point[0] - 1, node.end_point[0] + 1))
    parsed.coverage = max(0.0, 1.0 - lost / size) if size else 1.0
    if parsed.coverage < 0.98 or worst[0] > 2000:
        what = f"syntax not understood, most of it in lines {-worst[1]} to {worst[2]}; {parsed.coverage:.0%} of the file was read"
        parsed.problems.append(Problem("parse", parsed.file.path, -worst[1], what, matters=parsed.coverage < 0.9))


def _lost(error: Any) -> int:
    """Bytes of an error node that no construct inside it explains; what errors inside those lose is their own."""
    read = sum(child.end_byte - child.start_byte for child in error.named_children if child.child_count and child.type != "ERROR")
    return int(error.end_byte - error.start_byte - read)


def _with_live(facts: list[Fact], guards: SourceGuards) -> list[Fact]:
    """The facts with what is known of their lines; they are new, and nobody else holds them yet, so they need not be copied."""
    line, live = 0, Live.YES
    for fact in facts:
        if guards.regions and fact.span.line != line:
            line = fact.span.line
            live = guards.at(line)
        msgspec.structs.force_setattr(fact, "live", live)
    return facts
