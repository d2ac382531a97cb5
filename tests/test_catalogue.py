"""The catalogue of libraries, packages, formats and binaries: its facts are dated, its names are normal, its files say one thing each."""

from __future__ import annotations

import re

import pytest
from packaging.utils import canonicalize_name

from porter import detect, explain, rules
from porter.config import Config
from porter.detect import Matcher
from porter.examine import Auditor
from porter.model import Action, Rule, SourceFile
from porter.parse import python

AREAS = ("cuda-library", "model-format", "binary", "stale")


@pytest.fixture(scope="module")
def ruleset() -> rules.RuleSet:
    return rules.load()


@pytest.fixture(scope="module")
def matcher(ruleset: rules.RuleSet) -> Matcher:
    return Matcher(ruleset)


@pytest.fixture(scope="module")
def catalogue(ruleset: rules.RuleSet) -> list[Rule]:
    return [rule for rule in ruleset.rules.values() if rule.area in AREAS]


def test_every_entry_names_a_replacement_and_a_public_source(catalogue: list[Rule]) -> None:
    for rule in catalogue:
        assert rule.replacement is not None, rule.id
        assert rule.replacement.how and rule.replacement.status, rule.id
        for source in rule.sources:
            assert source.url.startswith("https://"), rule.id
            assert len(source.says.split()) >= 3, rule.id


def test_no_two_entries_share_their_prose(catalogue: list[Rule]) -> None:
    texts = [rule.why for rule in catalogue]
    assert len(set(texts)) == len(texts)
    titles = [rule.title for rule in catalogue]
    assert len(set(titles)) == len(titles)


def test_requirement_names_are_written_as_the_parsers_give_them(catalogue: list[Rule]) -> None:
    for rule in catalogue:
        for pattern in rule.match.get("requirement", ()):
            literal = pattern.replace("*", "0").strip("-")
            assert canonicalize_name(literal) == literal, (rule.id, pattern)


def test_a_literal_name_belongs_to_one_entry_of_the_catalogue(catalogue: list[Rule], matcher: Matcher) -> None:
    own = {rule.id for rule in catalogue}
    for rule in catalogue:
        for kind in ("requirement", "include", "link_library", "cmake_package", "apt_package"):
            for pattern in rule.match.get(kind, ()):
                if not re.search(r"[*?\[]", pattern):
                    assert [r for r in matcher.rules_of(kind, pattern) if r in own] == [rule.id], (rule.id, kind, pattern)


def test_good_news_costs_nothing_and_bad_news_costs_something(catalogue: list[Rule]) -> None:
    for rule in catalogue:
        total = rule.effort.once + rule.effort.file + rule.effort.each
        assert (total.worst == 0) == (rule.action is Action.NONE), rule.id


@pytest.mark.parametrize(
    ("kind", "name", "rule"),
    [
        ("requirement", "tensorrt-cu12", "tensorrt"),
        ("requirement", "nvidia-dali-cuda120", "dali"),
        ("requirement", "cupy-cuda13x", "cupy-cuda"),
        ("requirement", "custatevec-cu12", "cuquantum"),
        ("conda_package", "libcublas-dev", "cublas"),
        ("apt_package", "libnvinfer-plugin10", "tensorrt"),
        ("apt_package", "libcudnn9-cuda-12", "cudnn"),
        ("include", "nvtx3/nvToolsExt.h", "nvtx"),
        ("include", "cub/block/block_scan.cuh", "cub"),
        ("include", "opencv2/cudaarithm.hpp", "opencv-cuda"),
        ("link_library", "nppig", "npp"),
        ("cmake_target", "CUDA::nppicc", "npp"),
        ("py_import", "cudf.core", "cudf"),
        ("py_import", "cuda.bindings.driver", "cuda-python"),
        ("py_import", "flash_attn.cute.interface", "flash-attn-4"),
        ("binary", "elf:libcudart.so.12", "cuda-binary"),
        ("binary", "elf:.nv_fatbin", "cuda-binary"),
        ("binary", ".engine", "tensorrt-engine-file"),
        ("model_key", "quantization_config.quant_algo=NVFP4", "checkpoint-nvfp4"),
        ("model_key", "quantization_config.format=nvfp4-pack-quantized", "checkpoint-nvfp4"),
        ("model_key", "quantization_config.quant_method=aqlm", "checkpoint-rare-quant"),
    ],
)
def test_a_name_leads_to_its_entry(matcher: Matcher, kind: str, name: str, rule: str) -> None:
    assert rule in matcher.rules_of(kind, name)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("requirement", "torchmetrics-extra"),
        ("requirement", "apex"),
        ("requirement", "nunchaku"),
        ("py_import", "apex"),
        ("py_import", "cutlass"),
        ("py_import", "torch.cuda"),
        ("py_import", "torch.backends.cudnn"),
        ("py_import", "cupyd"),
        ("include", "raft/log.h"),
        ("include", "my_nvml.h"),
        ("link_library", "cudart"),
        ("py_string", "search.engine.optimisation"),
        ("binary", "elf:libc.so.6"),
        ("model_key", "quantization_config.quant_method=none"),
    ],
)
def test_a_near_name_leads_nowhere(ruleset: rules.RuleSet, matcher: Matcher, kind: str, name: str) -> None:
    assert [r for r in matcher.rules_of(kind, name) if ruleset.rules[r].area in AREAS] == []


UV_LOCK = """version = 1

[[package]]
name = "nvidia-cublas-cu12"
version = "12.8.4.1"
source = { registry = "https://example.com/simple" }

[[package]]
name = "nvidia-cudnn-cu12"
version = "9.10.2.21"
source = { registry = "https://example.com/simple" }
dependencies = [{ name = "nvidia-cublas-cu12" }]

[[package]]
name = "torch"
version = "2.8.0+cu128"
source = { registry = "https://example.com/simple" }
dependencies = [{ name = "nvidia-cublas-cu12" }, { name = "nvidia-cudnn-cu12" }]
"""


def found(ruleset: rules.RuleSet, name: str, text: str) -> dict[str, set[int]]:
    return Auditor(Config(), ruleset).rule_lines(name, text.encode())


def test_the_wheels_of_a_lock_file_are_one_insight(ruleset: rules.RuleSet) -> None:
    lines = found(ruleset, "uv.lock", UV_LOCK)
    assert len(lines["nvidia-runtime-wheel-locked"]) == 1
    assert "nvidia-runtime-wheel" not in lines
    assert len(lines["torch"]) == 1 and "cuda-local-version" not in lines  # one dependency, one line


def test_a_rocm_index_in_uv_sources_settles_torch(ruleset: rules.RuleSet) -> None:
    text = (
        '[project]\nname = "a"\nversion = "1"\ndependencies = ["torch>=2.8"]\n\n'
        '[[tool.uv.index]]\nname = "gpu"\nurl = "https://download.pytorch.org/whl/{}"\nexplicit = true\n'
    )
    assert "torch" not in found(ruleset, "pyproject.toml", text.format("rocm7.2"))
    lines = found(ruleset, "pyproject.toml", text.format("cu128"))
    assert "torch" in lines
    assert "pytorch-cuda-index" in lines


def test_in_a_script_the_nearest_index_decides(ruleset: rules.RuleSet) -> None:
    far = "pip install torch --index-url https://download.pytorch.org/whl/rocm7.2\n" + "echo\n" * 20 + "pip install torchvision\n"
    lines = found(ruleset, "setup.sh", far)
    assert "torch" not in lines
    assert lines["torchvision"] == {22}


def test_python_examples_are_found_in_a_scan_too(ruleset: rules.RuleSet, catalogue: list[Rule]) -> None:
    """A scan looks only at places whose words some rule knows; a detector that forgets its words would find nothing."""
    audit = Auditor(Config(), ruleset)
    missed = []
    for rule in catalogue:
        for example in rule.examples:
            if not example.file.endswith(".py"):
                continue
            source = SourceFile(example.file, "python", example.before.encode())
            parsed = python.parse(source, audit.python_words)
            hits, problems = detect.detect(parsed, audit.index, audit.config, audit.matcher, audit.detectors)
            assert not problems
            if rule.id not in {hit.rule for hit in hits}:
                missed.append((rule.id, example.before))
    assert missed == []


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("nvidia-cublas-cu12", "nvidia-runtime-wheel"),
        ("jax[cuda12]", "jax-cuda-extra"),
        ("torch==2.8+cu126", "torch"),
        ("tensorrt-cu12", "tensorrt"),
        ("NvInfer.h", "tensorrt"),
        ("libcudnn9-cuda-12", "cudnn"),
        ("quantization_config.quant_method=exl3", "checkpoint-exl3"),
    ],
)
def test_explain_knows_a_name_as_people_write_it(name: str, rule: str) -> None:
    text, known = explain.explain(name)
    assert known
    assert re.search(rf"(?m)^{re.escape(rule)} ·", text), text[:200]


def test_explain_says_when_a_name_is_unknown() -> None:
    assert explain.explain("no-such-package-anywhere")[1] is False
