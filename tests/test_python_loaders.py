"""Modules that a call imports by name are found where only places with words of rules are looked at, as where all are."""

from __future__ import annotations

from pathlib import Path

import pytest

from porter import pipeline, rules
from porter.config import Config
from porter.model import SourceFile
from porter.parse import python
from porter.parse.python_words import words_of

WORDS = words_of(rules.load().rules.values())


@pytest.mark.parametrize(
    "text",
    [
        'library = __import__("bitsandbytes")\n',
        'import torch\nlibrary = __import__("bitsandbytes")\nused = torch.cuda.is_available()\n',
        'import importlib\nlibrary = importlib.import_module("bitsandbytes")\n',
        'from importlib.util import find_spec as there\nused = there("bitsandbytes")\n',
        'from importlib.metadata import version\nused = version("bitsandbytes")\n',
        'from importlib import metadata\nused = metadata.version("bitsandbytes")\n',
        'import importlib.metadata as known\nused = known.distribution("bitsandbytes")\n',
        'import pkg_resources\nused = pkg_resources.get_distribution("bitsandbytes")\n',
        'from monai.utils import optional_import\nlibrary, there = optional_import("bitsandbytes")\n',
        'from mine import LazyImport\nlibrary = LazyImport("bitsandbytes")\n',
    ],
)
def test_a_module_that_a_call_names_is_found_by_its_words(text: str) -> None:
    source = SourceFile("a.py", "python", text.encode())
    everywhere = {fact.name for fact in python.parse(source).facts if fact.kind == "py_import" and "bits" in fact.name}
    by_words = {fact.name for fact in python.parse(source, WORDS).facts if fact.kind == "py_import" and "bits" in fact.name}
    assert everywhere == by_words == {"bitsandbytes"}


def test_a_header_without_cuda_names_but_with_builtins_of_the_device_is_read(tmp_path: Path) -> None:
    (tmp_path / "reduce.h").write_text("template <class T> inline T sum(T x) { return x + __shfl_down_sync(0xffffffff, x, 16); }\n")
    (tmp_path / "plain.h").write_text("inline int shuffle(int lane) { return lane % 32; }\n")
    report = pipeline.audit(tmp_path, Config(jobs=0))
    assert {finding.rule for finding in report.findings} & {"sync-mask-32bit"}
    assert {finding.path for finding in report.findings} == {"reduce.h"}


def test_torch_compile_is_seen_by_its_words() -> None:
    source = SourceFile("a.py", "python", b"import torch\nmodel = torch.compile(model)\n")
    assert "torch.compile" in {fact.name for fact in python.parse(source, WORDS).facts}
