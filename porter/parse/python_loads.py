"""Shared libraries that a Python file names and opens by ctypes only where a failure is caught."""

from __future__ import annotations

import itertools
import re

import msgspec

from porter.model import Fact
from porter.parse.python_imports import is_forgiven
from porter.parse.python_tree import Source, field, inside

LIBRARY = re.compile(r"(?:.*/)?lib(?:cu|nv)[\w-]*\.so(?:\.\d+)*\Z|(?:nvcuda|cudart|nvrtc)\w*\.dll\Z")
LOADERS = (b"cdll", b"windll", b"loadlibrary")
MAX_PLACES = 200


def forgiven(source: Source, facts: list[Fact]) -> list[Fact]:
    """The facts, names of libraries marked where every load in the file stands in a try that goes on: `for n in names: try: CDLL(n)`."""
    if not any(fact.kind == "py_string" and LIBRARY.match(fact.name) for fact in facts) or not _all_caught(source):
        return facts
    return [
        msgspec.structs.replace(fact, detail={**fact.detail, "forgiven": "1"})
        if fact.kind == "py_string" and LIBRARY.match(fact.name)
        else fact
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
