"""Excerpts: the lines of a file that a report shows, and its names that show that somebody thought of AMD."""

from __future__ import annotations

import re

from porter import packed
from porter.model import Hit, Related
from porter.parse import Parsed

MOST_SIGNS = 20  # a file
NEAR = 2  # lines of context on each side of a hit
AMD_SIGN_KINDS = frozenset({"macro_test", "py_attr", "py_call", "cmake_var", "cmake_package", "build_symbol", "compile_flag"})
AMD_SIGN = re.compile(
    r"(?:^|[._=-])(?:HIP|ROCM|hip|rocm|is_rocm|is_hip|IS_ROCM|IS_HIP|AMDGPU|AMDGCN)(?:$|[._=-])|^__HIP|USE_ROCM|USE_HIP|ROCM_HOME|is_rocm|is_hip"
)


def snippets(data: bytes, hits: list[Hit]) -> dict[int, str]:
    """The source text of every line that a hit starts on, with up to three more lines of its span; 400 characters at most."""
    if not hits:
        return {}
    lines = data.split(b"\n")
    found: dict[int, str] = {}
    for hit in hits:
        first = hit.span.line
        last = min(max(hit.span.end_line, first), first + 3)
        text = b"\n".join(line.rstrip(b"\r") for line in lines[first - 1 : last]).decode("utf-8", "replace")[:400]
        if len(text) > len(found.get(first, "")):
            found[first] = text
    return found


def context(data: bytes, hits: list[Hit]) -> bytes:
    """The source lines around every hit, NEAR on each side, for reports that show it in its place; 200 characters a line; packed."""
    if not hits:
        return b""
    lines = data.split(b"\n")
    near: set[int] = set()
    for first, last in {(hit.span.line, min(max(hit.span.end_line, hit.span.line), hit.span.line + 3)) for hit in hits}:
        near.update(range(first - NEAR, first), range(last + 1, last + 1 + NEAR))
    return packed.lines({n: lines[n - 1].rstrip(b"\r")[:200].decode("utf-8", "replace") for n in sorted(near) if 0 < n <= len(lines)})


def amd_signs(parsed: Parsed) -> tuple[Related, ...]:
    """Where a file of the project's own shows that it knows AMD: macros, attributes and settings with HIP or ROCm in their names."""
    signs = []
    for fact in parsed.facts:
        if fact.kind in AMD_SIGN_KINDS and AMD_SIGN.search(fact.name):
            signs.append(Related(parsed.file.path, fact.span.line, f"{fact.name}"))
    return tuple(dict.fromkeys(signs))[:MOST_SIGNS]
