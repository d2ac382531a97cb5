"""Build targets gfx940 and gfx941, which ROCm 7.0 dropped: in flags, strings and the settings that list targets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from porter.config import Config
from porter.detectors.python_scope import file_of
from porter.model import Fact, Hit
from porter.parse import MODULE_OF_KIND, Parsed

KINDS = tuple(kind for kind in MODULE_OF_KIND if kind not in ("ptx", "binary"))
WORDS = (b"gfx940", b"gfx941")
RULE = "gfx940-target"
LIST_NAMES = re.compile(r"(?:AMDGPU|GPU|ROCM|HIP|HCC|PYTORCH)\w*(?:TARGETS?|ARCH\w*)\Z|CMAKE_HIP_ARCHITECTURES\Z")
STALE = re.compile(r"\bgfx94[01]\b")
WHOLE = re.compile(r"(?:--offload-arch=)?(?:gfx[0-9a-f]+(?::[a-z+-]+)*[;,: ]*)+")


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """At most one hit a line."""
    lines: set[int] = set()
    for fact in parsed.facts:
        if fact.kind in ("compile_flag", "command_flag"):
            found = STALE.search(fact.name)
        elif fact.kind == "py_string":
            found = STALE.search(fact.name) if WHOLE.fullmatch(fact.name[:400]) else None
        elif fact.kind in ("env_var", "cmake_var", "build_symbol"):
            found = STALE.search(fact.detail.get("value", "")) if LIST_NAMES.match(fact.name) else None
        else:
            continue
        if found and fact.span.line not in lines and not _compares(parsed, fact):
            lines.add(fact.span.line)
            yield Hit(RULE, fact.span, f"builds for {found[0]}", found[0], RULE, live=fact.live)


def _compares(parsed: Parsed, fact: Fact) -> bool:
    """Whether Python only looks for the name: a test that never comes true any more does no harm."""
    file = file_of(parsed) if fact.kind == "py_string" else None
    return file is not None and any(node.type in ("comparison_operator", "generator_expression") for node in file.path(fact)[-4:])
