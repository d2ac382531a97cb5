"""Packages of the CUDA toolkit in an image: a library that nothing calls is part of the toolkit that is swapped."""

from __future__ import annotations

from pathlib import Path

import pytest

from porter import pipeline
from porter.config import Config

DOCKERFILE = "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y cuda-toolkit-13-0 libnpp-dev-13-0 libcudnn9-dev-cuda-13\n"


@pytest.mark.parametrize(
    ("use", "rules"),
    [
        ({}, {"cuda-system-packages"}),
        ({"resize.cpp": "#include <nppi.h>\nvoid f() { nppiResize_8u_C3R(0); }\n"}, {"cuda-system-packages", "npp"}),
        ({"CMakeLists.txt": "target_link_libraries(app CUDA::nppc)\n"}, {"cuda-system-packages", "npp"}),
    ],
)
def test_a_library_that_is_only_installed_goes_with_the_toolkit(tmp_path: Path, use: dict[str, str], rules: set[str]) -> None:
    for name, text in (use | {"Dockerfile": DOCKERFILE}).items():
        (tmp_path / name).write_text(text)
    found = pipeline.audit(tmp_path, Config(jobs=0)).findings
    assert {finding.rule for finding in found if finding.path == "Dockerfile"} == rules
    assert any("libcudnn9" in finding.message for finding in found)
