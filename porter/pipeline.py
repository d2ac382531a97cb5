"""The line: audit(root, config) -> Report, readable from top to bottom."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from porter import __version__, advise, estimate, findings, inventory, link, origin, ported, rules, suppress, workers
from porter.commit import commit_of
from porter.config import Config
from porter.discover import Entry, discover
from porter.estimate import hand_lines
from porter.examine import SURVEYED, Auditor, Examined, Surveyed
from porter.model import Origin, Problem, Report
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
    own = [one for one in examined if inventory.is_own(one, config)]
    signs = ported.signs_of_amd(own, examined)
    is_ported = ported.builds_for_amd(signs)
    off_path = ported.off_the_amd_path(examined, ruleset, index) if is_ported else frozenset()
    everything, insights = findings.assemble(examined, ruleset, config, is_ported, off_path)
    work, hidden, why, notes = suppress.apply(everything, examined, ruleset, config)
    cost, shares = estimate.estimate(work, own, ruleset, config, is_ported)
    cuda = [one for one in own if one.kind == "cuda"]
    report = Report(
        tool_version=__version__, rules_version=ruleset.version, root=base.name, commit=commit_of(base), targets=config.targets,
        rocm=config.rocm, files=inventory.records(own), findings=findings.with_hours(work, shares), insights=insights, estimate=cost,
        hipify=inventory.hipify_summary(config, own), kernels=inventory.kernels(own),
        problems=inventory.problems(found, surveys, examined, (*config.notes, *notes)),
        skipped=inventory.skipped(found, examined, config), origins=inventory.origins(examined), cuda_files=len(cuda),
        cuda_lines=sum(one.lines for one in cuda), rules=inventory.used_rules(ruleset, everything, insights), command=command,
        amd_signs=signs, already_ported=is_ported, suppressed=hidden, suppressions=why, backtest=hand_lines.backtest(),
    )  # fmt: skip
    return advise.advised(report)


def _survey(base: Path, config: Config, ruleset: RuleSet, entries: Iterable[Entry], progress: Progress) -> list[Surveyed]:
    wanted = [e for e in entries if e.kind in SURVEYED and (e.kind != "python" or e.path.endswith("setup.py"))]
    wanted = [e for e in wanted if e.origin in (Origin.OWN, Origin.AMD) or config.include_vendored]
    outcomes = _over((config, ruleset, base), "survey", wanted, config, progress)
    # A file that kills its worker here is named by the examination.
    return sorted((o.value or Surveyed(o.task.path, None) for o in outcomes), key=lambda survey: survey.path)


def _examine(base: Path, config: Config, ruleset: RuleSet, index: Any, entries: Iterable[Entry], progress: Progress) -> list[Examined]:
    entries = list(entries)
    modules = origin.own_modules([entry.path for entry in entries if entry.origin is Origin.OWN])
    outcomes = _over((config, ruleset, base, index, modules), "examine", entries, config, progress)
    return sorted((_dead(o.task, o.death) if o.death else o.value for o in outcomes), key=lambda one: one.path)


def _dead(entry: Entry, words: str) -> Examined:
    problem = Problem("parse", entry.path, 0, words)
    return Examined(entry.path, entry.kind, entry.origin, 0, 0.0, problems=(problem,), counted=False)


def _over(args: tuple[Any, ...], method: str, tasks: list[Entry], config: Config, progress: Progress) -> list[workers.Outcome]:
    """What every file gave, with progress in bytes; the workers end with this function, whatever ends it."""
    done, total = 0, sum(task.size for task in tasks)
    progress(method, 0, total)
    out = []
    with contextlib.closing(workers.run(Auditor, args, method, tasks, lambda task: task.size, config.jobs)) as outcomes:
        for outcome in outcomes:
            out.append(outcome)
            done += outcome.task.size
            progress(method, done, total)
    return out
