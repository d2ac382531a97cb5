"""Ignore files: .gitignore lines of a repository that may be hostile, matched in time that grows with the name, not with its powers."""

from __future__ import annotations

import contextlib
import functools
import re
import warnings
from collections.abc import Iterator
from typing import Any

import pathspec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

MAX_LINES = 5_000  # of one file
MAX_LINE_LENGTH = 1_000
MAX_FOLDERS = 3  # of ** with a name on both sides, in one line
_STAR = "[^/]*"
_PIECE = re.compile(r"\[\^/\]\*((?:\\.|\[\^?+\]?+[^\]]*+\]|[^\\\[/()|$*])+)(?=\[\^/\]\*)")  # one way to read each class, or it costs 2^n
_NAMED = re.compile(r"\(\?P<\w+>")
_DEEP = "(?:/.+)?"

MAX_JOINED = 400  # lines that are asked all at once before one by one


class _Linear(GitIgnoreSpecPattern):
    """A line of an ignore file whose stars never look back: the first place where the next word fits is as good as any."""

    @classmethod
    def pattern_to_regex(cls, pattern: Any) -> tuple[Any, bool | None]:
        regex, include = super().pattern_to_regex(pattern)
        if isinstance(regex, str) and regex.count(_STAR) > 1:
            while _STAR + _STAR in regex:
                regex = regex.replace(_STAR + _STAR, _STAR)
            regex = _PIECE.sub(lambda match: f"(?>[^/]*?{match[1]})", regex)
        return regex, include


class Spec(pathspec.GitIgnoreSpec):
    """The lines of an ignore file; most names match none of them, and one regex for all says so."""

    @functools.cached_property
    def joined(self) -> re.Pattern[str] | None:
        """One regex for all lines, None where there are too many."""
        found = [getattr(one, "regex", None) for one in self.patterns if one.include is not None]
        texts = [one.pattern for one in found if isinstance(one, re.Pattern) and isinstance(one.pattern, str)]
        if len(texts) > MAX_JOINED or len(texts) < len(found):
            return None
        with _no_warnings():
            return re.compile("|".join(f"(?:{_NAMED.sub('(?:', text)})" for text in texts) or r"(?!)")

    def may_match(self, path: str) -> bool:
        """False only for a path that no line names."""
        return self.joined is None or self.joined.search(path) is not None


Specs = tuple[tuple[str, Spec], ...]


def spec_of(lines: list[str]) -> tuple[Spec, list[str]]:
    """The spec of an ignore file's lines, and what is wrong with those that had to be left out."""
    wrong = []
    if len(lines) > MAX_LINES:
        wrong.append(f"more than {MAX_LINES:,} lines in an ignore file; the rest is not used")
    kept = [line for line in lines[:MAX_LINES] if len(line) <= MAX_LINE_LENGTH and line.count("**/") <= MAX_FOLDERS]
    if len(kept) < len(lines[:MAX_LINES]):
        wrong.append("an ignore pattern is too long or has too many **; it is not used")
    good = []
    with _no_warnings():
        for line in kept:
            try:
                _Linear(line)
                good.append(line)
            except (ValueError, re.error) as error:
                wrong.append(f"bad ignore pattern: {str(error)[:120]}")
        return Spec.from_lines(good, _Linear), wrong[:10]


@contextlib.contextmanager
def _no_warnings() -> Iterator[None]:
    """A class like [[a] is no matter for standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def ignored(path: str, specs: Specs) -> bool:
    """The verdict of the innermost ignore file that has one, as git does it; ``path`` ends with a slash for a folder."""
    for folder, spec in reversed(specs):
        inner = path[len(folder) + 1 :] if folder else path
        verdict = spec.check_file(inner).include if spec.may_match(inner) else None
        if verdict is not None:
            return bool(verdict)
    return False
