#!/usr/bin/env python3
"""Compiles programs for AMD GPUs before and after translation, and counts the errors that findings predicted.

Usage: verify_programs.py FOLDER... [--every N] [--targets gfx90a,gfx942] [--hip-include DIR] [--only-after]

Every folder is a program of its own. Prints one line a program and target, the sums, and every error that nothing predicted.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from pathlib import Path

from porter.config import Config
from porter.hipify import api
from porter.verify import compilers, project, run
from porter.verify.values import Verification

GOOD = ("compiles", "links")


def before(folder: Path, targets: tuple[str, ...], found: list[compilers.Compiler]) -> Verification:
    """The program as it is, compiled as HIP."""
    return run.verify(run.Request(folder, targets, translate=False), found, lambda _: ())


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--targets", default="gfx90a,gfx942")
    parser.add_argument("--hip-include", default="")
    parser.add_argument("--only-after", action="store_true")
    options = parser.parse_args()
    targets = tuple(options.targets.split(","))
    found = compilers.find_all(options.hip_include, os.environ)
    config = Config(targets=targets, rocm=list(api.rocm_versions())[-1], jobs=2)
    sums: Counter[tuple[str, str]] = Counter()
    rules: Counter[str] = Counter()
    errors = predicted = 0
    unpredicted: list[str] = []
    for folder in sorted(options.folders)[:: options.every]:
        after = project.verify(folder, config, os.environ, options.hip_include)
        runs = [("after", after)] if options.only_after else [("before", before(folder, targets, found)), ("after", after)]
        for when, done in runs:
            for target in targets:
                units = [file for file in done.files if file.unit]
                here = [file for file in units if not file.missing]
                sums[when, f"{target} units"] += len(units)
                sums[when, f"{target} compile"] += sum(file.by_target[target] in GOOD for file in units)
                sums[when, f"{target} with all headers"] += len(here)
        missing = sorted({name for file in after.files for name in file.missing})
        marks = " ".join(f"{file.path}:{file.rung}" for file in after.files if file.unit and file.rung not in GOOD)
        print(f"{folder.name}: {len(after.errors)} errors, {after.predicted} predicted; {marks} {missing or ''}", flush=True)
        errors, predicted = errors + len(after.errors), predicted + after.predicted
        rules.update(error.rule for error in after.errors if error.rule)
        unpredicted += [f"{folder.name}/{e.path}:{e.line}: {e.kind}: {e.message}" for e in after.errors if not e.rule]
    for key, value in sorted(sums.items()):
        print(*key, value)
    print(f"errors {errors}, predicted {predicted}: {rules.most_common()}")
    print(*unpredicted, sep="\n")


if __name__ == "__main__":
    main()
