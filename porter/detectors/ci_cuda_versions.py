"""Versions of CUDA and cuDNN in the settings of a continuous integration: each names a build that AMD needs its own entry beside."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from porter.config import Config
from porter.model import Hit, Related
from porter.parse import Parsed

KINDS = ("yaml",)
RULE = "ci-cuda-matrix"
PATH = re.compile(
    r"(^|/)(\.github/(workflows|actions)|\.circleci|\.buildkite|\.azure-pipelines|\.gitlab|\.ci)/|(^|/)(\.gitlab-ci|azure-pipelines)\S*\Z"
)
SETTING = re.compile(
    r"(?:^|[._-])(?:cuda|cudnn|cuda[-_]?(?:short[-_]?)?versions?|cudnn[-_]?versions?|cuda[-_]tag)=(?:cu)?\d[\w.]*\Z", re.IGNORECASE
)
MAX_RELATED = 20


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """One hit a file, with the other places beside it."""
    if not PATH.search(parsed.file.path):
        return
    found = [fact for fact in parsed.facts if fact.kind == "manifest_key" and SETTING.search(fact.name)]
    if found:
        first = found[0]
        others = tuple(Related(parsed.file.path, fact.span.line, fact.name.rpartition(".")[2]) for fact in found[1:MAX_RELATED])
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        yield Hit(RULE, first.span, f"sets {first.name.rsplit('include.', 1)[-1]}{more}", RULE, RULE, live=first.live, related=others)
