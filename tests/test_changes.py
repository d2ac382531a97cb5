"""--changed-since: only what differs from a revision is looked at, the rest still gives context, and git runs nothing."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import need_tool

from porter import passes
from porter.cli import main
from porter.discover import Entry
from porter.examine import Surveyed

KERNEL = "__global__ void k(int* p) { p[0] = __shfl_down_sync(0xffffffffu, p[0], 16); }\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "sub").mkdir(parents=True)
    for name in ("a.cu", "b.cu", "sub/c.cu"):
        (root / name).write_text(KERNEL)
    (root / "requirements.txt").write_text("cupy-cuda12x\n")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        git = [need_tool("git"), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false"]
        subprocess.run([*git, *words], cwd=root, check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"})
    return root


def scan(root: Path, *words: str) -> dict[str, object]:
    run = CliRunner().invoke(main, ["scan", str(root), "--no-cache", "--jobs", "0", "--format", "json", "--changed-since", "HEAD", *words])
    assert run.exit_code == 0, run.output
    report: dict[str, object] = json.loads(run.output)
    return report


def paths(report: dict[str, object], key: str = "findings") -> set[str]:
    return {one["path"] for one in report[key]}  # type: ignore[index, attr-defined]


def test_only_changed_and_new_files_are_looked_at_and_the_report_says_so(checkout: Path) -> None:
    settings = checkout / ".git" / "config"
    settings.write_text(settings.read_text() + "[core]\n\tfsmonitor = touch fsmonitor\n[diff]\n\texternal = touch textconv\n")
    (checkout / "b.cu").write_text("// changed\n" + KERNEL)
    (checkout / "sub" / "new.cu").write_text(KERNEL)
    report = scan(checkout)
    assert paths(report) == {"b.cu", "sub/new.cu"} == paths(report, "files")
    scope = report["scope"]
    assert isinstance(scope, dict) and (scope["revision"], scope["changed"], scope["unchanged"]) == ("HEAD", 2, 3)
    assert any("only the 2 files" in problem["what"] for problem in report["problems"])  # type: ignore[attr-defined]
    assert paths(scan(checkout / "sub")) == {"new.cu"}
    assert not (checkout / "fsmonitor").exists() and not (checkout / "textconv").exists()


def test_the_verdict_is_of_what_differs(checkout: Path) -> None:
    """It once said of the whole project, as far as 0 scanned files can tell, that nothing ties it to NVIDIA GPUs."""

    def said() -> str:
        run = CliRunner().invoke(
            main, ["scan", str(checkout), "--no-cache", "--jobs", "0", "--format", "terminal", "--changed-since", "HEAD"]
        )
        assert run.exit_code == 0, run.output
        return " ".join(run.output.split())

    assert f"No file of {checkout.name} differs from HEAD, so nothing was looked at." in said()
    assert "0 files that" not in said()
    (checkout / "plain.py").write_text("x = 1\n")
    text = said()
    assert f"What differs from HEAD in {checkout.name} holds nothing that needs work for" in text
    assert "only the 1 file that differs from HEAD was looked at" in text


def test_other_files_still_give_context(checkout: Path) -> None:
    (checkout / "w.h").write_text("#define STEP 16\n")
    subprocess.run(["git", "add", "-A"], cwd=checkout, check=True)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "y"], cwd=checkout, check=True)
    (checkout / "b.cu").write_text('#include "w.h"\n' + KERNEL.replace("16", "STEP"))
    alone = {(f["path"], f["rule"]) for f in scan(checkout)["findings"]}  # type: ignore[attr-defined]
    run = CliRunner().invoke(main, ["scan", str(checkout), "--no-cache", "--jobs", "0", "--format", "json"])
    whole = {(f["path"], f["rule"]) for f in json.loads(run.output)["findings"] if f["path"] == "b.cu"}
    assert alone == whole != set()


@pytest.mark.parametrize(
    ("words", "said"), [(["--changed-since", "nowhere"], "nowhere"), (["--changed-since", "HEAD", "--baseline", "HEAD"], "together")]
)
def test_what_cannot_be_is_refused(checkout: Path, words: list[str], said: str) -> None:
    run = CliRunner().invoke(main, ["scan", str(checkout), "--no-cache", "--format", "json", *words])
    assert run.exit_code == 2 and said in run.output


def test_files_that_ask_no_other_need_no_survey(checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    survey, made = passes.Passes.survey, list[int]()

    def counted(self: passes.Passes, entries: Iterable[Entry]) -> list[Surveyed]:
        made.append(1)
        return survey(self, entries)

    monkeypatch.setattr(passes.Passes, "survey", counted)
    (checkout / "tool.py").write_text("import torch\ntorch.cuda.nvtx.range_push('x')\nimport pynvml\n")
    report = scan(checkout)
    assert paths(report) == {"tool.py"} and not made
    (checkout / "embedded.py").write_text(
        f"import cupy\nSOURCE = r'''\n#include \"w.h\"\n{KERNEL.replace('16', 'STEP')}'''\ncupy.RawKernel(SOURCE, 'k')\n"
    )
    (checkout / "w.h").write_text("#define STEP 16\n")
    for words in (("--no-cache",), ("--cache-dir", str(tmp_path / "c")), ("--cache-dir", str(tmp_path / "c"))):
        made.clear()
        run = CliRunner().invoke(main, ["scan", str(checkout), *words, "--jobs", "0", "--format", "json", "--changed-since", "HEAD"])
        known = json.loads(run.output)
        assert {one["path"] for one in known["findings"]} >= {"tool.py", "embedded.py"} and made, words
        with monkeypatch.context() as patched:
            patched.setattr(passes.Passes, "examine_alone", lambda *_: None)
            whole = scan(checkout)
        assert known["findings"] == whole["findings"]
