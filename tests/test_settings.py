"""Settings: what a file may say, what is refused and how, and that a stranger's file cannot reach out of its folder."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from porter import pipeline, settings
from porter.cli import main
from porter.config import Config, EffortSettings, PathRule
from porter.errors import ConfigError
from porter.model import Severity
from porter.rules import RuleSet

FULL = """
targets = ["gfx90a", "gfx942", "gfx90a"]
rocm = "7.0"
exclude = ["docs/", "*.gen.cu"]
include-vendored = true
define = ["USE_ROCM=1"]
require_reason = true
[severities]
nvshmem = "info"
"cut*" = "minor"
[per-path]
"tests/**" = ["*"]
"bench/" = { ignore = ["nccl*"], severity = "minor", reason = "not shipped", until = 2027-01-31 }
[effort]
rate = 95
currency = "EUR"
experience = 1.5
"""


def write(folder: Path, text: str, name: str = "porter.toml") -> Path:
    (folder / name).write_text(text)
    return folder


def porter(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), catch_exceptions=False)


def test_every_key_is_read_from_both_files(tmp_path: Path) -> None:
    got = settings.load(write(tmp_path, FULL))
    assert got.targets == ("gfx90a", "gfx942") and got.rocm == "7.0" and got.exclude == ("docs/", "*.gen.cu")
    assert got.include_vendored and got.require_reason and got.defines == ("USE_ROCM=1",)
    assert got.severities == (("nvshmem", Severity.INFO), ("cut*", Severity.MINOR))
    assert got.per_path == (PathRule("tests/**", ("*",)), PathRule("bench/", ("nccl*",), Severity.MINOR, "not shipped", "2027-01-31"))
    assert got.effort == EffortSettings(95.0, "EUR", 1.5)
    (tmp_path / "porter.toml").unlink()
    text = "[project]\nname = 'x'\n[tool.porter]\nrocm = '7.0'\n[tool.porter.severities]\nnvshmem = 'info'\n"
    again = settings.load(write(tmp_path, text, "pyproject.toml"))
    assert again.rocm == "7.0" and again.severities == (("nvshmem", Severity.INFO),)


def test_the_report_says_which_settings_of_the_folder_are_in_force(tmp_path: Path) -> None:
    (note,) = settings.load(write(tmp_path, "exclude = ['*.cu']\n[severities]\n'*' = 'info'\n")).notes
    assert note.path == "porter.toml" and "exclude, severities" in note.what and not note.matters
    assert settings.load(tmp_path, tmp_path / "porter.toml").notes == ()
    assert settings.load(tmp_path, use_root=False) == settings.Settings()
    assert settings.load(write(tmp_path, "")) == settings.Settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tragets = []", ("'tragets'", "targets")),
        ("output = '/etc/passwd'", ("'output'", "keys:")),
        ("[per-path.'a/']\nignroe = ['*']", ("per-path.a/", "'ignroe'", "ignore")),
        ("[severities]\nnvshmem = 'fatal'", ("severities", "fatal")),
        ("targets = 'gfx942'", ("targets",)),
        ("targets = ['sm_90']", ("sm_90",)),
        ("rocm = '99.1'", ("99.1",)),
        ("require_reason = true\nrequire-reason = false", ("twice",)),
        ("exclude = ['**/a/**/a/**/a/**/a/**/b']", ("exclude", "**")),
        ("[per-path]\n'!' = ['*']", ("per-path", "pattern")),
        ("exclude = ['a', 3]", ("exclude[1]",)),
        ("exclude = ['a'", ("porter.toml",)),
        ("rules = ['../../rules']", ("'rules'", "--config")),
        ("[effort]\nrate = -1", ("effort.rate", "-1")),
        ("[effort]\nrate = nan", ("effort.rate", "nan")),
        ("[effort]\nrate = 'high'", ("effort", "rate")),
        ("[effort]\nexperience = 50", ("effort.experience", "0.2 and 5")),
        ("[effort]\nassistance = 0.01", ("effort.assistance",)),
        ("[effort]\ncurrency = '<b>'", ("effort.currency",)),
        ("[effort]\nrates = 1", ("'rates'", "rate")),
        ("[per-path]\n'a/' = { ignore = ['*'], until = 'soon' }", ("until",)),
        ("x = " + "[" * 50_000, ("porter.toml",)),
        ("#" * (settings.MAX_BYTES + 1), ("larger",)),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_the_key(tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        settings.load(write(tmp_path, text))
    said = f"{caught.value.message} ({caught.value.hint})"
    assert said.startswith("porter.toml: ") and all(word in said for word in words), said
    assert len(said) < 600


def test_a_project_file_without_settings_is_nobodys_business(tmp_path: Path) -> None:
    for text in ("[project", "[tool.porter2]\nx = 1\n", "name = 'porter'\n", "[tool]\n", "[project]\nname = 'importer'\n"):
        assert settings.load(write(tmp_path, text, "pyproject.toml")) == settings.Settings()
    with pytest.raises(ConfigError):
        settings.load(write(tmp_path, "[tool.porter]\nx = 1\n", "pyproject.toml"))
    with pytest.raises(ConfigError):
        settings.load(write(tmp_path, "[tool]\nporter = 3\n", "pyproject.toml"))


def test_nothing_is_read_through_a_link_or_from_a_pipe_or_above_the_root(tmp_path: Path) -> None:
    outside = write(tmp_path, "rocm = '7.0'\n")
    root = tmp_path / "root"
    root.mkdir()
    assert settings.load(root) == settings.Settings()
    (root / "porter.toml").symlink_to(outside / "porter.toml")
    with pytest.raises(ConfigError, match="link"):
        settings.load(root)
    with pytest.raises(ConfigError, match="no such settings file"):
        settings.load(root, root / "porter.toml")
    (root / "porter.toml").unlink()
    os.mkfifo(root / "porter.toml")
    with pytest.raises(ConfigError, match="no regular file"):
        settings.load(root)
    (root / "porter.toml").unlink()
    (root / "pyproject.toml").symlink_to(write(tmp_path, "[tool.porter]\nrocm = '7.0'\n", "x.toml") / "x.toml")
    assert settings.load(root) == settings.Settings()


def test_rule_folders_come_only_with_a_file_that_the_user_names(tmp_path: Path) -> None:
    (tmp_path / "mine" / "area").mkdir(parents=True)
    write(tmp_path, "rules = ['mine']\n")
    assert settings.load(tmp_path, tmp_path / "porter.toml").rules_dirs == (str(tmp_path.resolve() / "mine"),)
    assert settings.load(tmp_path, write(tmp_path, "[tool.porter]\nrules = ['mine']\n", "pyproject.toml") / "pyproject.toml").rules_dirs
    with pytest.raises(ConfigError, match="no \\[tool.porter\\]"):
        settings.load(tmp_path, write(tmp_path, "[tool.x]\n", "pyproject.toml") / "pyproject.toml")


def test_options_stand_over_the_file_and_lists_add_up(tmp_path: Path) -> None:
    write(tmp_path, "targets = ['gfx90a']\nrocm = '7.0'\nexclude = ['b.cu']\n[severities]\nnvshmem = 'info'\n")
    for name in ("a.cu", "b.cu", "c.cu"):
        (tmp_path / name).write_text("#include <nvshmem.h>\n")
    run = porter("scan", str(tmp_path), "--jobs", "0", "--format", "json", "--rocm", "7.2", "--exclude", "c.cu", "--no-cache")
    data = json.loads(run.stdout)
    assert data["targets"] == ["gfx90a"] and data["rocm"] == "7.2"
    assert [(f["path"], f["severity"]) for f in data["findings"]] == [("a.cu", "info")]
    assert {s["path"]: s["why"] for s in data["skipped"]} == dict.fromkeys(("b.cu", "c.cu"), "excluded by --exclude or the settings")
    assert [p["path"] for p in data["problems"] if p["stage"] == "settings"] == ["porter.toml"]


def test_patterns_of_a_hostile_file_match_in_linear_time(tmp_path: Path, ruleset: RuleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline.rules, "load", lambda *_: ruleset)
    stars = "*a" * 60 + "b"
    got = settings.load(write(tmp_path, f"exclude = ['{stars}']\n[per-path]\n'{stars}' = ['{stars}']\n[severities]\n'{stars}' = 'info'\n"))
    (tmp_path / ("a" * 200 + ".cu")).write_text("#include <nvshmem.h>\n")
    began = time.process_time()
    report = pipeline.audit(tmp_path, Config(jobs=0, exclude=got.exclude, per_path=got.per_path, severities=got.severities))
    assert len(report.findings) == 1 and time.process_time() - began < 10


def test_a_key_of_many_parts_is_refused_before_it_costs_gigabytes(tmp_path: Path) -> None:
    (tmp_path / "porter.toml").write_text("a." * 30_000 + "b = 1\n")
    started = time.process_time()
    with pytest.raises(ConfigError, match="a key of more than 60 parts"):
        settings.load(tmp_path)
    assert time.process_time() - started < 1.0


def test_a_bad_file_is_one_line_and_status_2(tmp_path: Path) -> None:
    result = porter("scan", str(write(tmp_path, "tragets = []\n")), "--format", "json")
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith("porter: porter.toml: unknown key 'tragets'") and result.stderr.count("\n") == 1
    missing = porter("scan", str(tmp_path), "--config", "/no/such/porter.toml")
    assert missing.exit_code == 2 and "/no/such/porter.toml" in missing.stderr


def test_effort_settings_reach_the_estimate_and_the_report(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("#include <nvshmem.h>\n")
    args = ("scan", str(tmp_path), "--jobs", "0", "--format", "json")
    plain = json.loads(porter(*args).stdout)
    write(tmp_path, "[effort]\nrate = 100\ncurrency = 'EUR'\nexperience = 2\n")
    told = json.loads(porter(*args).stdout)
    assert told["estimate"]["total"]["likely"] == pytest.approx(2 * plain["estimate"]["total"]["likely"], rel=0.01)
    assert told["estimate"]["cost"]["currency"] == "EUR" and "cost" not in plain["estimate"]
