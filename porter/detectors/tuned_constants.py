"""Constants that name an NVIDIA GPU's size or number range: counts of multiprocessors, the largest value of fp8."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from porter.config import Config
from porter.detectors import folding, places
from porter.model import Hit, Live, Span
from porter.parse import Parsed

if TYPE_CHECKING:
    from porter.link import Index

KINDS = ("cuda", "cxx")
SM_NAME = re.compile(
    r"(?:^|_|k|n)(?:num_?sms?|sm_?counts?|num_?multi_?processors?|multi_?processor_?count|sms_?per_?gpu|max_?sms?|total_?sms?|n_?sms?)(?:$|_)",
    re.IGNORECASE,
)
# Multiprocessors of NVIDIA GPUs from Volta on (V100, T4, A100, A10, A30, RTX, H100, H200, B200, B300).
SM_COUNTS = frozenset((40, 56, 58, 68, 72, 80, 82, 84, 108, 114, 128, 132, 142, 144, 148, 160, 170))
FP8_MAX = re.compile(rb"(?<![\w.])448(?:\.0*)?[fF]?(?![\w.])")
FP8_WORD = re.compile(r"fp8|float8|e4m3|f8_?max|FP8|E4M3", re.IGNORECASE)


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """Hits of sm-count-constant and fp8-range-constant."""
    return [*_sm_counts(parsed), *_fp8_ranges(parsed)]


def _sm_counts(parsed: Parsed) -> Iterator[Hit]:
    found = [(name, value, places.span(node)) for name, value, node in folding.named_values(parsed) if SM_NAME.search(name)]
    for fact in parsed.facts:
        if fact.kind == "define" and SM_NAME.search(fact.name) and "value" in fact.detail:
            found.append((fact.name, fact.detail["value"], fact.span))
    for name, value, span in found:
        number = folding.fold(parsed, value)
        if number in SM_COUNTS:
            yield Hit("sm-count-constant", span, f"{name} is {number}, the number of multiprocessors of an NVIDIA GPU", name)


def _fp8_ranges(parsed: Parsed) -> Iterator[Hit]:
    """Number literals 448 that stand with a word of fp8 on their line or in the name of the function around them."""
    if parsed.tree is None or b"448" not in parsed.file.data:
        return
    lines = parsed.file.data.split(b"\n")
    seen: set[int] = set()
    for node, match in _numbers_448(parsed):
        line = node.start_point[0] + 1
        if line in seen or (node.type == "number_literal" and match[0] != places.text(parsed, node)) or parsed.live(line) is Live.NO:
            continue
        around = lines[line - 1].decode("utf-8", "replace") if line <= len(lines) else ""
        place = Span(line, node.start_point[1] + 1, line, node.start_point[1] + 4)
        function = places.function_at(parsed, place)
        name = (places.head(parsed, function) if function is not None else b"").decode("utf-8", "replace")
        if FP8_WORD.search(around.split("//")[0]) or (FP8_WORD.search(name) and b"." in match[0]):
            seen.add(line)
            yield Hit("fp8-range-constant", place, f"{match[0].decode()} is the largest e4m3 value of the OCP format", "448")


def _numbers_448(parsed: Parsed) -> Iterator[tuple[Any, re.Match[bytes]]]:
    """Number literals and bodies of macros that hold 448, with the first match in each; found by their text, which few files have."""
    last = -1
    for node, _ in places.matches(parsed, FP8_MAX):
        match = FP8_MAX.search(places.text(parsed, node)) if node.type in ("number_literal", "preproc_arg") else None
        if match is not None and node.start_byte != last:
            last = node.start_byte
            yield node, match
