"""The command line as a user meets it: outputs, statuses, and one clear line for every kind of bad input."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from porter.cli import main

REPOS = Path(__file__).resolve().parent.parent / "fixtures" / "repos"
PORTER = [sys.executable, "-m", "porter"]


def porter(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), catch_exceptions=False)


def one_line(text: str) -> bool:
    return text.startswith("porter: ") and text.count("\n") == 1 and "Traceback" not in text


def test_no_option_writes_html_and_prints_a_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = porter("scan", str(REPOS / "hpc-cmake"), "--jobs", "0")
    assert result.exit_code == 0
    assert (tmp_path / "porter-report.html").read_text().startswith("<!doctype html>")
    assert "hpc-cmake" in result.output and "porter-report.html" in result.output
    assert "\x1b[" not in result.output


def test_formats_follow_the_ending_and_pair_with_outputs(tmp_path: Path) -> None:
    out = [str(tmp_path / name) for name in ("a.json", "b.md", "c.html")]
    assert porter("scan", str(REPOS / "half-ported"), "--jobs", "0", *sum((["--output", o] for o in out), [])).exit_code == 0
    assert json.loads(Path(out[0]).read_text())["schema"] == "porter.report/1"
    odd = str(tmp_path / "report")
    assert porter("scan", str(REPOS / "half-ported"), "--jobs", "0", "--format", "json", "--output", odd).exit_code == 0
    assert json.loads(Path(odd).read_text())["root"] == "half-ported"


def test_json_to_standard_output_is_nothing_but_json() -> None:
    result = porter("scan", str(REPOS / "half-ported"), "--jobs", "0", "--format", "json")
    assert json.loads(result.stdout)["summary"]["complete"] is True
    assert json.loads(porter("scan", str(REPOS / "half-ported"), "--jobs", "0", "--format", "json", "--output", "-").stdout)


def test_statuses_of_fail_on_and_strict(tmp_path: Path) -> None:
    base = ["scan", str(REPOS / "hpc-cmake"), "--jobs", "0", "--format", "json"]
    assert porter(*base, "--fail-on", "major").exit_code == 1
    clean = tmp_path / "clean"
    clean.mkdir()
    (clean / "a.py").write_text("print(1)\n")
    assert porter("scan", str(clean), "--jobs", "0", "--format", "json", "--fail-on", "info").exit_code == 0
    os.mkfifo(clean / "pipe.py")
    assert porter("scan", str(clean), "--jobs", "0", "--format", "json", "--strict").exit_code == 3
    assert porter("scan", str(clean), "--jobs", "0", "--format", "json").exit_code == 0


@pytest.mark.parametrize(
    "args",
    [
        ["scan", "/no/such/place"],
        ["scan", ""],
        ["scan", ".", "--target", "sm_90"],
        ["scan", ".", "--target", ","],
        ["scan", ".", "--rocm", "8.0"],
        ["scan", ".", "--output", "report.docx"],
        ["scan", ".", "--format", "json", "--format", "html", "--output", "a"],
        ["scan", ".", "--output", "-", "--output", "-"],
        ["scan", ".", "--rules", "/no/such/rules"],
        ["scan", ".", "--hipify", "/no/such/hipify-perl"],
        ["hipify", "/no/such/file.cu"],
        ["explain", "cudaMalocc"],
    ],
)
def test_bad_input_gets_one_line_and_status_2(args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = porter(*args)
    assert result.exit_code == 2
    assert one_line(result.stderr), result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_broken_rule_of_the_user_names_its_file(tmp_path: Path) -> None:
    rules = tmp_path / "rules" / "mine"
    rules.mkdir(parents=True)
    (rules / "bad.toml").write_text("id = 'bad'\n")
    result = porter("scan", str(REPOS / "pure-torch"), "--rules", str(tmp_path / "rules"))
    assert result.exit_code == 2
    assert "bad.toml" in result.stderr and one_line(result.stderr)


def test_empty_folder_and_folder_without_cuda(tmp_path: Path) -> None:
    report = json.loads(porter("scan", str(tmp_path), "--jobs", "0", "--format", "json").stdout)
    assert report["findings"] == [] and report["summary"]["files_scanned"] == 0
    (tmp_path / "a.py").write_text("x = 1\n")
    report = json.loads(porter("scan", str(tmp_path), "--jobs", "0", "--format", "json").stdout)
    assert report["summary"]["cuda_files"] == 0 and report["summary"]["effort_hours"]["p90"] == 0


def test_a_single_file(tmp_path: Path) -> None:
    report = json.loads(porter("scan", str(REPOS / "hpc-cmake/src/reduce.cu"), "--jobs", "0", "--format", "json").stdout)
    assert {f["path"] for f in report["findings"]} == {"reduce.cu"}


def test_hostile_files_are_problems_and_the_rest_is_found(tmp_path: Path) -> None:
    shutil.copytree(REPOS / "hpc-cmake", tmp_path / "repo")
    root = tmp_path / "repo"
    (root / "binary.cu").write_bytes(b"\x7fELF" + bytes(range(256)) * 40)
    (root / "long.cu").write_bytes(b"int x = 0" + b"+1" * 25_000_000 + b";")
    (root / "line.cu").write_bytes(b"int x = 0" + b"+1" * 1_000_000 + b";")
    (root / "deep.cu").write_bytes(b"__global__ void k() { int x = " + b"(" * 1_000_000 + b"1;\n}\n")
    (root / "deep.py").write_bytes(b"import torch\nx = " + b"(" * 200_000 + b"\n")
    (root / "bad.cu").write_bytes(b"// \xff\xfe\xfa\n__global__ void k(int* p) { p[0] = __shfl_sync(0xffffffff, p[0], 0); }\n")
    (root / "sixteen.cu").write_bytes("__global__ void k(int* p) { p[0] = __shfl_sync(0xffffffff, p[0], 0); }\n".encode("utf-16"))
    (root / "requirements.txt").write_bytes(b"torch==\n==broken\nnumpy\n" + b"a" * 10_000 + b"\n")
    (root / "bomb.yaml").write_text("a: &a [x,x,x,x]\n" + "".join(f"b{i}: &b{i} [*a,*a,*a,*a,*a]\n" for i in range(50)))
    (root / "deep.json").write_text("[" * 100_000)
    (root / "n.ipynb").write_text('{"cells": ' + "[" * 50_000)
    unreadable = root / "closed.cu"
    unreadable.write_text("__global__ void k();\n")
    unreadable.chmod(0)
    result = porter("scan", str(root), "--jobs", "2", "--format", "json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    found = {f["path"] for f in report["findings"]}
    assert {"src/reduce.cu", "bad.cu", "sixteen.cu"} <= found
    problems = {p["path"] for p in report["problems"]}
    assert {"binary.cu", "long.cu", "line.cu"} <= problems
    assert os.geteuid() == 0 or "closed.cu" in problems
    assert report["summary"]["complete"] is False


def test_a_full_disk_leaves_no_half_report(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = subprocess.run(
        [*PORTER, "scan", str(REPOS / "hpc-cmake"), "--jobs", "0", "--output", str(target)],
        capture_output=True, text=True, preexec_fn=limit, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert one_line(done.stderr), done.stderr
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]


def test_output_into_a_missing_folder_and_over_a_folder(tmp_path: Path) -> None:
    for target in (tmp_path / "absent" / "r.json", tmp_path / "taken.json"):
        (tmp_path / "taken.json").mkdir(exist_ok=True)
        result = porter("scan", str(REPOS / "pure-torch"), "--jobs", "0", "--output", str(target))
        assert result.exit_code == 2 and one_line(result.stderr), result.stderr


def test_ctrl_c_ends_with_one_line_and_no_report(tmp_path: Path) -> None:
    code = (REPOS / "hpc-cmake/src/reduce.cu").read_text()
    for i in range(300):  # each is another, since copies of one file are not examined
        (tmp_path / f"k{i}.cu").write_text(f"{code}__global__ void own_{i}() {{}}\n")
    target = tmp_path / "report.html"
    process = subprocess.Popen(
        [*PORTER, "scan", str(tmp_path), "--jobs", "2", "--output", str(target)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 20
    while not children.read_text().split() and time.monotonic() < deadline:  # the workers run
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)
    _, words = process.communicate(timeout=20)
    assert process.returncode == 130
    assert words.strip() == "porter: interrupted; no report was written"
    assert not target.exists()


def test_explain_knows_rules_names_packages_and_opcodes() -> None:
    for name, word in (("cudaMalloc", "hipMalloc"), ("cp.async", "PTX"), ("tensorrt", "TensorRT"), ("sync-mask-32bit", "64")):
        result = porter("explain", name)
        assert result.exit_code == 0, (name, result.output)
        assert word in result.output
    near = porter("explain", "cudaMalocc")
    assert "cudaMalloc" in near.stderr and near.exit_code == 2


def test_hipify_one_file_prints_hip() -> None:
    result = porter("hipify", str(REPOS / "hpc-cmake/src/main.cu"))
    assert result.exit_code == 0
    assert "hipMalloc(&in" in result.stdout and "cudaMalloc(" not in result.stdout
    assert "#include <hip/hip_runtime.h>" in result.stdout


def test_rules_commands(tmp_path: Path) -> None:
    listed = porter("rules", "list", "--category", "warp-size")
    assert listed.exit_code == 0 and "sync-mask-32bit" in listed.output
    assert porter("rules", "test", "sync-mask-32bit").exit_code == 0
    assert porter("rules", "new", "mine", "my-library", "--folder", str(tmp_path)).exit_code == 0
    assert porter("rules", "test", "my-library", "--rules", str(tmp_path)).exit_code == 0
    assert porter("rules", "new", "mine", "my-library", "--folder", str(tmp_path)).exit_code == 2
    assert "# Rules" in porter("rules", "docs").output


def test_help_and_version() -> None:
    assert "--target" in porter("scan", "--help").output
    assert porter("--version").output.startswith("porter, version ")


def test_help_lists_each_command_with_its_own_words_and_loads_none() -> None:
    from porter.cli import COMMANDS

    for name, (_, text) in COMMANDS.items():
        command = main.get_command(click.Context(main), name)
        assert command is not None
        assert command.name == name
        assert command.get_short_help_str(300) == text
    loaded = "import sys, porter.cli; porter.cli.main(['--help'], standalone_mode=False); print(sorted(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout
    assert "explain" in answer
    assert not [heavy for heavy in ("msgspec", "tree_sitter", "porter.rules", "rich") if f"'{heavy}'" in answer]


def test_a_mistyped_command_and_a_path_without_one_are_told_what_was_meant(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    for words, meant in ((["scn", "x"], "Did you mean: porter scan"), ([str(tmp_path / "repo")], f"Did you mean: porter scan {tmp_path}")):
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 2 and meant in result.stderr
    assert "Did you mean" not in CliRunner().invoke(main, ["zzzzzz"]).stderr


def test_an_output_that_cannot_be_is_refused_before_the_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("porter.pipeline.audit", lambda *_: pytest.fail("scanned"))
    for file in (tmp_path / "none" / "r.html", tmp_path):
        result = CliRunner().invoke(main, ["scan", str(tmp_path), "--format", "html", "--output", str(file)])
        assert result.exit_code == 2 and str(file) in result.stderr
