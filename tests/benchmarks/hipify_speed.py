#!/usr/bin/env python3
"""Times porter's translation against the real hipify-perl on the same files, in one run; prints CPU seconds and their ratio.

Usage: hipify_speed.py FOLDER --perl PATH/hipify-perl [--warnings N]

porter runs as it does in a scan: one process, the name table loaded once (its load is in the sum). hipify-perl runs as a
program for every file, with -quiet-warnings. With --warnings N the N smallest files are also run with its warnings on.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import time
from pathlib import Path

from porter.hipify import Options, convert

SUFFIXES = (".cu", ".cuh")


def children_seconds() -> float:
    """CPU seconds of all programs that ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def perl_seconds(program: Path, paths: list[Path], *options: str) -> float:
    """CPU seconds of hipify-perl over the files."""
    before = children_seconds()
    for path in paths:
        subprocess.run([str(program), *options, str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return children_seconds() - before


def ours(paths: list[Path], options: Options) -> float:
    """CPU seconds of porter over the files, reading included."""
    started = time.process_time()
    for path in paths:
        convert(path.read_bytes(), options)
    return time.process_time() - started


def growth() -> None:
    """CPU seconds for 1, 10 and 100 MB of one text."""
    line = b"  cudaMemcpy(dst + i, src, n * sizeof(float), cudaMemcpyHostToDevice); // copies\n"
    for megabytes in (1, 10, 100):
        text = line * (megabytes * 1_000_000 // len(line))
        started = time.process_time()
        convert(text)
        print(f"{megabytes:>4} MB of runtime calls: {time.process_time() - started:.2f} s")


def main() -> None:
    """Prints the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--perl", type=Path, help="hipify-perl; without it only porter is timed")
    parser.add_argument("--warnings", type=int, default=0, metavar="N")
    parser.add_argument("--growth", action="store_true", help="also 1, 10 and 100 MB of one text")
    args = parser.parse_args()
    paths = sorted((p for p in args.folder.rglob("*") if p.suffix in SUFFIXES and p.is_file()), key=lambda p: (p.stat().st_size, p))
    lines = sum(path.read_bytes().count(b"\n") for path in paths)
    builtin = ours(paths, Options())
    print(f"{len(paths)} files, {lines} lines")
    print(f"porter                       {builtin:8.2f} s CPU")
    print(f"porter --launch ggl          {ours(paths, Options(launch='ggl')):8.2f} s CPU")
    if args.perl:
        quiet = perl_seconds(args.perl, paths, "-quiet-warnings")
        print(f"hipify-perl -quiet-warnings  {quiet:8.2f} s CPU   {quiet / builtin:.0f} times porter's")
        if args.warnings:
            few = paths[: args.warnings]
            loud, soft = perl_seconds(args.perl, few), ours(few, Options())
            ratio = f"{loud / soft:.0f} times porter's {soft:.4f} s"
            print(f"hipify-perl with warnings, {len(few)} smallest files: {loud:.2f} s CPU   {ratio}")
    if args.growth:
        growth()


if __name__ == "__main__":
    main()
