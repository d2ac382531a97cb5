"""A hostile repository: every attack is a problem or harmless, costs little time, and nothing outside is read, run or replaced."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from porter import cli_scan, ignore, link, unchanged, workers
from porter import discover as walk
from porter.commit import commit_of
from porter.config import Config
from porter.discover import Entry, discover
from porter.errors import OutputError, RuleError
from porter.examine import Auditor
from porter.hipify import perl
from porter.kinds import kind_of
from porter.pipeline import audit
from porter.regular import read_below
from porter.render import html, markdown
from porter.rules import RuleSet, load
from porter.write import write_whole

KERNEL = b"#include <nvshmem.h>\n__global__ void k(int* p) { p[0] = __shfl_down_sync(0xffffffffu, p[0], 16); }\n"
NAMES = (
    "new\nline.cu", "esc\x1b[31mred\x07.cu", "<script>alert(1)<script>.cu", "-rf.cu", "--output=x.cu", "$(touch PWNED).cu", "`id`.cu",
    "back\\slash.cu", "quo\"te's.cu", "a" * 240 + ".cu", "[x](javascript:alert(1)).cu", "|pipe|.cu", "\u202egnp.cu", "=cmd|calc.cu",
    "\u2028line.cu", "{{7*7}}.cu", "]]>-->.cu",
)  # fmt: skip
STORED = {
    "u16.cu": KERNEL.decode().encode("utf-16"), "u32.cu": KERNEL.decode().encode("utf-32"), "bom.cu": b"\xef\xbb\xbf" + KERNEL,
    "latin.cu": b"// caf\xe9\n" + KERNEL, "crlf.cu": KERNEL.replace(b"\n", b"\r\n"), "nul.cu": b"// \0" + b"x" * 200 + b"\n" + KERNEL,
}  # fmt: skip
LOST = {
    "elf.cu": (b"\x7fELF" + bytes(range(256)) * 20, "binary"),
    "line.cu": (b"int a = 1" + b"+1" * 600_000 + b";\n", "a line of more than 1 MB"),
    "deep.cu": (b"int a = " + b"(" * 500_000 + b";\n", "brackets nest"),
    "deep.py": (b"import pycuda.driver\nx = " + b"[" * 500_000, "brackets nested"),
    "for.cu": (KERNEL + b"void f() { " + b"for(;;)" * 3000 + b"; }\n", "loops without braces"),
    "uv.lock": (b"[[package]]\nname = 'cupy'\n" + b"a." * 300_000 + b"b = 1\n", "more than 60 parts"),
    "k8s.yaml": (b"a: " + b"[" * 5000, "YAML"),
    "book.ipynb": (b'{"cells": ' + b"[" * 5000, "levels deep"),
}


def hostile_tree(root: Path) -> None:
    """Write the attacks into a folder."""
    for name in NAMES:
        (root / name).write_bytes(KERNEL)
    for name, data in STORED.items():
        (root / name).write_bytes(data)
    for name, (data, _) in LOST.items():
        (root / name).write_bytes(data)
    for name in ("setup.py", "conftest.py", "sitecustomize.py", "yaml.py"):
        (root / name).write_text("open('PWNED', 'w')\n")
    (root / "hipify-perl").write_text("#!/bin/sh\ntouch PWNED\n")
    (root / "hipify-perl").chmod(0o755)
    (root / os.fsdecode(b"bad\xff.cu")).write_bytes(KERNEL)
    with (root / "big.cu").open("wb") as big:
        big.truncate(50_000_000)
    os.mkfifo(root / "fifo.cu")
    os.mkfifo(root / ".gitignore")
    server, here = socket.socket(socket.AF_UNIX), Path.cwd()
    os.chdir(root)
    server.bind("sock.py")
    os.chdir(here)
    server.close()
    links = {"out.cu": "../outside/secret.cu", "etc": "/etc", "loop": ".", "a.cu": "b.cu", "b.cu": "a.cu", "zero.cu": "/dev/zero"}
    for name, target in links.items():
        (root / name).symlink_to(target)
    (root / ".git").mkdir()
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/refs").symlink_to("../../outside")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    (outside / "heads").mkdir(parents=True)
    (outside / "heads/main").write_text("a" * 40)
    (outside / "secret.cu").write_bytes(KERNEL)
    root = tmp_path / "repository"
    root.mkdir()
    hostile_tree(root)
    return root


def test_every_attack_is_a_problem_or_harmless(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    before = sorted(os.listdir(tree))  # noqa: PTH208 - names that are no UTF-8
    report = audit(tree, Config(jobs=2))
    found = {finding.path for finding in report.findings if finding.rule == "nvshmem"}
    assert found >= {*NAMES, *STORED}
    problems = {problem.path: problem.what for problem in report.problems}
    for name, (_, words) in LOST.items():
        assert words in problems[name], name
    assert "48 MiB" in problems["big.cu"]
    assert "pipe" in problems["fifo.cu"] and "pipe" in problems["sock.py"]
    assert any("not valid UTF-8" in what for what in problems.values())
    skipped = {one.path: one.why for one in report.skipped}
    assert {"out.cu", "etc", "zero.cu"} <= {path for path, why in skipped.items() if "out of the root" in why}
    assert "leads nowhere" in skipped["a.cu"]
    assert report.commit == ""
    assert sorted(os.listdir(tree)) == before  # noqa: PTH208
    page = html.render(report)
    assert "<script>alert" not in page and "\x1b" not in page and "\u202e" not in page
    text = re.sub(r"`[^`\n]*`", "", markdown.render(report))
    assert "<script" not in text and "\x1b" not in text


UNITS: dict[str, tuple[bytes, ...]] = {
    "a.cu": (
        b"#if !defined " + b" " * 90,
        b"#include <" + b"<" * 90,
        b'asm("\\"',
        b"'\\a\\",
        b"#if __CUDA_ARCH__ ",
        b"#define A(",
        b"__has_(",
    ),
    "a.cpp": (b"#include <cuda",),
    "setup.py": (b"a=1\n", b"a = b\n", b"'cuda',\n"),
    "a.py": (b"import pycuda\n", b"'cuda', "),
    "a.pyx": (b".", b'\\"', b"'\\\""),
    "a.ipynb": (b'\\"', b'"\\"'),
    "CMakeLists.txt": (b'set(A "\\"', b"z", b"a::", b'\\"'),
    "Dockerfile": (b'RUN ["a\\"',),
    "Jenkinsfile": (b'\\"', b"/*"),
    "a.ptx": (b"\n", b"/*", b"@p{"),
    "Pipfile.lock": (b"\n", b'\\"'),
    "pyproject.toml": (b"a.", b"[a."),
    "a.yaml": (b"{{/*", b"{{ ", b"&a [*a,"),
    "Makefile": (b"ifeq ", b"$(a"),
    "requirements.txt": (b"a; (", b"a[b,", b"a ==1,"),
}


@pytest.mark.parametrize("name", UNITS)
def test_hostile_bytes_cost_little_time(name: str, ruleset: RuleSet, tmp_path: Path) -> None:
    auditor = Auditor(Config(), ruleset, tmp_path, link.link([], ()))
    for unit in UNITS[name]:
        (tmp_path / name).write_bytes(unit * (100_000 // len(unit)))
        entry = Entry(name, kind_of(name) or "", 100_000)
        started = time.process_time()
        auditor.survey(entry)
        examined = auditor.examine(entry)
        assert time.process_time() - started < 4.0, unit
        assert not any("failed" in problem.what for problem in examined.problems), unit


def test_ignore_patterns_cannot_stall_the_walk(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text(
        "*a*a*a*a*c*a*a*b\n" + "*x*" + "?" * 60 + "y[[a]\n" + "x" * 5000 + "\n**/a/**/a/**/a/**/b\n[z-a]\n" + "*.log\n" * 6000
    )
    (tmp_path / ("a" * 200 + ".cu")).write_bytes(KERNEL)
    (tmp_path / "old.cuh").write_bytes(KERNEL)
    started = time.process_time()
    found = discover(tmp_path, Config())
    assert time.process_time() - started < 3.0
    assert len(found.entries) == 2
    assert sum(problem.path == ".gitignore" for problem in found.problems) >= 2


@pytest.mark.parametrize(
    ("line", "path", "verdict"),
    [("*a*b", "xaxb", True), ("*a*b", "xaxbx", False), ("*a*ab*", "aab", True), ("[!a]*?*x", "abx", False), ("d/*e*f/", "d/xexf/", True)],
)
def test_linear_patterns_match_as_before(line: str, path: str, verdict: bool) -> None:
    assert ignore.spec_of([line])[0].match_file(path) is verdict


def test_a_folder_that_became_a_link_is_not_followed(tree: Path) -> None:
    (tree / "sub").symlink_to("../outside")
    assert read_below(tree, "sub/secret.cu", 100) is None
    assert read_below(tree, "-rf.cu", 8) == KERNEL[:8]
    assert commit_of(tree) == ""


def test_a_chain_of_links_leads_nowhere_and_stops_nothing(tmp_path: Path) -> None:
    for number in range(1_500):
        (tmp_path / f"l{number}.cu").symlink_to(f"l{number + 1}.cu")
    (tmp_path / "a.cu").write_bytes(KERNEL)
    found = discover(tmp_path, Config())
    assert [entry.path for entry in found.entries] == ["a.cu"]
    assert {one.why for one in found.skipped} == {"symbolic link that leads nowhere"} and len(found.skipped) == 1_500
    assert unchanged._look(tmp_path, ("",)).look[""]["l0.cu"] == ["link", "", False]


def test_what_is_no_regular_file_is_not_even_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    real, opened = os.open, []
    monkeypatch.setattr(os, "open", lambda path, *more, **named: (opened.append(str(path)), real(path, *more, **named))[1])
    assert read_below(tmp_path, ".gitignore", 100) is None and opened == [str(tmp_path)]


def test_a_folder_swapped_for_a_link_during_the_walk_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.cu").write_bytes(KERNEL)
    root = tmp_path / "repository"
    (root / "sub").mkdir(parents=True)
    (root / "a.cu").write_bytes(KERNEL)
    read = walk._Walk._ignore_files

    def swapped(self: walk._Walk, folder: str) -> object:
        if folder == "sub":
            (root / "sub").rmdir()
            (root / "sub").symlink_to("../outside")
        return read(self, folder)

    monkeypatch.setattr(walk._Walk, "_ignore_files", swapped)
    found = discover(root, Config())
    assert [entry.path for entry in found.entries] == ["a.cu"]
    assert [(problem.path, problem.what[:22]) for problem in found.problems] == [("sub", "folder cannot be read:")]


def test_a_relative_path_entry_never_gives_the_repositorys_program(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    assert perl.find("", "", ".:", "") != Path("hipify-perl")
    (tree / "git").write_text("#!/bin/sh\n")
    (tree / "git").chmod(0o755)
    monkeypatch.setenv("PATH", ".:")
    assert cli_scan._git() == ""
    monkeypatch.setenv("PATH", f".:{tree}")
    assert cli_scan._git() == str(tree / "git")


def test_a_device_is_written_to_and_stays(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="No space left"):
        write_whole(Path("/dev/full"), "x" * 100)
    assert Path("/dev/full").is_char_device()


def test_a_pipe_among_the_rules_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.toml")
    with pytest.raises(RuleError, match="no regular file"):
        load((str(tmp_path),))


def _porter(*words: str, **options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "porter", *words], **options)  # type: ignore[call-overload,no-any-return]


def test_a_full_standard_output_is_one_line(tree: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        run = _porter("scan", str(tree / "crlf.cu"), "--format", "json", stdout=full, stderr=subprocess.PIPE)
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 2
    assert errors.count(b"\n") == 1 and b"No space left" in errors


class Slow:
    """Writes its process id down and sleeps."""

    def note(self, folder: str) -> None:
        (Path(folder) / str(os.getpid())).touch()
        time.sleep(60)


def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    parent = os.fork()
    if parent == 0:
        list(workers.run(Slow, (), "note", [str(tmp_path)], lambda _: 1, 1))
        os._exit(0)
    until = time.monotonic() + 20
    while not (noted := [int(path.name) for path in tmp_path.iterdir()]) and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    while any(Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes() for pid in noted):
        assert time.monotonic() < until, "a worker outlived its parent"
        time.sleep(0.1)


class Fatal:
    """Dies of task 0; counts how often other tasks are done."""

    def do(self, task: tuple[str, int]) -> int:
        if task[1] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        with (Path(task[0]) / "log").open("a") as log:
            log.write(f"{task[1]}\n")
        return task[1]


def test_a_death_repeats_nothing_but_the_task_that_died(tmp_path: Path) -> None:
    tasks = [(str(tmp_path), number) for number in range(60)]
    outcomes = {outcome.task[1]: outcome for outcome in workers.run(Fatal, (), "do", tasks, lambda task: 1000 - task[1], 2)}
    assert outcomes[0].death and len(outcomes) == 60
    assert sorted(o.value for o in outcomes.values() if not o.death) == list(range(1, 60))
    log = [int(line) for line in (tmp_path / "log").read_text().split()]
    assert set(log) == set(range(1, 60))
    assert len(log) <= 59 + 40  # answers that were on the way when the worker died


def test_json_is_the_same_with_and_without_workers(tree: Path, tmp_path: Path) -> None:
    texts = []
    for jobs in ("0", "2"):
        out = tmp_path / f"{jobs}.json"
        run = _porter("scan", str(tree), "-q", "--jobs", jobs, "--output", str(out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert run.communicate(timeout=100)[1] == b"" and run.returncode == 0
        texts.append(json.loads(out.read_text()))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(("inner", "matters"), [(b'{"x": [0, 1]}, ', False), (b'{"image": "nvidia/cuda:12.4.1-devel"}, ', True)])
def test_a_long_line_of_data_that_speaks_of_no_gpu_costs_nothing(tmp_path: Path, inner: bytes, matters: bool) -> None:
    (tmp_path / "data.json").write_bytes(b"[" + inner * (1_100_000 // len(inner)) + b"0]")
    assert [problem.matters for problem in audit(tmp_path, Config(jobs=0)).problems] == [matters]
