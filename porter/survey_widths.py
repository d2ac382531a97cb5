"""Names for the width of a warp that a file uses, and the calls by which it depends on it: what a constant in a header is judged by."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from porter.flow.intrinsics import VOTES
from porter.flow.names import WIDTH_NAME
from porter.model import Fact, Live

MAX_MENTIONS = 2000  # lines of one file
_MAY_BE = re.compile(r"(?i)warp|wave|lane|wrap")
_ASKS = re.compile(r"(?i)\w*(?:lane_?id|laneid|ballot)\w*\Z")


@cache
def is_width(name: str) -> bool:
    """True for a name that speaks of the width of a warp."""
    return _MAY_BE.search(name) is not None and WIDTH_NAME.match(name) is not None


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


def votes(facts: Iterable[Fact]) -> tuple[str, ...]:
    """Names of the votes that a file calls, and of what it may ask for its lane."""
    found = {
        name: None
        for fact in facts
        if fact.kind == "call" and fact.live is not Live.NO
        and ((name := fact.name.rpartition("::")[2]) in VOTES or _ASKS.match(name) is not None)
    }  # fmt: skip
    return tuple(sorted(found))
