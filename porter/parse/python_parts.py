"""Which functions and classes of a Python file need no tree: those in which nothing stands that anybody will ask for.

A file worth a parse holds rules' words in half of its bytes; the parser takes ten times as long over the rest as a look for
its bounds. What is left out becomes the statement `0`, so that the places of all else, and the grammar, stay as they are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from porter.parse import python_embedded, python_guards
from porter.parse.python_words import Look, Words
from porter.parse.word_index import index_of

SIGNS = frozenset(python_guards.HINTS + python_embedded.LOOKS + python_embedded.TAKER_WORDS) | {b"import", b"porter:", b".version"}
"""Words, lower case, that make a place in every file: of guards, CUDA in strings, imports, ignore marks, PTX programs."""
MAX_READ = 20_000_000  # bytes that are looked at for what a file imports, and where it uses that
LEAST = 200  # bytes of a function that are worth leaving out
STARTS = (b"def ", b"class ", b"@", b"async def ")
LINES = (re.compile(rb"\n(?=[A-Za-z_@])"), re.compile(rb"\n    (?=[A-Za-z_@])"))  # statements of a module, and of a class in it
_BLANK = bytes(byte if byte == 10 else 32 for byte in range(256))
_NAMES = re.compile(rb"(\w+)(?:[ \t]+as[ \t]+(\w+))?")
_FROM = re.compile(rb"[ \t>]*from[ \t]+([\w.]+)[ \t]+\Z")


def signs(lower: bytes) -> dict[bytes, list[int]]:
    """Where each of the signs starts in a text in lower case, in order."""
    index = index_of(SIGNS)
    found: dict[bytes, list[int]] = {word: [] for word in SIGNS}
    for number, start, _ in index.matches(lower):
        word = index.words[number]
        if not python_guards.by_chance(lower, word, start):
            found[word].append(start)
    return found


def left_out(data: bytes, words: Words, seen: Look, known: dict[bytes, list[int]]) -> tuple[tuple[int, int], ...]:
    """Stretches of a file, in order, without a place: whole functions, classes and methods, with their decorators."""
    places = set(seen.offsets).union(*(found for word, found in known.items() if word != b"target"))  # which decides only what is beside it
    uses = _uses(data, words, seen, known[b"import"])
    if uses is None:
        return ()
    places.update(uses)
    out: list[tuple[int, int]] = []
    for start, end in _definitions(data, sorted(places), 0, (0, len(data))):
        if out and not data[out[-1][1] : start].strip():
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return tuple(out)


def without(data: bytes, stretches: tuple[tuple[int, int], ...]) -> bytes:
    """A text of the same lines and length that has the statement 0 for every stretch."""
    parts: list[bytes] = []
    at = 0
    for start, end in stretches:
        parts += [data[at:start], b"0", data[start + 1 : end].translate(_BLANK)]
        at = end
    return b"".join([*parts, data[at:]])


def _definitions(data: bytes, places: list[int], level: int, within: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Definitions of a module, or of a class in it, in which no place stands; those of a class that holds places are looked at alone."""
    lines = [match.end() for match in LINES[level].finditer(data, *within)]
    at = 0
    while at < len(lines):
        start = lines[at]
        while at < len(lines) - 1 and data.startswith(b"@", lines[at]):
            at += 1
        head, at = lines[at], at + 1
        if not data.startswith(STARTS, start):
            continue
        end = lines[at] - (4 * level) if at < len(lines) else within[1]
        first = bisect_left(places, start)
        if first < len(places) and places[first] < end:
            if level == 0 and data.startswith(b"class ", head):
                yield from _definitions(data, places, 1, (start, end))
        elif end - start >= LEAST and not any(data.count(quotes, start, end) % 2 for quotes in (b'"""', b"'''")):
            yield start, end  # with an odd number of them a string would begin here and end elsewhere


def _uses(data: bytes, words: Words, seen: Look, imports: list[int]) -> list[int] | None:
    """Where names stand that were imported from something with a word of the rules in it; None where that is much to look at."""
    offsets = sorted(seen.offsets)
    names: set[bytes] = set()
    read = 0
    for at in imports:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        if b"(" in data[at:end]:
            end = data.find(b")", at)
            read += (end if end >= 0 else len(data)) - at
            if read > MAX_READ:
                return None
        first = bisect_left(offsets, start)
        if end < 0 or first == len(offsets) or offsets[first] >= end:
            continue
        base = _FROM.match(data[start:at])
        for name, alias in _NAMES.findall(data[at + len("import") : end]):
            if (base or alias) and words.names(f"{base[1].decode() + '.' if base else ''}{name.decode('utf-8', 'replace')}", seen.active):
                names.add(alias or name)
    if len(names) * len(data) > MAX_READ:
        return None
    return [match.start() for name in names for match in re.finditer(re.escape(name), data)]
