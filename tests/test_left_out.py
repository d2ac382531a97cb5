"""Nothing is left out without a word: files too large for verify, hipify and shim; and rules folders that hold a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from porter import hipify_command, rules, shim
from porter.config import Config
from porter.errors import RuleError
from porter.hipify.difference import diff
from porter.portfolio import one
from porter.verify import render, sources
from porter.verify.values import Verification

KERNEL = b"#include <cuda_runtime.h>\nvoid f(void** p) { cudaMalloc(p, 4); }\n"


@pytest.mark.parametrize("area", ["api", "hardware", "warp-size", "."])
def test_a_pipe_in_a_rules_folder_is_one_clear_error(area: str, tmp_path: Path) -> None:
    (tmp_path / area).mkdir(exist_ok=True)
    os.mkfifo(tmp_path / area / "a.toml")
    with pytest.raises(RuleError, match="no regular file"):
        rules.load((str(tmp_path),))


def test_a_link_that_leads_to_itself_is_one_too(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "a.toml").symlink_to("b.toml")
    (tmp_path / "api" / "b.toml").symlink_to("a.toml")
    with pytest.raises(RuleError, match="no regular file"):
        rules.load((str(tmp_path),))


def test_the_version_of_the_rules_knows_names_and_boundaries(tmp_path: Path) -> None:
    versions = set()
    for number, files in enumerate(({"a": "x = 1\n", "b": "y = 1\n"}, {"a": "x = 1\ny = 1\n", "b": ""}, {"a": "x = 1\n", "c": "y = 1\n"})):
        folder = tmp_path / str(number)
        (folder / "api").mkdir(parents=True)
        for name, text in files.items():
            (folder / "api" / f"{name}.toml").write_text(text)
        versions.add(rules.load((str(folder),)).version)
    assert len(versions) == 3


def test_verify_names_what_no_compiler_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_BYTES", 1000)
    (tmp_path / "small.cu").write_bytes(KERNEL)
    (tmp_path / "large.cu").write_bytes(KERNEL + b"// " + b"x" * 1000)
    (tmp_path / "new\nline.cu").write_bytes(KERNEL)
    found = sources.gather(tmp_path, "7.0")
    assert set(found.before) == {"small.cu"}
    assert {problem.path: problem.what.split(";")[0] for problem in found.problems} == {
        "large.cu": "larger than 0 MiB", "new\nline.cu": "a name that cannot be shown",
    }  # fmt: skip
    done = Verification("r", ("gfx942",), "7.0", {}, (), (), (), tuple(found.problems))
    assert "problem: large.cu: larger" in render.as_text(done) and "new\nline" not in render.as_text(done)
    assert '"path": "large.cu"' in render.as_json(done)


def _deep(root: Path, depth: int) -> None:
    here = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("a.cu", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def test_a_folder_deeper_than_pythons_stack_is_left_out_and_said(tmp_path: Path) -> None:
    root = tmp_path / "deep"
    root.mkdir()
    _deep(root, 1_500)
    found = sources.gather(root, "7.0")
    assert not found.before and "levels deep" in found.problems[0].what
    assert len(one.signature(root, ())) == 64
    subprocess.run(["rm", "-rf", str(root)], check=True)  # pytest's own removal is as deep as its stack


def test_hipify_and_shim_name_what_they_do_not_translate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hipify_command, "Config", lambda: Config(max_bytes=1000))
    (tmp_path / "small.cu").write_bytes(KERNEL)
    (tmp_path / "large.cu").write_bytes(KERNEL + b"// " + b"x" * 1000)
    said: list[str] = []
    status = hipify_command.run(str(tmp_path), {"show_diff": True, "strict": True}, lambda data: None, said.append)
    assert status == 1 and any("not translated" in line and "large.cu" in line for line in said)
    assert shim.make(tmp_path).passed_over == ("large.cu",)


def test_no_file_name_is_a_line_of_a_patch(tmp_path: Path) -> None:
    name = "a.cu\n--- a/x\n+++ b/../../x\n@@ -0,0 +1 @@\n+evil"
    words = diff(b"cudaFree\n", b"hipFree\n", name)
    assert [line[:4] for line in words.splitlines()] == ["--- ", "+++ ", "@@ -", "-cud", "+hip"]
    assert words.startswith('--- "a/a.cu\\012--- a/x')
    assert diff(b"a\n", b"b\n", "ä b.cu").startswith("--- a/ä b.cu\n")


def test_git_takes_a_quoted_name(tmp_path: Path) -> None:
    (tmp_path / 'a"\n.cu').write_bytes(b"a\n")
    words = diff(b"a\n", b"b\n", 'a"\n.cu').encode()
    done = subprocess.run(["git", "apply"], input=words, cwd=tmp_path, capture_output=True, check=False)  # noqa: S607
    assert done.returncode == 0 and (tmp_path / 'a"\n.cu').read_bytes() == b"b\n", done.stderr


def test_hipify_says_hostile_names_harmlessly(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a\u202e\x1b[31m.cu").write_bytes(KERNEL + b"void g(CUgreenCtx c) { cuGreenCtxDestroy(c); }\n")
    words = [sys.executable, "-m", "porter", "hipify", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
    done = subprocess.run(words, capture_output=True, check=False)
    assert b"cuGreenCtxDestroy" in done.stderr and "\u202e".encode() not in done.stderr
