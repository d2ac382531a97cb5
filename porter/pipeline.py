"""The line: audit(root, config) -> Report, readable from top to bottom."""

from __future__ import annotations

import contextlib
from pathlib import Path

from porter import __version__, advise, changes, estimate, findings, inventory, link, origin, own_names, ported, remembered, rules, suppress
from porter.commit import commit_of
from porter.config import Config
from porter.discover import Discovery, discover
from porter.estimate import hand_lines
from porter.examine import Surveyed
from porter.model import Origin, Report
from porter.passes import Passes, Progress
from porter.size import section
from porter.unchanged import Watch


def audit(
    root: Path, config: Config, progress: Progress = lambda *_: None, command: str = "", ruleset: rules.RuleSet | None = None,
    watch: Watch | None = None,
) -> Report:  # fmt: skip
    """Everything porter can say of a repository; raises PorterError when there is nothing to say it of.

    ``ruleset`` are rules loaded before, for callers that audit many repositories; ``watch`` is told of a tree that can be remembered.
    """
    ruleset = ruleset or remembered.ruleset(config)
    found = discover(root, config)
    base = root.resolve() if root.is_dir() else root.resolve().parent
    commit = commit_of(base)
    with contextlib.closing(Passes(base, config, ruleset, progress)) as passes:
        beside = (found.skipped, found.problems, base.name, root.is_dir(), commit, command)
        report = passes.known_report(found.entries, beside)
        if report is None:
            report = passes.keep_report(found.entries, beside, _made(root, passes, found, commit, command))
        if watch is not None:
            watch.remember(found.folders, {entry.path: entry.size for entry in found.entries}, passes.kept)
        return report


def _made(root: Path, passes: Passes, found: Discovery, commit: str, command: str) -> Report:
    """The report on what was found in a tree."""
    config, ruleset, base = passes.config, passes.ruleset, passes.base
    scope, changed = changes.since(root, config.changed_since, config.git, found.entries) if config.changed_since else (None, frozenset())
    looked_at = [entry for entry in found.entries if scope is None or entry.path in changed]
    modules = origin.own_modules(e.path for e in found.entries if e.origin is Origin.OWN)
    modules |= passes.own_names(found.entries) if looked_at else frozenset()
    surveys: list[Surveyed] = []
    index = link.link([], config.defines)
    spill = passes.aside.spill
    examined = passes.examine_alone(looked_at, index, modules) if scope is not None else None
    if examined is None:
        surveys = passes.survey(found.entries)
        known = [s.survey for s in surveys if s.survey is not None]
        index = link.link(known, config.defines, spill if passes.aside.is_full else None)
        examined = passes.examine(looked_at, surveys, index, modules)
    own = [one for one in examined if inventory.is_own(one, config)]
    signs = ported.signs_of_amd(own, examined)
    is_ported = ported.builds_for_amd(signs)
    off_path = ported.off_the_amd_path(examined, ruleset, index) if is_ported else frozenset()
    everything, insights = findings.assemble(examined, ruleset, config, is_ported, off_path, spill)
    work, hidden, why, notes = suppress.apply(everything, examined, ruleset, config)
    cost, shares = estimate.estimate(work, own, ruleset, config, is_ported)
    cuda = [one for one in own if one.kind == "cuda"]
    report = Report(
        tool_version=__version__, rules_version=ruleset.version, root=base.name, commit=commit, targets=config.targets,
        rocm=config.rocm, files=inventory.records(own), findings=findings.with_hours(work, shares), insights=insights, estimate=cost,
        hipify=inventory.hipify_summary(config, own), kernels=inventory.kernels(own, spill),
        problems=inventory.problems(found, surveys, examined, (*config.notes, *notes, *([changes.note(scope)] if scope else []))),
        skipped=inventory.skipped(found, examined, config), origins=inventory.origins(examined), cuda_files=len(cuda),
        cuda_lines=sum(one.lines for one in cuda), rules=inventory.used_rules(ruleset, everything, insights), command=command,
        amd_signs=signs, already_ported=is_ported, suppressed=hidden, suppressions=why, backtest=hand_lines.backtest(), scope=scope,
        sizing=section.of_audit(base, own, config),
    )  # fmt: skip
    return advise.advised(report, own_names.known_by(modules, ruleset.rules.values()))
