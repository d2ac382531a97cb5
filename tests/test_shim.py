"""The compatibility header: what it holds, and that both vendors' compilers take it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import ROOT, missing, need_tool

from porter.cli import main
from porter.config import Config
from porter.errors import ConfigError, InputError
from porter.hipify import api
from porter.shim import make

PROJECT = ROOT / "fixtures/repos/hpc-cmake"
USE = """\
#include "shim.h"
__constant__ float table[4];
template <int A, int B> __global__ void kernel(float* p) {
  __shared__ float part[1024 / cuda_hip::device_wave_size];
  if (threadIdx.x % cuda_hip::device_wave_size == 0) part[threadIdx.x / cuda_hip::device_wave_size] = p[A] + table[B];
  p[B] = part[0];
}
int run(float* host) {
  float* p = nullptr;
  if (cudaMalloc(&p, 256) != cudaSuccess) return 1;
  cudaMallocHost((void**)&host, 64);
  cudaMemcpyToSymbol(table, host, sizeof(table));
  cudaFuncSetAttribute(kernel<1, 2>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
  cudaFuncAttributes attributes;
  cudaFuncGetAttributes(&attributes, kernel<1, 2>);
  cudaEvent_t event;
  cudaEventCreate(&event);
  cudaEventCreate(&event, cudaEventDisableTiming);
  cuda_hip::lane_mask lanes = cuda_hip::all_lanes;
  kernel<1, 2><<<1, 64>>>(p);
  return cudaDeviceSynchronize() == cudaSuccess && lanes ? cuda_hip::wave_size(0) : 0;
}
"""


def project_of(folder: Path, text: str) -> Path:
    root = folder / "project"
    root.mkdir()
    (root / "use.cu").write_text(text)
    return root


def test_it_holds_exactly_the_names_that_are_used() -> None:
    made = make(PROJECT, "7.2")
    aliases = dict(re.findall(r"^#define (c\w+) (hip\w+)$", made.text, re.MULTILINE | re.IGNORECASE))
    sources = "".join(path.read_text() for path in PROJECT.rglob("*.cu")) + "".join(path.read_text() for path in PROJECT.rglob("*.h"))
    known = {name for name in re.findall(r"\b(?:cuda|cublas|cufft|CUFFT_)\w+", sources) if api.lookup(name)}
    assert set(aliases) == {name for name in known if "." not in name and api.table()[name].kind != "header"}
    assert aliases["cudaMalloc"] == "hipMalloc" and made.names == len(aliases)
    assert made.text.index("#ifndef CUDA_HIP_NO_BLAS") < made.text.index("#include <hipblas/hipblas.h>")
    assert "in place of <cublas_v2.h>, <cuda_runtime.h>, <cufft.h>" in made.text


def test_names_without_a_twin_are_listed_with_their_places(tmp_path: Path) -> None:
    text = "void f() {\n  cudaMalloc(0, 1);\n  cuGreenCtxDestroy(c);\n  cuOccupancyMaxPotentialBlockSize(a, b, f, g, s, l);\n}\n"
    made = make(project_of(tmp_path, text))
    assert made.left["cuGreenCtxDestroy"] == ("use.cu:3",)
    assert "cuOccupancyMaxPotentialBlockSize" in made.left and "#define cuOccupancy" not in made.text
    assert "//   cuGreenCtxDestroy: use.cu:3" in made.text


def test_dead_code_comments_and_namespaces(tmp_path: Path) -> None:
    text = (
        "// cudaFree\n#ifdef __HIP_PLATFORM_AMD__\n#else\nint a = cudaMemset(p, 0, 4);\n#endif\n#include <cub/cub.cuh>\nusing cub::Sum;\n"
    )
    made = make(project_of(tmp_path, text + "#ifdef __CUDACC__\n#endif\n"))
    assert "namespace cub = hipcub;" in made.text
    assert not re.search(r"cudaFree|cudaMemset |#define __CUDACC__", made.text)


def test_a_name_newer_than_the_rocm_is_left(tmp_path: Path) -> None:
    root = project_of(tmp_path, "void f() { cudaStreamBeginCaptureToGraph(s, g, d, e, n, m); }\n")
    assert "cudaStreamBeginCaptureToGraph" in make(root, "5.7").left
    assert not make(root, "7.2").left
    with pytest.raises(ConfigError):
        make(root, "8.5")
    with pytest.raises(InputError):
        make(root / "use.cu")


def written(folder: Path) -> Path:
    made = make(project_of(folder, USE))
    (folder / "shim.h").write_text(made.text)
    (folder / "use.cu").write_text(USE)
    return folder / "use.cu"


def test_files_that_were_not_read_are_named_or_counted(tmp_path: Path) -> None:
    """Of three hundred files that were not read twenty were named, and no word said that there were more."""
    (tmp_path / "k.cu").write_text("void f() { cudaDeviceSynchronize(); }\n")
    for number in range(23):
        with (tmp_path / f"b{number}.cu").open("wb") as file:
            file.truncate(Config().max_bytes + 1)
    said = CliRunner().invoke(main, ["shim", str(tmp_path)]).output
    assert said.count("not read, too large") == 20 and "not read either: 3 more\n" in said


def compile_it(command: list[str], source: Path, **more: str) -> None:
    done = subprocess.run(
        [*command, source.name], cwd=source.parent, capture_output=True, text=True, timeout=120, env={**os.environ, **more}, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.needs_tool
def test_it_compiles_with_nvcc(tmp_path: Path) -> None:
    source = written(tmp_path)
    (tmp_path / "hpc.h").write_text(make(PROJECT).text)
    source.write_text(USE + '#include "hpc.h"\n' + (PROJECT / "src/reduce.cu").read_text().replace("#include <cuda_runtime.h>", ""))
    (tmp_path / "config.h").write_text((PROJECT / "src/config.h").read_text())
    command = [need_tool("nvcc"), "-cuda", "-o", "out.ii", "-DCUDA_HIP_NO_BLAS", "-DCUDA_HIP_NO_FFT"]
    compile_it(command, source)


@pytest.mark.needs_tool
def test_it_compiles_with_hipcc(tmp_path: Path) -> None:
    command = [need_tool("hipcc"), "-x", "hip", "--offload-arch=gfx90a", "--cuda-device-only", "-w", "-c", "-o", "out"]
    compile_it(command, written(tmp_path), HIP_PLATFORM="amd")


@pytest.mark.needs_tool
def test_it_compiles_for_the_device_and_the_host_with_clang(tmp_path: Path) -> None:
    headers = os.environ.get("PORTER_HIP_INCLUDE", "")
    if not headers:
        missing("PORTER_HIP_INCLUDE names no folder with the headers of HIP 7")
    command = [need_tool("clang++-19"), "-x", "hip", "--offload-arch=gfx1100", "-nogpulib", "-fsyntax-only", "-w", "-isystem", headers]
    compile_it(command, written(tmp_path))
