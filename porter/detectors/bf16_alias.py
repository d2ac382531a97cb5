"""The alias nv_bfloat16 in files that name the bfloat16 type: older hipify-perl turns the alias and the type into two classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.config import Config
from porter.model import Hit, Live
from porter.parse import Parsed

if TYPE_CHECKING:
    from porter.link import Index

KINDS = ("cuda", "cxx")
ALIASES = frozenset(("nv_bfloat16", "nv_bfloat162"))


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """One hit of bf16-type-alias a file, at the first use that the AMD build reads."""
    if b"nv_bfloat16" not in parsed.file.data:
        return []
    found = [
        fact for fact in parsed.facts if fact.name in ALIASES and fact.kind in ("type", "identifier", "call") and fact.live is not Live.NO
    ]
    if not found:
        return []
    lines = len({fact.span.line for fact in found})
    message = f"{found[0].name} on {lines} line{'s' if lines > 1 else ''} of this file"
    return [Hit("bf16-type-alias", found[0].span, message, "nv_bfloat16")]
