"""What several test files need: the rules once, a small tree and its report, and how a test asks for a program."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import NoReturn

import pytest

from porter import pipeline, rules
from porter.config import Config
from porter.model import Report

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests keep nothing in the cache of whoever runs them."""
    os.environ["PORTER_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session", autouse=True)
def own_interrupts() -> None:
    """Tests of Ctrl-C hold where they run in the background of a script, whose shell lets them ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def ruleset() -> rules.RuleSet:
    return rules.load()


def scanned(folder: Path, models: tuple[str, ...] = (), **files: str) -> Report:
    """The report of a folder with these files; in their names __ stands for / and _DOT_ for a dot."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return pipeline.audit(folder, Config(jobs=0, models=models))


def need_tool(*names: str) -> str:
    """The first program of the names that exists; skips the test with a message, or fails it where tools are required."""
    found = next(filter(None, map(shutil.which, names)), None)
    return found or missing(f"needs {' or '.join(names)}, which is not on this machine")


def missing(words: str) -> NoReturn:
    """Skip the test, or fail it where PORTER_REQUIRE_TOOLS says that all tools must be there."""
    if os.environ.get("PORTER_REQUIRE_TOOLS"):
        pytest.fail(words)
    pytest.skip(words)


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    return val.name if isinstance(val, Path) else None
