"""Ported: whether a project already builds for AMD, and the places in its own code that say so."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from porter import built
from porter.examine import Examined
from porter.hipify import api
from porter.link import Index
from porter.model import AMD_SIGNS_OF_A_PORT, Live, Origin, Related, Severity
from porter.origin import is_amd_name
from porter.rules import RuleSet

CODE_KINDS = frozenset({"cuda", "cxx"})
NVIDIA_FOLDER = re.compile(r"(\A|/)nvidia/")
SIDE_KINDS = frozenset({"cuda", "cxx", "requirements", "docker"})
NAMED_KINDS = frozenset({"make", "cmake"})  # these count where their own name says AMD: a folder called hip holds a Makefile anyway
BUILD_FILE = re.compile(
    r"(?i)(\A|/)(setup\.py|CMakeLists\.txt|[^/]*\.cmake|meson\.build|Makefile([._-](hip|rocm|amd)[^/]*)?|pyproject\.toml|[^/]*builder[^/]*\.py|build[^/]*\.py)\Z"
    r"|(requirements|dockerfile|containerfile)[^/]*rocm|rocm[^/]*\.(txt|in|dockerfile)\Z|requirements/rocm"
)


BUILD_SIGN = re.compile(r"(?i)rocm_home|rocm_path|hip_path|hipcc|^-D\w*(HIP|ROCM)")  # a sign that itself speaks of building


def signs_of_amd(own: Iterable[Examined], examined: Iterable[Examined]) -> tuple[Related, ...]:
    """Every place in own code that knows AMD, and every AMD-side source, requirement or container file."""
    amd = [one for one in examined if one.origin is Origin.AMD]
    sides = [Related(one.path, 1, "AMD-side file") for one in amd if one.kind in SIDE_KINDS or _is_build_for_amd(one)]
    return tuple(sorted([sign for one in own for sign in one.amd_signs] + sides))


def _is_build_for_amd(one: Examined) -> bool:
    return one.kind in NAMED_KINDS and is_amd_name(one.path)


def builds_for_amd(signs: tuple[Related, ...]) -> bool:
    """Whether there are signs enough, and some stand where things are built: guards in code alone may be a port that never ended."""
    builds = (BUILD_FILE.search(sign.path) or BUILD_SIGN.search(sign.note) for sign in signs)
    return len(signs) >= AMD_SIGNS_OF_A_PORT and any(builds)


def off_the_amd_path(examined: Iterable[Examined], ruleset: RuleSet, index: Index) -> frozenset[str]:
    """For a project that builds for AMD: the files that its AMD build cannot hold.

    These are sources that include, under no guard, a header that only NVIDIA has, the files that include those and the headers
    that only those include; and Python code in a folder named nvidia.
    """
    examined = list(examined)
    blocked = {one.path for one in examined if one.kind in CODE_KINDS and _needs_nvidia(one, ruleset)}
    users: dict[str, set[str]] = defaultdict(set)
    for path, held in index.files.items() if blocked else ():
        for include in set(held.includes) - set(held.skipped_includes):
            users[index.resolve(include, path) or ""].add(path)
    queue = sorted(blocked)
    for path in queue:
        queue += sorted(users[path] - blocked)
        blocked |= users[path]
    blocked |= built.headers_of(index.files, blocked, index.resolve) if blocked else set()
    return frozenset(blocked | {one.path for one in examined if one.kind == "python" and NVIDIA_FOLDER.search(one.path)})


def _needs_nvidia(one: Examined, ruleset: RuleSet) -> bool:
    """Whether a file includes a header that neither ROCm has nor the translation maps."""
    for hit in one.hits:
        rule = ruleset.rules[hit.rule]
        if rule.category == "cuda-only-library" and rule.severity >= Severity.MAJOR and hit.live is not Live.NO:
            entry = api.lookup(hit.fact_name)
            if hit.fact_kind == "include" and (entry is None or not entry.hip):
                return True
    return False
