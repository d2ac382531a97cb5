#!/usr/bin/env python3
"""Compiles programs for AMD GPUs before and after translation, and counts the errors that findings predicted.

Usage: verify_programs.py FOLDER... [--half tune|report] [--every N] [--targets A,B] [--hip-include DIR] [--before] [--save FILE]
       verify_programs.py --table FILE... [--into DOC]

Every folder is a program of its own. In the sorted list every eighth program from the first and the third on is for tuning, every
eighth from the fifth on for the report: rules are made from the first two lists, and the numbers of the third are published.
Writes one JSON line a program to FILE; --table makes a Markdown table of such files, and lists what nothing predicted; --into puts
that between the marks of a document.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from porter.config import Config
from porter.hipify import api
from porter.verify import compilers, project, run
from porter.verify.values import RUNGS

GOOD = ("compiles", "links")
MARKS = ("<!-- made by tests/benchmarks/verify_programs.py -->", "<!-- until here -->")
STEP = 8
MOST_OPEN = 2  # errors of one program that nothing predicted and that are listed
HALVES = {"tune": (0, 2), "report": (4,)}


def chosen(folders: list[Path], half: str, every: int) -> list[Path]:
    """The programs of one half, or every N-th of all."""
    ordered = sorted(folders)
    return [folder for at, folder in enumerate(ordered) if at % STEP in HALVES[half]] if half else ordered[::every]


def row(folder: Path, options: argparse.Namespace, config: Config, found: list[compilers.Compiler]) -> dict[str, Any]:
    """What came of one program: rungs by unit and target, before and after, and the errors."""
    after = project.verify(folder, config, os.environ, options.hip_include, tuple(options.include))
    value: dict[str, Any] = {"name": folder.name, "after": msgspec.to_builtins(after)}
    if options.before:
        request = run.Request(folder, config.targets, include=tuple(options.include), translate=False)
        value["before"] = msgspec.to_builtins(run.verify(request, found, lambda *_: ()))
    return value


def sums(rows: list[dict[str, Any]], when: str, target: str) -> Counter[str]:
    """Units, units with all headers, and units on every rung."""
    out: Counter[str] = Counter()
    for value in rows:
        missing = {file["path"] for file in value["after"]["files"] if file["missing"]}
        for file in value.get(when, {"files": ()})["files"]:
            if file["unit"]:
                out["units"] += 1
                out["whole"] += file["path"] not in missing
                out[file["by_target"][target]] += 1
    return out


def table(paths: list[Path]) -> str:
    """A line a file and target, and the errors that nothing predicted."""
    head = ("what", "compilers", "programs", "units", "with all headers", "compile before", "compile after", "link", "errors", "predicted")
    lines = ["| " + " | ".join([*head, "at their line"]) + " |", "| --- " * (len(head) + 1) + "|"]
    open_errors: list[str] = []
    for path in paths:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for target in rows[0]["after"]["targets"]:
            after, before = sums(rows, "after", target), sums(rows, "before", target)
            errors = [error for value in rows for error in value["after"]["errors"] if target in error["targets"]]
            told = sum(1 for error in errors if error["rule"])
            at_line = sum(1 for error in errors if error["how"] in ("line", "related"))
            share = f"{told} ({100 * told / len(errors):.0f} %)" if errors else "0"
            words = rows[0]["after"]["compilers"][target].partition(", with")[0]
            was = str(sum(before[rung] for rung in GOOD)) if before else ""
            cells = [path.stem, f"{target}, {words}", len(rows), after["units"], after["whole"], was, sum(after[rung] for rung in GOOD)]
            lines.append("| " + " | ".join(map(str, [*cells, after[RUNGS[-1]], len(errors), share, at_line])) + " |")
        for value in rows:
            bad = [error for error in value["after"]["errors"] if not error["rule"]]
            open_errors += [f"- {path.stem}: {value['name']}/{e['path']}:{e['line']}: {e['message']}" for e in bad[:MOST_OPEN]]
            open_errors += [f"- {path.stem}: {value['name']}: and {len(bad) - MOST_OPEN} more"] if len(bad) > MOST_OPEN else []
    told_open = ["", "Not predicted:", "", *open_errors] if open_errors else []
    return "\n".join([*lines, *told_open]) + "\n"


def put(text: str, document: Path) -> None:
    """Replaces what stands between the marks of a document."""
    before, start, rest = document.read_text(encoding="utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not start or not end:
        raise SystemExit(f"{document}: no {MARKS[0]} and {MARKS[1]} there")
    document.write_text(f"{before}{start}\n\n{text}\n{end}{after}", encoding="utf-8")


def main() -> None:
    """Runs the programs, or prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--half", choices=tuple(HALVES), default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--targets", default="gfx90a,gfx942")
    parser.add_argument("--hip-include", default="")
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--before", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", type=Path, default=Path("verify.jsonl"))
    parser.add_argument("--table", nargs="+", type=Path)
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    if options.table:
        text = table(options.table)
        print(text)
        if options.into:
            put(text, options.into)
        return
    found = compilers.find_all(options.hip_include, os.environ)
    config = Config(targets=tuple(options.targets.split(",")), rocm=list(api.rocm_versions())[-1], jobs=options.jobs)
    with options.save.open("w", encoding="utf-8") as file:
        for folder in chosen(options.folders, options.half, options.every):
            value = row(folder, options, config, found)
            file.write(json.dumps(value) + "\n")
            file.flush()
            print(f"{folder.name}: {len(value['after']['errors'])} errors", flush=True)


if __name__ == "__main__":
    main()
