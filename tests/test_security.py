"""SECURITY.md's threats: all attacks in one tree, a scan that ends, nothing outside read or written, nothing run."""

from __future__ import annotations

import csv
import gc
import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT, need_tool
from hostile_attacks import ATTACKS, write

from porter import limits
from porter.config import Config
from porter.discover import Entry
from porter.examine import Auditor
from porter.render import csv as as_csv
from porter.render import html, markdown, terminal
from porter.rules import RuleSet

# What a scan in one process opens, lists, makes, removes, runs or connects to, one event a line.
WATCHED = """
import json, os, sys
log = open(os.environ.pop("WATCH_LOG"), "w")
KINDS = ("open", "os.listdir", "os.scandir", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.chmod",
         "os.truncate", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "socket.connect", "socket.bind", "socket.getaddrinfo",
         "import", "sqlite3.connect", "ctypes.dlopen")
def hook(event, args):
    if event in KINDS and not log.closed:
        log.write(json.dumps([event, os.getcwd(), [repr(a) if not isinstance(a, (str, int)) else a for a in args[:4]]]) + "\\n")
sys.addaudithook(hook)
from porter.cli import main
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("attacks") / "repository"
    write(root)
    return root


@pytest.fixture(scope="module")
def watched(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, str, list[object]]]]:
    """The folder of the report, and all events of a scan of the tree."""
    out = tmp_path_factory.mktemp("out")
    log = tree.parent / "events"
    words = ["scan", str(tree), "-q", "--no-config", "--jobs", "0", "--cache-dir", str(out / "cache"), "--output", str(out / "r.json")]
    environment = {**os.environ, "WATCH_LOG": str(log), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-P", "-c", WATCHED, *words], cwd=tree, env=environment, capture_output=True, timeout=170, check=False
    )
    assert run.returncode == 0, run.stderr.decode()[-2000:]
    return out, [tuple(json.loads(line)) for line in log.read_text().splitlines()]


def test_nothing_outside_is_opened_and_nothing_is_run(tree: Path, watched: tuple[Path, list[tuple[str, str, list[object]]]]) -> None:
    out, events = watched
    assert len(events) > 300
    outside = str(tree.parent / "outside")
    for event, folder, args in events:
        first = str(args[0]) if args else ""
        assert event not in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "socket.connect", "socket.bind"), args
        assert not first.startswith(outside) and "etc/passwd" not in first and "SECRET" not in first, (event, args)
        path = os.path.normpath(os.path.join(folder, first))  # noqa: PTH118 - names that are no paths too
        if event == "open" and isinstance(args[0], str) and "/" in first and path.startswith(str(tree)):
            mode, flags = args[1], int(str(args[2]))
            assert flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC) == 0 and (mode is None or "w" not in str(mode)), args
        if event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.truncate"):
            assert path.startswith((str(out), "/tmp")) and not path.startswith(str(tree)), (event, args)  # noqa: S108
    assert not list(tree.rglob("PWNED")) and not (tree.parent / "PWNED").exists()


@pytest.mark.needs_tool
def test_the_kernel_saw_nothing_outside_either(tree: Path, tmp_path: Path) -> None:
    need_tool("strace")
    log = tmp_path / "calls"
    words = [sys.executable, "-P", "-m", "porter", "scan", str(tree), "-q", "--no-config", "--jobs", "2", "--no-cache", "--output"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    trace = ["strace", "-f", "-e", "trace=openat,execve,connect,unlink,rename,mkdir", "-o", str(log)]
    assert (
        subprocess.run(
            [*trace, *words, str(tmp_path / "r.json")], env=environment, capture_output=True, timeout=170, check=False
        ).returncode
        == 0
    )
    calls = log.read_text(errors="replace")
    assert "/etc/passwd" not in calls and "secret.c" not in calls and calls.count("execve(") == 1


def test_settings_behind_a_link_are_refused(tree: Path) -> None:
    words = [sys.executable, "-m", "porter", "scan", str(tree), "--no-cache", "--format", "json"]
    run = subprocess.run(words, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, timeout=60, check=False)
    assert run.returncode == 2 and run.stderr.count(b"\n") == 1 and b"is a link" in run.stderr


def test_every_attack_is_a_problem_or_harmless(tree: Path, watched: tuple[Path, list[tuple[str, str, list[object]]]]) -> None:
    report = json.loads((watched[0] / "r.json").read_text())
    problems = {problem["path"] for problem in report["problems"]}
    found = {finding["path"] for finding in report["findings"]}
    for name in (
        "deep.cu",
        "for.cu",
        "if.cu",
        "deep.py",
        "deep.yaml",
        "uv.lock",
        "pyproject.toml",
        "parts/pyproject.toml",
        "hidden/pyproject.toml",
        "big.cu",
        "fifo.cu",
    ):
        assert name in problems, name
    assert found >= {name for name in ATTACKS["names"] if name.endswith(".cu")}
    assert "passwd.cu" in found and "sub/aaa.cu" in found
    skipped = {one["path"]: one["why"] for one in report["skipped"]}
    assert "out of the root" in skipped["out.cu"] and "out of the root" in skipped["etc"]
    assert skipped["chain0.cu"] == "symbolic link that leads nowhere"
    assert "SECRET" not in json.dumps(report) and report["commit"] == ""
    assert not any("failed:" in problem["what"] for problem in report["problems"])


def test_reports_of_it_are_inert(tree: Path, ruleset: RuleSet) -> None:
    from porter.pipeline import audit

    small = tree.parent / "names"
    small.mkdir()
    for name, data in ATTACKS["names"].items():
        (small / name).write_bytes(data)
    report = audit(small, Config(jobs=0))
    page, text, shown = html.render(report), markdown.render(report), terminal.render(report)
    assert "<script>alert" not in page and "\x1b" not in page and "\u202e" not in page
    assert "<script" not in re.sub(r"`[^`\n]*`", "", text) and "\x1b" not in text
    assert "\x1b[31m" not in shown and not any(
        hidden in one for hidden in "\u202e\u200b\u3164\ufe0f\U000e0141\x9b" for one in (page, shown)
    )
    rows = list(csv.reader(io.StringIO(as_csv.render(report))))
    assert len(rows) > len(ATTACKS["names"])
    assert not any(cell[:1] in "=@+-\t\r" and not re.fullmatch(r"[-+]?[\d.]+", cell) for row in rows for cell in row if cell)


def test_an_environment_never_reaches_a_report(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_bytes(ATTACKS["names"]["-rf.cu"] + b"// $HOME ${GITHUB_TOKEN} %PATH% $USER\n")
    told = dict.fromkeys(("GITHUB_TOKEN", "USER", "LOGNAME", "HOSTNAME", "EMAIL", "HTTPS_PROXY"), "tell-nobody")
    environment = {**os.environ, **told, "HOME": "/home/tell-nobody", "PYTHONPATH": str(ROOT)}
    for form in ("json", "html"):
        words = [sys.executable, "-m", "porter", "scan", str(tmp_path / "a.cu"), "--no-cache", "--jobs", "0", "--format", form]
        run = subprocess.run(words, env=environment, capture_output=True, timeout=100, check=True)
        assert b"nvshmem" in run.stdout and b"tell-nobody" not in run.stdout


def test_tiny_conditionals_cost_time_in_proportion(ruleset: RuleSet, tmp_path: Path) -> None:
    auditor = Auditor(Config(), ruleset, tmp_path)
    took = {750: 9e9, 6_000: 9e9}
    gc.collect()
    gc.freeze()  # else a full collection of what all tests before this one left behind is counted: 0.3 s for three million objects
    try:
        for count in (750, *took, *took, *took):  # the very first run also makes queries and tables
            (tmp_path / "a.cu").write_bytes(b"#ifdef A\nint a;\n#endif\n" * count)
            started = time.process_time()
            examined = auditor.examine(Entry("a.cu", "cuda", 23 * count))
            took[count] = min(took[count], time.process_time() - started)
            assert not examined.problems
    finally:
        gc.unfreeze()
    assert took[6_000] < 16 * took[750], took  # in proportion 8 times, squared 64 times


def test_a_file_that_takes_too_long_is_named(ruleset: RuleSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SECONDS", 0.05)
    monkeypatch.setattr(limits, "SECONDS_A_MEGABYTE", 0.0)
    (tmp_path / "a.cu").write_bytes(b"__shfl_sync(0xffffffff, a, b);\n" * 20_000)
    entry = Entry("a.cu", "cuda", 620_000)
    auditor = Auditor(Config(), ruleset, tmp_path)
    assert "more than" in auditor.survey(entry).problems[0].what
    assert "more than" in auditor.examine(entry).problems[0].what
