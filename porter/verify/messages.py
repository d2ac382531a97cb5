"""Compiler messages: errors with their places in the repository, and which files the compiler read on the way."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

import msgspec

MAX_ERRORS = 2000  # of one run
_READ = re.compile(r"^\.+ (.+)$")
_ERROR = re.compile(r"^(?:(?P<path>[^:]+):(?P<line>\d+):(?:(?P<column>\d+):)? )?(?:fatal )?error: (?P<text>.*)$")
_NOTE = re.compile(r"^(?P<path>[^:]+):(?P<line>\d+):\d+: note: (?P<text>.*)$")
_FROM = re.compile(r"^(?:In file included from|\s+from) (?P<path>[^:]+):(?P<line>\d+)[:,]")
_CATEGORY = re.compile(r" \[(?:-W[^\]]*,)?([A-Za-z -]+)\]$")
_MISSING = re.compile(r"'([^']+)' file not found")
_LINK = re.compile(r"^(?:ld\.lld|lld): error: (?P<text>.*)$")
_COUNT = re.compile(r"^\d+ errors? generated|^too many errors")
_SYNTAX = ("Parse Issue", "Lexical or Preprocessor Issue")
_MAX_TEXT = 300


class Raw(msgspec.Struct, frozen=True):
    """One error at the place the compiler names, and the other places it names with it, nearest first; paths as resolved."""

    path: str
    line: int
    column: int
    kind: str
    text: str
    places: tuple[tuple[str, int], ...] = ()
    header: str = ""  # the include that was not found
    asked: int = 0  # how many of the places asked for the template in which the error lies


class Said(msgspec.Struct, frozen=True):
    """All that one run said: errors, repository files read, and whether files outside the repository and the system were read."""

    errors: tuple[Raw, ...]
    read: frozenset[str]
    outside: bool
    foreign: tuple[str, ...] = ()  # HIP headers of another HIP that were read, because the chosen folder lacks them


def understand(text: str, folder: str, allowed: Iterable[str], hip: str = "") -> Said:
    """Takes apart what clang wrote with -H; ``folder`` is where it ran, ``allowed`` are the system folders it may read,
    ``hip`` is the folder of HIP's headers: what stands in a HIP header from elsewhere says nothing, so its errors are left out.

    When it read anything else, no message is handed on, because a message can quote what was read.
    """
    allowed = tuple(allowed)
    read: set[str] = set()
    outside = False
    errors: list[Raw] = []
    chain: list[tuple[str, int]] = []
    chains: dict[str, list[tuple[str, int]]] = {}  # clang names the includes that lead to a file once, not for every error in it
    for line in text.splitlines():
        if match := _READ.match(line):
            path = _place(match[1], folder)
            outside = outside or _is_outside(path, allowed)
            read.add(path)
        elif match := _FROM.match(line):
            chain.append((_place(match["path"], folder), int(match["line"])))
        elif (match := _NOTE.match(line)) and errors:
            errors[-1] = _noted(errors[-1], (_place(match["path"], folder), int(match["line"])), "requested here" in match["text"])
        elif not _COUNT.search(line) and len(errors) < MAX_ERRORS:
            raw = _error(line, folder, chain, chains)
            if raw is None:
                continue
            # The assembler can read files too, which -H does not list; its messages name them.
            outside = outside or _is_outside(raw.path, allowed)
            errors.append(raw)
            chain = []
    own = frozenset(path for path in read if not posixpath.isabs(path))
    foreign = {path for path in read if hip and "/include/hip/" in path and not path.startswith(hip.rstrip("/") + "/")}
    kept = [error for error in errors if error.path not in foreign]
    names = tuple(sorted("hip/" + path.rpartition("/include/hip/")[2] for path in foreign))
    return Said(() if outside else tuple(kept), own, outside, names)


def _noted(error: Raw, place: tuple[str, int], asked: bool) -> Raw:
    """The error with a further place; one that asked for the template in which it lies comes before the chain of includes."""
    if posixpath.isabs(place[0]) or len(error.places) >= 20:
        return error
    first = tuple(error.places[: error.asked])
    rest = error.places[error.asked :]
    if asked:
        return msgspec.structs.replace(error, places=(*first, place, *rest), asked=error.asked + 1)
    return msgspec.structs.replace(error, places=(*error.places, place))


def _error(line: str, folder: str, chain: list[tuple[str, int]], chains: dict[str, list[tuple[str, int]]]) -> Raw | None:
    if match := _LINK.match(line):
        return Raw("", 0, 0, "link", _neutral(match["text"], folder))
    match = _ERROR.match(line)
    if match is None or _COUNT.search(match["text"]):
        return None
    text = match["text"]
    category = _CATEGORY.search(text)
    name = category[1] if category else ""
    if category:
        text = text[: category.start()]
    missing = _MISSING.search(text)
    kind = "include" if missing else "syntax" if name in _SYNTAX else "backend" if "Backend" in name or not name else "type"
    path = _place(match["path"], folder) if match["path"] else ""
    if chain:
        chains[path] = chain
    places = tuple(place for place in reversed(chain or chains.get(path, [])) if not posixpath.isabs(place[0]))
    return Raw(
        path, int(match["line"] or 0), int(match["column"] or 0), kind, _neutral(text, folder), places, missing[1] if missing else ""
    )


def _place(path: str, folder: str) -> str:
    """A path as printed: relative to the repository for what lies in it, else absolute."""
    full = posixpath.normpath(posixpath.join(folder, path))
    return full[len(folder) + 1 :] if full.startswith(folder + "/") else full


def _is_outside(path: str, allowed: tuple[str, ...]) -> bool:
    """Whether a path is neither the project's nor the system's; <inline asm> and its like are no files."""
    return posixpath.isabs(path) and not path.startswith(allowed)


def _neutral(text: str, folder: str) -> str:
    """A message without this machine's folders and without control characters."""
    short = text.replace(folder + "/", "")
    return "".join(char if char.isprintable() else "?" for char in short)[:_MAX_TEXT]
