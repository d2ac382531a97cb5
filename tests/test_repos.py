"""Whole small repositories through the real pipeline: what is found must equal the marks in their files, line by line."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from porter import rules
from porter.config import Config
from porter.pipeline import audit
from porter.testing import SIDECAR, blank_copy, check_repository

REPOS = Path(__file__).resolve().parent.parent / "fixtures" / "repos"
FOLDERS = sorted(path for path in REPOS.iterdir() if path.is_dir())


@pytest.fixture(autouse=True, scope="module")
def _rules_are_read_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "load", functools.cache(rules.load))
        yield


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_what_is_found_equals_the_marks(folder: Path, tmp_path: Path) -> None:
    assert list(check_repository(folder, tmp_path / folder.name)) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_repository_is_realistic_in_size_and_says_what_it_is(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != SIDECAR]
    assert 8 <= len(files) <= 20
    assert (folder / "README.md").is_file()


def test_marks_are_blanked_in_the_copy_and_the_sidecar_stays_behind(tmp_path: Path) -> None:
    repository = tmp_path / "marked"
    repository.mkdir()
    (repository / "a.py").write_text("# expect: pynvml\nimport pynvml\n")
    (repository / "c.json").write_text("{}\n")
    (repository / SIDECAR).write_text("# no comments in JSON\nc.json:1 checkpoint-nvfp4\n")
    marks = blank_copy(repository, tmp_path / "copy")
    assert {(name, mark.rule, mark.line) for name, found in marks.items() for mark in found} == {
        ("a.py", "pynvml", 2),
        ("c.json", "checkpoint-nvfp4", 1),
    }
    assert (tmp_path / "copy/a.py").read_text() == " " * 16 + "\nimport pynvml\n"
    assert not (tmp_path / "copy" / SIDECAR).exists()


def test_an_unmarked_finding_and_a_mark_without_one_both_fail(tmp_path: Path) -> None:
    repository = tmp_path / "wrong"
    repository.mkdir()
    (repository / "a.py").write_text("import pynvml\n# expect: tensorrt\nimport torch\n")
    failures = [(failure.rule, failure.line, failure.what) for failure in check_repository(repository, tmp_path / "copy")]
    assert failures == [("tensorrt", 3, "expected here, not found"), ("pynvml", 1, "found here, no mark")]


def test_a_marker_that_keeps_a_requirement_from_linux_is_named(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text('triton-windows; sys_platform == "win32"\n')
    report = audit(tmp_path, Config(jobs=0))
    assert [finding.message.split(":")[0] for finding in report.insights] == [
        'Not installed on Linux x86-64 (marker sys_platform == "win32")'
    ]
    assert report.findings == ()


def test_requirements_of_other_devices_are_no_work(tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    for name in ("tpu.txt", "cpu-test.txt", "gpu.txt"):
        (tmp_path / "requirements" / name).write_text("nixl==1.0\n")
    report = audit(tmp_path, Config(jobs=0))
    assert [finding.path for finding in report.findings] == ["requirements/gpu.txt"]
    assert [finding.message.split(":")[0] for finding in report.insights] == [
        "Requirements of another device (cpu)",
        "Requirements of another device (tpu)",
    ]
