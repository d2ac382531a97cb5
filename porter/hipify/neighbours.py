"""Neighbours: what stands before and behind a name, which tells whether it stands for the CUDA thing of that name."""

from __future__ import annotations

import re

_BLANK = b" \t\r\n\f\v"
_WINDOW = 64
_WORD_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") | frozenset(range(0x80, 0x100))
_DEFINES = re.compile(rb"#[ \t]*(?:define|undef)\Z")
_SCOPE_AFTER = re.compile(rb"\s*::")
_ALIAS = re.compile(rb"(?:\busing\s+namespace|\bnamespace\s+\w+\s*=)\s*(?:::)?\Z")
# Words behind which "::" names the global namespace, because none of them names a class or namespace.
_STATEMENT_WORDS = frozenset(
    b"return throw else case do and or not goto co_await new delete const typename co_return co_yield sizeof typedef static extern "
    b"inline constexpr volatile mutable friend public private protected virtual "
    b"__device__ __host__ __global__ __shared__ __constant__".split()
)
_LINE = 400


def before(masked: bytes, start: int) -> bytes:
    """The text before an offset without the blanks next to it, at least a line's worth where there is one."""
    window = _WINDOW
    text = masked[max(0, start - window) : start].rstrip(_BLANK)
    while not text and window < start:
        window *= 8
        text = masked[max(0, start - window) : start].rstrip(_BLANK)
    return text


def is_declared(masked: bytes, start: int) -> bool:
    """Whether a function's name stands behind a type on its line, so that the program declares a function or variable of that name.

    Lines of directives do not count: ``#define SYNC cudaDeviceSynchronize()`` is a use.
    """
    line = masked[max(masked.rfind(b"\n", max(0, start - _LINE), start) + 1, start - _LINE) : start]
    text = line.rstrip(b" \t")
    if not text or len(text) == len(line) or text[-1] not in _WORD_BYTES or line.lstrip(b" \t")[:1] == b"#":
        return False
    word = _last_word(text)
    return not word[:1].isdigit() and word not in _STATEMENT_WORDS


def is_free(masked: bytes, start: int, end: int, may_be_defined: bool) -> bool:
    """False for a member, a name of another namespace, a pasted name, and (unless it may be) a name that is defined here."""
    text = before(masked, start)
    last = text[-1:]
    if last == b":" and text[-2:] == b"::":
        return _is_global(text)
    if (last == b"." and text[-2:] != b"..") or text[-2:] in (b"->", b"##") or masked.startswith(b"##", end):
        return False
    return may_be_defined or last not in b"ef" or not last or _DEFINES.search(text) is None


def is_namespace(masked: bytes, start: int, end: int) -> bool:
    """Whether a name is a namespace of the outermost level: followed by ``::``, opened by using, or given an alias."""
    text = before(masked, start)
    if text[-2:] == b"::" and not _is_global(text):
        return False
    if text[-1:] == b"." or text[-2:] in (b"->", b"##"):
        return False
    return bool(_SCOPE_AFTER.match(masked, end) or _ALIAS.search(text))


def _is_global(text: bytes) -> bool:
    """Whether the ``::`` at the end of a text names the global namespace rather than a namespace or class."""
    text = text[:-2].rstrip(_BLANK)
    if text[-1:] == b">":
        return False
    word = _last_word(text)
    return not word or word in _STATEMENT_WORDS


def _last_word(text: bytes) -> bytes:
    """The word that a text ends in, empty where it ends in something else."""
    at = len(text)
    while at and text[at - 1] in _WORD_BYTES:
        at -= 1
    return text[at:]
