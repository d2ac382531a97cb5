"""Calls of NVIDIA's libdevice by name: one by one, or, where a header stands between it and the code, the header as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from porter.config import Config
from porter.model import Fact, Hit, Live, Related
from porter.parse import Parsed

KINDS = ("cuda", "cxx")
RULE = "libdevice-symbol"
FEW = 8  # different functions; more are a layer of their own, and one replacement settles them
MAX_RELATED = 40
NAME = re.compile(
    r"__nv_(?:exp|log|sin|cos|tan|pow|sqrt|rsqrt|rcp|fabs|floor|ceil|round|trunc|rint|nearbyint|erf|tgamma|lgamma|fm|asin|acos|atan|cbrt|hypot"
    r"|ldexp|copysign|fdim|j0|j1|y0|y1|popc|clz|ffs|brev|mulhi|umulhi|fast_|isnan|isinf|norm)\w*\Z|__nv_(?:saturatef|sad|usad|byte_perm)\Z"
)


def detect(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    """A hit a line for some calls, one hit for the file where it calls many functions."""
    if b"__nv_" not in parsed.file.data:
        return
    calls = [fact for fact in parsed.facts if fact.kind == "call" and NAME.match(fact.name)]
    live = [fact for fact in calls if _live(fact, parsed) is not Live.NO]
    names = dict.fromkeys(fact.name for fact in live)
    if len(names) > FEW:
        lines = dict.fromkeys(fact.span.line for fact in live[1:])
        related = tuple(Related(parsed.file.path, line, "calls libdevice") for line in list(lines)[:MAX_RELATED])
        some = ", ".join(list(names)[:3])
        yield Hit(RULE, live[0].span, f"calls {len(names)} functions of libdevice: {some} and more", "libdevice", related=related)
        calls = [fact for fact in calls if _live(fact, parsed) is Live.NO]
    firsts: dict[int, Fact] = {}
    for fact in calls:
        firsts.setdefault(fact.span.line, fact)
    for first in firsts.values():
        yield Hit(RULE, first.span, f"calls {first.name}", first.name, live=_live(first, parsed))


def _live(fact: Fact, parsed: Parsed) -> Live:
    return fact.live if fact.live is not Live.UNKNOWN else parsed.live(fact.span.line)
