"""Commands in variables that a hostile file sets or puts in again and again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from porter import pipeline
from porter.config import Config
from porter.model import Origin, SourceFile
from porter.parse import python, shell
from porter.parse.python_tree import Source
from porter.parse.shell_arrays import MAX_EXPANDED


def test_an_array_put_into_one_command_again_and_again_is_bounded() -> None:
    text = "A=(" + " ".join(f"-Xx{i}" for i in range(200)) + ")\nnvcc " + '"${A[@]}" ' * 1000 + "\n"
    facts = shell.parse(SourceFile("b.sh", "shell", text.encode(), Origin.OWN)).facts
    flags = [fact for fact in facts if fact.kind == "compile_flag"]
    assert 200 <= len(flags) <= MAX_EXPANDED


def test_a_variable_set_a_thousand_times_is_looked_for_behind_each_assignment(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    find = Source.find

    def counted(self: Source, word: bytes, start: int = 0) -> Iterator[int]:
        nonlocal seen
        for at in find(self, word, start):
            seen += word == b"cmd_"
            yield at

    monkeypatch.setattr(Source, "find", counted)
    data = b"import subprocess\n" + b'cmd_ = ["nvcc"]\n' * 1000 + b"subprocess.run(cmd_)\n"
    facts = python.parse(SourceFile("a.py", "python", data, Origin.OWN)).facts
    assert any(fact.name == "nvcc" and fact.span.line == 1001 for fact in facts if fact.kind == "command")
    assert seen < 5000


@pytest.mark.parametrize("words", ['" ", "nvcc"', '"/opt/cuda/"', '"sudo", "", "nvcc"'])
def test_a_command_without_a_name_does_not_cost_its_file(tmp_path: Path, words: str) -> None:
    (tmp_path / "a.py").write_text(f"import cupy, subprocess\nsubprocess.run([{words}])\n")
    report = pipeline.audit(tmp_path, Config(jobs=0))
    assert ("cupy-cuda", "a.py") in {(one.rule, one.path) for one in report.findings} and not report.problems
