"""Aside: what files gave, light enough to keep for all of them: past some of it, the parts that are large are put aside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from porter.examine import Examined, Surveyed
from porter.held import Held, HeldBytes, HeldLines
from porter.model import Hit, Kernel
from porter.parse.type_names import TypeName
from porter.spill import Spill
from porter.survey import Constant, FunctionDef, Macro
from porter.survey_launches import Launch
from porter.survey_sums import Sum

PLAIN = 40_000  # hits and kernels, and as many entries of surveys, that are kept as they are
TEXT = 16 * 2**20  # packed bytes of diffs and context that are kept so
LEAST = 16  # values that are worth putting aside
LEAST_TEXT = 256
ENTRIES: dict[str, type[Any]] = {
    "macros": Macro, "constants": Constant, "functions": FunctionDef, "launches": Launch, "types": TypeName, "sums": Sum,
}  # fmt: skip


class Aside:
    """One scan's place for what is put aside, and how much may still be kept as it is."""

    def __init__(self) -> None:
        """Nothing is kept yet."""
        self.spill = Spill()
        self._examined = self._surveyed = PLAIN
        self._text = TEXT

    def examined(self, one: Examined) -> Examined:
        """What a file gave, its hits and texts put aside where others have filled the room."""
        changes: dict[str, Any] = {}
        self._examined -= len(one.hits) + len(one.kernels)
        if self._examined < 0:
            if len(one.hits) >= LEAST:
                changes |= {"hits": self._held(one.hits, Hit), "snippets": self._lines(one.snippets)}
            if len(one.kernels) >= LEAST:
                changes["kernels"] = self._held(one.kernels, Kernel)
        hipify = one.hipify
        self._text -= len(one.context) + (len(hipify.diff) if hipify is not None else 0)
        if self._text < 0:
            if len(one.context) >= LEAST_TEXT:
                changes["context"] = HeldBytes(self.spill, one.context)
            if hipify is not None and len(hipify.diff) >= LEAST_TEXT:
                changes["hipify"] = msgspec.structs.replace(hipify, diff=cast(Any, HeldBytes(self.spill, hipify.diff)))
        return msgspec.structs.replace(one, **changes) if changes else one

    def surveyed(self, one: Surveyed) -> Surveyed:
        """What a file tells the others, its entries put aside where others have filled the room."""
        if one.survey is None:
            return one
        held = {name: getattr(one.survey, name) for name in ENTRIES}
        self._surveyed -= sum(map(len, held.values()))
        if self._surveyed >= 0:
            return one
        changes = {name: self._held(values, ENTRIES[name]) for name, values in held.items() if len(values) >= LEAST}
        return msgspec.structs.replace(one, survey=msgspec.structs.replace(one.survey, **changes)) if changes else one

    @property
    def is_full(self) -> bool:
        """Whether surveys were put aside, so that what is made of them should be too."""
        return self._surveyed < 0

    def _held(self, values: Sequence[Any], kind: type[Any]) -> Sequence[Any]:
        try:
            return Held(self.spill, values, kind)
        except UnicodeEncodeError:  # a text that cannot be encoded stays as it is
            return values

    def _lines(self, lines: dict[int, str]) -> Any:
        try:
            return HeldLines(self.spill, lines)
        except UnicodeEncodeError:
            return lines
