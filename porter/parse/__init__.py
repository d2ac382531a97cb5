"""Parsers: one module a format, each `parse(file: SourceFile) -> Parsed`; this module names which format reads which kind."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from porter.model import Fact, Live, Problem, SourceFile


class Guards(Protocol):
    """What the preprocessor, or a test in Python, says of a line in the build for AMD."""

    def at(self, line: int) -> Live:
        """Whether the line (from 1) is part of the build for AMD."""
        ...


@dataclass
class Parsed:
    """One file, read. Lives and dies in a worker: trees never cross processes.

    ``coverage`` is the share of the file outside syntax-error regions. ``tree`` is the tree-sitter tree of CUDA, C++ and
    Python files. ``embedded`` holds CUDA sources found in string constants, blanked so that their spans are the file's own.
    ``extra`` carries what a parser wants its detectors to have.
    """

    file: SourceFile
    facts: list[Fact] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    coverage: float = 1.0
    guards: Guards | None = None
    tree: Any = None
    embedded: list[Parsed] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def live(self, line: int) -> Live:
        """Whether a line is part of the build for AMD; YES where nothing guards it."""
        return self.guards.at(line) if self.guards is not None else Live.YES

    @property
    def all_problems(self) -> list[Problem]:
        """Its problems, and those of CUDA in its strings that could not be read at all."""
        return self.problems + [problem for one in self.embedded if one.coverage == 0.0 for problem in one.problems]


MODULE_OF_KIND = {
    "cuda": "cuda",
    "cxx": "cuda",
    "ptx": "ptx",
    "python": "python",
    "cython": "cython",
    "notebook": "notebook",
    "requirements": "requirements",
    "pyproject": "pyproject",
    "setup-cfg": "pyproject",
    "pipfile": "pyproject",
    "python-lock": "pyproject",
    "conda": "conda",
    "cmake": "cmake",
    "make": "make",
    "bazel": "bazel",
    "meson": "meson",
    "docker": "dockerfile",
    "yaml": "yaml",
    "json": "json",
    "toml": "toml",
    "rust": "rust",
    "shell": "shell",
    "jenkins": "shell",
    "pbtxt": "pbtxt",
    "hcl": "hcl",
    "binary": "binary",
}


def parser_of(kind: str) -> Callable[[SourceFile], Parsed] | None:
    """The parse function for a kind of file, or None for a kind that is only counted."""
    module = MODULE_OF_KIND.get(kind)
    if module is None:
        return None
    parse: Callable[[SourceFile], Parsed] = importlib.import_module(f"porter.parse.{module}").parse
    return parse
