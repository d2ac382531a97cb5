"""Files that CMake lists only for CUDA are no part of the build for AMD, nor are headers that only they include."""

from __future__ import annotations

from pathlib import Path

from porter import pipeline
from porter.config import Config

KERNEL = '#include "tile.cuh"\n__global__ void k(int* p) { unsigned m = __ballot_sync(0xffffffff, p[0]); p[0] = __popc(m); }\n'
HEADER = "__device__ int lanes() { return __popc(__ballot_sync(0xffffffff, 1)); }\n"
CMAKE = """
cmake_minimum_required(VERSION 3.24)
project(x LANGUAGES CXX)
set(SRCS csrc/both.cu)
if(NOT USE_ROCM)
  list(APPEND SRCS "csrc/nvidia_only.cu;csrc/listed_twice.cu")
endif()
if(USE_ROCM)
  list(APPEND SRCS ${CMAKE_CURRENT_SOURCE_DIR}/csrc/listed_twice.cu)
endif()
add_library(x ${SRCS})
"""


def test_what_cmake_builds_for_cuda_alone_is_already_ported(tmp_path: Path) -> None:
    (tmp_path / "csrc").mkdir()
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    for name in ("both", "nvidia_only", "listed_twice", "unlisted"):
        (tmp_path / f"csrc/{name}.cu").write_text(KERNEL if name == "nvidia_only" else KERNEL.replace("tile", "shared"))
    (tmp_path / "csrc/tile.cuh").write_text(HEADER)
    (tmp_path / "csrc/shared.cuh").write_text(HEADER)
    report = pipeline.audit(tmp_path, Config(jobs=0))
    warp = {f.path for f in report.findings if f.category == "warp-size"}
    assert warp == {"csrc/both.cu", "csrc/listed_twice.cu", "csrc/unlisted.cu", "csrc/shared.cuh"}
    ported = {f.path for f in report.insights if f.category == "already-ported"}
    assert {"csrc/nvidia_only.cu", "csrc/tile.cuh"} <= ported


def test_templates_for_sources_that_a_script_writes_go_with_their_folder(tmp_path: Path) -> None:
    (tmp_path / "csrc/marlin").mkdir(parents=True)
    listed = CMAKE.replace("csrc/nvidia_only.cu;csrc/listed_twice.cu", "csrc/marlin/repack.cu")
    (tmp_path / "CMakeLists.txt").write_text(listed)
    (tmp_path / "csrc/both.cu").write_text('#include "marlin/shared.cuh"\n' + KERNEL.replace("tile", "shared"))
    (tmp_path / "csrc/marlin/repack.cu").write_text("__global__ void repack(int* p) { p[0] = 1; }\n")
    (tmp_path / "csrc/marlin/template.h").write_text(HEADER)
    (tmp_path / "csrc/marlin/shared.cuh").write_text(HEADER)
    report = pipeline.audit(tmp_path, Config(jobs=0))
    warp = {f.path for f in report.findings if f.category == "warp-size"}
    assert warp == {"csrc/both.cu", "csrc/marlin/shared.cuh"}


def test_names_that_the_projects_own_header_redefines_for_amd_are_ported(tmp_path: Path) -> None:
    (tmp_path / "interop.h").write_text(
        "#if defined(__HIP_PLATFORM_AMD__)\n#define atomicAdd_block atomicAdd\n#else\n#include <cuda_runtime.h>\n#endif\n"
    )
    (tmp_path / "a.cu").write_text('#include "interop.h"\n__global__ void k(int* p) { atomicAdd_block(p, 1); }\n')
    (tmp_path / "b.cu").write_text("__global__ void k(int* p) { atomicAdd_block(p, 1); }\n")
    report = pipeline.audit(tmp_path, Config(jobs=0))
    assert {f.path for f in report.findings if f.rule == "block-scope-atomic"} == {"b.cu"}
    assert {f.path for f in report.insights if f.rule == "block-scope-atomic"} == {"a.cu"}
