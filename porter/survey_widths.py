"""Names for the width of a warp that a file uses, and the calls by which it depends on it: what a constant in a header is judged by."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from porter.flow.intrinsics import VOTES
from porter.flow.names import WIDTH_NAME
from porter.model import Fact, Live

if TYPE_CHECKING:
    from porter.survey import Survey

MAX_MENTIONS = 2000  # lines of one file
_MAY_BE = re.compile(r"(?i)warp|wave|lane|wrap")
_WORDS = (b"warp", b"wave", b"lane", b"wrap")
_SET = re.compile(rb"(?:warp|wave|lane|wrap)\w{0,40}\s*[={]")
_LONGEST_NAME = 80
_ASKS = re.compile(r"(?i)\w*(?:lane_?id|laneid|ballot)\w*\Z")


@lru_cache(maxsize=20_000)
def is_width(name: str) -> bool:
    """True for a name that speaks of the width of a warp."""
    return _MAY_BE.search(name) is not None and WIDTH_NAME.match(name) is not None


def may_define(data: bytes) -> bool:
    """Whether a text gives something that is named like the width of a warp a value: a constant or an enumerator, or words in a comment."""
    data = data.lower()
    if not any(word in data for word in _WORDS):
        return False
    for match in _SET.finditer(data):
        start = match.start()
        least = max(0, start - _LONGEST_NAME)
        while start > least and (data[start - 1 : start].isalnum() or data[start - 1] == 0x5F):
            start -= 1
        if is_width(data[start : match.end()].rstrip(b"={ \t\r\n\f\v").decode("latin-1")):
            return True
    return False


def mentions(facts: Iterable[Fact]) -> tuple[tuple[str, int], ...]:
    """Name and line of each use of a name for the width of a warp that an AMD build reads."""
    found = {
        (name, fact.span.line): None
        for fact in facts
        if fact.kind in ("identifier", "type")
        and fact.live is not Live.NO
        and is_width(name := fact.name.rpartition("::")[2])
        and name != "warpSize"
    }
    return tuple(found)[:MAX_MENTIONS]


@lru_cache(maxsize=20_000)
def _asks(name: str) -> bool:
    return _ASKS.match(name) is not None


def votes(facts: Iterable[Fact]) -> tuple[str, ...]:
    """Names of the votes that a file calls, and of what it may ask for its lane."""
    found = {
        name: None
        for fact in facts
        if fact.kind == "call" and fact.live is not Live.NO
        and ((name := fact.name.rpartition("::")[2]) in VOTES or _asks(name))
    }  # fmt: skip
    return tuple(sorted(found))


def defined_for_kernels(files: Mapping[str, Survey], resolve: Callable[[str, str], str | None]) -> frozenset[str]:
    """C++ files without a sign of CUDA that name the width of a warp, and that a CUDA file reads, itself or through other headers.

    ``files`` are the surveys by path, ``resolve`` gives the file that an #include means. Such a header is the place to mend.
    """
    named = {path for path, held in files.items() if held.kind == "cxx" and _names_a_width(held)}
    users: dict[str, set[str]] = defaultdict(set)
    for path, held in files.items() if named else ():
        for include in held.includes:
            users[resolve(include, path) or ""].add(path)
    return frozenset(path for path in named if any(files[user].kind == "cuda" for user in _all_users(path, users)))


def _names_a_width(held: Survey) -> bool:
    names = (*(one.name for one in held.constants), *(one.name for one in held.macros))
    return any(map(is_width, names))


def _all_users(path: str, users: Mapping[str, set[str]]) -> list[str]:
    """The files that include a file, and those that include them."""
    found = dict.fromkeys([path])
    queue = [path]
    for one in queue:
        new = sorted(users.get(one, set()) - found.keys())
        found.update(dict.fromkeys(new))
        queue += new
    return queue[1:]
