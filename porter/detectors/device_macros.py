"""Macros that only AMD's device pass defines (__gfx942__, __GFX9__), tested in host code, where they are never defined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from porter.config import Config
from porter.detectors import arch_branches, places
from porter.detectors.arch_branches import Group
from porter.model import Hit, Live
from porter.parse import Parsed
from porter.parse.cuda_lex import directives, mask

if TYPE_CHECKING:
    from porter.link import Index

KINDS = ("cuda", "cxx")
DEVICE_ONLY = re.compile(r"__(?:gfx|GFX)\w+__\Z|__HIP_DEVICE_COMPILE__\Z|__AMDGCN__\Z|__AMDGCN_\w+\Z")
QUICK = (b"__gfx", b"__GFX", b"__AMDGCN_")


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """Hits of device-macro-on-host."""
    if not any(word in parsed.file.data for word in QUICK):
        return []
    found = arch_branches.all_groups(parsed)
    derived = _derived(parsed, found)
    return [hit for group in found for hit in _hits(parsed, group, derived)]


def _derived(parsed: Parsed, found: list[Group]) -> dict[str, str]:
    """Macros of the file that only a branch under a device-only macro defines, with that macro."""
    inside: dict[str, str] = {}
    outside: set[str] = set()
    for directive in directives(mask(parsed.file.data)):
        if directive.word != "define":
            continue
        name = re.match(r"\w+", directive.text)
        if name is None:
            continue
        guard = next((g for g in found for b in g.branches if b.first <= directive.line <= b.last and _tested(b.directive.text)), None)
        if guard is not None:
            inside.setdefault(name[0], _tested(guard.conditions))
        else:
            outside.add(name[0])
    return {name: macro for name, macro in inside.items() if name not in outside}


def _tested(condition: str) -> str:
    """The first architecture macro that a condition names, empty for none; the general device test is not one."""
    names = arch_branches.NAME.findall(condition)
    return next((name for name in names if DEVICE_ONLY.match(name) and name != "__HIP_DEVICE_COMPILE__"), "")


def _hits(parsed: Parsed, group: Group, derived: dict[str, str]) -> Iterator[Hit]:
    function = places.function_at(parsed, group.span)
    if (
        function is None
        or places.is_device(parsed, function)
        or parsed.live(group.line) is Live.NO
        or "__HIP_DEVICE_COMPILE__" in group.names
    ):
        return
    if b"constexpr" in places.head(parsed, function):
        return  # usable in device code too, where the macro is defined
    for name in sorted(group.names):
        macro = name if _tested(name) else derived.get(name, "")
        if macro:
            words = name if macro == name else f"{name}, which only a test of {macro} defines,"
            yield Hit("device-macro-on-host", group.span, f"{words} is tested in a host function", name)
            return
