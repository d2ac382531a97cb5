"""The line: audit(root, config) -> Report, readable from top to bottom."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from porter import __version__, estimate, findings, link, origin, rules, workers
from porter.commit import commit_of
from porter.config import Config
from porter.discover import Discovery, Entry, discover
from porter.examine import SURVEYED, Auditor, Examined, Surveyed
from porter.hipify import perl
from porter.model import (
    Estimate,
    FileRecord,
    HipifySummary,
    Kernel,
    Origin,
    OriginCount,
    Problem,
    Related,
    Report,
    Skipped,
)  # fmt: skip
from porter.rules import RuleSet

Progress = Callable[[str, int, int], None]  # stage, bytes done, bytes in all


def audit(root: Path, config: Config, progress: Progress = lambda *_: None, command: str = "") -> Report:
    """Everything porter can say of a repository; raises PorterError when there is nothing to say it of."""
    ruleset = rules.load(config.rules_dirs)
    found = discover(root, config)
    base = root.resolve() if root.is_dir() else root.resolve().parent
    surveys = _survey(base, config, ruleset, found.entries, progress)
    index = link.link([s.survey for s in surveys if s.survey is not None], config.defines)
    examined = _examine(base, config, ruleset, index, found.entries, progress)
    work, insights = findings.assemble(examined, ruleset, config)
    own = [one for one in examined if _is_own(one, config)]
    cost, shares = estimate.estimate(work, own, ruleset, config)
    return _report(base, config, ruleset, found, examined, own, findings.with_hours(work, shares), insights, cost, command)


def _survey(base: Path, config: Config, ruleset: RuleSet, entries: Iterable[Entry], progress: Progress) -> list[Surveyed]:
    wanted = [e for e in entries if e.kind in SURVEYED and (e.kind != "python" or e.path.endswith("setup.py"))]
    wanted = [e for e in wanted if e.origin in (Origin.OWN, Origin.AMD) or config.include_vendored]
    out = []
    for outcome in _over(Auditor, (config, ruleset, base), "survey", wanted, config, progress, "survey"):
        out.append(outcome.value or Surveyed(outcome.task.path, None))
    return sorted(out, key=lambda s: s.path)


def _examine(base: Path, config: Config, ruleset: RuleSet, index: Any, entries: Iterable[Entry], progress: Progress) -> list[Examined]:
    out = []
    entries = list(entries)
    for outcome in _over(
        Auditor,
        (config, ruleset, base, index, origin.own_modules([e.path for e in entries if e.origin is Origin.OWN])),
        "examine",
        entries,
        config,
        progress,
        "examine",
    ):
        entry = outcome.task
        dead = Examined(
            entry.path, entry.kind, entry.origin, 0, 0.0, problems=(Problem("parse", entry.path, 0, outcome.death),), counted=False
        )
        out.append(dead if outcome.death else outcome.value)
    return sorted(out, key=lambda one: one.path)


def _over(
    make: Callable[..., Any], args: tuple[Any, ...], method: str, tasks: list[Entry], config: Config, progress: Progress, stage: str
) -> Iterable[workers.Outcome]:
    done, total = 0, sum(task.size for task in tasks)
    progress(stage, 0, total)
    for outcome in workers.run(make, args, method, tasks, lambda task: task.size, config.jobs):
        done += outcome.task.size
        progress(stage, done, total)
        yield outcome


def _is_own(one: Examined, config: Config) -> bool:
    """Whether a file counts in the totals; --include-vendored counts third-party and machine-made code too, never the AMD side."""
    if not one.counted:
        return False
    return one.origin is Origin.OWN or (config.include_vendored and one.origin is not Origin.AMD)


def _report(
    base: Path, config: Config, ruleset: RuleSet, found: Discovery, examined: list[Examined], own: list[Examined],
    work: tuple[Any, ...], insights: tuple[Any, ...], cost: Estimate, command: str,
) -> Report:  # fmt: skip
    cuda = [one for one in own if one.kind == "cuda"]
    problems = sorted({*found.problems, *(p for one in examined for p in one.problems)})
    return Report(
        tool_version=__version__, rules_version=ruleset.version, root=base.name, commit=commit_of(base), targets=config.targets,
        rocm=config.rocm, files=tuple(FileRecord(o.path, o.kind, o.lines, o.hipify, o.coverage) for o in own), findings=work,
        insights=insights, estimate=cost, hipify=_hipify_summary(config, own), kernels=_kernels(own), problems=tuple(problems),
        skipped=_skipped(found, examined, config), origins=_origins(examined), cuda_files=len(cuda),
        cuda_lines=sum(o.lines for o in cuda), rules=_used_rules(ruleset, work, insights), command=command,
        amd_signs=_amd_signs(own, examined),
    )  # fmt: skip


def _amd_signs(own: list[Examined], examined: list[Examined]) -> tuple[Related, ...]:
    """Every place in own code that knows AMD, and every AMD-side file of CUDA or build kind."""
    sides = [
        Related(o.path, 1, "AMD-side file")
        for o in examined
        if o.origin is Origin.AMD and o.kind in ("cuda", "cxx", "requirements", "docker")
    ]
    return tuple(sorted([sign for one in own for sign in one.amd_signs] + sides))


def _used_rules(ruleset: RuleSet, *lists: tuple[Any, ...]) -> dict[str, Any]:
    return {rule: ruleset.rules[rule] for rule in sorted({f.rule for found in lists for f in found})}


def _kernels(own: list[Examined]) -> tuple[Kernel, ...]:
    return tuple(sorted((k for one in own for k in one.kernels), key=lambda k: (k.path, k.line, k.name)))


def _hipify_summary(config: Config, own: list[Examined]) -> HipifySummary:
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


def _origins(examined: list[Examined]) -> tuple[OriginCount, ...]:
    files: Counter[str] = Counter()
    cuda: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for one in examined:
        files[one.origin.value] += 1
        if one.kind == "cuda":
            cuda[one.origin.value] += 1
            lines[one.origin.value] += one.lines
    return tuple(OriginCount(o.value, files[o.value], cuda[o.value], lines[o.value]) for o in Origin)


def _skipped(found: Discovery, examined: list[Examined], config: Config) -> tuple[Skipped, ...]:
    """What is not in the totals: one line a folder for what is counted apart, one line a file for what was left out."""
    by_path = {entry.path: entry for entry in found.entries}
    places: dict[tuple[str, str, str], list[Examined]] = defaultdict(list)
    for one in examined:
        if one.origin is Origin.OWN or _is_own(one, config):
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
