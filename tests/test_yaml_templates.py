"""YAML that is a template: actions of several lines, names in braces, and what a message says of them."""

from __future__ import annotations

from pathlib import Path

from porter import pipeline
from porter.config import Config
from porter.model import SourceFile
from porter.parse import yaml
from porter.parse.yaml_tree import blanked

PATCHED = """{{- include "common.renderMultiResourceWithPatches" (dict
  "baseFile" "files/resources.yaml"
  "context" .) -}}
spec:
  runtimeClassName: {{ include "runtime" (dict
    "of" .) | quote }}
  containers:
    - image: {username}/served-gpu:latest
      resources:
        limits:
          nvidia.com/gpu: {{ .Values.gpus }}
"""


def test_what_stands_below_a_template_of_several_lines_is_read(tmp_path: Path) -> None:
    (tmp_path / "resources.yaml").write_text(PATCHED)
    report = pipeline.audit(tmp_path, Config(jobs=0))
    assert [problem.what for problem in report.problems] == []
    found = {finding.rule: finding for finding in report.findings}
    assert found["kubernetes-nvidia-gpu"].line == 11
    assert found["kubernetes-nvidia-gpu"].message.endswith("limits.nvidia.com/gpu=…")


def test_blanked_text_keeps_every_line_and_column() -> None:
    text = blanked(PATCHED)
    assert [len(line) for line in text.split("\n")] == [len(line) for line in PATCHED.split("\n")]
    assert text.split("\n")[0].strip() == "" and text.split("\n")[5].strip() == ""


def test_braces_that_are_yaml_stay() -> None:
    text = "a: {b: 1}\nc: {username}\nd: [{e}, {f}]\nscript: |\n  echo ${X}/y {z}\n"
    assert blanked(text) == text
    assert not yaml.parse(SourceFile("a.yaml", "yaml", text.encode())).problems
