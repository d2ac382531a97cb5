"""A project that builds for AMD already: what its AMD build cannot hold is no work, and what it does hold still is."""

from __future__ import annotations

from pathlib import Path

import pytest

from porter.config import Config
from porter.model import Report, Severity
from porter.pipeline import audit

FILES = {
    "setup.py": """
import os, torch
from torch.utils.cpp_extension import CUDAExtension, ROCM_HOME
IS_ROCM = torch.version.hip is not None
if torch.version.hip is not None and ROCM_HOME is not None:
    flags = ["-DUSE_ROCM"]
elif IS_ROCM:
    raise RuntimeError(torch.version.hip)
else:
    os.environ["TORCH_CUDA_ARCH_LIST"] = "8.0;9.0"
os.environ["CUDA_HOME"] = "/usr/local/cuda"
""",
    "pyproject.toml": '[project]\nname = "p"\ndependencies = ["quack-kernels"]\n',
    "csrc/common.h": "#if defined(USE_ROCM)\n#define LANES 64\n#endif\n#ifdef __HIP_PLATFORM_AMD__\n#endif\n",
    "csrc/gemm.h": "#pragma once\n#include <cutlass/gemm/device/gemm.h>\n#include \"tile.h\"\n",
    "csrc/tile.h": "#pragma once\n__device__ int f(int v) { return __shfl_sync(0xffffffff, v, 0); }\n",
    "csrc/fused.cu": '#include "gemm.h"\n__device__ int g(int v) { return __shfl_sync(0xffffffff, v, 1); }\n',
    "csrc/plain.cu": '#ifndef USE_ROCM\n#include "gemm.h"\n#endif\n__device__ int h(int v) { return __shfl_sync(0xffffffff, v, 2); }\n',
    "p/norm.py": "from quack import rmsnorm\n",
    "p/model/nvidia/ops.py": "import torch\nassert torch.version.cuda.startswith('13')\n",
    "ci/install-cu128.sh": "export CUDA_HOME=/usr/local/cuda-12.8\n",
    "ci/install.sh": "export CUDA_HOME=/usr/local/cuda\n",
    "p/jit.py": "import os\nos.environ['TORCH_CUDA_ARCH_LIST'] = '9.0'\n",
    "csrc/blas.cu": "#include <cublas_v2.h>\n",
    "tests/test_nvfp4.py": 'from p import LLM\nLLM("nvidia/Llama-3.1-8B-Instruct-NVFP4")\n',
}  # fmt: skip


@pytest.fixture
def report(tmp_path: Path) -> Report:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return audit(tmp_path, Config(jobs=1))


def test_sources_that_need_a_header_of_nvidia_are_off_the_amd_path(report: Report) -> None:
    assert report.already_ported
    assert [f.path for f in report.findings if f.rule == "sync-mask-32bit"] == ["csrc/plain.cu"]
    off = {f.path for f in report.insights if f.rule == "sync-mask-32bit"}
    assert off == {"csrc/fused.cu", "csrc/tile.h"}
    assert "cutlass" not in {f.rule for f in report.findings}
    assert all(f.message.startswith("Off the AMD path of this project: ") for f in report.insights if f.path == "csrc/gemm.h")


def test_a_library_that_only_code_off_the_path_imports_costs_nothing(report: Report) -> None:
    assert {f.path for f in report.insights if f.rule == "quack-kernels"} == {"pyproject.toml", "p/norm.py"}
    assert "quack-kernels" not in {f.rule for f in report.findings}
    assert all("/nvidia/" not in f.path for f in report.findings)


def test_a_script_that_only_tests_is_minor_at_most(report: Report) -> None:
    assert [f.severity for f in report.findings if f.path.startswith("tests/")] == [Severity.MINOR]


def test_scripts_named_for_cuda_and_translated_libraries_are_ported(report: Report) -> None:
    assert {f.path for f in report.findings if f.rule == "cuda-home"} == {"ci/install.sh"}
    assert [f.message.partition(": ")[0] for f in report.insights if f.rule == "cublas"] == ["Translated in this project's build for AMD"]
    assert "cublas" not in {f.rule for f in report.findings}
    assert {f.path for f in report.findings if f.rule == "torch-cuda-arch-list"} == {"p/jit.py"}  # setup.py asks for AMD itself


def test_doubtful_guards_are_minor_where_the_amd_build_runs(tmp_path: Path) -> None:
    files = FILES | {
        "csrc/view.h": "#ifdef CHECKED\n#ifdef __CUDA_ARCH__\n#define FAIL(x) trap(x)\n#else\n#define FAIL(x) stop(x)\n#endif\n#endif\n"
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = [f for f in audit(tmp_path, Config(jobs=1)).findings if f.path == "csrc/view.h"]
    assert [(f.rule, f.severity) for f in found] == [("cuda-arch-device-pass", Severity.MINOR)]


def test_a_makefile_for_hip_beside_the_makefile_is_a_build_for_amd(tmp_path: Path) -> None:
    """As GPUMD does it: src/makefile and src/makefile.hip, and guards in the sources."""
    guard = "#ifdef USE_HIP\n#include <hip/hip_runtime.h>\n#else\n#include <cuda_runtime.h>\n#endif\n"
    files = {
        "src/makefile": "CC = nvcc\nall:\n\tnvcc -O3 -arch=sm_80 a.cu -o a\n",
        "src/a.cuh": guard,
        "src/b.cuh": guard,
        "src/c.cuh": guard,
    }
    (tmp_path / "src").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert not audit(tmp_path, Config(jobs=1)).already_ported
    (tmp_path / "src/makefile.hip").write_text("CC = hipcc\nall:\n\thipcc -O3 --offload-arch=gfx90a -DUSE_HIP a.cu -o a\n")
    report = audit(tmp_path, Config(jobs=1))
    assert report.already_ported
    assert not [f for f in report.findings if f.path == "src/makefile"]
    assert [f.rule for f in report.insights if f.path == "src/makefile"]


LISTS = """cmake_minimum_required(VERSION 3.21)
project(p LANGUAGES CXX)
option(USE_HIP "AMD" OFF)
if(USE_HIP)
  enable_language(HIP)
  add_compile_definitions(__HIP_PLATFORM_AMD__ USE_ROCM)
elseif(USE_CUDA)
  enable_language(CUDA)
endif()
set_target_properties(p PROPERTIES CUDA_RUNTIME_LIBRARY Shared)
target_compile_options(p PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
target_compile_options(p PRIVATE --extended-lambda)
list(APPEND SOURCES "a${CMAKE_CUDA_ARCHITECTURES}.cpp")
"""


@pytest.mark.parametrize(
    ("old", "new", "work"),
    [
        ("", "", {"--extended-lambda", "CMAKE_CUDA_ARCHITECTURES"}),
        ("elseif(USE_CUDA)", "endif()\nif(TRUE)", {"--extended-lambda", "CMAKE_CUDA_ARCHITECTURES", "CUDA_RUNTIME_LIBRARY", "--expt"}),
        ("  enable_language(CUDA)\n", "", {"--extended-lambda", "CMAKE_CUDA_ARCHITECTURES", "CUDA_RUNTIME_LIBRARY", "--expt"}),
        ("LANGUAGES CXX", "LANGUAGES CXX CUDA", {"--extended-lambda", "CMAKE_CUDA_ARCHITECTURES", "CUDA_RUNTIME_LIBRARY", "--expt"}),
    ],
)
def test_settings_of_a_language_that_no_build_for_amd_enables_are_no_work(tmp_path: Path, old: str, new: str, work: set[str]) -> None:
    (tmp_path / "CMakeLists.txt").write_text(LISTS.replace(old, new) if old else LISTS)
    (tmp_path / "a.h").write_text(FILES["csrc/common.h"])
    (tmp_path / "b.h").write_text(FILES["csrc/common.h"])
    seen = audit(tmp_path, Config(jobs=1))
    assert seen.already_ported
    found = {f.snippet for f in seen.findings}
    words = ("--extended-lambda", "CMAKE_CUDA_ARCHITECTURES", "CUDA_RUNTIME_LIBRARY", "--expt")
    assert {word for word in words if any(word in text for text in found)} == work


@pytest.mark.parametrize(
    ("old", "new", "stops"),
    [
        ("", "", False),
        ("__CUDACC_VER_MAJOR__ < 11", "!defined(__CUDA_ARCH__)", True),  # nothing but the AMD build's device code gets there
        ("ASSERT_UNREACHABLE();", 'ASSERT_UNREACHABLE("needs CUDA 11");', True),
        ("  }\n#if", "  }\n  use(v);\n#if", True),  # not all has returned
    ],
)
def test_a_mark_for_old_compilers_behind_the_last_return_stops_nothing(tmp_path: Path, old: str, new: str, stops: bool) -> None:
    text = """__device__ int f(int v) {
  if (v) {
    return 1;
  } else {
    return 2;
  }
#if __CUDACC_VER_MAJOR__ < 11
  ASSERT_UNREACHABLE();
#endif
}
"""
    (tmp_path / "f.cu").write_text(text.replace(old, new) if old else text)
    found = {f.rule for f in audit(tmp_path, Config(jobs=1)).findings}
    assert bool(found & {"cuda-guard-error", "cuda-arch-trap"}) is stops
