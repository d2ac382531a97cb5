"""Kernels that add floating-point numbers into memory that they are given: what launches of them in other files are judged by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from porter.model import Fact, Live

if TYPE_CHECKING:
    from porter.survey import FunctionDef

ADDS = frozenset(("atomicAdd", "gpuAtomicAdd", "unsafeAtomicAdd"))
UNSAFE = "unsafeAtomicAdd"
FLOAT = re.compile(r"\b(?:float|double)\b(?!\d)")
_NAME = re.compile(r"[A-Za-z_]\w*")


class Sum(msgspec.Struct, frozen=True, gc=False):
    """An atomic addition on what a pointer parameter of a kernel leads to: the kernel, the parameter's place, the line.

    ``unsafe`` is true for the builtin that is one instruction whatever the build's flags say.
    """

    kernel: str
    place: int
    line: int
    unsafe: bool = False


def sums(facts: Iterable[Fact], functions: Iterable[FunctionDef]) -> Iterator[Sum]:
    """The floating-point sums of a file's kernels that an AMD build reads, in source order."""
    kernels: list[FunctionDef] | None = None
    for fact in facts:
        if fact.kind != "call" or not fact.args or fact.live is Live.NO or (name := fact.name.rpartition("::")[2]) not in ADDS:
            continue
        if kernels is None:
            kernels = [function for function in functions if function.side == "kernel"]
        target = _NAME.search(fact.args[0])
        for kernel in kernels if target is not None else ():
            if not kernel.line <= fact.span.line <= kernel.end_line:
                continue
            for place, param in enumerate(kernel.params):
                if target is not None and param.name == target[0] and "*" in param.text and FLOAT.search(param.text):
                    yield Sum(kernel.name, place, fact.span.line, name == UNSAFE)
