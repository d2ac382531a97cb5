"""What a verification found: a rung of evidence per file and target, and every compiler error with the finding that predicted it."""

from __future__ import annotations

import msgspec

from porter.model import Problem

RUNGS = ("seen", "converted", "parses", "type-checks", "compiles", "links")
RUNG_WORDS = {
    "seen": "read; names are left that have no translation",
    "converted": "translated with no name left; no compiler has said more",
    "parses": "free of syntax errors",
    "type-checks": "free of errors of the front end",
    "compiles": "device code generated for the target",
    "links": "host and device code linked with ROCm's device library and HIP's runtime",
}


class CompilerError(msgspec.Struct, frozen=True):
    """One error, at the CUDA line it means. ``path`` is empty for a place outside the repository.

    ``kind``: syntax, type, include, backend, link. ``rule`` is the rule of the finding that predicted it, ``finding`` that
    finding's path:line, ``how`` the tie (line, related, name, follows); empty for an error that nothing predicted.
    """

    path: str
    line: int
    column: int
    kind: str
    message: str
    units: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    rule: str = ""
    finding: str = ""
    how: str = ""


class FileResult(msgspec.Struct, frozen=True):
    """One file: the rung it reached on every target, the lowest of them, and what keeps it from the next.

    ``missing`` are includes that are not on this machine; they say nothing about the port.
    """

    path: str
    rung: str
    by_target: dict[str, str]
    unit: bool
    missing: tuple[str, ...] = ()
    note: str = ""


class Verification(msgspec.Struct, frozen=True):
    """The whole result: which compiler said it with which headers, the files, the errors, and what could not be done."""

    root: str
    targets: tuple[str, ...]
    rocm: str
    compilers: dict[str, str]  # by target, in words
    files: tuple[FileResult, ...]
    errors: tuple[CompilerError, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()  # sources that no compiler saw

    @property
    def predicted(self) -> int:
        """Errors that a finding predicted."""
        return sum(1 for error in self.errors if error.rule)
