"""Python: facts of imports, calls, attributes, arguments, strings, environment, commands; guards; CUDA in strings.

tree-sitter-python reads 75 MB of source in about 8 CPU seconds, half of what `ast` takes, goes on after a syntax error and
never recurses; only places that hold one of the rules' words are looked at (`words`), so the rest costs the parse alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from porter.model import Fact, Problem, SourceFile, Span
from porter.parse import Parsed, python_parts
from porter.parse.python_calls import call_facts
from porter.parse.python_docker import docker_facts
from porter.parse.python_embedded import embedded_cuda
from porter.parse.python_facts import Collector
from porter.parse.python_guards import guards_of
from porter.parse.python_imports import imports
from porter.parse.python_loads import with_manner
from porter.parse.python_setup import setup_facts
from porter.parse.python_tree import Source, TooSlow
from porter.parse.python_words import Look, Words
from porter.parse.vendor_images import TEST_PATH

if TYPE_CHECKING:
    from tree_sitter import Node

NAME = re.compile(rb"[A-Za-z_]\w*|[\"']")
MAX_HITS = 200_000
MAX_BRACKETS = 1_000
PAIR_ROUNDS = 8
NO_BRACKETS = bytes(set(range(256)) - set(b"()[]{}"))


def parse(file: SourceFile, words: Words | None = None) -> Parsed:
    """Facts of one Python file; with ``words`` only of places that hold one of them, and nothing for a file without any."""
    return read(file, words)


def read(file: SourceFile, words: Words | None, place: Callable[[Span], Span] | None = None) -> Parsed:
    """Same, with ``place`` turning spans of the text into spans of the file on disk (notebooks)."""
    parsed = Parsed(file)
    seen = words.look(file.data.lower()) if words is not None else Look(True)
    if not seen.worth:
        return parsed
    if _too_deep(file.data):
        what = f"brackets nested more than {MAX_BRACKETS:,} deep: not read as Python"
        return Parsed(file, problems=[Problem("parse", file.path, 1, what)], coverage=0.0)
    try:
        source = _source(file, words, seen, place)
    except TooSlow as slow:
        return Parsed(file, problems=[Problem("parse", file.path, 1, str(slow))], coverage=0.0)
    script = file.path.rpartition("/")[2] == "setup.py"
    parsed.tree = source.tree
    parsed.extra["python"] = source
    guards = guards_of(source, script)
    parsed.guards = guards
    facts = imports(source, guards)
    # The guards are read again once the import aliases are known: `from torch.version import hip`.
    if b"import hip" in source.lower or b"import is_" in source.lower:
        guards = guards_of(source, script)
        parsed.guards = guards
    collector = Collector(source, guards, call_facts)
    for path in _places(source, words, seen):
        collector.look(path)
    facts += collector.facts if not TEST_PATH.search(file.path) else [fact for fact in collector.facts if fact.kind != "image"]
    facts += setup_facts(file, source, guards, facts)
    facts += [] if TEST_PATH.search(file.path) or place is not None else docker_facts(file, source, guards)
    parsed.facts = with_manner(source, _in_order(facts))
    parsed.embedded = embedded_cuda(file, source, guards)
    _note_problems(parsed, source)
    return parsed


def _source(file: SourceFile, words: Words | None, seen: Look, place: Callable[[Span], Span] | None) -> Source:
    """The tree of a file, with ``words`` without the functions and classes in which nobody will look for anything."""
    if words is None:
        return Source(file.data, place)
    known = python_parts.signs(file.data.lower())
    stretches = python_parts.left_out(file.data, words, seen, known)
    return Source(file.data, place, known, (stretches, python_parts.without(file.data, stretches) if stretches else b""))


def _too_deep(data: bytes) -> bool:
    """Whether brackets nest more than MAX_BRACKETS deep, those in strings and comments included."""
    left = data.translate(None, NO_BRACKETS)
    for _ in range(PAIR_ROUNDS):  # each round takes at most three levels away, and most of the pairs
        left = left.replace(b"()", b"").replace(b"[]", b"").replace(b"{}", b"")
        if len(left) < MAX_BRACKETS - 3 * PAIR_ROUNDS:
            return False
    depth = 0
    for char in left:
        depth += 1 if char in b"([{" else -1 if depth else 0
        if depth > MAX_BRACKETS - 3 * PAIR_ROUNDS:
            return True
    return False


def _in_order(facts: Iterable[Fact]) -> list[Fact]:
    """By place, each fact once."""
    seen: dict[tuple[str, str, Span], Fact] = {}
    for fact in facts:
        seen.setdefault((fact.kind, fact.name, fact.span), fact)
    return sorted(seen.values(), key=lambda fact: (fact.span, fact.kind, fact.name))


def _places(source: Source, words: Words | None, seen: Look) -> Iterable[list[Node]]:
    """Paths to the places worth a look: all of them, or those that hold a word or a name imported from one."""
    offsets = [match.start() for match in NAME.finditer(source.data)] if words is None else sorted(_offsets(source, words, seen))
    if len(offsets) > MAX_HITS:
        source.cut = source.data.count(b"\n", 0, offsets[MAX_HITS]) + 1
    for path in source.paths(offsets[:MAX_HITS]):
        if path and path[-1].type != "comment":
            yield path


def _offsets(source: Source, words: Words, seen: Look) -> set[int]:
    """Where the words stand that a look found, and the names that hold none themselves but were imported from one that does."""
    found = set(seen.offsets)
    for name, full in source.aliases.items():
        if words.names(full, seen.active) and name.isidentifier() and not words.names(name, seen.active):
            found.update(source.uses(name))
    return found


def _note_problems(parsed: Parsed, source: Source) -> None:
    """Syntax-error regions lower the coverage; a region costs only itself, and one Problem names the first."""
    path = parsed.file.path
    if source.too_deep:
        parsed.problems.append(Problem("parse", path, source.too_deep, "nested more than 400 levels deep; what is inside was not read"))
    if source.cut:
        parsed.problems.append(Problem("parse", path, source.cut, "too many places to look at; the rest was not read"))
    if not source.root.has_error:
        return
    lost, first = _errors(source.root)
    size = max(len(source.data), 1)
    parsed.coverage = max(0.0, 1.0 - lost / size)
    if lost:
        what = f"syntax errors: {lost} of {len(source.data)} bytes could not be read as Python"
        parsed.problems.append(Problem("parse", path, first, what, matters=lost > size // 20 or lost > 2000))


def _errors(root: Node) -> tuple[int, int]:
    """Bytes inside error nodes, and the line of the first; walks only into subtrees that hold an error."""
    lost = first = 0
    todo = [root]
    looked = 0
    while todo and looked < 20_000:
        node = todo.pop()
        looked += 1
        if node.type == "ERROR":
            lost += node.end_byte - node.start_byte
            first = first or node.start_point[0] + 1
            continue
        todo.extend(child for child in reversed(node.children) if child.has_error)
    return lost, first
