"""Words that a Python file must contain before any rule can match it, derived from the rules: the cheap test before parsing.

The test may only err by reading a file too many: whatever a rule can hit must contain all the words of one of its globs, or
import one of the modules. Requirements are not among them: setup files are always read.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterable, Iterator

import msgspec

from porter.model import Rule
from porter.parse.word_index import WordIndex, index_of

LITERAL_KINDS = ("py_arg", "py_string", "env_var", "command", "command_flag", "index_url")
DOTTED_KINDS = ("py_call", "py_attr")
BASE_WORDS = (
    b"install_requires", b"extras_require", b"setup_requires", b"__global__", b"__device__", b"rawkernel", b"rawmodule", b"sourcemodule",
    b"load_inline", b"nvcc", b"cpp_extension", b"cudaextension", b"extra_cuda_cflags",  # build_symbol and compile_flag facts
)  # fmt: skip
BY_NAME = (  # words of calls that import what a string names, or ask for it
    b"import_module", b"find_spec", b"importorskip", b"__import__", b"importlib.metadata", b"importlib import metadata",
    b"get_distribution",
    *(start + gap + b"import" for start in (b"optional", b"lazy", b"try", b"safe", b"maybe", b"soft") for gap in (b"", b"_")),
)  # fmt: skip
COMMON = frozenset((
    "get", "set", "run", "call", "load", "init", "device", "backend", "name", "type", "true", "false", "none", "dtype", "model", "args",
    "mode", "env", "path", "python", "torch", "config", "docker", "serve", "pip", "install", "logger", "builder", "runtime", "include",
    "format", "round", "utils",
))  # fmt: skip
MIN_WORD = 4
_WILD = re.compile(r"\[[^\]]*\]|[*?]")
_CHUNK = re.compile(r"[\w.+-]+")
_IMPORT = re.compile(rb"(?m)^[ \t>]*(?:from|import)[ \t]+([^\n]*)")
_NAME = re.compile(rb"\w+")
WHOLE = b"="
_WORD = re.compile(r"\w+")
_WORD_END = re.compile(rb"\w")
_VALUE = re.compile(r"\w+=([A-Za-z]\w{2,})(\*?)")
_ENDING = re.compile(r"(?<=[*?])\.[a-z]{3,}\Z")
IMPLIED = ("language", "experimental", "gluon")  # `from vllm.triton_utils import tl` is read as triton.language


class Look(msgspec.Struct, frozen=True):
    """What one pass over a file's bytes says: whether it is worth a parse, and where the words of rules start."""

    worth: bool
    offsets: frozenset[int]


class Words(msgspec.Struct, frozen=True):
    """Lower-case words of names, arguments and strings that rules match, and roots of the modules they match.

    ``together`` are sets of words of which a file must hold all of one set, unless it imports one of the modules; a word
    with = in front must stand there whole, with no letter, digit or underscore beside it.
    """

    names: frozenset[bytes]
    modules: frozenset[bytes]
    together: frozenset[frozenset[bytes]]

    def look(self, lower: bytes) -> Look:
        """One pass over a file in lower case for all words at once."""
        plan = _plan(self)
        present: set[int] = set()
        offsets: set[int] = set()
        for number, start, end in plan.index.matches(lower):
            present.add(number)
            if number in plan.names:
                offsets.add(start)
            if (whole := plan.whole.get(number, -1)) >= 0 and whole not in present and _is_whole(lower, start, end):
                present.add(whole)
        wanted = any(need <= present for number in present for need in plan.needs.get(number, ()))
        if not wanted and not plan.modules.isdisjoint(present):
            by_name = not plan.by_name.isdisjoint(present)
            wanted = by_name or any(not self.modules.isdisjoint(_NAME.findall(match[1])) for match in _IMPORT.finditer(lower))
        return Look(wanted, frozenset(offsets))


class _Plan(msgspec.Struct, frozen=True):
    """The words by their number in the automaton; ``needs`` are the sets of words by the first word of each.

    ``whole`` maps the number of a word to the one that stands for the word with nothing beside it.
    """

    index: WordIndex
    whole: dict[int, int]
    names: frozenset[int]
    modules: frozenset[int]
    by_name: frozenset[int]
    needs: dict[int, list[frozenset[int]]]


@functools.lru_cache(maxsize=8)
def _plan(words: Words) -> _Plan:
    all_words = frozenset().union(*words.together)
    wholes = sorted(word for word in all_words if word.startswith(WHOLE))
    index = index_of(frozenset().union(words.names, words.modules, BY_NAME, all_words - set(wholes), (word[1:] for word in wholes)))
    number = {word: at for at, word in enumerate([*index.words, *wholes])}
    needs: dict[int, list[frozenset[int]]] = {}
    for need in words.together:
        numbers = frozenset(number[word] for word in need)
        needs.setdefault(min(numbers), []).append(numbers)
    names, modules = (frozenset(number[word] for word in some if word) for some in (words.names, words.modules))
    whole = {number[word[1:]]: number[word] for word in wholes}
    return _Plan(index, whole, names, modules, frozenset(number[word] for word in BY_NAME), needs)


def words_of(rules: Iterable[Rule]) -> Words | None:
    """The words of a set of rules; None when some rule could hit any file."""
    names: set[bytes] = set(BASE_WORDS)
    modules: set[bytes] = set()
    together: set[frozenset[bytes]] = {frozenset([word]) for word in (*BASE_WORDS, b"rocm")}  # a sign of a port is worth a look too
    detectors: set[str] = set()
    for rule in rules:
        if rule.detector:
            detectors.add(rule.detector)
        for kind, globs in rule.match.items():
            for glob in globs:
                if kind == "py_import":
                    root = glob.split(".")[0].lower()
                    word = (_literal_word(root) or root).encode()
                    (names if _WILD.search(root) else modules).add(word)
                    together.update([frozenset([word])] if _WILD.search(root) else [])
                elif kind in DOTTED_KINDS or kind in LITERAL_KINDS:
                    found = _dotted_word(glob) if kind in DOTTED_KINDS else _literal_word(glob)
                    if found is None:
                        return None
                    names.add(found.lower().encode())
                    together.update(_needs(kind, glob))
    for detector in sorted(detectors):
        module = importlib.import_module(f"porter.detectors.{detector}")
        names.update(getattr(module, "WORDS", ()))
        together.update(frozenset([word]) for word in getattr(module, "WORDS", ()))
    return Words(frozenset(names), frozenset(modules), frozenset(together))


def _needs(kind: str, glob: str) -> Iterator[frozenset[bytes]]:
    """Sets of words of which a file holds all of one when a fact of it matches the glob; none where no Python file has such a fact."""
    if kind == "index_url" and not re.match(r"[*?\[h]", glob):
        return  # what a Python file gives starts with http
    if kind in DOTTED_KINDS:
        parts = [part for part in glob.split(".") if not (glob.startswith("triton.") and part in IMPLIED)]
    else:
        parts = glob.split() if kind in ("command", "command_flag") else [glob]
    words = frozenset(word for part in parts for word in _parts_words(kind, part.lower()))
    for quote in (b"'", b'"') if kind in ("py_string", "py_arg") else ():  # a string's letters have its quotes beside them
        ending = _ENDING.search(glob) if kind == "py_string" else None
        value = _VALUE.fullmatch(glob) if kind == "py_arg" else None
        if ending:
            yield words | {ending[0].lower().encode() + quote}
        elif value and value[1] not in ("True", "False", "None"):
            yield words | {quote + value[1].lower().encode() + (b"" if value[2] else quote)}
        else:
            yield words
            return
    if kind not in ("py_string", "py_arg"):
        yield words


def _parts_words(kind: str, part: str) -> list[bytes]:
    """The literal words of a part of a glob; a part of a dotted name or of a command that is one word stands in the file whole."""
    if (kind in DOTTED_KINDS or kind in ("command", "command_flag")) and len(part) > 1 and _WORD.fullmatch(part):
        return [WHOLE + part.encode()]
    pieces = _WILD.split(part) if kind in DOTTED_KINDS else [c for p in _WILD.split(part.replace("=", " ")) for c in _CHUNK.findall(p)]
    return [piece.encode() for piece in pieces if len(piece) >= MIN_WORD - 1]


def _is_whole(lower: bytes, start: int, end: int) -> bool:
    return not _WORD_END.match(lower[start - 1 : start]) and not _WORD_END.match(lower[end : end + 1])


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
