"""Guards of code in a string: the preprocessor inside it, and what stands around the string."""

from __future__ import annotations

import msgspec

from porter.model import Live
from porter.parse import Guards, Parsed


class StringGuards:
    """Live where both the code around a string and the preprocessor inside it are."""

    def __init__(self, inner: Parsed, outer: Guards) -> None:
        """Take the guards of the CUDA inside and of the code around it."""
        self._inner = inner.guards
        self._outer = outer

    def at(self, line: int) -> Live:
        """Whether the line (from 1) of the file is part of the build for AMD."""
        if self._outer.at(line) is Live.NO:
            return Live.NO
        return self._inner.at(line) if self._inner is not None else Live.YES


def put_within(inner: Parsed, outer: Guards) -> None:
    """Let the code of a string, and the facts that were read in it, be dead where the code around the string is."""
    inner.guards = StringGuards(inner, outer)
    inner.facts = [msgspec.structs.replace(fact, live=Live.NO) if outer.at(fact.span.line) is Live.NO else fact for fact in inner.facts]
