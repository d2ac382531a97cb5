"""Words that a Python file must contain before any rule can match it, derived from the rules: the cheap test before parsing.

The test may only err by reading a file too many: whatever a rule can hit must contain one of the words or import one of the
modules. Requirements are not among them: setup files are always read.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable

import msgspec

from porter.model import Rule
from porter.parse.word_index import index_of

LITERAL_KINDS = ("py_arg", "py_string", "env_var", "command", "command_flag", "index_url")
DOTTED_KINDS = ("py_call", "py_attr")
BASE_WORDS = (
    b"install_requires", b"extras_require", b"setup_requires", b"__global__", b"__device__", b"rawkernel", b"rawmodule", b"sourcemodule",
    b"load_inline", b"nvcc", b"cpp_extension", b"cudaextension", b"extra_cuda_cflags",  # build_symbol and compile_flag facts
)  # fmt: skip
BY_NAME = (b"import_module", b"find_spec", b"importorskip", b"__import__")
COMMON = frozenset((
    "get", "set", "run", "call", "load", "init", "device", "backend", "name", "type", "true", "false", "none", "dtype", "model", "args",
    "mode", "env", "path", "python", "torch", "config", "docker", "serve", "pip", "install", "logger", "builder", "runtime", "include",
    "format", "round", "utils",
))  # fmt: skip
MIN_WORD = 4
_WILD = re.compile(r"\[[^\]]*\]|[*?]")
_CHUNK = re.compile(r"[\w.+-]+")
_IMPORT = re.compile(rb"(?m)^[ \t>]*(?:from|import)[ \t]+([^\n]*)")
_NAME = re.compile(rb"\w+")


class Words(msgspec.Struct, frozen=True):
    """Lower-case words of names, arguments and strings that rules match, and roots of the modules they match."""

    names: frozenset[bytes]
    modules: frozenset[bytes]

    def worth(self, lower: bytes) -> bool:
        """Whether a file (in lower case) can hold anything that a rule looks for."""
        if index_of(self.names).holds(lower):
            return True
        if any(word in lower for word in BY_NAME) and any(module in lower for module in self.modules):
            return True
        return any(not self.modules.isdisjoint(_NAME.findall(match[1])) for match in _IMPORT.finditer(lower))


def words_of(rules: Iterable[Rule]) -> Words | None:
    """The words of a set of rules; None when some rule could hit any file."""
    names: set[bytes] = set(BASE_WORDS)
    modules: set[bytes] = set()
    detectors: set[str] = set()
    for rule in rules:
        if rule.detector:
            detectors.add(rule.detector)
        for kind, globs in rule.match.items():
            for glob in globs:
                if kind == "py_import":
                    root = glob.split(".")[0].lower()
                    (names if _WILD.search(root) else modules).add((_literal_word(root) or root).encode())
                elif kind in DOTTED_KINDS or kind in LITERAL_KINDS:
                    word = _dotted_word(glob) if kind in DOTTED_KINDS else _literal_word(glob)
                    if word is None:
                        return None
                    names.add(word.lower().encode())
    for detector in sorted(detectors):
        module = importlib.import_module(f"porter.detectors.{detector}")
        names.update(getattr(module, "WORDS", ()))
    return Words(frozenset(names), frozenset(modules))


def _dotted_word(glob: str) -> str | None:
    """The longest uncommon literal piece of a dotted glob: each stands in the file, in the name used or in what it was imported as."""
    pieces = [piece for part in glob.split(".") for piece in _WILD.split(part)]
    for least in (MIN_WORD, MIN_WORD - 1):
        long = [piece for piece in pieces if len(piece) >= least]
        rare = [piece for piece in long if piece.lower() not in COMMON]
        if rare:
            return max(rare, key=len)
    return max((piece for piece in pieces if len(piece) >= MIN_WORD), key=len, default=None)


def _literal_word(glob: str) -> str | None:
    """The longest literal word of a glob that is not a common one."""
    pieces = [chunk for piece in _WILD.split(glob.replace("=", " ")) for chunk in _CHUNK.findall(piece) if len(chunk) >= MIN_WORD - 1]
    long = [piece for piece in pieces if len(piece) >= MIN_WORD] or pieces
    rare = [piece for piece in long if piece.lower().strip("-") not in COMMON]
    return max(rare or long, key=len, default=None)
