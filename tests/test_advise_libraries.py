"""Which way is recommended where the libraries a program stands on, and not its CUDA sources, are the work."""

from __future__ import annotations

from pathlib import Path

from conftest import scanned
from kernels import MASK

from porter.model import Report

SERVER = "import pycuda.driver as cuda\nimport tensorrt as trt\n\n\ndef build(path):\n    return trt.Builder(trt.Logger())\n"
RUNTIME = "#include <cuda_runtime.h>\nvoid f(void* p) { cudaMalloc(&p, 8); cudaFree(p); }\n"
EXTENSION = "from torch.utils.cpp_extension import load\nload(name='op', sources=['op.cu'], with_cuda=True)\n"


def way(report: Report, name: str) -> str:
    return next(f"{one.why} {one.hours.likely}" for one in report.strategies if one.id == name)


def test_libraries_come_first_where_the_cuda_sources_ask_for_little(tmp_path: Path) -> None:
    many = {f"s{number}_DOT_py": SERVER for number in range(12)}
    report = scanned(tmp_path / "server", k_DOT_cu=RUNTIME, **many)
    assert report.strategies[0].id == "library" and "TensorRT" in report.strategies[0].reason
    assert "are translated beside it" in report.strategies[0].reason
    hours = {one.id: one.hours.likely for one in report.strategies if one.fits}
    assert hours["backend"] >= hours["library"]  # kernels written again leave the libraries as they are
    kernels = scanned(tmp_path / "kernels", k_DOT_cu=MASK)
    assert kernels.strategies[0].id == "header"


def test_a_test_that_compiles_an_operator_is_not_how_the_program_is_built(tmp_path: Path) -> None:
    for folder in ("qa", "src"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "qa" / "op.py").write_text(EXTENSION)
    (tmp_path / "src" / "setup.py").write_text("from setuptools import setup\nsetup(name='client')\n")
    (tmp_path / "src" / "CMakeLists.txt").write_text("project(k LANGUAGES CUDA)\nadd_library(k k.cu)\n")
    (tmp_path / "src" / "k.cu").write_text(MASK)
    report = scanned(tmp_path)
    assert "PyTorch's extension" not in way(report, "hipify-build")


def test_what_only_a_lock_file_pins_is_no_training(tmp_path: Path) -> None:
    lock = 'version = 1\n[[package]]\nname = "lightning"\nversion = "2.5"\n'
    pinned = scanned(tmp_path / "pinned", uv_DOT_lock=lock, a_DOT_py="import torch\nx = torch.cuda.Stream()\n")
    trained = scanned(tmp_path / "trained", a_DOT_py="import pytorch_lightning\n", requirements_DOT_txt="lightning==2.5\n")
    assert [any("Interconnect" in note.text for note in report.nvidia) for report in (pinned, trained)] == [False, True]
