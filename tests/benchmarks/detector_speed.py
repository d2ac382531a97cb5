"""Time of all detectors on CUDA sources, on one core, as a multiple of tree-sitter's parse alone.

Usage: python tests/benchmarks/detector_speed.py FOLDER... [--lines N] [--profile]

Reads CUDA files below the folders, in order of their paths, until N lines (default 100,000) are together. Reading from the disk and
linking are not in the times; nothing of the sources is stored here.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from pathlib import Path

import tree_sitter
import tree_sitter_cuda

from porter import detect, link, rules
from porter.config import Config
from porter.examine import Auditor
from porter.kinds import decode, kind_of
from porter.model import SourceFile
from porter.parse.cuda import parse

MAX_BYTES = 2_000_000


def gather(folders: list[Path], lines: int) -> list[SourceFile]:
    """CUDA files until there are enough lines."""
    found: list[SourceFile] = []
    count = 0
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in (".cu", ".cuh", ".h", ".hpp")):
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            continue
        data = decode(path.read_bytes())
        if kind_of(str(path), data) == "cuda":
            found.append(SourceFile(str(path), "cuda", data))
            count += data.count(b"\n")
            if count >= lines:
                break
    return found


def main() -> int:
    """Print the times of the stages."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folders", type=Path, nargs="+")
    options.add_argument("--lines", type=int, default=100_000)
    options.add_argument("--profile", action="store_true")
    given = options.parse_args()
    sources = gather(given.folders, given.lines)
    config = Config(jobs=1)
    grammar = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    start = time.process_time()
    for source in sources:
        grammar.parse(source.data)
    alone = time.process_time() - start
    start = time.process_time()
    parsed = [parse(source) for source in sources]
    facts = time.process_time() - start
    start = time.process_time()
    index = link.link([link.survey(one) for one in parsed])
    linked = time.process_time() - start
    audit = Auditor(config, rules.load(), index=index)
    profile = cProfile.Profile()
    if given.profile:
        profile.enable()
    start = time.process_time()
    hits = 0
    for one in parsed:
        index.enrich(one)
        hits += len(detect.detect(one, index, config, audit.matcher, audit.detectors)[0])
    detected = time.process_time() - start
    profile.disable()
    lines = sum(source.data.count(b"\n") for source in sources)
    print(f"{len(sources)} files, {lines} lines, {hits} hits\n\n| stage | seconds | times the parse alone |\n|---|---|---|")
    stages = (
        ("tree-sitter's parse alone", alone),
        ("parse with facts", facts),
        ("survey and linking", linked),
        ("all detectors", detected),
    )
    for name, seconds in (*stages, ("together", facts + linked + detected)):
        print(f"| {name} | {seconds:.2f} | {seconds / alone:.1f} |")
    if given.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
