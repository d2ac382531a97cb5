#!/usr/bin/env python3
"""Counts what a translation leaves to people: converted CUDA programs against the HIP versions that people wrote.

Usage: hipify_hecbench.py SRC [--pairs FILE] [--perl PATH/hipify-perl] [--worst N]

SRC holds folders NAME-cuda and NAME-hip (HeCBench's src). For every CUDA file with a partner of the same path or stem, comments
and white space are taken out of both sides, and the lines of all differences are counted (diff -d). Spellings that mean the same
count as equal: dim3(x) and x in a launch, hipHostMallocDefault and the default that it is. The second count leaves the insides of
strings out: hipify-perl renames in messages too, which porter never does. Files whose HIP version uses hipLaunchKernelGGL are
converted both ways and the closer one counts. --pairs names the programs, one a line, first column.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from porter.hipify import Options, convert
from porter.hipify.perl import PerlFailed, run

SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".c", ".hip")
CUDA_SIGN = re.compile(rb"cuda|__global__|__device__|<<<|cub::|\bcu[A-Z]|cublas|curand|cufft|cusparse")
COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)
ONE_DIMENSION = re.compile(rb"\bdim3\(([^(),]*)\)")
Translate = Callable[[bytes, str], bytes]


def plain(text: bytes, messages: bool) -> bytes:
    """The text without comments and white space, empty lines dropped; ``messages`` keeps the insides of strings."""
    text = text.replace(b'"hip/hip_runtime.h"', b"<hip/hip_runtime.h>")
    text = COMMENT.sub(lambda match: b"" if match[0].startswith(b"/") else match[0] if messages else b'""', text)
    text = ONE_DIMENSION.sub(rb"\1", text).replace(b", hipHostMallocDefault)", b")")
    lines = (re.sub(rb"\s+", b"", line) for line in text.splitlines())
    return b"\n".join(line for line in lines if line) + b"\n"


def differing(ours: bytes, theirs: bytes, messages: bool) -> int:
    """Lines on both sides of all differences."""
    with tempfile.TemporaryDirectory() as folder:
        left, right = Path(folder) / "a", Path(folder) / "b"
        left.write_bytes(plain(ours, messages))
        right.write_bytes(plain(theirs, messages))
        done = subprocess.run(["diff", "-d", str(left), str(right)], capture_output=True, check=False)
    return sum(line.startswith((b"<", b">")) for line in done.stdout.splitlines())


def partners(folder: Path, name: str) -> list[tuple[Path, Path]]:
    """CUDA files of a program with their HIP versions."""
    cuda, hip = folder / f"{name}-cuda", folder / f"{name}-hip"
    found = []
    for path in sorted(p for p in cuda.rglob("*") if p.suffix in SUFFIXES and p.is_file() and not p.is_symlink()):
        relative = path.relative_to(cuda)
        same = hip / relative
        other = sorted(p for p in (hip / relative.parent).glob(relative.stem + ".*") if p.suffix in SUFFIXES)
        partner = same if same.is_file() else other[0] if other else None
        if partner is not None and CUDA_SIGN.search(path.read_bytes()):
            found.append((path, partner))
    return found


def residual(pairs: list[tuple[Path, Path]], translate: Translate) -> tuple[int, int]:
    """Differing lines over all files of a program, with and without messages."""
    total = code = 0
    for source, human in pairs:
        theirs = human.read_bytes()
        ways = ("cuda", "ggl") if b"hipLaunchKernelGGL" in theirs else ("cuda",)
        converted = [translate(source.read_bytes(), way) for way in ways]
        total += min(differing(text, theirs, True) for text in converted)
        code += min(differing(text, theirs, False) for text in converted)
    return total, code


def with_perl(program: Path) -> Translate:
    """hipify-perl as a function."""

    def translate(data: bytes, way: str) -> bytes:
        try:
            return run(program, "a.cu", data, 120, ("-hip-kernel-execution-syntax",) if way == "ggl" else ())
        except PerlFailed:
            return data

    return translate


def main() -> None:
    """Prints residual lines by engine, and the programs where they differ most."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("src", type=Path)
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--perl", type=Path)
    parser.add_argument("--worst", type=int, default=15)
    args = parser.parse_args()
    names = sorted(
        p.name.removesuffix("-cuda") for p in args.src.glob("*-cuda") if (args.src / (p.name.removesuffix("-cuda") + "-hip")).is_dir()
    )
    if args.pairs:
        wanted = {line.split("\t")[0] for line in args.pairs.read_text().splitlines()}
        names = [name for name in names if name in wanted]
    engines: dict[str, Translate] = {
        "before": lambda data, way: data,
        "porter": lambda data, way: convert(data, Options(launch=way)).output,
    }
    if args.perl:
        engines["hipify-perl"] = with_perl(args.perl)
    sums = {engine: [0, 0] for engine in engines}
    rows: list[tuple[int, str, dict[str, tuple[int, int]]]] = []
    for name in names:
        files = partners(args.src, name)
        counts = {engine: residual(files, translate) for engine, translate in engines.items()}
        for engine, (total, code) in counts.items():
            sums[engine][0] += total
            sums[engine][1] += code
        rows.append((counts["porter"][1] - counts.get("hipify-perl", (0, 0))[1], name, counts))
    print(f"{len(names)} programs; differing lines, and those outside messages:")
    for engine, (total, code) in sums.items():
        print(f"{engine:12s} {total:6d} {code:6d}")
    for difference, name, counts in [*sorted(rows, reverse=True)[: args.worst], *(sorted(rows)[: args.worst] if args.perl else ())]:
        print(f"{difference:+5d}  {name:32s} {counts}")


if __name__ == "__main__":
    main()
