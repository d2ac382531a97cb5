"""What a verification adds to a report: the rungs that compilers have shown, and a grade that knows of them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from porter.errors import ConfigError
from porter.estimate.grade import NO_HOURS, UNPROVED, letter
from porter.model import Evidence, Report
from porter.verify.values import RUNGS, FileResult, Verification

COMPILES = RUNGS.index("compiles")


def confirmed(report: Report, done: Verification) -> Report:
    """The report with the evidence; its grade says what compilers found in place of that nobody asked them.

    Raises ConfigError where this machine has a compiler for none of the targets.
    """
    asked = {target: words for target, words in done.compilers.items() if not words.startswith("none")}
    if not asked:
        raise no_compiler(done.targets)
    cuda = {record.path for record in report.files if record.kind == "cuda"}
    files = [file for file in done.files if file.path in cuda]
    rungs = {file.path: _lowest(file, asked) for file in files}
    unjudged = tuple(file.path for file in files if file.missing and RUNGS.index(rungs[file.path]) < COMPILES)
    unseen = tuple(sorted({problem.path for problem in done.problems} & cuda - rungs.keys()))
    rungs |= dict.fromkeys(unseen, RUNGS[0])
    evidence = Evidence(asked, rungs, (*unjudged, *unseen), len(done.errors), len(done.errors) - done.predicted, done.rocm)
    before = report.estimate
    if UNPROVED not in before.grade_reasons:
        return msgspec.structs.replace(report, evidence=evidence)
    reasons = (*_reasons(evidence, len(unseen)), *(reason for reason in before.grade_reasons if reason != UNPROVED))
    estimate = msgspec.structs.replace(before, grade=letter(reasons), grade_reasons=reasons)
    return msgspec.structs.replace(report, evidence=evidence, estimate=estimate)


def no_compiler(targets: Sequence[str]) -> ConfigError:
    """What --verify says on a machine without a compiler."""
    return ConfigError(f"--verify: no compiler for {', '.join(targets)} on this machine", "porter doctor says how to get one")


def _lowest(file: FileResult, asked: dict[str, str]) -> str:
    """The lowest rung on targets that a compiler was asked about."""
    return min((file.by_target[target] for target in asked if target in file.by_target), key=RUNGS.index, default=file.rung)


def _reasons(evidence: Evidence, unseen: int) -> list[str]:
    """What compilers leave open; ``unseen`` files were given to none."""
    low = sum(1 for path, rung in evidence.rungs.items() if RUNGS.index(rung) < COMPILES and path not in evidence.unjudged)
    out = [NO_HOURS]
    if low:
        out.append(f"{low:,} of {len(evidence.rungs):,} CUDA files do not compile yet after the translation")
    if lacking := len(evidence.unjudged) - unseen:
        out.append(f"{lacking:,} of {len(evidence.rungs):,} CUDA files include headers that this machine lacks: not compiled")
    if unseen:
        out.append(f"{unseen:,} of {len(evidence.rungs):,} CUDA files were not given to a compiler (porter verify says why)")
    if evidence.unpredicted:
        out.append(f"{evidence.unpredicted:,} of {evidence.errors:,} compiler errors were predicted by no finding")
    return out
