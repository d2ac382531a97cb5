"""Words that a Python file must contain before any rule can match it, derived from the rules: the cheap test before parsing.

The test may only err by reading a file too many: whatever a rule can hit must contain all the words of one of its globs, or
import one of the modules. Only places of a word whose companions are all in the file are looked at. Requirements are not
among them: setup files are always read.

A word with = in front stands alone, with no letter, digit or underscore beside it; one with ^ has none in front of it.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterable, Iterator

import msgspec

from porter.model import Rule
from porter.parse.python_docker import DOCKER_CLUES
from porter.parse.word_index import WordIndex, index_of
from porter.size import served

LITERAL_KINDS = ("py_arg", "py_string", "env_var", "command", "command_flag", "index_url")
DOTTED_KINDS = ("py_call", "py_attr")
BASE_WORDS: tuple[bytes | tuple[bytes, ...], ...] = (
    b"install_requires", b"extras_require", b"setup_requires", b"__global__", b"__device__", b"rawkernel", b"rawmodule", b"sourcemodule",
    b"load_inline", b"nvcc", b"cpp_extension", b"cudaextension", b"extra_cuda_cflags",  # build_symbol and compile_flag facts
    (b'"-d', b"__global__"), (b"'-d", b"__global__"),  # macros that options of a program define for the CUDA in its strings
    *DOCKER_CLUES,
    b"nvcr.io/",
)  # fmt: skip
SIGN_WORDS = (b"rocm", (b"hip", b"rocm"))  # a sign of a port is worth a look too
BY_NAME = (  # words of calls that import what a string names, or ask for it
    b"import_module", b"find_spec", b"importorskip", b"__import__", b"importlib.metadata", b"importlib import metadata",
    b"get_distribution",
    *(start + gap + b"import" for start in (b"optional", b"lazy", b"try", b"safe", b"maybe", b"soft") for gap in (b"", b"_")),
)  # fmt: skip
ALWAYS = (b"environ", b"getenv", *BY_NAME)  # looked at wherever they stand in a file that is worth it
COMMON = frozenset((
    "get", "set", "run", "call", "load", "init", "device", "backend", "name", "type", "true", "false", "none", "dtype", "model", "args",
    "mode", "env", "path", "python", "torch", "config", "docker", "serve", "pip", "install", "logger", "builder", "runtime", "include",
    "format", "round", "utils", "kernel", "module", "create", "array", "zeros", "struct", "launch", "engine", "functional",
))  # fmt: skip
MIN_WORD = 4
_WILD = re.compile(r"\[[^\]]*\]|[*?]")
_CHUNK = re.compile(r"[\w.+-]+")
_IMPORT = re.compile(rb"(?m)^[ \t>]*(from|import)[ \t]+([^\n]*)")
_NAME = re.compile(rb"\w+")
ALONE, IN_FRONT = b"=", b"^"
_WORD = re.compile(r"\w+")
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_")
_ESCAPES = frozenset((b"\\n", b"\\t", b"\\r"))  # their letter is no part of the word behind it
_VALUE = re.compile(r"\w+=([A-Za-z][\w.-]{2,})(\*?)")
_ENDING = re.compile(r"(?<=[*?])\.[a-z]{3,}\Z")
IMPLIED = ("language", "experimental", "gluon")  # `from vllm.triton_utils import tl` is read as triton.language


class Clue(msgspec.Struct, frozen=True):
    """Words, lower case, that a file holds all of where a rule can hit it, and which of them stands at the place; empty where none must."""

    place: bytes
    words: frozenset[bytes]


class Look(msgspec.Struct, frozen=True):
    """What one pass over a file's bytes says: whether it is worth a parse, where the words of rules start, and which those are."""

    worth: bool
    offsets: frozenset[int] = frozenset()
    active: frozenset[int] = frozenset()


class Words(msgspec.Struct, frozen=True):
    """The clues of rules, and the roots of the modules that they match."""

    clues: frozenset[Clue]
    modules: frozenset[bytes]

    def look(self, lower: bytes) -> Look:
        """One pass over a file in lower case for all words at once."""
        plan = _plan(self)
        seen = _Seen(plan, lower)
        met = [place for words, place in seen.clues if all(map(seen.starts, words))]
        worth = bool(met)
        if not worth and not plan.modules.isdisjoint(seen.found):
            worth = (not plan.by_name.isdisjoint(seen.found) and seen.names_module()) or any(
                not self.modules.isdisjoint(_imported(*match.groups())) for match in _IMPORT.finditer(lower)
            )
        if not worth:
            return Look(False)
        active = plan.always.union(met)
        return Look(True, frozenset(start for number in active for start in seen.starts(number)), active)

    def names(self, dotted: str, active: frozenset[int]) -> bool:
        """Whether a name holds one of the words that a look found active."""
        return not active.isdisjoint(_plan(self).in_name(dotted))


class _Seen:
    """What the automaton found in one file; whether a word stands alone is asked only of words that a clue needs."""

    def __init__(self, plan: _Plan, lower: bytes) -> None:
        self._plan, self._lower = plan, lower
        self._matches = plan.index.matches(lower)
        self.found = {number for number, _, _ in self._matches}
        known = self.found.union(*(plan.marked[number] for number in self.found if number in plan.marked))
        # Clues that are met where each of their words stands as it must.
        self.clues = [clue for number in known for clue in plan.clues.get(number, ()) if clue[0] <= known]
        self._starts: dict[int, list[int]] = {}

    @functools.cached_property
    def _by_word(self) -> dict[int, list[int]]:
        plan = self._plan
        asked = plan.always.union(plan.modules, *(words for words, _ in self.clues))
        asked |= {plan.bounded[number][0] for number in asked if number in plan.bounded}
        starts: dict[int, list[int]] = {}
        for number, start, _ in self._matches:
            if number in asked:
                starts.setdefault(number, []).append(start)
        return starts

    def names_module(self) -> bool:
        """Whether a module that rules match stands somewhere as a word of its own."""
        found = ((at, at + len(self._plan.index.words[number])) for number in self._plan.modules & self.found for at in self.starts(number))
        return any(_is_bounded(self._lower, start, end) for start, end in found)

    def starts(self, number: int) -> list[int]:
        """Where a word stands that is one of a clue's, a module's, or always looked at."""
        if number not in self._starts:
            bare, is_alone = self._plan.bounded.get(number, (number, False))
            found = self._by_word.get(bare, [])
            if bare != number:
                lower, size = self._lower, len(self._plan.index.words[bare])
                found = [start for start in found if _is_bounded(lower, start, start + size if is_alone else len(lower))]
            self._starts[number] = found
        return self._starts[number]


class _Plan:
    """The words by number: those of the automaton, and behind them those that must stand alone or have nothing in front.

    ``clues`` are the numbers of a clue's words and the one of its place, by the lowest of them; ``bounded`` has the bare word
    of a marked one, and whether nothing may follow it, ``marked`` the marked ones of a bare word.
    """

    def __init__(self, words: Words) -> None:
        marked = frozenset().union(*(clue.words for clue in words.clues))
        self.index: WordIndex = index_of(frozenset().union((word.lstrip(ALONE + IN_FRONT) for word in marked), words.modules, ALWAYS))
        number = {word: at for at, word in enumerate(self.index.words)}
        self.bounded: dict[int, tuple[int, bool]] = {}
        self.marked: dict[int, list[int]] = {}
        for word in sorted(marked - number.keys()):
            number[word] = len(number)
            self.bounded[number[word]] = (number[word[1:]], word.startswith(ALONE))
            self.marked.setdefault(number[word[1:]], []).append(number[word])
        self.clues: dict[int, list[tuple[frozenset[int], int]]] = {}
        for clue in words.clues:
            numbers = frozenset(number[word] for word in clue.words)
            self.clues.setdefault(min(numbers), []).append((numbers, number[clue.place] if clue.place else -1))
        self.modules = frozenset(number[word] for word in words.modules if word)
        self.by_name = frozenset(number[word] for word in BY_NAME)
        self.always = frozenset(number[word] for word in ALWAYS)
        self.in_name = functools.lru_cache(maxsize=50_000)(self._in_name)

    def _in_name(self, dotted: str) -> frozenset[int]:
        lower = dotted.lower().encode()
        found: set[int] = set()
        for number, start, end in self.index.matches(lower):
            found.add(number)
            for one in self.marked.get(number, ()):
                if _is_bounded(lower, start, end if self.bounded[one][1] else len(lower)):
                    found.add(one)
        return frozenset(found)


def _is_bounded(lower: bytes, start: int, end: int) -> bool:
    """Whether nothing that belongs to a word stands in front of a place or behind it."""
    in_front = start and lower[start - 1] in _LETTERS and lower[start - 2 : start] not in _ESCAPES
    return not in_front and not (end < len(lower) and lower[end] in _LETTERS)


def _imported(start: bytes, rest: bytes) -> list[bytes]:
    """The first names of the modules that a line imports; all names of one that holds more, or imports triton from somewhere else."""
    if b"triton" in rest or b";" in rest:
        return _NAME.findall(rest)
    return [name[0] for part in (rest.split(b",") if start == b"import" else [rest]) if (name := _NAME.match(part.lstrip()))]


@functools.lru_cache(maxsize=8)
def _plan(words: Words) -> _Plan:
    return _Plan(words)


def words_of(rules: Iterable[Rule], own: bool = True) -> Words | None:
    """The words of a set of rules; None when some rule could hit any file.

    With ``own`` those too of what is asked of the project's own code alone: signs of a port, models that it serves.
    """
    clues = {clue_of(words) for words in (*BASE_WORDS, *((*SIGN_WORDS, *served.WORDS) if own else ()))}
    modules: set[bytes] = set()
    detectors: set[str] = set()
    for rule in rules:
        if rule.detector:
            detectors.add(rule.detector)
        for kind, globs in rule.match.items():
            for glob in globs:
                if kind == "py_import":
                    root = glob.split(".")[0].lower()
                    word = (_literal_word(root) or root).encode()
                    if _WILD.search(root):
                        clues.add(Clue(b"", frozenset([word])))
                    else:
                        modules.add(word)
                elif kind in DOTTED_KINDS or kind in LITERAL_KINDS:
                    found = _dotted_word(glob) if kind in DOTTED_KINDS else _literal_word(glob)
                    if found is None:
                        return None
                    clues.update(_clues(kind, glob, found.lower().encode()))
    for detector in sorted(detectors):
        module = importlib.import_module(f"porter.detectors.{detector}")
        clues.update(clue_of(words) for words in getattr(module, "WORDS", ()))
    return Words(frozenset(clues), frozenset(modules))


def clue_of(words: bytes | tuple[bytes, ...]) -> Clue:
    """The clue of a detector's word, or of several that a file must hold together: the one at the place first, empty where none is."""
    return Clue(words, frozenset([words])) if isinstance(words, bytes) else Clue(words[0], frozenset(filter(None, words)))


def _clues(kind: str, glob: str, place: bytes) -> Iterator[Clue]:
    """Words of which a file holds all of one clue when a fact of it matches the glob; none where no Python file has such a fact."""
    if kind == "index_url" and not re.match(r"[*?\[h]", glob):
        return  # what a Python file gives starts with http
    if kind in DOTTED_KINDS:
        parts = [part for part in glob.split(".") if not (glob.startswith("triton.") and part in IMPLIED)]
    else:
        parts = glob.split() if kind in ("command", "command_flag") else [glob]
    words = frozenset(word for part in parts for word in _parts_words(kind, part.lower()))
    ending = _ENDING.search(glob) if kind == "py_string" else None
    value = _VALUE.fullmatch(glob) if kind == "py_arg" else None
    for quote in (b"'", b'"'):  # a string's letters have its quotes beside them
        if ending:
            text = ending[0].lower().encode() + quote
        elif value and value[1] not in ("True", "False", "None"):
            text = quote + value[1].lower().encode() + (b"" if value[2] else quote)
        else:
            break
        yield Clue(text, words | {text})
    else:
        return
    place = ALONE + place if ALONE + place in words else place
    yield Clue(place, words | {place})
    if kind == "command_flag":  # a flag may be added to a list that starts elsewhere with the command
        starts = [ALONE + part.lower().encode() for part in parts[:2] if _WORD.fullmatch(part)]
        yield from (Clue(start, words) for start in starts[-1:] if start in words)


def _parts_words(kind: str, part: str) -> list[bytes]:
    """The literal words of a part of a glob; a part of a dotted name or of a command that is one word stands in the file whole."""
    if (kind in DOTTED_KINDS or kind in ("command", "command_flag")) and len(part) > 1 and _WORD.fullmatch(part):
        return [ALONE + part.encode()]
    pieces = _WILD.split(part) if kind in DOTTED_KINDS else [c for p in _WILD.split(part.replace("=", " ")) for c in _CHUNK.findall(p)]
    return [piece.encode() for piece in pieces if len(piece) >= MIN_WORD - 1]


def _dotted_word(glob: str) -> str | None:
    """The longest uncommon literal piece of a dotted glob: each stands in the file, in the name used or in what it was imported as."""
    pieces = [piece for part in glob.split(".") for piece in _WILD.split(part)]
    for least in (MIN_WORD, MIN_WORD - 1):
        long = [piece for piece in pieces if len(piece) >= least]
        rare = [piece for piece in long if piece.lower() not in COMMON]
        if rare:
            return max(rare, key=len)
    return max((piece for piece in pieces if len(piece) >= MIN_WORD), key=len, default=None)


def _literal_word(glob: str) -> str | None:
    """The longest literal word of a glob that is not a common one."""
    pieces = [chunk for piece in _WILD.split(glob.replace("=", " ")) for chunk in _CHUNK.findall(piece) if len(chunk) >= MIN_WORD - 1]
    long = [piece for piece in pieces if len(piece) >= MIN_WORD] or pieces
    rare = [piece for piece in long if piece.lower().strip("-") not in COMMON]
    return max(rare or long, key=len, default=None)
