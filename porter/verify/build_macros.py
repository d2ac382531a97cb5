"""Macros that only the build gives: names which no source of the project declares, and which are none of CUDA's."""

from __future__ import annotations

import re

import msgspec

from porter.hipify import api, lexer
from porter.verify.messages import Said
from porter.verify.sources import Sources

_UNDECLARED = re.compile(r"use of undeclared identifier '([A-Za-z]\w*)'\Z")
_OF_THE_VENDOR = re.compile(r"(?i)(?:cu|nv|hip|roc|__)")
_TYPE = rb"(?:unsigned|signed|long|short|int|char|float|double|bool|void|auto|const|half2?|\w+_t)"
_NO_TYPE = rb"(?!(?:return|else|case|goto|new|delete|sizeof|and|or|not|throw|in)\b)"
# The ways in which a text declares a name, as far as its neighbours tell: after a type's name, after a pointer to a plain type, later
# in a list of plain declarations, as a macro, in an enumeration, or in a list of names that takes a structure apart.
_DECLARES = (
    rb"\b" + _NO_TYPE + rb"[A-Za-z_]\w*[>*&]*\s+[*&]*NAME\s*[=;,)\[({:>]",
    rb"\b" + _TYPE + rb"\s*[*&]+\s*NAME\b",
    rb"\b" + _TYPE + rb"\s[^;(){}]{0,400},\s*[*&]*NAME\s*[=;,\[]",
    rb"#\s*define\s+NAME\b",
    rb"\benum\b[^{};]{0,200}\{[^{}]{0,2000}\bNAME\b",
    rb"\bauto\s*&*\s*\[[^\[\]]{0,200}\bNAME\b",
)


def given_by_build(said: Said, sources: Sources) -> tuple[Said, tuple[str, ...]]:
    """What a run said without errors over macros of the build, and those macros; without them a text cannot be judged."""
    names = {match[1] for error in said.errors if (match := _UNDECLARED.search(error.text))}
    names = {name for name in names if api.lookup(name) is None and not _OF_THE_VENDOR.match(name)}
    if not names:
        return said, ()
    texts = [
        lexer.mask(sources.before[path]) for path in sorted(said.read | {error.path for error in said.errors}) if path in sources.before
    ]
    macros = tuple(sorted(name for name in names if not any(_is_declared(name.encode(), text) for text in texts)))
    kept = tuple(error for error in said.errors if not ((match := _UNDECLARED.search(error.text)) and match[1] in macros))
    return msgspec.structs.replace(said, errors=kept), macros


def _is_declared(name: bytes, text: bytes) -> bool:
    """Whether a text declares or defines a name anywhere; in doubt it does."""
    return name in text and any(re.search(pattern.replace(b"NAME", name), text) for pattern in _DECLARES)
