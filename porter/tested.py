"""Tests of a repository: files that are tests by the words of their path, and what runs them by its build files and scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from porter.model import Fact, Live

KINDS = frozenset({"python", "cuda", "cxx", "notebook"})
CTEST = "ctest"
_WORDS = frozenset({"test", "tests", "testing", "unittest", "unittests", "gtest", "gtests", "testsuite", "testcases", "conftest"})
_SPLIT = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def is_test(path: str, kind: str) -> bool:
    """Whether a file is a test by its own name or a folder's: test_x.py, tests/x.cu, XTest.cpp, and neither latest.py nor contest/."""
    return kind in KINDS and "test" in path.lower() and any(word.lower() in _WORDS for word in _SPLIT.findall(path))


def runner(facts: Iterable[Fact]) -> str:
    """What runs compiled tests by the facts of one file: ctest where CMake registers tests or a script calls it, make by its target."""
    live = [fact for fact in facts if fact.live is not Live.NO]
    names = {fact.name for fact in live if fact.kind == "test_runner"}
    names |= {CTEST for fact in live if fact.kind == "command" and fact.name.split()[0] == CTEST}
    return CTEST if CTEST in names else min(names, default="")
