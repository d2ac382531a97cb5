"""Ported: whether a project already builds for AMD, and the places in its own code that say so."""

from __future__ import annotations

import re
from collections.abc import Iterable

from porter.examine import Examined
from porter.model import AMD_SIGNS_OF_A_PORT, Origin, Related

SIDE_KINDS = frozenset({"cuda", "cxx", "requirements", "docker"})
BUILD_FILE = re.compile(
    r"(?i)(\A|/)(setup\.py|CMakeLists\.txt|[^/]*\.cmake|meson\.build|Makefile|pyproject\.toml|[^/]*builder[^/]*\.py|build[^/]*\.py)\Z"
    r"|(requirements|dockerfile|containerfile)[^/]*rocm|rocm[^/]*\.(txt|in|dockerfile)\Z|requirements/rocm"
)


def signs_of_amd(own: Iterable[Examined], examined: Iterable[Examined]) -> tuple[Related, ...]:
    """Every place in own code that knows AMD, and every AMD-side source, requirement or container file."""
    sides = [Related(one.path, 1, "AMD-side file") for one in examined if one.origin is Origin.AMD and one.kind in SIDE_KINDS]
    return tuple(sorted([sign for one in own for sign in one.amd_signs] + sides))


def builds_for_amd(signs: tuple[Related, ...]) -> bool:
    """Whether there are signs enough, and some stand where things are built: guards in code alone may be a port that never ended."""
    return len(signs) >= AMD_SIGNS_OF_A_PORT and any(BUILD_FILE.search(sign.path) for sign in signs)
