"""Kernel attributes with NVIDIA's meaning: the third argument of __launch_bounds__, which names a cluster size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from porter.config import Config
from porter.detectors import places
from porter.model import Hit
from porter.parse import Parsed

if TYPE_CHECKING:
    from porter.link import Index

KINDS = ("cuda", "cxx")


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """Hits of launch-bounds-cluster-argument."""
    found = []
    for node in places.captured(parsed, "launch_bounds"):
        arguments = _arguments(places.text(parsed, node).decode("utf-8", "replace"))
        if len(arguments) >= 3:
            message = f"__launch_bounds__ with three arguments; the third, {arguments[2]}, is the largest cluster"
            found.append(Hit("launch-bounds-cluster-argument", places.span(node), message, "__launch_bounds__"))
    return found


def _arguments(text: str) -> list[str]:
    """The arguments between the outer parentheses, split at commas outside inner ones."""
    inside = text[text.find("(") + 1 : text.rfind(")")]
    out, depth = [""], 0
    for char in inside:
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 0:
            out.append("")
        else:
            out[-1] += char
    return [part.strip() for part in out if part.strip()]
