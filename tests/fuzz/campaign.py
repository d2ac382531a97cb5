"""Fuzzes the targets one after the other, each for so many CPU seconds, and writes a table of what came of it.

    python tests/fuzz/campaign.py [--seconds 60] [--corpus FOLDER] [--table FILE] [TARGET …]

A crash or a timeout ends a target's run and is started anew, so one weakness does not use up the others' time.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE)]

import fuzz_parsers  # noqa: E402
import fuzz_seeds  # noqa: E402

STATUS = re.compile(r"#(\d+)\t\w+ +cov: (\d+) ft: (\d+)")
MOST_CRASHES = 12  # of one target in one campaign


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fuzz(name: str, seconds: float, corpus: Path) -> dict[str, object]:
    """One target: CPU seconds, executions, coverage at the start (seeds alone) and at the end, inputs that crashed it."""
    folder = corpus / name
    if not folder.is_dir():
        fuzz_seeds.write(name, folder)
    started, runs, first, last, crashes = _cpu(), 0, (0, 0), (0, 0), 0
    while (left := seconds - (_cpu() - started)) > 2 and crashes < MOST_CRASHES:
        with tempfile.TemporaryFile("w+b") as log:
            command = [sys.executable, str(HERE / "fuzz_parsers.py"), name, str(folder), f"-max_total_time={max(5, int(left))}"]
            code = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
            log.seek(0)
            said = log.read().decode("utf-8", "replace")
        seen = [tuple(map(int, found)) for found in STATUS.findall(said)]
        runs += seen[-1][0] if seen else 0
        initial = re.findall(r"#\d+\tINITED +cov: (\d+) ft: (\d+)", said)
        if initial and first == (0, 0):
            first = (int(initial[0][0]), int(initial[0][1]))
        last = max([last, *((cov, ft) for _, cov, ft in seen)])
        if code:
            crashes += 1
            print(f"{name}: {_reason(said)}", flush=True)
    return {
        "target": name, "seconds": round(_cpu() - started), "runs": runs, "first": first, "last": last, "crashes": crashes,
    }  # fmt: skip


def _reason(said: str) -> str:
    lines = [line for line in said.splitlines() if re.search(r"Uncaught|Error|ERROR|Test unit written|ALARM|exceeded|assert", line)]
    return " | ".join(line.strip()[:160] for line in lines[:3] + lines[-1:])


def main() -> None:
    """Read the options, fuzz, print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--corpus", type=Path, default=Path(tempfile.gettempdir()) / "porter-fuzz-corpus")
    options.add_argument("--table", type=Path)
    options.add_argument("targets", nargs="*")
    given = options.parse_args()
    for name in given.targets or fuzz_parsers.TARGETS:
        row = fuzz(name, given.seconds, given.corpus)
        print(json.dumps(row), flush=True)
        if given.table:
            with given.table.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
