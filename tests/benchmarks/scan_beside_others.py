"""A whole scan beside hipify-perl -quiet-warnings on the same CUDA files and ripgrep for one word, in one run on one machine.

    python tests/benchmarks/scan_beside_others.py REPOSITORY [--hipify-perl PATH] [--runs N]

Prints wall and CPU seconds (user and system, children included) and peak memory of the largest process; medians of the runs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def measure(command: list[str], folder: str) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak memory in MiB of one run; its output is thrown away."""
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def row(name: str, runs: list[tuple[float, float, float]]) -> str:
    """One line of the table: medians, and the spread of the wall seconds."""
    wall, cpu, memory = (statistics.median(run[i] for run in runs) for i in range(3))
    spread = f"{min(r[0] for r in runs):.1f}–{max(r[0] for r in runs):.1f}"
    return f"| {name} | {wall:.2f} | {spread} | {cpu:.2f} | {memory:.0f} |"


def main() -> int:
    """Run the commands in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("--hipify-perl", default=shutil.which("hipify-perl") or "")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    root = args.repository.resolve()
    cuda = sorted(str(p) for p in root.rglob("*") if p.suffix in (".cu", ".cuh") and p.is_file() and not p.is_symlink())
    with tempfile.TemporaryDirectory() as scratch:
        commands = {
            "porter scan (HTML), 2 jobs": [sys.executable, "-m", "porter", "scan", str(root), "-q", "--jobs", "2", "--output", "r.html"]
        }
        if args.hipify_perl:
            commands[f"hipify-perl -quiet-warnings, {len(cuda)} CUDA files"] = ["perl", args.hipify_perl, "-quiet-warnings", *cuda]
        if shutil.which("rg"):
            commands["ripgrep for cudaMalloc"] = ["rg", "-uu", "cudaMalloc", str(root)]
        print("| command | wall s | spread | CPU s | peak MiB |\n| --- | ---: | --- | ---: | ---: |")
        for name, command in commands.items():
            print(row(name, [measure(command, scratch) for _ in range(args.runs)]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
