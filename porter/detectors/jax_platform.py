"""JAX asked for CUDA by the platform's name: in jax.devices, in the configuration, in JAX_PLATFORMS."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from porter.config import Config
from porter.model import Fact, Hit
from porter.parse import Parsed

KINDS = ("python", "notebook", "shell", "docker", "yaml", "jenkins", "make", "json")
WORDS = (b"jax_platform", (b"=cuda", b"jax"))
VARIABLES = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME")
BY_NAME = re.compile(r"jax\.(?:local_)?(?:devices|device_count)\Z|jax\.lib\.xla_bridge\.get_backend\Z|jax\.extend\.backend\.get_backend\Z")
UPDATE = re.compile(r"jax\.config\.update\Z|jax\._src\.config\.config\.update\Z")
CUDA = re.compile(r"(?:^|,)\s*cuda\s*(?:,|$)")


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """One hit a line that names the platform cuda and no rocm beside it."""
    seen: set[int] = set()
    for fact in parsed.facts:
        value = _asked(fact)
        if CUDA.search(value) and "rocm" not in value and fact.span.line not in seen:
            seen.add(fact.span.line)
            yield Hit("jax-cuda-platform", fact.span, f"asks for {value}", "cuda", "jax-cuda-platform", live=fact.live)


def _asked(fact: Fact) -> str:
    """The platforms that a fact asks for; empty for other facts."""
    if fact.kind == "env_var" and fact.name in VARIABLES:
        return fact.detail.get("value", "")
    if fact.kind == "py_call" and fact.args:
        first = _constant(fact.args[0])
        if BY_NAME.match(fact.name):
            return first or _constant(fact.args[0].partition("backend=")[2])
        if UPDATE.match(fact.name) and first in ("jax_platforms", "jax_platform_name") and len(fact.args) > 1:
            return _constant(fact.args[1])
    return ""


def _constant(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 2 and text[0] in "\"'" and text[-1] == text[0] else ""
