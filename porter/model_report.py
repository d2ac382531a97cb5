"""What the report says of the whole: effort, hipify's sums, origins, suppressions, the baseline."""

from __future__ import annotations

import msgspec

from porter.model_rule import Hours, Quantiles


class EffortLine(msgspec.Struct, frozen=True):
    """One line of the sum: what it is, the arithmetic in words, its hours, the findings it covers."""

    label: str
    arithmetic: str
    hours: Hours
    rule: str = ""
    group: str = ""
    category: str = ""
    findings: int = 0
    files: int = 0
    kind: str = "finding"  # finding, project


class Estimate(msgspec.Struct, frozen=True):
    """The total in hours and in hand-changed lines, with every line of the sum."""

    hours: Quantiles = Quantiles()
    hand_lines: Quantiles = Quantiles()
    lines: tuple[EffortLine, ...] = ()
    total: Hours = Hours()
    seed: int = 0
    grade: str = ""
    grade_reasons: tuple[str, ...] = ()


class HipifySummary(msgspec.Struct, frozen=True):
    """Which engine's output the report shows, and what it did in all own CUDA files."""

    engine: str = "builtin"
    version: str = ""
    converted: int = 0
    unconverted: int = 0
    notes: tuple[str, ...] = ()


class OriginCount(msgspec.Struct, frozen=True):
    """Files, CUDA files and CUDA lines of one origin."""

    origin: str
    files: int = 0
    cuda_files: int = 0
    cuda_lines: int = 0


class Suppression(msgspec.Struct, frozen=True):
    """Why a finding is out of the totals: a comment in the source (kind "inSource") or the settings ("external")."""

    kind: str
    path: str
    line: int
    reason: str = ""


class Baseline(msgspec.Struct, frozen=True):
    """What the report was compared with (a file name or a revision), the counts, and the debt in hours before and after.

    ``change`` is the difference of the sums of likely hours, finer than the simulated totals, which are rounded.
    """

    source: str
    commit: str
    new: int
    fixed: int
    unchanged: int
    before: Quantiles
    after: Quantiles
    change: float = 0.0
