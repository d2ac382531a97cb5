"""Dockerfiles that build scripts write from Python strings are read as Dockerfiles, at their place."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

from porter import pipeline
from porter.config import Config
from porter.parse import python_docker

SCRIPT = '''def dockerfile(version, gpu):
    text = f"""
FROM {version} AS build
ENV DCGM_VERSION {version}
RUN curl -o /tmp/cuda-keyring.deb \\\\
      https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64/cuda-keyring_1.1-1_all.deb
RUN apt-get update && apt-get install -y \\\\
      datacenter-gpu-manager-4-core
"""
    return text


def said():
    return "RUN apt-get install datacenter-gpu-manager and nothing of NVIDIA's else"
'''


def found(root: Path, name: str) -> list[tuple[str, int]]:
    root.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
    root.joinpath(name).write_text(SCRIPT)
    return [(finding.rule, finding.line) for finding in pipeline.audit(root, Config(jobs=0)).findings]


def test_a_dockerfile_in_a_string_is_read_and_a_sentence_is_not(tmp_path: Path) -> None:
    assert found(tmp_path / "build", "build.py") == [("cuda-package-repository", 6), ("dcgm", 8)]


def test_what_a_test_compares_with_is_not_built(tmp_path: Path) -> None:
    assert found(tmp_path / "test", "tests/test_build.py") == []


def test_a_long_string_is_judged_once(tmp_path: Path) -> None:
    (tmp_path / "build.py").write_text('text = """cuda\n' + "run pip install a\n" * 500 + '"""\n')
    with mock.patch.object(python_docker, "_is_dockerfile", return_value=False) as judged:
        pipeline.audit(tmp_path, Config(jobs=0))
    assert judged.call_count == 1
