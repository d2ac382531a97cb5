"""Inventory: everything in a report beside findings and hours: files, kernels, translation, origins, what was skipped."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from porter import __version__
from porter.config import Config
from porter.discover import Discovery
from porter.examine import Examined, Surveyed
from porter.hipify import perl
from porter.many import Many
from porter.model import FileRecord, Finding, HipifySummary, Kernel, Origin, OriginCount, Problem, Rule, Skipped
from porter.pages import Filling
from porter.rules import RuleSet
from porter.spill import Spill


def is_own(one: Examined, config: Config) -> bool:
    """Whether a file counts in the totals; --include-vendored counts third-party and machine-made code too, never the AMD side."""
    if not one.counted:
        return False
    return one.origin is Origin.OWN or (config.include_vendored and one.origin is not Origin.AMD)


def records(own: list[Examined]) -> tuple[FileRecord, ...]:
    """One record a scanned file."""
    return tuple(FileRecord(o.path, o.kind, o.lines, o.hipify, o.coverage, o.context, o.tests) for o in own)


def problems(found: Discovery, surveys: list[Surveyed], examined: list[Examined], others: Iterable[Problem] = ()) -> tuple[Problem, ...]:
    """All problems of the walk and of the files, and the ``others``, in order, without doubles."""
    seen = [p for survey in surveys for p in survey.problems] + [p for one in examined for p in one.problems]
    return tuple(sorted({*found.problems, *seen, *others}))


def used_rules(ruleset: RuleSet, *lists: Iterable[Finding]) -> dict[str, Rule]:
    """The rules that some finding or insight names, by id."""
    return {rule: ruleset.rules[rule] for rule in sorted({f.rule for found in lists for f in found})}


def kernels(own: list[Examined], spill: Spill) -> Many[Kernel]:
    """Every __global__ function of own code, by path and line; very many go to ``spill``."""
    all_kernels = Filling(Kernel, spill)
    for one in sorted(own, key=lambda held: held.path):
        all_kernels.extend(sorted(one.kernels, key=lambda kernel: (kernel.line, kernel.name)))
    return all_kernels.done()


def hipify_summary(config: Config, own: list[Examined]) -> HipifySummary:
    """Which engine translated, what it converted and left, and what a reader should know of it."""
    counts = [one.hipify for one in own if one.hipify is not None]
    engines = Counter(count.engine for count in counts)
    engine = "hipify-perl" if engines.get("hipify-perl") else "builtin"
    version = perl.version(Path(config.hipify_perl)) if engine == "hipify-perl" else __version__
    notes = []
    if engine == "hipify-perl" and engines["builtin"]:
        notes.append(f"hipify-perl failed on {engines['builtin']} files; the built-in engine's output is shown for them")
    differing = sum(1 for count in counts if count.disagreement)
    if differing:
        notes.append(f"the built-in engine and hipify-perl differ in {differing} of {len(counts)} files")
    if not config.hipify_perl:
        notes.append("hipify-perl was not found; the built-in engine translated")
    return HipifySummary(engine, version, sum(c.converted for c in counts), sum(c.unconverted for c in counts), tuple(notes))


def origins(examined: list[Examined]) -> tuple[OriginCount, ...]:
    """Files and CUDA lines of each origin."""
    files: Counter[str] = Counter()
    cuda: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for one in examined:
        files[one.origin.value] += 1
        if one.kind == "cuda":
            cuda[one.origin.value] += 1
            lines[one.origin.value] += one.lines
    return tuple(OriginCount(o.value, files[o.value], cuda[o.value], lines[o.value]) for o in Origin)


def skipped(found: Discovery, examined: list[Examined], config: Config) -> tuple[Skipped, ...]:
    """What is not in the totals: one line a folder for what is counted apart, one line a file for what was left out."""
    by_path = {entry.path: entry for entry in found.entries}
    places: dict[tuple[str, str, str], list[Examined]] = defaultdict(list)
    for one in examined:
        if one.origin is Origin.OWN or is_own(one, config):
            continue
        entry = by_path[one.path]
        why = entry.why or "generated: its head says that a machine wrote it"
        place = entry.place if entry.why else one.path
        places[(place, why, one.origin.value)].append(one)
    out = list(found.skipped)
    for (place, why, whose), members in places.items():
        cuda = [one for one in members if one.kind == "cuda"]
        out.append(Skipped(place, why, whose, len(members), len(cuda), sum(one.lines for one in cuda)))
    return tuple(sorted(out))
