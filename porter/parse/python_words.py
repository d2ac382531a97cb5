"""Words that a Python file must contain before any rule can match it, derived from the rules: the cheap test before parsing."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable

from porter.model import Rule

PYTHON_KINDS = (
    "py_import", "py_call", "py_attr", "py_arg", "py_string", "env_var", "command", "command_flag", "requirement",
    "index_url", "build_symbol", "compile_flag",
)  # fmt: skip
BASE_WORDS = (
    b"install_requires", b"extras_require", b"setup_requires", b"__global__", b"__device__", b"rawkernel", b"rawmodule", b"sourcemodule",
    b"load_inline",
)  # fmt: skip
COMMON = frozenset((
    "get", "set", "run", "call", "load", "init", "device", "backend", "name", "type", "true", "false", "none", "dtype", "model", "args",
    "mode", "env", "path", "python", "torch", "config", "get_", "set_",
))  # fmt: skip
_SPLIT = re.compile(r"\[[^\]]*\]|[^A-Za-z0-9_]+")
MIN_WORD = 3


def words_of(rules: Iterable[Rule]) -> frozenset[bytes] | None:
    """Lower-case words of which one must stand in a Python file that some rule can hit; None when a rule could hit any file."""
    words: set[bytes] = set(BASE_WORDS)
    seen: set[str] = set()
    for rule in rules:
        if rule.detector and rule.detector not in seen:
            seen.add(rule.detector)
            words.update(_detector_words(rule.detector))
        for kind, globs in rule.match.items():
            if kind not in PYTHON_KINDS:
                continue
            for glob in globs:
                word = _word(kind, glob)
                if word is None:
                    return None
                words.add(word)
    return frozenset(_shortest(words))


def _detector_words(name: str) -> tuple[bytes, ...]:
    """What a detector declares in WORDS; a detector that reads Python without it gets none of its own."""
    module = importlib.import_module(f"porter.detectors.{name}")
    declared: tuple[bytes, ...] = getattr(module, "WORDS", ())
    return declared


def _word(kind: str, glob: str) -> bytes | None:
    """The word of a glob that is rarest in source: the last component of a dotted name, the longest piece otherwise."""
    if kind == "requirement":
        glob = glob.split("-")[0] if len(glob.split("-")[0]) >= MIN_WORD else glob.replace("-", "_")
    if kind.startswith("py_") and kind not in ("py_arg", "py_string"):
        for part in reversed(glob.split(".")):
            if not set(part) & set("*?[") and len(part) >= MIN_WORD:
                return part.lower().encode()
    pieces = [piece.lower() for piece in _SPLIT.split(glob) if len(piece) >= MIN_WORD]
    rare = [piece for piece in pieces if piece not in COMMON]
    best = max(rare or pieces, key=len, default=None)
    return best.encode() if best is not None else None


def _shortest(words: set[bytes]) -> set[bytes]:
    """The words without those that contain another one."""
    kept: list[bytes] = []
    for word in sorted(words, key=len):
        if not any(short in word for short in kept):
            kept.append(word)
    return set(kept)


def worth_parsing(data: bytes, words: frozenset[bytes] | None) -> bool:
    """Whether a file can hold anything that a rule looks for."""
    if words is None:
        return True
    lower = data.lower()
    return any(word in lower for word in words)
