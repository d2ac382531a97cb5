"""Short functions that call one warp builtin for their caller: T shfl(T v, int lane) { return __shfl_sync(mask, v, lane); }"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

from porter.model import Fact
from porter.parse import Parsed
from porter.parse.cuda_lex import mask

MAX_BODY = 600  # bytes of a body that does little else
MAX_CALL = 240  # bytes of the arguments that are looked at
_BUILTIN = re.compile(
    rb"\b(__shfl(?:_up|_down|_xor)?(?:_sync)?|__ballot(?:_sync)?|__activemask|__match_(?:any|all)_sync|__any(?:_sync)?|__all(?:_sync)?)\s*\("
)
MAX_TREE = 1_000  # bytes of the body of a reduction
_TREE = re.compile(
    rb"\bfor\s*\(\s*(?:unsigned\s+)?(?:\w+\s+)?(\w+)\s*=\s*16\s*;\s*\1\s*(?:>\s*0|>=\s*1|!=\s*0)?\s*;\s*\1\s*(?:>>=\s*1|/=\s*2|=\s*\1\s*(?:>>\s*1|/\s*2))\s*\)"
)
_OWN_WIDTH = re.compile(rb"\bwarpSize\b|\b\w*(?:WARP|warp|Warp)_?(?:SIZE|Size|size)\b|\b64\b")
_DECIDES = re.compile(rb"^(?!\s*#).*\b(?:for|while|if|do|switch)\b", re.MULTILINE)
_LANE = re.compile(rb"%laneid\b")


def wrapped(body: bytes, live: Callable[[int], bool] = lambda _: True) -> tuple[str, ...]:
    """Name and argument texts of the one warp builtin that a short body calls; laneid for one that reads that register; else nothing.

    A body that decides or repeats anything wraps nothing. ``live`` says of a line of the body, from 0, whether an AMD build reads it.
    """
    if len(body) > MAX_BODY or (b"__" not in body and b"%" not in body):
        return ()
    is_lane = _LANE.search(body) is not None
    code = mask(body) if is_lane or _BUILTIN.search(body) else b""  # names in comments are not calls
    if not code or _DECIDES.search(code):
        return ()
    if is_lane:
        return ("laneid",)
    every = list(_BUILTIN.finditer(code))
    found = [match for match in every if live(code.count(b"\n", 0, match.start()))] or every
    names = {match[1].removesuffix(b"_sync") for match in found}
    if len(names) != 1:
        return ()
    last = found[-1]  # where older devices come first
    return (last[1].decode(), *_arguments(code[last.end() : last.end() + MAX_CALL].decode("utf-8", "replace")))


def halves_32(body: bytes, live: Callable[[int], bool] = lambda _: True) -> bool:
    """True for a short body that adds up 32 lanes by shuffles: distances from 16 down to 1, and no width of another kind."""
    if len(body) > MAX_TREE or b"__shfl" not in body or b"16" not in body:
        return False
    code = mask(body)
    found = [match for match in _TREE.finditer(code) if live(code.count(b"\n", 0, match.start()))]
    return bool(found) and b"__shfl" in code and not _OWN_WIDTH.search(code)


def _arguments(text: str) -> list[str]:
    """The texts between commas up to the closing parenthesis; none where that is too far."""
    out, depth = [""], 0
    for char in text:
        if char == ")" and depth == 0:
            return [part.strip() for part in out]
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            out.append("")
        else:
            out[-1] += char
    return []


def overloads(parsed: Parsed, body: Any, name: str) -> bool:
    """Whether a function named like a builtin calls what has its own name: in the end the builtin does the work."""
    if not name.startswith("__"):
        return False
    first, last = int(body.start_point[0]) + 1, int(body.end_point[0]) + 1
    for fact in parsed.facts[bisect_left(parsed.facts, first, key=_line) : bisect_right(parsed.facts, last, key=_line)]:
        if fact.kind == "call" and fact.name == name:
            return True
    return False


def _line(fact: Fact) -> int:
    return fact.span.line
