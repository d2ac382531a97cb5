"""Faults around a scan: files that change or go, signals, no file handles, two scans with one output; no half report, no traceback."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from porter.config import Config
from porter.discover import Entry
from porter.examine import Auditor
from porter.rules import RuleSet

KERNEL = b"#include <nvshmem.h>\n__global__ void k(int* p) { p[0] = __shfl_down_sync(0xffffffffu, p[0], 16); }\n"


def porter(*words: str, **options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "porter", *words], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, **options)  # type: ignore[call-overload,no-any-return]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    for number in range(30):
        (root / f"f{number}.cu").write_bytes(KERNEL * 20)
    return root


def test_a_file_that_goes_or_changes_between_the_passes(ruleset: RuleSet, tmp_path: Path) -> None:
    auditor = Auditor(Config(cache_dir="x"), ruleset, tmp_path)
    entry = Entry("a.cu", "cuda", len(KERNEL))
    (tmp_path / "a.cu").write_bytes(KERNEL)
    before = auditor.survey(entry)
    (tmp_path / "a.cu").write_bytes(b"int x;\n")
    changed = auditor.examine(entry)
    assert changed.digest != before.digest and changed.hits == () and changed.lines == 1
    auditor.survey(entry)
    (tmp_path / "a.cu").unlink()
    assert "gone" in auditor.examine(entry).problems[0].what


def test_two_scans_with_one_output_leave_one_whole_report(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    runs = [porter("scan", str(tree), "-q", "--jobs", "1", "--no-cache", "--output", str(out)) for _ in range(2)]
    assert [(run.communicate(timeout=100)[1], run.returncode) for run in runs] == [(b"", 0)] * 2
    assert json.loads(out.read_text())["summary"]["cuda_files"] == 30
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json", "repo"]


STUCK = """
import itertools, sys
from porter import examine
def stuck(self, entry):
    print("in", file=sys.stderr, flush=True)
    sum(itertools.repeat(1))  # native code that asks for no signal
examine.Auditor.examine = stuck
from porter.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_native_code_that_never_returns_in_this_process_is_ended_by_a_signal(tree: Path, tmp_path: Path, sent: signal.Signals) -> None:
    words = ["scan", str(tree), "-q", "--jobs", "0", "--no-cache", "--output", str(tmp_path / "r.json")]
    with subprocess.Popen([sys.executable, "-c", STUCK, *words], stderr=subprocess.PIPE) as run:
        assert run.stderr is not None and run.stderr.readline() == b"in\n"
        run.send_signal(sent)
        try:
            assert run.wait(20) == -sent
        finally:
            run.kill()
    assert not (tmp_path / "r.json").exists()


def test_a_closed_standard_output_is_an_error(tree: Path) -> None:
    words = [sys.executable, "-m", "porter", "scan", str(tree / "f1.cu"), "--jobs", "0", "--no-cache", "--format", "json"]
    run = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *words], stderr=subprocess.PIPE, check=False)  # noqa: S607
    assert run.returncode == 2 and run.stderr.count(b"\n") == 1 and b"standard output is closed" in run.stderr


def test_termination_leaves_neither_a_report_nor_workers(tree: Path, tmp_path: Path) -> None:
    words = ["scan", str(tree), "-q", "--jobs", "2", "--no-cache", "--output", str(tmp_path / "r.json")]
    with subprocess.Popen([sys.executable, "-c", STUCK, *words], stderr=subprocess.PIPE, start_new_session=True) as run:
        assert run.stderr is not None and run.stderr.readline() == b"in\n"  # a worker is busy, and stays so
        run.send_signal(signal.SIGTERM)
        try:
            assert set(run.communicate(timeout=20)[1].splitlines()) <= {b"in"}  # its end comes when the last worker is gone
            assert run.returncode == -signal.SIGTERM
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["repo"]


def test_a_workbook_that_cannot_be_written_is_one_line(tree: Path, tmp_path: Path) -> None:
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))  # noqa: E731 - more is needed for its sheets
    run = porter("scan", str(tree), "-q", "--jobs", "0", "--no-cache", "--output", str(tmp_path / "r.xlsx"), preexec_fn=limit)
    errors = run.communicate(timeout=100)[1]
    assert run.returncode == 2 and errors.count(b"\n") == 1 and b"Too many open files" in errors, errors.decode()[-800:]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["repo"]


def test_without_file_handles_there_is_one_line_or_a_whole_report(tree: Path, tmp_path: Path) -> None:
    for handles in (8, 20):
        limit = lambda handles=handles: resource.setrlimit(resource.RLIMIT_NOFILE, (handles, handles))  # noqa: E731
        run = porter("scan", str(tree), "-q", "--jobs", "2", "--no-cache", "--output", str(tmp_path / "r.json"), preexec_fn=limit)
        errors = run.communicate(timeout=100)[1]
        assert b"Traceback" not in errors, errors.decode()[-800:]
        if run.returncode == 0:
            report = json.loads((tmp_path / "r.json").read_text())
            assert report["findings"] or not report["summary"]["complete"]  # what was not read is named
            (tmp_path / "r.json").unlink()
        else:
            assert errors.count(b"\n") <= 2 and not (tmp_path / "r.json").exists()
    assert os.listdir(tree)  # noqa: PTH208
