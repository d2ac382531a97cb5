"""Recall and precision of the category warp-size on HeCBench's CUDA programs.

Usage: python tests/benchmarks/hecbench_warp.py HECBENCH TRUTH.tsv [LINES.tsv] [--jobs N] [--verbose]

HECBENCH is a checkout with src/<name>-cuda folders; TRUTH.tsv has the columns name and label (adapted_wave64, mask_sync_only,
warp_code_unchanged, no_warp_code …); LINES.tsv has name, cuda_file and line_numbers that people changed for 64-lane waves.
Nothing of HeCBench is stored here.
"""

from __future__ import annotations

import argparse
import csv
import functools
import multiprocessing
import re
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from porter import detect, findings, link, rules
from porter.config import Config
from porter.discover import discover
from porter.examine import Auditor, Examined
from porter.model import Confidence, Finding, Problem
from porter.parse import parser_of

CUE = re.compile(
    r"\b(?:32|31|5|16|0x1f|0xf{8}u?|64|63)\b|warp|wave|lane|shfl|ballot|_sync\b|mask|__popc|__ffs|__clz|WS\b|<<<|__any|__all|activemask",
    re.I,
)
ROWS = ("adapted_wave64", "mask_sync_only", "warp_code_unchanged", "arch_macro_other", "no_warp_code")


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a table with a header."""
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle, delimiter="\t"))


@functools.cache
def warp_rules() -> rules.RuleSet:
    """The rules of the category warp-size, and others of the same folder, which share their detectors."""
    loaded = rules.load()
    wanted = {name: rule for name, rule in loaded.rules.items() if "warp-size" in (rule.category, rule.area)}
    return rules.RuleSet(wanted, loaded.version)


def scan(folder: Path) -> list[Finding]:
    """What the category warp-size says of one program: findings, and lines that a build for AMD never compiles."""
    config = Config(jobs=1)
    found = discover(folder, config)
    first = Auditor(config, warp_rules(), folder)
    entries = [entry for entry in found.entries if entry.kind in ("cuda", "cxx", "python", "make", "cmake")]
    surveys = [surveyed.survey for entry in entries if (surveyed := first.survey(entry)).survey is not None]
    first.index = link.link(surveys)
    examined = []
    for entry in entries:
        source = first.load(entry)
        parse = None if isinstance(source, Problem) else parser_of(source.kind)
        if isinstance(source, Problem) or parse is None:
            continue
        parsed = parse(source)
        first.index.enrich(parsed)
        hits, problems = detect.detect(parsed, first.index, config, first.matcher, first.detectors)
        for problem in problems:
            print(problem, file=sys.stderr)
        examined.append(Examined(source.path, source.kind, source.origin, 0, hits=tuple(hits)))
    work, insights = findings.assemble(examined, warp_rules(), config)
    return [*work, *insights]


def scan_named(folder: Path) -> tuple[str, list[Finding]]:
    """The same with the program's name, for a pool of workers."""
    return folder.name.removesuffix("-cuda"), scan(folder)


def covered(listed: list[Finding]) -> set[tuple[str, int]]:
    """Lines that lie in a finding or in its group."""
    lines: set[tuple[str, int]] = set()
    for finding in listed:
        lines |= {(finding.path, line) for line in range(finding.line, finding.end_line + 1)}
        lines |= {(place.path, place.line) for place in finding.related}
    return lines


def line_recall(root: Path, rows: list[dict[str, str]], found: dict[str, list[Finding]], verbose: bool) -> tuple[int, int]:
    """How many changed lines with a warp cue lie within a finding's group, and of how many."""
    wanted: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for row in rows:
        for number in row["line_numbers"].split(","):
            wanted[row["name"]].add((row["cuda_file"], int(number)))
    hit = total = 0
    for name, places in sorted(wanted.items()):
        if name not in found:
            continue
        have = covered(found[name])
        for path, line in sorted(places):
            source = root / "src" / f"{name}-cuda" / path
            text = source.read_text("utf-8", "replace").splitlines()[line - 1] if source.is_file() else ""
            if not CUE.search(text):
                continue
            total += 1
            hit += (path, line) in have
            if verbose and (path, line) not in have:
                print(f"line not covered: {name} {path}:{line}: {text.strip()[:110]}", file=sys.stderr)
    return hit, total


def main() -> int:
    """Scan every program of the truth table and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("hecbench", type=Path)
    options.add_argument("truth", type=Path)
    options.add_argument("lines", type=Path, nargs="?")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--verbose", action="store_true")
    given = options.parse_args()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    start = time.monotonic()
    folders = [given.hecbench / "src" / f"{row['name']}-cuda" for row in read(given.truth)]
    with multiprocessing.Pool(given.jobs) as pool:
        found = dict(pool.imap_unordered(scan_named, [folder for folder in folders if folder.is_dir()], chunksize=4))
    for row in read(given.truth):
        if row["name"] not in found:
            continue
        sure = [one for one in found[row["name"]] if one.category == "warp-size" and one.confidence >= Confidence.MEDIUM]
        counts[row["label"]]["programs"] += 1
        counts[row["label"]]["flagged"] += bool(sure)
        counts[row["label"]]["major"] += any(finding.severity.rank >= 2 for finding in sure)
        wrong = (row["label"] == "adapted_wave64") != bool(sure)
        if given.verbose and wrong and row["label"] in ("adapted_wave64", "no_warp_code"):
            shown = ", ".join(sorted({f"{f.rule} {f.path}:{f.line}" for f in sure})[:6])
            print(f"{row['label']}: {row['name']}: {shown or 'not flagged'}", file=sys.stderr)
    print("| label | programs | flagged, medium or higher | flagged major or worse |\n|---|---|---|---|")
    for label in ROWS:
        count = counts[label]
        if count["programs"]:
            share = 100 * count["flagged"] / count["programs"]
            print(f"| {label} | {count['programs']} | {count['flagged']} ({share:.1f} %) | {count['major']} |")
    if given.lines is not None:
        hit, total = line_recall(given.hecbench, read(given.lines), found, given.verbose)
        print(f"\nChanged lines with a warp cue inside a finding's group: {hit} of {total} ({100 * hit / max(1, total):.1f} %)")
    print(f"\n{len(found)} programs in {time.monotonic() - start:.1f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
