"""What a project calls itself is no dependency of it, and what it catches is told as such."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from porter import own_names, pipeline, redact
from porter.config import Config
from porter.model import Fact, Live, SourceFile, Span
from porter.parse import python

SETUP = b"""
from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension

setup(name="open_fold", ext_modules=[CUDAExtension(name="attn_core", sources=["a.cu"]), CUDAExtension("pkg.inner", ["b.cu"])])
"""
HERE = Span(1, 1, 1, 2)


def test_names_of_a_setup_and_of_a_project_table(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_bytes(SETUP)
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "pyproject.toml").write_text('[project]\nname = "Served.Models"\n')
    (tmp_path / "setup.cfg").write_text("[metadata]\nname = fairy\n")
    files = own_names.files(["setup.py", "python/pyproject.toml", "setup.cfg", "a/b/setup.cfg", "README.md"])
    assert files == ["setup.cfg", "setup.py", "python/pyproject.toml"]
    assert frozenset().union(*(own_names.of(tmp_path, file) for file in files)) == {
        "attn_core",
        "distribution:open-fold",
        "itself:open-fold",
        "distribution:served-models",
        "distribution:fairy",
        "itself:fairy",
    }


def test_a_setup_far_down_names_its_extensions_alone(tmp_path: Path) -> None:
    deep = tmp_path / "pkg" / "kernels"
    deep.mkdir(parents=True)
    (deep / "setup.py").write_bytes(SETUP.replace(b"attn_core", b"awq_inference_engine"))
    (tmp_path / "use.py").write_text("import awq_inference_engine\n")
    assert own_names.of(tmp_path, "pkg/kernels/setup.py") == {"awq_inference_engine"}  # and not distribution:open-fold
    assert [one for one in pipeline.audit(tmp_path, Config(jobs=1)).findings if one.rule == "autoawq"] == []
    (deep / "setup.py").unlink()
    assert [one.path for one in pipeline.audit(tmp_path, Config(jobs=1)).findings if one.rule == "autoawq"] == ["use.py"]


@pytest.mark.parametrize("text", [b"[project", b"[tool]\npoetry = 3\n", b"tool = 1\n", b"\xff\xfe"])
def test_broken_manifests_name_nothing(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "pyproject.toml").write_bytes(text)
    assert own_names.of(tmp_path, "pyproject.toml") == own_names.of(tmp_path, "setup.py") == frozenset()


def test_a_setup_that_kills_its_reader_costs_its_names_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, here = tmp_path / "project", os.getpid()
    root.mkdir()
    (root / "setup.py").write_bytes(SETUP)
    (root / "a.py").write_text("import cupy\n")

    def deadly(*_: object) -> None:
        assert os.getpid() != here, "read in the main process"
        (tmp_path / "died").touch()
        os._exit(7)

    monkeypatch.setattr(own_names, "of", deadly)
    report = pipeline.audit(root, Config(jobs=1))
    assert (tmp_path / "died").exists()
    assert any(finding.path == "a.py" for finding in report.findings)


def test_headers_of_a_cmake_project_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(PopFeatures VERSION 2 LANGUAGES CXX CUDA)\n")
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "CMakeLists.txt").write_text("project(cutlass)\nproject()\nproject(${NAME})\n")
    paths = ["CMakeLists.txt", "demo/CMakeLists.txt", "src/popfeatures/image.h"]
    own = own_names.with_headers(frozenset().union(*(own_names.of(tmp_path, path) for path in own_names.files(paths))), paths)
    assert own == {"project:popfeatures"}  # a demo named after a library holds none of its headers
    found = {
        (kind, name): own_names.is_own(Fact(kind, name, HERE), own)
        for kind, name in (
            ("include", "popfeatures/image.h"), ("include", "PopFeatures/config.h"), ("cmake_target", "PopFeatures::core"),
            ("include", "cutlass/gemm.h"), ("include", "image.h"), ("py_import", "popfeatures"),
        )
    }  # fmt: skip
    assert [name for (_, name), is_it in found.items() if is_it] == ["popfeatures/image.h", "PopFeatures/config.h", "PopFeatures::core"]


@pytest.mark.parametrize(
    ("kind", "name", "own"),
    [
        ("requirement", "open-fold", True),
        ("requirement", "open-fold-extras", False),
        ("requirement", "attn-core", False),
        ("py_import", "attn_core.inner", True),
        ("py_import", "open_fold", False),
        ("py_string", "attn_core.engine", True),
        ("py_string", "weights/attn_core.engine", False),
    ],
)
def test_own(kind: str, name: str, own: bool) -> None:
    assert own_names.is_own(Fact(kind, name, HERE), frozenset({"attn_core", "distribution:open-fold"})) is own


@pytest.mark.parametrize(
    ("handler", "caught"),
    [("except Exception:\n    pass", True), ("except pynvml.NVMLError:\n    pass", True), ("except:\n    pass", True),
     ("except ImportError:\n    pass", False), ("except Exception:\n    raise", False), ("finally:\n    pass", False)],
)  # fmt: skip
def test_caught_calls(handler: str, caught: bool) -> None:
    text = f"import pynvml\ntry:\n    pynvml.nvmlInit()\n{handler}\n"
    fact = next(f for f in python.parse(SourceFile("a.py", "python", text.encode())).facts if f.kind == "py_call")
    assert ("forgiven" in fact.detail) is caught


LOADED = "import ctypes\nfrom contextlib import suppress\nNAME = 'libcurand.so.*[0-9]'\n"


@pytest.mark.parametrize(
    ("text", "manner"),
    [("with suppress(OSError):\n    ctypes.CDLL(NAME)\n", "forgiven"), ("with suppress(KeyError):\n    ctypes.CDLL(NAME)\n", ""),
     ("ctypes.CDLL(NAME)\n", ""), ("EXCLUDED = [NAME]\n", "unopened"), ("from own import load_library\nload_library(NAME)\n", "")],
)  # fmt: skip
def test_how_a_file_opens_the_libraries_that_it_names(text: str, manner: str) -> None:
    facts = python.parse(SourceFile("a.py", "python", (LOADED + text).encode())).facts
    fact = next(f for f in facts if f.kind == "py_string" and "curand" in f.name)
    assert "".join(fact.detail) == manner


DEVICE = """
def kind():
    if torch.version.hip:
        return "hip"
    return "cuda"

KIND = kind()
OTHER = KIND
if OTHER == "hip":
    OTHER = "cuda"
if {test}:
    x = 1
"""


@pytest.mark.parametrize(
    ("test", "live"),
    [
        ('KIND == "cuda"', Live.NO),
        ('KIND != "cuda"', Live.YES),
        ('KIND in ("xpu", "cpu")', Live.NO),
        ('KIND in ("cuda", "hip")', Live.YES),
        ('KIND not in ("xpu", "hip")', Live.NO),
        ('kind() == "cuda"', Live.NO),
        ('OTHER == "cuda"', Live.YES),
        ('device.type == "cuda"', Live.YES),
        ('DEVICE == "cuda"', Live.YES),
        ('KIND == "cuda" and ready', Live.NO),
        ('KIND == "cuda" or ready', Live.YES),
    ],
)
def test_a_projects_own_word_for_amd(test: str, live: Live) -> None:
    parsed = python.parse(SourceFile("a.py", "python", DEVICE.format(test=test).encode()))
    assert parsed.live(DEVICE.count("\n")) is live


@pytest.mark.parametrize("call", ["optional_import", "monai.utils.optional_import", "lazy_import", "try_import"])
def test_modules_that_are_imported_if_they_are_there(call: str) -> None:
    facts = python.parse(SourceFile("a.py", "python", f'Engine, _ = {call}("ignite.engine", "1.0", name="Engine")\n'.encode())).facts
    assert [fact.detail.get("optional") for fact in facts if fact.kind == "py_import"] == ["1"]
    assert "ignite.engine" not in {fact.name for fact in facts if fact.kind == "py_string"}


@pytest.mark.parametrize(
    ("own", "found"),
    [
        ("faiss/gpu/GpuIndex.h", False),
        ("src/faiss/gpu/GpuIndex.h", False),
        ("third_party/faiss/gpu/GpuIndex.h", True),
        ("GpuIndex.h", True),
    ],
)
def test_a_header_of_the_repository_itself_is_no_dependency(tmp_path: Path, own: str, found: bool) -> None:
    (tmp_path / own).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / own).write_text("#pragma once\nstruct GpuIndex {};\n")
    (tmp_path / "use.cpp").write_text("#include <cuda_runtime.h>\n#include <faiss/gpu/GpuIndex.h>\nGpuIndex* make();\n")
    report = pipeline.audit(tmp_path, Config(jobs=0))
    assert (("faiss-gpu", "use.cpp") in {(one.rule, one.path) for one in report.findings}) is found


def test_kernels_for_a_library_in_a_folder_with_its_name_are_not_the_library(tmp_path: Path) -> None:
    (tmp_path / "cutlass").mkdir()
    (tmp_path / "CMakeLists.txt").write_text("project(Fast LANGUAGES CXX CUDA)\nadd_subdirectory(cutlass)\n")
    (tmp_path / "cutlass" / "CMakeLists.txt").write_text("project(CUTLASS LANGUAGES CUDA)\nadd_library(gemm gemm.cu)\n")
    (tmp_path / "cutlass" / "gemm.cu").write_text("#include <cutlass/gemm/device/gemm.h>\nusing G = cutlass::gemm::device::Gemm<float>;\n")
    report = pipeline.audit(tmp_path, Config(jobs=0))
    assert ("cutlass", "cutlass/gemm.cu") in {(one.rule, one.path) for one in report.findings}


def test_a_cmake_project_called_cuda_is_not_the_toolkit(tmp_path: Path) -> None:
    (tmp_path / "cuda").mkdir()
    (tmp_path / "cuda" / "CMakeLists.txt").write_text("project(CUDA LANGUAGES CXX)\nfind_package(CUDA)\n")
    assert own_names.of(tmp_path, "cuda/CMakeLists.txt") == frozenset()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('package = "colossalai"\nsetup(name=package, version="1")\n', "colossalai"),
        ('package = "colossalai"\nif NIGHTLY:\n    pass\npackage = package + "-nightly"\nsetup(name=package)\n', ""),
        ("package = read()\nsetup(name=package)\n", ""),
        ('def f():\n    package = "torch"\nsetup(name=package)\n', ""),
    ],
)
def test_a_name_that_setup_takes_from_a_variable(tmp_path: Path, text: str, name: str) -> None:
    (tmp_path / "setup.py").write_text("from setuptools import setup\n" + text)
    assert own_names.of(tmp_path, "setup.py") == ({f"distribution:{name}", f"itself:{name}"} if name else set())


def test_packages_of_a_namespace_are_own_and_the_rest_of_it_is_not(tmp_path: Path) -> None:
    for package in ("megatron/core", "megatron/training", "src/served"):
        (tmp_path / package).mkdir(parents=True)
        (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / "train.py").write_text("from megatron.core import parallel_state\nimport megatron.training.arguments\n")
    (tmp_path / "megatron" / "core" / "bridge.py").write_text("import megatron.bridge\nfrom megatron import bridge\n")
    assert not [finding.path for finding in pipeline.audit(tmp_path, Config(jobs=0)).findings if finding.path == "train.py"]
    assert own_names.is_own(Fact("py_import", "megatron.core.utils", HERE), frozenset({"megatron.core"}))
    assert not own_names.is_own(Fact("py_import", "megatron.bridge", HERE), frozenset({"megatron.core"}))
    assert not own_names.is_own(Fact("py_import", "megatron.corex", HERE), frozenset({"megatron.core"}))


@pytest.mark.parametrize(("where", "told"), [("pyproject.toml", True), ("examples/pyproject.toml", False)])
def test_a_project_that_a_rule_speaks_of_is_told_what_takes_its_place(tmp_path: Path, where: str, told: bool) -> None:
    (tmp_path / where).parent.mkdir(exist_ok=True)
    (tmp_path / where).write_text('[project]\nname = "megatron-core"\nversion = "1"\ndependencies = ["torch==2.6.0"]\n')
    report = pipeline.audit(tmp_path, Config(jobs=0))
    rows = [way for way in report.strategies if way.name.startswith("What takes this project's place")]
    assert [("Primus" in way.why, way.costed, bool(way.sources)) for way in rows] == ([(True, False, True)] if told else [])
    assert report.strategies[0].recommended
    assert "Primus" not in "".join(way.why for way in redact.redact(report).strategies)
