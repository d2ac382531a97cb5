"""Macros that choose between back ends: what a project's own chains of #if and #elif say of them in a build for AMD.

`#if defined(A_USE_CUDA) … #elif defined(A_USE_HIP)`: with HIP the first is not defined. `#if BACKEND == 1 … #elif BACKEND == 2` with
headers of HIP below the second: with HIP it is 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from porter.parse.cuda_lex import Directive

OF_AMD = re.compile(r"(?i)hip|rocm")
_CUDA_WORD = re.compile(r"(?i)cuda(?![a-z])")
_NAMES = re.compile(r"[A-Za-z_]\w*")
_IS_SET = re.compile(r"\s*+(?:\(\s*+)?(?:defined\s*+\(?\s*+)?([A-Za-z_]\w*)\s*+\)?\s*+\)?\s*+\Z")
_EQUALS = re.compile(r"\s*+(?:defined\s*+\(?\s*+\w++\s*+\)?\s*+&&\s*+)?\(?\s*+([A-Za-z_]\w*)\s*+==\s*+(\w++)\s*+\)?\s*+\Z")
_HIP_HEADER = re.compile(r"[<\"](?:hip|rocm|rocfft|rocblas)/")
_OPENERS = ("if", "ifdef", "ifndef")
MAX_FOUND = 64


class _Chain:
    """Branches of one open conditional: their directives, and whether a header of HIP's is included in them."""

    def __init__(self, first: Directive) -> None:
        self.branches = [(first, False)]

    def with_hip(self) -> None:
        self.branches[-1] = (self.branches[-1][0], True)


def chosen(lines: Sequence[Directive]) -> tuple[tuple[str, str, str], ...]:
    """Of each macro that a chain decides: its name, ``no`` or ``yes``, and its text."""
    if not any(line.word.startswith("el") for line in lines):
        return ()
    found: dict[str, tuple[str, str, str]] = {}
    stack: list[_Chain] = []
    for line in lines:
        if line.word in _OPENERS:
            stack.append(_Chain(line))
        elif line.word == "include" and stack and _HIP_HEADER.match(line.text):
            for chain in reversed(stack):
                if chain.branches[-1][1]:
                    break  # and so are those around it
                chain.with_hip()
        elif stack and line.word.startswith("el"):
            stack[-1].branches.append((line, False))
        elif stack and line.word == "endif":
            for one in _decided(stack.pop()):
                if len(found) < MAX_FOUND:
                    found.setdefault(one[0], one)
    return tuple(found.values())


def _decided(chain: _Chain) -> Iterator[tuple[str, str, str]]:
    if len(chain.branches) < 2:
        return
    given = [(_EQUALS.match(line.text), hip) for line, hip in chain.branches]
    if all(match for match, _ in given[:2]) and sum(hip for _, hip in given) == 1:
        match = next((match for match, hip in given if hip), None)
        if match is not None and all(one is None or one[1] == match[1] for one, _ in given):
            yield match[1], "yes", match[2]
    before: dict[str, list[str]] = {}  # macros that speak of CUDA, by their names without it
    for line, _ in chain.branches:
        if line.word in ("ifndef", "else", "elifndef"):
            return
        for name in _NAMES.findall(line.text):
            yield from ((other, "no", "") for other in before.get(_without_amd(name), ()))
        single = _IS_SET.match(line.text)
        bare = _CUDA_WORD.sub("", single[1]) if single is not None else ""
        if single is not None and bare not in ("", single[1]):
            before.setdefault(bare, []).append(single[1])


def _without_amd(name: str) -> str:
    """A name without its back end, AMREX_USE_ of AMREX_USE_HIP, which AMREX_USE_CUDA has too; empty where AMD or the rest is missing."""
    bare = OF_AMD.sub("", name)
    return bare if bare != name and len(bare.strip("_")) > 2 else ""
