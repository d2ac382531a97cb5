"""Shared memory against the LDS of the targets: static arrays, dynamic sizes at launches, and the opt-in attribute."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from porter.config import Config
from porter.detectors import folding, places
from porter.model import Fact, Hit, Live, Span
from porter.parse import Parsed
from porter.parse.guards import SourceGuards

if TYPE_CHECKING:
    from porter.link import Index

KINDS = ("cuda", "cxx")
KIB = 1024
SHARED = re.compile(rb"\b__shared__\b")
# Bytes of LDS that one workgroup can have, by target; the first glob that fits counts.
LDS = (("gfx950", 160 * KIB), ("gfx125*", 320 * KIB), ("*", 64 * KIB))
OPT_IN = frozenset({"cudaFuncAttributeMaxDynamicSharedMemorySize", "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"})
SETTERS = frozenset({"cudaFuncSetAttribute", "cuFuncSetAttribute", "cuKernelSetAttribute"})
SIZES = {
    "char": 1, "int8_t": 1, "uint8_t": 1, "bool": 1, "short": 2, "half": 2, "__half": 2, "int16_t": 2, "uint16_t": 2, "nv_bfloat16": 2,
    "__nv_bfloat16": 2, "int": 4, "unsigned": 4, "float": 4, "int32_t": 4, "uint32_t": 4, "uint": 4, "half2": 4, "__half2": 4, "double": 8,
    "int64_t": 8, "uint64_t": 8, "size_t": 8, "float2": 8, "int2": 8, "uint2": 8, "float4": 16, "int4": 16, "uint4": 16, "double2": 16,
    "unsigned int": 4, "unsigned char": 1, "signed char": 1, "unsigned short": 2, "long long": 8, "unsigned long long": 8, "float3": 12,
    "int3": 12, "uchar4": 4, "char4": 4, "double4": 32,
}  # fmt: skip


def lds_of(target: str) -> int:
    """Bytes of LDS that a workgroup can have on a target."""
    return next(size for glob, size in LDS if fnmatch.fnmatchcase(target, glob))


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """Hits of shared-memory-over-lds and shared-memory-opt-in."""
    return [*_static(parsed, index, config), *_launches(parsed, index, config), *_opt_ins(parsed, index, config)]


def _over(size: int, config: Config) -> tuple[str, ...]:
    return tuple(target for target in config.targets if size > lds_of(target))


def _hit(span: Span, size: int, what: str, subject: str, config: Config) -> Iterator[Hit]:
    targets = _over(size, config)
    if targets:
        limits = ", ".join(f"{target} has {lds_of(target) // KIB} KiB" for target in targets)
        yield Hit("shared-memory-over-lds", span, f"{what} needs {size / KIB:g} KiB of shared memory; {limits}", subject, targets=targets)


def _launches(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    for fact in parsed.facts:
        if fact.kind == "launch" and len(fact.args) >= 3:
            size = folding.fold(parsed, fact.args[2], index)
            if size is not None:
                yield from _hit(fact.span, size, f"launch of {fact.name}", fact.name, config)


def _opt_ins(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    for fact in parsed.facts:
        if (
            fact.kind != "call"
            or fact.name.rpartition("::")[2] not in SETTERS
            or len(fact.args) < 3
            or fact.args[1].rpartition("::")[2] not in OPT_IN
        ):
            continue
        if isinstance(parsed.guards, SourceGuards) and parsed.guards.amd_only(fact.span.line):
            continue  # somebody wrote this call for AMD
        kernel = _kernel_name(fact.args[0])
        size = folding.fold(parsed, fact.args[2], index)
        if size is not None:
            yield from _hit(fact.span, size, f"opt-in for {kernel}", kernel, config)
        elif any(lds_of(target) <= 64 * KIB for target in config.targets) and not _is_queried(fact):
            message = f"{kernel} asks for {fact.args[2]} bytes, a size above 48 KiB that is only known at run time"
            yield Hit("shared-memory-opt-in", fact.span, message, kernel, targets=tuple(t for t in config.targets if lds_of(t) <= 64 * KIB))


def _kernel_name(text: str) -> str:
    """The kernel in the first argument of a setter, without casts and template arguments."""
    names = re.findall(r"_*[A-Za-z][\w:]*", re.sub(r"<.*", "", re.sub(r"\([^()]*\*\s*\)|\w+_cast\s*<[^<>]*>", "", text)))
    return names[0] if names else text


def _is_queried(fact: Fact) -> bool:
    """Whether the size comes from the device's own limit."""
    return any(word in fact.args[2] for word in ("Optin", "OPTIN", "sharedMemPerBlock", "optin"))


def _shared_declarations(parsed: Parsed) -> Iterator[Any]:
    """The innermost declarations around each word __shared__, each once, in order; found by the word, which few lines have."""
    seen: set[int] = set()
    for node, _ in places.matches(parsed, SHARED):
        while node is not None and node.type not in ("declaration", "compound_statement", "translation_unit"):
            node = node.parent
        if node is not None and node.type == "declaration" and node.id not in seen:
            seen.add(node.id)
            yield node


def _static(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    """The sum of the shared arrays of each kernel, as far as their sizes are known."""
    if parsed.tree is None or b"__shared__" not in parsed.file.data:
        return
    sums: dict[int, tuple[Any, int]] = {}
    for node in _shared_declarations(parsed):
        words = {places.text(parsed, child) for child in node.children}
        if b"__shared__" not in words or b"extern" in words or parsed.live(node.start_point[0] + 1) is Live.NO:
            continue
        function = places.function_at(parsed, places.span(node))
        size = _size(parsed, node, index)
        if function is not None and size:
            sums[function.id] = (function, sums.get(function.id, (function, 0))[1] + size)
    for function, total in sums.values():
        name = places.name_of(parsed, function)
        yield from _hit(_first_line(function), total, f"static arrays of {name}", name, config)


def _first_line(function: Any) -> Span:
    whole = places.span(function)
    return Span(whole.line, whole.column, whole.line, whole.column + 1)


def _size(parsed: Parsed, declaration: Any, index: Any) -> int:
    """Bytes of a shared declaration, 0 where they are not known."""
    type_node = declaration.child_by_field_name("type")
    element = SIZES.get(" ".join(places.text(parsed, type_node).decode("utf-8", "replace").split())) if type_node is not None else None
    if element is None:
        return 0
    total = 0
    for node in declaration.children_by_field_name("declarator"):
        count = 1
        for _ in range(8):
            if node is None or node.type != "array_declarator":
                break
            extent = node.child_by_field_name("size")
            value = folding.fold(parsed, places.text(parsed, extent).decode("utf-8", "replace"), index) if extent is not None else None
            count *= value or 0
            node = node.child_by_field_name("declarator")
        total += count * element
    return total
