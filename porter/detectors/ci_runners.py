"""Labels of continuous-integration runners that name NVIDIA hardware."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from porter.config import Config
from porter.detectors.ci_cuda_versions import PATH
from porter.model import Hit, Related
from porter.parse import Parsed

KINDS = ("yaml",)
RULE = "ci-nvidia-runner"
KEY = re.compile(
    r"(?:^|\.)(?:runs-on(?:\.labels|\.group)?|tags|agents\.\w+|resource_class|runner|runner_label|pool(?:\.name|\.demands)?)=([^$\s]{2,120})\Z"
)
NVIDIA = re.compile(
    r"(?:^|[^a-z0-9])(?:nvidia|cuda|gpu-nvidia|[ahb]\d00(?:x\d)?|gb200|a10g?|a6000|l40s?|v100|t4|rtx[a-z]*\d+|g[456]e?\.\d*x?large|p[345]d?e?n?\.\d+xlarge)(?![a-z])",
    re.IGNORECASE,
)
AMD = re.compile(r"amd|rocm|mi\d\d\d|gfx\d", re.IGNORECASE)
MAX_RELATED = 20


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """One hit a file, with the other places beside it."""
    if not PATH.search(parsed.file.path):
        return
    found = []
    for fact in parsed.facts:
        match = KEY.search(fact.name) if fact.kind == "manifest_key" else None
        if match and NVIDIA.search(match[1]) and not AMD.search(match[1]):
            found.append((fact, match[1]))
    if found:
        first, label = found[0]
        related = tuple(Related(parsed.file.path, fact.span.line, name) for fact, name in found[1:MAX_RELATED])
        more = f" and in {len(found) - 1} more places" if len(found) > 1 else ""
        yield Hit(RULE, first.span, f"asks for the runner {label}{more}", RULE, RULE, live=first.live, related=related)
