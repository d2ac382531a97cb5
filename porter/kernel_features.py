"""What each kernel uses that makes porting it work, in short words for the inventory, from the facts and hits in its lines and helpers."""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from porter.model import Hit, Kernel, Live
from porter.parse import Parsed
from porter.parse.cuda_lex import mask

if TYPE_CHECKING:
    from porter.link import Index
    from porter.survey import FunctionDef

DEVICE_SIDES = frozenset(("kernel", "device", "both"))
MAX_ROUNDS = 6
MAX_NESTED = 16  # functions looked back at: a loop macro parses as a function inside the kernel

SHARED = re.compile(rb"extern(?<!\wextern)\b[^;{}]{0,200}?\b__shared__\b|__shared__(?<!\w__shared__)\s+extern\b")
# Word in the report -> names of calls, types and identifiers that stand for it; the order is the order of the report.
NAMES: dict[str, re.Pattern[str]] = {
    "tensor cores": re.compile(r"(?:.*::)?wmma::|(?:.*::)?(?:mma_sync|load_matrix_sync)\Z|cute::(?:gemm|TiledMMA)"),
    "warp shuffles": re.compile(r"__shfl\w*\Z|WARP_SHFL(?:_\w+)?\Z|(?:.*\.)shfl\w*\Z"),
    "warp votes": re.compile(
        r"__(?:ballot|any|all|match_any|match_all|reduce_\w+)(?:_sync)?\Z|__activemask\Z|(?:.*\.)(?:ballot|match_any)\Z"
    ),
    "cooperative groups": re.compile(r"(?:cg|cooperative_groups)::"),
    "CUB": re.compile(r"cub::"),
    "asynchronous copies": re.compile(r"(?:.*::)?memcpy_async\Z|__pipeline_\w+\Z|(?:.*::)?make_pipeline\Z|cuda::(?:pipeline|barrier)"),
    "textures": re.compile(r"(?:tex|surf)(?:1D|2D|3D|Cubemap)\w*\Z|cudaTextureObject_t\Z|cudaSurfaceObject_t\Z"),
    "atomics": re.compile(r"(?:unsafe|gpu)?[aA]tomic(?:Add|Sub|Exch|Min|Max|Inc|Dec|CAS|And|Or|Xor)\w*\Z|cuda::atomic"),
    "fp8": re.compile(r"__nv_fp8\w*\Z|(?:.*::)?Float8_\w+\Z"),
    "bfloat16": re.compile(r"(?:__)?nv_bfloat162?\Z|(?:.*::)?BFloat16\Z"),
    "printf": re.compile(r"printf\Z"),
}
ANY_NAME = re.compile("|".join(f"(?:{names.pattern})" for names in NAMES.values()))  # most names are none of them
WHOLE_WAVE = re.compile(r"(?:.*::)?(__ballot(?:_sync)?|__match_(?:any|all)_sync|\w*[lL]ane_?[iI][dD])\Z")
MARK = "?"  # before the name of a call that may speak for the whole wave: for the detectors, no word of the report
READ = frozenset(("ptx", "call", "type", "identifier"))  # kinds of fact that say something of a function
MATRIX_PTX = re.compile(r"w?mma\b|wgmma\b|ldmatrix\b|stmatrix\b|tcgen05\b")
COPY_PTX = re.compile(r"cp\.async|cp\.reduce\.async|mbarrier")
OF_RULES = {  # what a hit in the kernel says of it
    "shared-memory-over-lds": "more shared memory than the GPU has",
    "dynamic-parallelism": "dynamic parallelism",
    "thread-block-cluster": "clusters",
    "cuda-arch-empty-kernel": "empty on AMD",
}


def described(parsed: Parsed, index: Index, hits: Iterable[Hit]) -> tuple[Kernel, ...]:
    """The kernels of a file with their features: of their own lines, and of the device functions that they call.

    Code that the AMD build does not read says nothing.
    """
    path = parsed.file.path
    kernels = index.kernels_of(path)
    held = index.files.get(path)
    if not kernels or held is None:
        return ()
    said = [(hit.span.line, OF_RULES[hit.rule]) for hit in hits if hit.live is not Live.NO and hit.rule in OF_RULES]
    functions = tuple(held.functions)
    found = {f.line: words for f, words in zip(functions, _spread(parsed, functions, said, index), strict=True)}
    return tuple(msgspec.structs.replace(k, features=tuple(w for w in ORDER if w in found.get(k.line, ()))) for k in kernels)


def of_functions(parsed: Parsed, functions: tuple[FunctionDef, ...]) -> tuple[FunctionDef, ...]:
    """The functions of a file, those of the device with their features: what the kernels of other files need to know."""
    if not any(function.side in DEVICE_SIDES for function in functions):
        return functions
    found = _spread(parsed, functions, [], None)
    return tuple(
        msgspec.structs.replace(f, features=(*(w for w in ORDER if w in words), *sorted(w for w in words if w[:1] == MARK)))
        if f.side in DEVICE_SIDES
        else f
        for f, words in zip(functions, found, strict=True)
    )


def _spread(parsed: Parsed, functions: tuple[FunctionDef, ...], said: list[tuple[int, str]], index: Index | None) -> list[set[str]]:
    """Features of each function: of its lines, and of the functions that it calls, in this file or, with an index, in others."""
    order = sorted(range(len(functions)), key=lambda i: functions[i].line)
    starts = [functions[i].line for i in order]
    words: list[set[str]] = [set() for _ in functions]
    calls: list[set[str]] = [set() for _ in functions]
    ends = [function.end_line if function.side in DEVICE_SIDES else 0 for function in functions]  # nobody asks for those of the host

    def around(line: int) -> list[int]:
        last = bisect_right(starts, line)
        return [i for i in order[max(0, last - MAX_NESTED) : last] if line <= ends[i]]

    live: dict[int, list[int]] = {}  # several facts stand on most lines
    inside = _lines_of(starts, [ends[i] for i in order])
    for fact in parsed.facts:
        if fact.kind not in READ or (line := fact.span.line) >= len(inside) or not inside[line]:
            continue
        said_of = _of_fact(fact.kind, fact.name)
        if not said_of and fact.kind != "call":
            continue
        if line not in live:
            live[line] = around(line) if parsed.live(line) is not Live.NO else []
        if not (places := live[line]):
            continue
        for where in places:
            words[where].update(said_of)
            if fact.kind == "call":
                calls[where].add(fact.name.rpartition("::")[2])
    for line, word in [*said, *((line, "dynamic shared memory") for line in _dynamic_shared(parsed))]:
        for where in around(line):
            words[where].add(word)
    _follow(functions, words, calls, parsed.file.path, index)
    return words


def _lines_of(starts: list[int], ends: list[int]) -> bytearray:
    """For each line, up to the last that counts, whether some function that has an end stands around it."""
    lines = bytearray(max(ends, default=0) + 1)
    for start, end in zip(starts, ends, strict=True):
        if end:
            lines[start : end + 1] = b"\1" * (end + 1 - start)
    return lines


def _follow(functions: tuple[FunctionDef, ...], words: list[set[str]], calls: list[set[str]], path: str, index: Index | None) -> None:
    """Give callers the features of what they call, until nothing changes; a few rounds do for any real depth."""
    own: dict[str, list[int]] = {}
    for i, function in enumerate(functions):
        if function.side in DEVICE_SIDES:
            own.setdefault(function.name, []).append(i)
    if index is not None:
        for i, function in enumerate(functions):
            for name in calls[i] - own.keys() if function.side in DEVICE_SIDES else ():
                other = index.function(name, path)
                words[i].update(other.features if other is not None else ())
    for _ in range(MAX_ROUNDS):
        before = sum(map(len, words))
        for i, function in enumerate(functions):
            for name in calls[i] if function.side in DEVICE_SIDES else ():
                for j in own.get(name, ()):
                    words[i] |= words[j]
        if sum(map(len, words)) == before:
            return


ORDER = (*OF_RULES.values(), "inline PTX", *NAMES, "dynamic shared memory")


@functools.lru_cache(maxsize=50_000)
def _of_fact(kind: str, name: str) -> tuple[str, ...]:
    if kind == "ptx":
        matrix, copy = MATRIX_PTX.match(name), COPY_PTX.match(name)
        return ("inline PTX", *(["tensor cores"] if matrix else ["asynchronous copies"] if copy else []))
    if kind in ("call", "type", "identifier"):
        whole = WHOLE_WAVE.match(name) if kind == "call" else None
        found = [word for word, names in NAMES.items() if names.match(name)] if ANY_NAME.match(name) else []
        return (*found, *([MARK + whole[1]] if whole else []))
    return ()


def _dynamic_shared(parsed: Parsed) -> list[int]:
    """Lines that declare shared memory whose size the launch gives."""
    lines: list[int] | None = parsed.extra.get("dynamic_shared")  # asked by the survey and by the examination
    if lines is None:
        data = parsed.file.data
        masked = mask(data) if b"__shared__" in data and b"extern" in data else b""
        lines = [masked.count(b"\n", 0, match.start()) + 1 for match in SHARED.finditer(masked)]
        parsed.extra["dynamic_shared"] = lines
    return [line for line in lines if parsed.live(line) is not Live.NO]
