"""Triton tile configurations whose pipeline buffers do not fit into the LDS of a target.

Bytes of a matrix product's buffers: (num_stages - 1) * (M * K + K * N) * 2 for 16-bit elements; Triton's AMD pipeline keeps
one stage in registers. vLLM's 128 x 128 x 64 with three stages asked for 73,728 bytes (65,536 plus padding) and failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from porter.config import Config
from porter.detectors.python_scope import KINDS, File, file_of
from porter.model import Hit
from porter.parse import Parsed
from porter.parse.python_strings import string_value
from porter.parse.python_tree import field, named

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["KINDS", "WORDS", "detect"]

WORDS = (b"num_stages",)
RULE = "triton-stages-over-lds"
PRUNED = "triton-autotune-list-pruned"
LDS_BYTES = {"gfx950": 163_840, "gfx1250": 327_680}
DEFAULT_LDS = 65_536
ELEMENT_BYTES = 2
BLOCK_KEY = re.compile(r"(?:block|tile)(?:_?size)?_?([mnk])|b([mnk])|(?:block|tile)_?([mnk])(?:_?size)?")


def lds_bytes(target: str) -> int:
    """LDS that one workgroup can have on a target, in bytes (AMD's GPU specifications page)."""
    return LDS_BYTES.get(target, DEFAULT_LDS)


def detect(parsed: Parsed, index: object, config: Config) -> Iterable[Hit]:
    """Hits on configurations with constant tile sizes and stages that cannot fit; lists for the autotuner count as one."""
    file = file_of(parsed)
    if file is None or b"triton" not in file.source.lower:
        return
    done: set[int] = set()
    lists: dict[int, list[Hit | None]] = {}
    for fact in file.facts("py_arg"):
        path = file.path(fact) if fact.name.startswith("num_stages=") else []
        holder = _holder(path)
        if holder is None or holder.id in done or file.amd_only(holder) or not file.may_be_triton(holder):
            continue
        done.add(holder.id)
        hit = next(iter(_judge(file, config, holder)), None)
        around = next((node for node in path[: path.index(holder)] if node.type == "list"), None)
        if around is not None:
            lists.setdefault(around.id, []).append(hit)
        elif hit is not None:
            yield hit
    for choices in lists.values():
        yield from _choices(choices)


def _choices(choices: list[Hit | None]) -> Iterator[Hit]:
    """An autotuner drops what does not fit: work only where nothing is left, else a note that the list was made for NVIDIA."""
    over = [hit for hit in choices if hit is not None]
    if len(over) == len(choices):
        yield from over
    elif over:
        first = over[0]
        message = f"{len(over)} of {len(choices)} configurations do not fit, the first: {first.message}"
        yield Hit(PRUNED, first.span, message, "autotune list", live=first.live, targets=first.targets)


def _holder(path: list[Node]) -> Node | None:
    """The Config call, or the dictionary, that num_stages belongs to."""
    for node in reversed(path):
        if node.type in ("dictionary", "call"):
            return node
    return None


def _judge(file: File, config: Config, holder: Node) -> Iterator[Hit]:
    numbers: dict[str, int] = {}
    todo = [holder]
    while todo:
        node = todo.pop()
        if node.type in ("pair", "keyword_argument"):
            key, value = field(node, "key") or field(node, "name"), field(node, "value")
            name = (string_value(file.source, key) or file.source.text(key)).lower() if key is not None else ""
            text = file.source.text(value) if value is not None else ""
            if text.isdigit() and len(text) < 6:
                _take(numbers, name, int(text))
        elif node.type in ("call", "argument_list", "dictionary"):
            todo.extend(reversed(named(node)))
    if {"m", "n", "k", "num_stages"} - numbers.keys():
        return
    stages, m, n, k = (numbers[key] for key in ("num_stages", "m", "n", "k"))
    size = (stages - 1) * (m * k + k * n) * ELEMENT_BYTES
    over = tuple(target for target in config.targets if size >= lds_bytes(target))
    if not over:
        return
    hit = file.hit(
        RULE,
        holder,
        f"({stages} - 1) x ({m} x {k} + {k} x {n}) x {ELEMENT_BYTES} bytes = {size:,} bytes of buffers for 16-bit elements; "
        + ", ".join(f"{target} has {lds_bytes(target):,}" for target in over),
        f"{m}x{n}x{k}, {stages} stages",
    )
    yield msgspec.structs.replace(hit, targets=over)


def _take(numbers: dict[str, int], name: str, value: int) -> None:
    if name == "num_stages":
        numbers[name] = value
    match = BLOCK_KEY.fullmatch(name)
    if match:
        numbers[match[1] or match[2] or match[3]] = value
