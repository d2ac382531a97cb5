"""Mutators that keep a format's shape: tokens for texts, nodes for JSON, numbers in their places for binaries.

libFuzzer's own mutator still has four turns in ten. words.toml has what a format's readers look for.
"""

from __future__ import annotations

import json
import random
import re
import struct
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

Mutate = Callable[[bytes, int], bytes]
TOKEN = re.compile(rb"\w+|\s+|[^\w\s]")
SAME = {
    "cxx": "cuda", "hipify": "cuda", "detect-cuda": "cuda", "detect-python": "python", "detect-cmake": "cmake", "detect-docker": "docker",
    "detect-yaml": "yaml", "ptx-statements": "ptx", "requirement": "requirements", "pyproject": "toml", "setup-cfg": "requirements",
    "pipfile": "toml", "python-lock": "toml", "locks": "toml", "toml-files": "toml", "conda": "yaml", "conda-files": "yaml",
    "jenkins": "shell", "prices": "toml",
}  # fmt: skip
JSON = frozenset({"json", "json-files", "model", "report", "actuals", "observations", "database", "safetensors", "notebook"})
BINARY = frozenset({"binary", "elf", "elf-32", "pe", "fatbin", "ar", "archive", "tar", "zstandard"})
ODD: tuple[Any, ...] = (
    0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 0.5, -0.0, 1e308, 5e-324, True, False, None, "", "a", "1", "\u202e", "\x1b[31m",
    "<b>", "=1+1", "../../etc/passwd", [], {}, [[]], {"a": {}}, "x" * 300, "\n", "fp8", "bf16", "0",
)  # fmt: skip
NUMBERS = (0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)


def words_of(name: str) -> list[bytes]:
    """The words of a target's format, brackets and quotes for one that has none."""
    table = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
    words = str(table.get(SAME.get(name, name), 'a = \\n " { } [ ] ( )')).split()
    return [word.encode("latin-1", "backslashreplace").decode("unicode_escape").encode("utf-8", "replace") for word in words]


def mutator(name: str, mutate: Mutate) -> Callable[[bytes, int, int], bytes]:
    """The custom mutator of a target; ``mutate`` is libFuzzer's own."""
    words = words_of(name)

    def one(data: bytes, most: int, seed: int) -> bytes:
        turn = random.Random(seed)  # noqa: S311 - libFuzzer's seed makes runs repeatable
        if turn.random() < 0.4:
            return mutate(data, most)
        if name in BINARY:
            return _numbers(data, turn)[:most]
        if name in JSON and turn.random() < 0.7:
            made = _json(data, turn)
            if made is not None and len(made) <= most:
                return made
        return _tokens(data, words, turn)[:most]

    return one


def _tokens(data: bytes, words: list[bytes], turn: random.Random) -> bytes:
    tokens = TOKEN.findall(data[:20_000])
    for _ in range(turn.choice((1, 1, 2, 4))):
        at = turn.randrange(len(tokens) + 1)
        end = min(len(tokens), at + turn.choice((1, 1, 2, 5, 20)))
        what = turn.randrange(7)
        if what == 0:
            tokens[at:at] = [turn.choice(words)]
        elif what == 1:
            tokens[at:end] = []
        elif what == 2:
            tokens[at:at] = tokens[at:end] * turn.choice((1, 2, 60))
        elif what == 3 and tokens:
            tokens[at:end] = [turn.choice(tokens)]
        elif what == 4:
            tokens[at:end] = [turn.choice(words), *tokens[at:end], turn.choice(words)]
        elif what == 5:
            tokens[at:end] = [str(turn.choice(NUMBERS)).encode()]
        else:
            other = turn.randrange(len(tokens) + 1)
            tokens[at:at] = tokens[other : other + (end - at)]
    return b"".join(tokens)


def _json(data: bytes, turn: random.Random) -> bytes | None:
    """One node of the first JSON value changed; None for what is no JSON."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    places: list[tuple[Any, Any]] = []
    stack = [value]
    while stack and len(places) < 5_000:
        node = stack.pop()
        if isinstance(node, dict | list):
            places += [(node, key) for key in (node if isinstance(node, dict) else range(len(node)))]
            stack += node.values() if isinstance(node, dict) else node
    if not places:
        return json.dumps(turn.choice(ODD)).encode()
    node, key = turn.choice(places)
    what = turn.randrange(5)
    if what == 0:
        del node[key]
    elif what == 1:
        other, name = turn.choice(places)
        node[key] = other[name] if not isinstance(other[name], dict | list) else turn.choice(ODD)
    elif what == 2 and isinstance(node, list):
        node += [node[key]] * turn.choice((1, 50))
    else:
        node[key] = turn.choice(ODD)
    return json.dumps(value, ensure_ascii=turn.random() < 0.5).encode("utf-8", "replace")


def _numbers(data: bytes, turn: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(turn.choice((1, 1, 3))):
        width, letter = turn.choice(((1, "B"), (2, "H"), (4, "I"), (8, "Q")))
        at = turn.randrange(len(out) + 1)
        number = turn.choice((*NUMBERS, len(out), max(len(out) - 1, 0), at)) % (1 << (8 * width))
        out[at : at + width] = struct.pack(turn.choice("<>") + letter, number)
    return bytes(out)
