"""Shared libraries that a Python file names: opened by ctypes only where a failure is caught, or opened by nothing in the file."""

from __future__ import annotations

import itertools
import re

import msgspec

from porter.model import Fact
from porter.parse.python_imports import is_forgiven
from porter.parse.python_tree import Source, field, inside

LIBRARY = re.compile(r"(?:.*/)?lib(?:cu|nv|npp)[\w-]*\.so[\w.*?\[\]-]*\Z|(?:nvcuda|cudart|nvrtc)\w*\.dll\Z")
LOADERS = (b"cdll", b"windll", b"loadlibrary")
OPENING = (*LOADERS, b"dlopen", b"find_library", b"load_library", b"load_shared")
MAX_PLACES = 200


def with_manner(source: Source, facts: list[Fact]) -> list[Fact]:
    """The facts, names of libraries with the manner in which the file opens them.

    ``forgiven``: every load in the file stands in a try that goes on, `for n in names: try: CDLL(n)`. ``unopened``: there is none.
    """
    if not any(fact.kind == "py_string" and LIBRARY.match(fact.name) for fact in facts):
        return facts
    lowered = source.data.lower()
    mark = "forgiven" if _all_caught(source) else "unopened" if not any(word in lowered for word in OPENING) else ""
    if not mark:
        return facts
    return [
        msgspec.structs.replace(fact, detail={**fact.detail, mark: "1"}) if fact.kind == "py_string" and LIBRARY.match(fact.name) else fact
        for fact in facts
    ]


def _all_caught(source: Source) -> bool:
    loads = []
    for word in LOADERS:
        for path in source.paths(itertools.islice(source.find(word), MAX_PLACES)):
            call = inside(path, ("call",))
            function = field(call, "function") if call is not None else None
            if call is not None and function is not None and function.end_byte >= path[-1].end_byte:
                loads.append(is_forgiven(source, path[: path.index(call) + 1]))
    return bool(loads) and all(loads)
