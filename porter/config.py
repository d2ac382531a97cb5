"""Config: one frozen value with every setting of a run, filled from the options and the settings file."""

from __future__ import annotations

import fnmatch
import re

import msgspec

from porter.errors import ConfigError
from porter.model import Problem, Severity

DEFAULT_TARGETS = ("gfx942", "gfx950")
WAVE64 = ("gfx9*", "gfx8*")
# Names of processors: major version, then a digit each for minor version and stepping (the stepping in hexadecimal); gfx8, gfx9 and gfx10
# on are those that HIP ever had.
TARGET = re.compile(r"gfx(?:[89]|1\d)\d[0-9a-f]\Z")
MAX_BYTES = 8 * 1024 * 1024


class PathRule(msgspec.Struct, frozen=True):
    """What the settings say of paths that match a .gitignore pattern: rule globs to suppress, and another severity.

    ``until`` is the last day on which it counts (2027-01-31), empty for always.
    """

    pattern: str
    ignore: tuple[str, ...] = ()
    severity: Severity | None = None
    reason: str = ""
    until: str = ""


class EffortSettings(msgspec.Struct, frozen=True):
    """What only the user knows of the team ([tool.porter.effort]); 0 and "" mean not given, and then nothing is assumed.

    ``rate`` is money an hour; ``experience`` and ``assistance`` are factors on hours: all of them, and those of fixing.
    """

    rate: float = 0.0
    currency: str = ""
    experience: float = 0.0  # 0.7 for a team that has ported before, 1.5 for one new to GPUs
    assistance: float = 0.0  # 0.7 where tools write 30 % of the fixes; verification is never made cheaper


class Config(msgspec.Struct, frozen=True):
    """Settings of a scan. ``max_bytes`` limits a file's size in bytes; ``jobs`` is the number of worker processes.

    ``hipify_perl`` is the path of hipify-perl, empty for none; ``defines`` are -D macros of the build for AMD. ``today`` is the
    date (2026-12-01) that suppressions with an end are held against, empty for never; ``notes`` say where settings came from.
    """

    targets: tuple[str, ...] = DEFAULT_TARGETS
    rocm: str = "7.2"
    exclude: tuple[str, ...] = ()
    include_vendored: bool = False
    jobs: int = 2
    rules_dirs: tuple[str, ...] = ()
    hipify_perl: str = ""
    hipify_timeout: float = 60.0
    defines: tuple[str, ...] = ()
    max_bytes: int = MAX_BYTES
    seed: int = 20261201
    severities: tuple[tuple[str, Severity], ...] = ()  # rule glob and its severity, the last that fits counts
    per_path: tuple[PathRule, ...] = ()
    require_reason: bool = False
    today: str = ""
    notes: tuple[Problem, ...] = ()
    effort: EffortSettings = EffortSettings()
    cache_dir: str = ""  # empty: nothing is remembered
    changed_since: str = ""  # a git revision: only files that differ from it are looked at
    models: tuple[str, ...] = ()  # to size: a config.json, a folder with one, or a public name
    prices: str = ""  # a file with monthly prices of servers
    throughput: tuple[tuple[str, float], ...] = ()  # GPU (empty: every one) and tokens a second of one replica, as the user measured them
    git: str = ""  # the path of git, for changed_since

    @property
    def wave64_targets(self) -> tuple[str, ...]:
        """The targets whose wavefront has 64 lanes (all gfx9; gfx10 and later run wave32, gfx1250 too)."""
        return tuple(t for t in self.targets if any(fnmatch.fnmatchcase(t, glob) for glob in WAVE64))


def check_targets(targets: tuple[str, ...]) -> tuple[str, ...]:
    """The targets in order without doubles; raises ConfigError for what is no gfx name."""
    out: list[str] = []
    for target in targets:
        name = target.strip().lower()
        if not name:
            continue
        if not TARGET.match(name):
            raise ConfigError(f"'{target}' is not a GPU target", "targets look like gfx90a, gfx942, gfx950 or gfx1100, separated by commas")
        if name not in out:
            out.append(name)
    if not out:
        raise ConfigError("no GPU target given", "for example --target gfx942,gfx950")
    return tuple(out)
