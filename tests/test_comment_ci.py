"""Where the bot lives: the action's own scripts, the pre-commit hook's entry, the templates, and a pull request that ports."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import fake_hosts
import pytest
import yaml
from click.testing import CliRunner
from conftest import ROOT, missing, need_tool
from packaging.requirements import Requirement

from porter import cli_comment, pipeline
from porter.baseline import against_saved
from porter.cli import main
from porter.comment import choose, text
from porter.comment.values import Marker, Place
from porter.config import Config
from porter.model import Report
from porter.rules import RuleSet

PULL = ROOT / "fixtures/pulls/hipblas-alias"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}


@pytest.fixture(scope="module")
def pull(ruleset: RuleSet) -> Report:
    """The pull request's head, held against its base."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline.rules, "load", lambda *_: ruleset)
        before, after = (pipeline.audit(PULL / side, Config(jobs=0)) for side in ("base", "head"))
    return against_saved(after, before, "main")


def test_a_pull_request_that_ports_gives_a_comment_that_helps(pull: Report) -> None:
    chosen = choose.choose(pull)
    new, fixed = {finding.rule for finding in chosen.new}, {finding.rule for finding in chosen.fixed}
    assert {"ballot-in-32-bits", "lane-mask-32bit-intrinsic", "half-warp-reduction", "gfx940-target"} <= new
    assert {"cuda-base-image", "cuda-arch-fallback", "sync-mask-32bit"} <= fixed
    body = text.comment(pull, chosen, Marker(), Place("https://github.com/o/n", "c" * 40), "https://example.com/report")
    rows = [line for line in body.splitlines() if line.startswith(("| 🔴", "| 🟠"))]
    assert rows[0].startswith("| 🔴 new | [`src/quantmm-cuda.cu:46`]") and len(rows) >= 4
    assert body.count("\n| ") == 12 and len(body) < 16_000 and "more fixed, in the full report" in body
    assert "unsigned int over = __ballot_sync(0xffffffff, fabsf(v) > limit);" in body and "in the sum" in body


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A merge commit of the pull request, as actions/checkout leaves it."""
    need_tool("git")
    folder = tmp_path / "work"
    shutil.copytree(PULL / "base", folder)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "base")
    git(folder, "checkout", "-q", "-b", "change")
    shutil.copytree(PULL / "head", folder, dirs_exist_ok=True)
    (folder / "docker/full-cuda.Dockerfile").unlink()
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "port")
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "--no-ff", "-m", "merge", "change")
    return folder


def run_step(name: str, folder: Path, where: Path, **values: str) -> subprocess.CompletedProcess[str]:
    """A step's script as the runner would run it; values stand for its env, which must be all that it reads."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "HOME": str(where), "RUNNER_TEMP": str(where), "GITHUB_OUTPUT": str(where / "output"), "PYTHONPATH": str(ROOT)}
    declared = dict.fromkeys(STEPS[name].get("env", {}), "")
    assert set(values) - set(declared) <= {"GITHUB_REPOSITORY", "GITHUB_API_URL", "GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
    return subprocess.run(shell, cwd=folder, env=env | declared | values, capture_output=True, text=True, timeout=120)


def test_the_actions_scripts_scan_and_comment(checkout: Path, tmp_path: Path) -> None:
    need_tool("bash")
    if shutil.which("porter", path=str(Path(sys.executable).parent)) is None:
        missing("porter is not installed as a command")
    done = run_step(
        "Scan", checkout, tmp_path, SCAN_PATH="src", PYTHON=sys.executable, TRUST_SETTINGS="true", FAIL_ON_NEW="blocker", TARGETS="gfx942"
    )
    assert done.returncode == 0, done.stderr
    told = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert set(told) == set(ACTION["outputs"]) and told["status"] == "1" and told["prefix"] == "src/"
    results = json.loads(Path(told["sarif"]).read_text())["runs"][0]["results"]
    places = {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in results}
    assert places == {"src/quantmm-cuda.cu"} and not [one for one in results if "suppressions" in one]
    assert all(Path(told[name]).stat().st_size > 1000 for name in ("report", "html", "sarif"))
    with fake_hosts.running(fake_hosts.github) as hub:
        values = {"GITHUB_REPOSITORY": "o/n", "GITHUB_API_URL": hub.url, "GITHUB_TOKEN": fake_hosts.TOKEN, "NAME": "default"}
        values["PREFIX"] = told["prefix"]
        values |= {"SEVERITY": "minor", "SUGGEST": "true", "NUMBER": "7", "REPORT_URL": "https://example.com/r", "REPORT": told["report"]}
        done = run_step("Comment", checkout, tmp_path, **values, GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"), GITHUB_ACTIONS="true")
        assert done.returncode == 0 and "commented" in done.stderr, done.stderr
        assert len(hub.bodies) == 1 and "quantmm-cuda.cu:46" in hub.bodies[0] and "::error file=src/quantmm-cuda.cu,line=46" in done.stdout
        hub.traps = [(404, {}, {"message": "Not Found"})]
        away = run_step("Comment", checkout, tmp_path, **values)
        assert away.returncode == 0 and "::warning::" in away.stdout and "no pull request 7" in away.stderr
    assert "quantmm-cuda.cu:46" in (tmp_path / "summary.md").read_text()
    bad, good = (run_step("Judge", checkout, tmp_path, STATUS=status, FAIL_ON_NEW="major") for status in ("1", "0"))
    assert bad.returncode == 1 and "::error::this change brings findings of severity major or higher" in bad.stdout
    assert good.returncode == 0 and not good.stdout


def test_the_action_is_pinned_and_takes_inputs_as_environment_only() -> None:
    assert ACTION["runs"]["using"] == "composite" and list(STEPS) == ["Install porter", "Scan", "Comment", "Judge"]
    for step in STEPS.values():
        assert step["shell"] == "bash" and "uses" not in step and "${{" not in step["run"]
    used = set(re.findall(r"inputs\.([a-z-]+)", (ROOT / "action.yml").read_text()))
    assert used == set(ACTION["inputs"])
    assert all(one["description"] for one in (*ACTION["inputs"].values(), *ACTION["outputs"].values()))
    for line in re.findall(r"uses: (\S+)", (ROOT / "docs/bot.md").read_text()):
        assert re.fullmatch(r"[a-zA-Z/-]+@(?:[0-9a-f]{40}|COMMIT)", line), line


def test_every_dependency_is_pinned() -> None:
    rows = [line for line in (ROOT / "templates/constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    pinned = {Requirement(row).name.replace("_", "-").lower() for row in rows if re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", row)}
    assert len(pinned) == len(rows)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    assert {Requirement(one).name.lower() for one in needed} <= pinned
    for script in (STEPS["Install porter"]["run"], (ROOT / "Containerfile").read_text()):
        assert {"PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT"} == set(re.findall(r"(\w+)=\S*templates/constraints\.txt", script))


def test_the_hook_fails_on_what_a_commit_brings(checkout: Path, monkeypatch: pytest.MonkeyPatch, ruleset: RuleSet) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["language"] == "python" and hook["pass_filenames"] is False
    program, *words = shlex.split(hook["entry"])
    monkeypatch.chdir(checkout)
    monkeypatch.setattr(pipeline.rules, "load", lambda *_: ruleset)
    before = set(checkout.rglob("*"))

    def run() -> int:
        return CliRunner().invoke(main, [*words, "--jobs", "0"], catch_exceptions=False).exit_code

    assert program == "porter" and run() == 0
    (checkout / "new.cu").write_text("__global__ void k(int* n) { unsigned m = __ballot_sync(~0u, threadIdx.x > 3); *n = __popc(m); }\n")
    git(checkout, "add", "new.cu")
    assert run() == 1
    assert set(checkout.rglob("*")) - before - {checkout / "new.cu"} <= set(checkout.glob(".git/**/*")), "the hook leaves no files behind"
    for name, wanted in (
        ("a/k.cu", True),
        ("requirements-dev.txt", True),
        ("x/CMakeLists.txt", True),
        ("README.md", False),
        ("a.png", False),
    ):
        assert bool(re.search(hook["files"], name)) is wanted, name


def test_the_templates_name_commands_and_options_that_exist() -> None:
    job = yaml.safe_load((ROOT / "templates/gitlab.yml").read_text())["porter"]
    options = {
        name
        for command in ("scan", "comment")
        for param in main.get_command(click.Context(main), command).params
        for name in (*param.opts, *param.secondary_opts)
    }
    words = " ".join([*job["script"], STEPS["Scan"]["run"], STEPS["Comment"]["run"]])
    git_options = {"--quiet", "--verify", "--show-prefix", "--no-tags", "--depth"}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", words)) - git_options <= options
    assert job["artifacts"]["reports"]["codequality"] == "porter.gitlab.json"
    for line in re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Containerfile").read_text(), re.MULTILINE):
        assert all((ROOT / name).exists() for name in line.split()), line


def test_options_of_the_command_are_in_the_documentation() -> None:
    known = (ROOT / "docs/bot.md").read_text()
    assert all(name in known for name in ("--before", "--name", "--dry-run", "--api-url", "--gitlab", "--mr", "--repo", "--pr"))
    assert {param.name for param in cli_comment.comment.params} >= {"repo", "pr", "project", "mr", "before", "name"}
