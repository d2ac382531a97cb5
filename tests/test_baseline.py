"""Baseline: findings are told apart by content; a revision is read without running anything the repository says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from conftest import need_tool
from report_factory import finding, make_report, rules

from porter import baseline, baseline_cache, pipeline, revision
from porter.cli import main
from porter.errors import InputError, ToolError
from porter.model import Finding, Hours, Problem
from porter.render import html, markdown, terminal
from porter.render import json as json_report
from porter.rules import RuleSet

REPORT = make_report(problems=())


def porter(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), catch_exceptions=False)


@pytest.fixture
def quick(ruleset: RuleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules are read once for the whole run."""
    monkeypatch.setattr(pipeline.rules, "load", lambda *_: ruleset)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "before.json"
    path.write_text(json_report.render(REPORT))
    return path


def row(path: str, line: int, code: str, mark: str) -> Finding:
    return finding(rules()["nvshmem"], path, line, code, "includes nvshmem.h", fingerprint=mark)


def test_a_saved_report_is_read_back_whole(saved: Path) -> None:
    read = baseline.load(saved)
    assert [f.fingerprint for f in read.findings] == [f.fingerprint for f in REPORT.findings]
    assert baseline.paths_of(read) == baseline.paths_of(REPORT) and baseline.differences(read, REPORT) == ()
    assert (read.estimate.hours, read.complete) == (REPORT.estimate.hours, REPORT.complete)


def test_new_fixed_and_unchanged_by_content() -> None:
    before = [row("a.cu", 1, "#include <nvshmem.h>", "1"), row("a.cu", 9, "x();", "2"), row("gone.cu", 1, "y();", "3")]
    after = [row("a.cu", 41, "#include <nvshmem.h>", "1"), row("b.cu", 1, "z();", "4")]
    found = baseline.compare(before, after, frozenset({"a.cu", "b.cu"}))
    assert [[f.fingerprint for f in rows] for rows in (found.new, found.fixed, found.unchanged)] == [["4"], ["2", "3"], ["1"]]
    assert found.unchanged[0].line == 41


def test_a_moved_file_is_not_new_and_a_copied_one_is() -> None:
    before = [row("old/a.cu", 1, "x();", "1"), row("old/a.cu", 2, "x();", "2")]
    moved = [row("new/a.cu", 1, "  x();", "3"), row("new/a.cu", 2, "x();", "4"), row("new/a.cu", 3, "x();", "5")]
    found = baseline.compare(before, moved, frozenset({"new/a.cu"}))
    assert [f.fingerprint for f in found.unchanged] == ["3", "4"] and [f.fingerprint for f in found.new] == ["5"] and found.fixed == ()
    copied = baseline.compare(before, [*before, *moved], frozenset({"new/a.cu", "old/a.cu"}))
    assert len(copied.new) == 3 and len(copied.unchanged) == 2


def test_what_is_suppressed_now_is_not_called_fixed() -> None:
    before = [row("a.cu", 1, "x();", "1"), row("a.cu", 2, "y();", "2")]
    found = baseline.compare(before, [], frozenset({"a.cu"}), frozenset({"1"}))
    assert [f.fingerprint for f in found.fixed] == ["2"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '{"schema": 1}', "\x00\xff", "[" * 100_000, json_report.render(REPORT).replace("report/1", "report/9")]
)
def test_what_is_no_report_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"x\.json"):
        baseline.load(path)


def test_a_report_says_what_else_differs_from_its_baseline(saved: Path) -> None:
    before = baseline.load(saved)
    other = msgspec.structs.replace(
        REPORT, root="other", rules_version="other", targets=("gfx942",), problems=(Problem("read", "a", 0, "x"),)
    )
    assert [words.split()[0] for words in baseline.differences(before, other)] == ["root", "rules", "targets"]
    assert "incomplete" in baseline.differences(other, before)[-1]


def test_diff_of_two_reports(saved: Path, tmp_path: Path) -> None:
    later = msgspec.structs.replace(
        REPORT, findings=(*REPORT.findings[2:], row("z.cu", 7, "q();", "new-one")),
        estimate=msgspec.structs.replace(
            REPORT.estimate, hours=msgspec.structs.replace(REPORT.estimate.hours, p50=66.4), total=Hours(15, 58.2, 200)
        ),
    )  # fmt: skip
    after = tmp_path / "after.json"
    after.write_text(json_report.render(later))
    said = porter("diff", str(saved), str(after))
    assert said.exit_code == 0 and said.stdout.startswith(
        "1 new, 2 fixed, 4 unchanged\nDebt    68 h before, 66 h now (P50); 2.5 h less in the sum\n"
    )
    assert "z.cu:7" in said.stdout and "\x1b" not in said.stdout
    data = json.loads(porter("diff", str(saved), str(after), "--format", "json").stdout)
    assert data["counts"] == {"new": 1, "fixed": 2, "unchanged": 4} and data["effort_hours"]["delta"]["p50"] == -2.0
    assert [f["path"] for f in data["new"]] == ["z.cu"] and len(data["fixed"]) == 2 and len(data["unchanged"]) == 4
    back = json.loads(porter("diff", str(after), str(saved), "--format", "json").stdout)
    assert back["counts"] == {"new": 2, "fixed": 1, "unchanged": 4}
    assert porter("diff", str(saved), "/no/such.json").exit_code == 2


def test_scan_against_a_saved_report(tmp_path: Path, quick: None) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "a.cu").write_text("#include <nvshmem.h>\n#include <cutlass/cutlass.h>\n")
    args = ["scan", str(root), "--jobs", "0", "--format", "json"]
    (tmp_path / "base.json").write_text(porter(*args).stdout)
    (root / "a.cu").write_text("int moved;\n\n#include <nvshmem.h>\n#include <cufft.h>\n#include <cub/cub.cuh>\nint x = 1; // q\n")
    same = porter(*args, "--baseline", str(tmp_path / "base.json"), "--fail-on-new", "major")
    data = json.loads(same.stdout)
    assert same.exit_code == 0 and [(f["rule"], f["line"], f["state"]) for f in data["findings"] if f["rule"] == "nvshmem"] == [
        ("nvshmem", 3, "unchanged")
    ]
    assert [f["rule"] for f in data["fixed"]] == ["cutlass"] and data["baseline"]["fixed"] == 1
    assert data["baseline"]["effort_hours"]["before"]["p50"] > data["baseline"]["effort_hours"]["after"]["p50"] > 0
    (root / "b.cu").write_text("#include <nvshmem.h>\n")
    assert porter(*args, "--baseline", str(tmp_path / "base.json"), "--fail-on-new", "major").exit_code == 1
    assert porter(*args, "--fail-on-new", "major").exit_code == 2


def test_the_reports_show_the_debt_before_and_after(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = baseline.Source(str(saved), Path(), "")
    report = baseline.against(REPORT, source, None, None)  # type: ignore[arg-type]
    assert {f.state for f in report.findings} == {"unchanged"} == {f.state for f in report.insights} and report.fixed == ()
    for text in (terminal.render(report), html.render(report), markdown.render(report)):
        text = re.sub(r"</?a\b[^>]*>", "", text)
        assert "6 unchanged" in text and "68 h before, 68 h now (P50); no change in the sum" in text


def git(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose configuration, attributes and hooks all want to run something, with links among its files."""
    need_tool("git")
    root = tmp_path / "repo"
    (root / "sub").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / "a.cu").write_text("#include <nvshmem.h>\n")
    (root / "sub/b.cu").write_text("#include <cutlass/cutlass.h>\n")
    (root / "sub/link.cu").symlink_to("/etc/passwd")
    (root / "notes.bin").write_bytes(b"x" * 1000)
    (root / ".gitattributes").write_text("* filter=evil\na.cu export-ignore\nsub export-subst ident\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    git(root, "tag", "v1")
    trap = f"touch {tmp_path}/pwned"
    for key in (
        "core.fsmonitor",
        "filter.evil.smudge",
        "filter.evil.process",
        "core.pager",
        "core.sshCommand",
        "diff.external",
        "alias.ls-tree",
    ):
        git(root, "config", key, f"!{trap}" if key.startswith("alias") else trap)
    hooks = root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\n{trap}\n")
        (hooks / name).chmod(0o755)
    return root


def read_all(root: Path, text: str, folder: Path) -> tuple[str, dict[str, str]]:
    reader = revision.Reader(revision.checkout_of(root), shutil.which("git") or "", folder)
    commit = reader.resolve(text)
    out = folder / "out"
    out.mkdir()
    reader.write(commit, out, 1_000_000)
    return commit, {p.relative_to(out).as_posix(): p.read_text() for p in out.rglob("*") if p.is_file()}


def test_a_revision_is_read_and_nothing_of_the_repository_runs(checkout: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    _, files = read_all(checkout, "v1", folder)
    assert files == {"a.cu": "#include <nvshmem.h>\n", "sub/b.cu": "#include <cutlass/cutlass.h>\n"}
    assert not any(path.is_symlink() for path in (folder / "out").rglob("*"))
    assert not (tmp_path / "pwned").exists()
    (tmp_path / "other").mkdir()
    assert read_all(checkout / "sub", "main", tmp_path / "other")[1] == {"b.cu": "#include <cutlass/cutlass.h>\n"}
    (tmp_path / "third").mkdir()
    assert list(read_all(checkout / "sub/b.cu", "HEAD", tmp_path / "third")[1]) == ["b.cu"]
    assert not (tmp_path / "pwned").exists()
    subprocess.run(["git", "status"], cwd=checkout, capture_output=True, check=False)
    assert (tmp_path / "pwned").exists(), "the trap works for who lets git read the configuration"


@pytest.mark.parametrize("text", ["no-such-branch", "--upload-pack=x", "HEAD:a.cu", "HEAD~9", "", "a b", "$(x)", "main\n"])
def test_what_names_no_commit_is_refused(checkout: Path, tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        revision.Reader(revision.checkout_of(checkout), shutil.which("git") or "", tmp_path).resolve(text)


def test_names_of_a_forged_tree_do_not_leave_the_folder(checkout: Path, tmp_path: Path) -> None:
    blob = subprocess.run(["git", "rev-parse", "v1:a.cu"], cwd=checkout, capture_output=True, check=True).stdout.strip()
    tree = b"".join(
        b"100644 " + name + b"\0" + bytes.fromhex(blob.decode()) for name in (b"../evil.cu", b"/evil.cu", b"ok.cu", b"ok.cu/x.cu")
    )
    made = subprocess.run(
        ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"], cwd=checkout, input=tree, capture_output=True, check=True
    )
    commit = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", made.stdout.strip().decode(), "-m", "x"],
        cwd=checkout, capture_output=True, check=True,
    ).stdout.strip().decode()  # fmt: skip
    folder = tmp_path / "work"
    folder.mkdir()
    assert set(read_all(checkout, commit, folder)[1]) == {"ok.cu"}
    assert not list(tmp_path.rglob("evil.cu"))


def test_links_in_the_place_of_git_folders_are_not_followed(checkout: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / ".git").symlink_to(checkout / ".git")
    with pytest.raises(InputError, match="neither a folder"):
        revision.checkout_of(other)
    (other / ".git").unlink()
    (other / ".git").mkdir()
    (other / ".git/objects").symlink_to(checkout / ".git/objects")
    with pytest.raises(InputError, match="objects"):
        revision.checkout_of(other)
    with pytest.raises(ToolError):
        revision.Reader(revision.checkout_of(checkout), "", tmp_path)


def test_a_linked_work_tree_is_read_and_one_that_its_repository_does_not_know_is_not(checkout: Path, tmp_path: Path) -> None:
    for key in ("core.fsmonitor", "filter.evil.smudge", "filter.evil.process"):
        git(checkout, "config", "--unset", key)
    git(checkout, "worktree", "add", "-q", "--no-checkout", str(tmp_path / "linked"), "-b", "other", "v1")
    folder = tmp_path / "work"
    folder.mkdir()
    assert "a.cu" in read_all(tmp_path / "linked", "HEAD", folder)[1]
    thief = tmp_path / "thief"
    thief.mkdir()
    for target in ((tmp_path / "linked/.git").read_text(), f"gitdir: {checkout}/.git\n", "gitdir: \n", ""):
        (thief / ".git").write_text(target)
        with pytest.raises(InputError, match="neither a folder"):
            revision.checkout_of(thief)


def test_a_folder_that_says_it_is_a_work_tree_of_a_strangers_repository_is_not_believed(checkout: Path, tmp_path: Path) -> None:
    thief = tmp_path / "thief"
    (thief / "wt").mkdir(parents=True)
    for name, text in {
        ".git": "gitdir: wt",
        "wt/gitdir": "../.git",
        "wt/commondir": f"{checkout}/.git",
        "wt/HEAD": "ref: refs/heads/main",
    }.items():
        (thief / name).write_text(text + "\n")
    with pytest.raises(InputError, match="neither a folder"):
        revision.checkout_of(thief)
    for number in range(1_200):
        (thief / f"c{number}").symlink_to(f"c{number + 1}")
    (thief / "loop").symlink_to("loop")
    for target in ("c0", "loop/x", ".git", "a/" * 2_400):
        (thief / ".git").write_text(f"gitdir: {target}\n")
        with pytest.raises(InputError, match="neither a folder"):
            revision.checkout_of(thief)


def test_a_tree_of_trees_of_trees_is_too_many_files(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision, "MAX_LISTING", 100_000)  # bytes of a hundred million files

    def tree(mode: bytes, kind: str, inner: str) -> str:
        lines = b"".join(mode + b" d%d.cu\0" % number + bytes.fromhex(inner) for number in range(10))
        words = ["git", "hash-object", "-t", kind, "-w", "--stdin"]
        return subprocess.run(words, cwd=checkout, input=lines, capture_output=True, check=True).stdout.decode().strip()

    made = tree(b"100644", "tree", subprocess.run(
        ["git", "rev-parse", "v1:a.cu"], cwd=checkout, capture_output=True, check=True).stdout.decode().strip())  # fmt: skip
    for _ in range(8):
        made = tree(b"40000", "tree", made)
    commit = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", made, "-m", "x"], cwd=checkout, capture_output=True, check=True
    ).stdout.decode().strip()  # fmt: skip
    reader = revision.Reader(revision.checkout_of(checkout), shutil.which("git") or "", tmp_path)
    with pytest.raises(InputError, match="more than 1,000,000 files"):
        reader.blobs(commit)


def test_a_file_called_like_the_branch_is_no_baseline(checkout: Path, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "new.cu").write_text("#include <nvshmem.h>\n")
    monkeypatch.chdir(checkout)
    args = ["scan", ".", "--jobs", "0", "--format", "json", "--fail-on-new", "info", "--baseline"]
    assert porter("scan", ".", "--jobs", "0", "--format", "json", "--output", "main").exit_code == 0
    assert porter(*args, "./main").exit_code == 0
    assert porter(*args, "main").exit_code == 1
    (checkout / "gone").write_bytes((checkout / "main").read_bytes())
    assert porter(*args, "gone").exit_code == 2


def test_scan_against_a_revision(checkout: Path, tmp_path: Path, quick: None) -> None:
    (checkout / "a.cu").write_text("\n\n#include <nvshmem.h>\n")
    (checkout / "sub/b.cu").unlink()
    (checkout / "c.cu").write_text("#include <nvshmem.h>\n")
    args = ["scan", str(checkout), "--jobs", "0", "--format", "json", "--baseline"]
    result = porter(*args, "v1", "--fail-on-new", "major")
    data = json.loads(result.stdout)
    assert result.exit_code == 1 and {(f["path"], f["line"], f["state"]) for f in data["findings"]} == {
        ("a.cu", 3, "unchanged"), ("c.cu", 1, "new"),
    }  # fmt: skip
    assert [(f["path"], f["rule"]) for f in data["fixed"]] == [("sub/b.cu", "cutlass")] and "cutlass" in data["rules"]
    assert data["baseline"]["source"] == "v1" and len(data["baseline"]["commit"]) == 40 and data["summary"]["complete"]
    assert not (tmp_path / "pwned").exists()
    assert porter(*args, "nope").exit_code == 2 and porter(*args, "nope.json").exit_code == 2


def test_a_revision_is_scanned_once_and_kept(checkout: Path, tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("PORTER_CACHE", str(cache))
    scanned: list[str] = []
    real = pipeline.audit
    monkeypatch.setattr(pipeline, "audit", lambda root, *more: (scanned.append(str(root)), real(root, *more))[1])
    args = ["scan", str(checkout), "--jobs", "0", "--format", "json", "--baseline", "v1"]

    def run(*more: str) -> tuple[dict[str, Any], int]:
        scanned.clear()
        done = porter(*args, *more)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout), len(scanned)

    first, second = run(), run()
    assert (first[1], second[1]) == (2, 1) and first[0] == second[0] and first[0]["fixed"] == []
    (checkout / "a.cu").unlink()
    changed, times = run()
    assert times == 1 and [f["rule"] for f in changed["fixed"]] == ["nvshmem"] and "nvshmem" in changed["rules"]
    assert run("--target", "gfx1100")[1] == 2 and run("--no-cache")[1] == 2
    assert len(list(cache.glob("*.json.gz"))) == 2 and cache.stat().st_mode & 0o77 == 0
    for path in cache.glob("*.json.gz"):
        path.write_bytes(path.read_bytes()[:40])
    assert run()[1] == 2 and run()[1] == 1


def test_the_cache_keeps_the_newest_and_never_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline_cache, "KEPT", 3)
    cache = baseline_cache.Cache(tmp_path / "deep/cache")
    for i in range(6):
        cache.put(f"k{i}", REPORT)
        os.utime(tmp_path / f"deep/cache/k{i}.json.gz", ns=(i, i))
    cache.put("k6", REPORT)
    assert sorted(path.name[:2] for path in (tmp_path / "deep/cache").iterdir()) == ["k4", "k5", "k6"]
    found = cache.get("k6")
    assert (
        found is not None
        and [f.fingerprint for f in found.findings] == [f.fingerprint for f in REPORT.findings]
        and cache.get("none") is None
    )
    kept = tmp_path / "deep/cache/k6.json.gz"
    whole = kept.read_bytes()
    for at in range(0, len(whole), len(whole) // 40):
        kept.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        cache.get("k6")  # one flipped byte: another report or none, never an exception
    kept.write_bytes(whole[:40] + b"\xff" * 40 + whole[80:])
    assert cache.get("k6") is None
    (tmp_path / "deep/cache/mine.txt").write_text("")
    assert cache.clean() > 1000 and [path.name for path in (tmp_path / "deep/cache").iterdir()] == ["mine.txt"] and cache.get("k6") is None
    (tmp_path / "file").write_text("")
    baseline_cache.Cache(tmp_path / "file").put("k", REPORT)
    assert baseline_cache.Cache(tmp_path / "file").get("k") is None
