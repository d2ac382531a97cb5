"""Scan time with 1,000 data rules against 100, on one tree, detectors the same: what the size of the catalogue costs.

python tests/benchmarks/rules_scale.py PATH [--runs 5]
"""

from __future__ import annotations

import random
import re
import statistics
import time
from pathlib import Path

import click
import msgspec

from porter import link, origin, rules
from porter.config import Config
from porter.discover import Entry, discover
from porter.examine import SURVEYED, Auditor
from porter.model import Origin, Rule
from porter.rules import RuleSet

SMALL, LARGE = 100, 1000
SEED = 7
WORD = re.compile(r"[A-Za-z]{3,}")


def sized(ruleset: RuleSet, size: int) -> RuleSet:
    """All rules with a detector and ``size`` data rules: a seeded choice of SMALL real ones, the rest variants with other names.

    Other real rules would find more and make more files worth reading, which is no cost of the look-up.
    """
    data = [rule for rule in ruleset.rules.values() if not rule.detector]
    random.Random(SEED).shuffle(data)
    chosen = data[:SMALL]
    for number in range(size - SMALL):
        chosen.append(variant(data[number % len(data)], number))
    with_detector = [rule for rule in ruleset.rules.values() if rule.detector]
    return RuleSet({rule.id: rule for rule in [*with_detector, *chosen]}, "benchmark")


def variant(rule: Rule, number: int) -> Rule:
    """A rule of the same shape whose names nothing uses: every word is spelt backwards and numbered in letters."""
    mark = "q" + chr(ord("a") + number % 26) + chr(ord("a") + number // 26 % 26)
    match = {kind: tuple(WORD.sub(lambda m: m[0][::-1] + mark, name) for name in names) for kind, names in rule.match.items()}
    return msgspec.structs.replace(rule, id=f"{rule.id}-v{number}", match=match)


def seconds(root: Path, entries: list[Entry], ruleset: RuleSet) -> float:
    """CPU seconds of survey, link and examination of all files in this process; rules are loaded already."""
    start = time.process_time()
    config = Config(jobs=0)
    first = Auditor(config, ruleset, root)
    surveys = [first.survey(entry).survey for entry in entries if entry.kind in SURVEYED]
    index = link.link([survey for survey in surveys if survey is not None], ())
    auditor = Auditor(config, ruleset, root, index, origin.own_modules([entry.path for entry in entries if entry.origin is Origin.OWN]))
    for entry in entries:
        auditor.examine(entry)
    return time.process_time() - start


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--runs", default=5, show_default=True)
def main(path: Path, runs: int) -> None:
    """Print the median scan time with each catalogue and their ratio."""
    start = time.process_time()
    ruleset = rules.load()
    load = (time.process_time() - start) / len(ruleset.rules)
    root = path.resolve()
    entries = list(discover(root, Config()).entries)
    sets = {size: sized(ruleset, size) for size in (SMALL, LARGE)}
    times: dict[int, list[float]] = {SMALL: [], LARGE: []}
    for _ in range(runs):
        for size in (SMALL, LARGE):  # in turn, so that a busy machine slows both
            times[size].append(seconds(root, entries, sets[size]))
    small, large = (statistics.median(times[size]) for size in (SMALL, LARGE))
    click.echo(f"{len(entries)} files, {runs} runs")
    click.echo(f"{SMALL} data rules: {small:.2f} s of CPU time; {LARGE}: {large:.2f} s; {100 * (large / small - 1):+.1f} %")
    click.echo(f"reading the rules: {1000 * load:.2f} ms a rule, once a process")


if __name__ == "__main__":
    main()
