"""Macros that only the build gives: names which no source of the project declares, and which are none of CUDA's."""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Iterator, Mapping

import msgspec

from porter.hipify import api, lexer
from porter.parse.guards import guards_of
from porter.verify.messages import Said
from porter.verify.sources import Sources

_MOST_PLACES = 100  # declarations of one name in one file that are looked at
_UNDECLARED = re.compile(r"(?:use of undeclared identifier|unknown type name) '([A-Za-z]\w*)'\Z")
# NVDR_TORCH is a project's own name: nv alone tells nothing.
_OF_THE_VENDOR = re.compile(
    r"(?i)(?:cu|nv(?:cc|cuvid|comp|dec|enc|fatbin|idia|infer|jitlink|jpeg|link|ml|ptx|rtc|shmem|tx|vm|_)|hip|roc|__)"
)
# Names of the C library, which nvcc's own headers bring along and HIP's may not: their absence is a matter of the port.
_STANDARD = re.compile(
    r"(?:U?(?:CHAR|SHRT|INT|LONG|LLONG)|FLT|DBL|LDBL|S?SIZE|U?INTMAX|U?INTPTR|U?INT(?:_FAST|_LEAST)?(?:8|16|32|64)|PTRDIFF|RAND)_\w+"
    r"|M_[A-Z0-9_]+|HUGE_VAL\w*|INFINITY|NAN|NULL|EOF|EXIT_\w+|CLOCKS_PER_SEC|FP_\w+|\w+_t|std\w*|errno|true|false|and|or|not"
)
_TYPE = rb"(?:unsigned|signed|long|short|int|char|float|double|bool|void|auto|const|half2?|\w+_t)"
_NO_TYPE = rb"(?!(?:return|else|case|goto|new|delete|sizeof|and|or|not|throw|in)\b)"
# The ways in which a text declares a name, as far as its neighbours tell: after a type's name, after a pointer to a plain type, later
# in a list of plain declarations, as a macro, in an enumeration, or in a list of names that takes a structure apart.
_DECLARES = (
    rb"\b" + _NO_TYPE + rb"[A-Za-z_]\w*[>*&]*\s+[*&]*NAME\s*(?:[=;,)\[({>]|:(?!:))",
    rb"\b" + _TYPE + rb"\s*[*&]+\s*NAME\b",
    rb"\b" + _TYPE + rb"\s[^;(){}]{0,400},\s*[*&]*NAME\s*[=;,\[]",
    rb"#\s*define\s+NAME\b",
    rb"\benum\b[^{};]{0,200}\{[^{}]{0,2000}\bNAME\b",
    rb"\bauto\s*&*\s*\[[^\[\]]{0,200}\bNAME\b",
)


_DEFINED = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_INCLUDES = re.compile(rb"^[ \t]*#[ \t]*include\b", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z]\w*")
_NO_MACRO = frozenset(
    ("after", "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "defined", "and", "or", "not", "true", "false")
)
_NEGATIVE = re.compile(r"#\s*ifndef|!\s*defined")


def given_by_build(said: Said, sources: Sources) -> tuple[Said, tuple[str, ...]]:
    """What a run said without errors over macros of the build, and those macros; without them a text cannot be judged.

    Such a macro is a name that nothing declares, or one that decides over every declaration of a name and that nothing defines.
    """
    names = {match[1] for error in said.errors if (match := _UNDECLARED.search(error.text))}
    names = {name for name in names if api.lookup(name) is None and not _OF_THE_VENDOR.match(name) and not _STANDARD.fullmatch(name)}
    if not names:
        return said, ()
    paths = sorted(path for path in said.read | {error.path for error in said.errors} if path in sources.before)
    texts = {path: lexer.mask(sources.before[path]) for path in paths}
    defined = {match[1].decode("latin-1") for text in texts.values() for match in _DEFINED.finditer(text)}
    reasons = {name: _reason(name, texts, defined) for name in sorted(names)}
    # A type that nothing declares is more likely a header's than a macro.
    types = {match[1] for error in said.errors if (match := re.search(r"unknown type name '(\w+)'", error.text))}
    reasons = {name: why for name, why in reasons.items() if why and not (why == {name} and name in types)}
    macros = tuple(sorted(set().union(*reasons.values())))
    # Headers may hang on the macro too: what they would declare says nothing of the port.
    of_headers = {name for name in names if not any(True for text in texts.values() for _ in _declarations(name.encode(), text))}
    out = {*reasons, *of_headers} if macros else set()
    # What a hidden header would declare decides over types and over how the lines behind are read; only code generation stands alone.
    blind = {"type", "syntax"} if any(_hides_include(text, path, macros) for path, text in texts.items()) else set()
    kept = tuple(
        error for error in said.errors
        if error.kind not in blind and not ((match := _UNDECLARED.search(error.text)) and match[1] in out)
    )  # fmt: skip
    return msgspec.structs.replace(said, errors=kept), macros


def _hides_include(text: bytes, path: str, macros: Container[str]) -> bool:
    """Whether one of the macros decides over an include."""
    at = [text.count(b"\n", 0, match.start()) + 1 for match in itertools.islice(_INCLUDES.finditer(text), _MOST_PLACES)]
    guards = guards_of(text, path, masked=text) if at else None
    regions = [region for line in at if guards and (region := guards.region(line))]
    return any(word in macros for region in regions for condition in region.conditions for word in _macros(condition, ()))


def _reason(name: str, texts: Mapping[str, bytes], defined: Container[str]) -> set[str]:
    """The macros that keep a name from being declared; the name itself where nothing declares it, none where something does."""
    found: set[str] = set()
    declared = False
    for path, text in texts.items():
        lines = {text.count(b"\n", 0, at) + 1 for at in _declarations(name.encode(), text)}
        guards = guards_of(text, path, masked=text) if lines else None
        for line in lines:
            region = guards.region(line) if guards else None
            words = {word for condition in region.conditions for word in _macros(condition, defined)} if region else set()
            if not words:
                return set()
            found |= words
            declared = True
    # A macro that a command line gives is a value; what is called is a function of some header, and what :: follows a namespace of one.
    called = re.compile(rb"\b" + name.encode() + rb"\s*(?:\(|::)")
    return found if declared else set() if any(called.search(text) for text in texts.values()) else {name}


def _macros(condition: str, defined: Container[str]) -> Iterator[str]:
    """Macros that a condition asks for, that no source defines, and that are no compiler's."""
    if not _NEGATIVE.search(condition):
        yield from (w for w in _WORD.findall(condition) if w not in _NO_MACRO and w not in defined and not _OF_THE_VENDOR.match(w))


def _declarations(name: bytes, text: bytes) -> Iterator[int]:
    """Offsets at which a text declares or defines a name, as far as its neighbours tell; in doubt it does."""
    if name in text:
        for pattern in _DECLARES:
            yield from (match.end() - 1 for match in itertools.islice(re.finditer(pattern.replace(b"NAME", name), text), _MOST_PLACES))
