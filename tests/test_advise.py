"""Advice on whole repositories: strategies costed in the report's own hours, and the runbook."""

from __future__ import annotations

from pathlib import Path

from conftest import scanned
from kernels import MASK

from porter import advise, pipeline
from porter.config import Config
from porter.model import Hours


def test_one_strategy_is_recommended_with_a_reason_from_the_data(tmp_path: Path) -> None:
    cuda = scanned(tmp_path / "cuda", k_DOT_cu=MASK)
    assert [way.id for way in cuda.strategies if way.recommended] == ["header"] and cuda.strategies[0].recommended
    ways = {way.id: way for way in cuda.strategies}
    assert set(ways) == {"run-as-is", "header", "hipify-build", "copy", "library", "backend", "scale", "zluda"}
    assert not ways["run-as-is"].fits and ways["copy"].maintenance_hours.likely > ways["header"].maintenance_hours.likely > 0
    assert ways["copy"].added_lines.p50 >= cuda.cuda_lines and not ways["scale"].costed and ways["zluda"].sources
    assert all(way.sources and all(source.checked for source in way.sources) for way in ways.values())
    package = scanned(tmp_path / "package", k_DOT_cu=MASK, setup_DOT_py="from torch.utils.cpp_extension import CUDAExtension\n")
    assert package.strategies[0].id == "hipify-build"
    makefile = "all:\n\tnvcc -arch=sm_80 --shared -o k.so k.cu\n"  # as bitsandbytes was built: torch is called, and compiles nothing
    made = scanned(tmp_path / "made", k_DOT_cu=MASK, setup_DOT_py="import torch\nfrom setuptools import setup\n", Makefile=makefile)
    assert made.strategies[0].id == "header" and not any("PyTorch's extension" in way.why for way in made.strategies)
    named = "from torch.utils.cpp_extension import CppExtension, CUDAExtension\nExtension = CUDAExtension if True else CppExtension\n"
    cmake = "project(k LANGUAGES CUDA)\nadd_library(k k.cu)\n"  # as pytorch_scatter has both
    both = scanned(tmp_path / "both", k_DOT_cu=MASK, setup_DOT_py=named, CMakeLists_DOT_txt=cmake)
    assert both.strategies[0].id == "hipify-build"
    python = scanned(tmp_path / "python", serve_DOT_py="import tensorrt_llm\n")
    assert python.strategies[0].id == "library" and "vllm" in python.strategies[0].reason.lower()
    assert 0 < python.estimate.hand_lines.p50 < 30
    torch = scanned(tmp_path / "torch", train_DOT_py="import torch\nassert torch.version.cuda.split('.')[0] == '12'\n")
    assert torch.strategies[0].id == "run-as-is"
    assert scanned(tmp_path / "none", a_DOT_py="print(1)\n").strategies == ()
    for report in (torch, python):  # nothing on top: the way costs what the report says
        hours = report.estimate.hours
        assert report.strategies[0].hours == Hours(hours.p10, hours.p50, hours.p90)
    assert "for the way itself" in cuda.strategies[0].why and cuda.strategies[0].hours.likely > cuda.estimate.hours.p50
    for way in (*cuda.strategies, *python.strategies):  # one that does not fit has no hours, and says no more than why
        assert way.fits or (way.hours == Hours() and way.why and (not way.maintenance or not way.costed))
    assert not {way.id: way for way in python.strategies}["run-as-is"].fits


def test_the_runbook_has_commands_for_this_repository_and_names_what_it_settles(tmp_path: Path) -> None:
    report = pipeline.audit(Path(__file__).parent.parent / "fixtures/repos/vllm-service", Config(jobs=0))
    steps = {step.id: step for step in report.runbook}
    assert list(steps)[:3] == ["baseline", "baseline-serving", "image"]
    assert {"gpus", "collectives", "serving", "parallel", "cost"} <= set(steps) and "launches" not in steps
    assert "rocm/vllm:rocm7" in " ".join(steps["image"].commands) and steps["image"].sources[0].checked
    assert "torch.version.hip" in " ".join(steps["wheels"].commands) and "-g 8" in " ".join(steps["collectives"].commands)
    settled = {group for step in report.runbook for group in step.settles}
    assert settled == {one.group for one in report.findings} and steps["image"].settles and "translate" not in steps
    assert "porter size ." in steps["parallel"].commands  # of two models the size of one is known
    unknown = "services:\n  s:\n    image: vllm/vllm-openai:v0.11.0\n    command: [--model, example/model]\n"
    served = {step.id: step for step in scanned(tmp_path, compose_DOT_yaml=unknown).runbook}
    assert 'porter size "$MODEL_CONFIG_JSON"' in served["parallel"].commands  # no model of a known size: a dot would be refused
    hpc = pipeline.audit(Path(__file__).parent.parent / "fixtures/repos/hpc-cmake", Config(jobs=0, targets=("gfx90a",)))
    assert not any("porter size" in command for step in hpc.runbook for command in step.commands)
    commands = " ".join(command for step in hpc.runbook for command in step.commands)
    assert "CMAKE_HIP_ARCHITECTURES='gfx90a'" in commands and "porter verify . --target gfx90a" in commands
    assert {group for step in hpc.runbook for group in step.settles} == {f.group for f in hpc.findings}
    assert advise.advised(hpc) == hpc and "{" not in commands.replace("{{", "").replace("{index", "")


def test_the_baseline_is_tested_where_it_was_built_and_the_port_where_that_was(tmp_path: Path) -> None:
    cmake = "project(k LANGUAGES CUDA)\nadd_executable(k k.cu)\nenable_testing()\nadd_test(NAME t COMMAND k)\n"
    files = {"k_DOT_cu": MASK, "tests__t_DOT_cu": MASK, "CMakeLists_DOT_txt": cmake}
    steps = {step.id: step.commands for step in scanned(tmp_path, **files).runbook}
    assert "ctest --test-dir build --output-on-failure 2>&1 | tee -a baseline-tests.txt" in steps["baseline"]
    assert "ctest --test-dir build-amd --output-on-failure" in steps["tests"] and "cmake --build build-amd --parallel" in steps["build"]
    bindings = scanned(tmp_path, python__setup_DOT_py="import setuptools\n")  # as in faiss: it does not build the sources
    assert "cmake --build build-amd --parallel" in {step.id: step.commands for step in bindings.runbook}["build"]


def test_a_project_that_builds_for_amd_is_told_to_carry_on_and_not_that_it_hipifies() -> None:
    report = pipeline.audit(Path(__file__).parent.parent / "fixtures/repos/half-ported", Config(jobs=0))
    best = report.strategies[0]
    assert report.already_ported and best.recommended and best.fits and best.sources and best.maintenance
    assert "hipify" not in f"{best.name} {best.what} {best.why} {best.reason} {best.maintenance}".lower()


CLUSTER = """
__global__ void __cluster_dims__(2, 1, 1) copy(float* out, const float* in) {
  extern __shared__ float tile[];
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :: "r"(0), "l"(in), "r"(16), "r"(0));
  out[threadIdx.x] = tile[threadIdx.x];
}
void launch(float* o, const float* i) { copy<<<2, 32>>>(o, i); }
"""


def test_a_way_that_translates_says_what_it_does_not_carry_over(tmp_path: Path) -> None:
    """An extension half of whose kernels stand on bulk copies was told that only guards are added."""
    setup = "from torch.utils.cpp_extension import CUDAExtension\n"
    half = scanned(tmp_path / "half", t_DOT_cu=CLUSTER, setup_DOT_py=setup).strategies[0]
    assert half.id == "library" and "1 of 1 kernels stand on" in half.reason
    plain = "".join(f"__global__ void p{i}(float* x) {{ x[threadIdx.x] = {i}; }}\n" for i in range(30))
    few = scanned(tmp_path / "few", t_DOT_cu=CLUSTER, k_DOT_cu=plain, m_DOT_cu=MASK, setup_DOT_py=setup).strategies[0]
    assert few.id == "hipify-build" and "1 of 32 kernels stand on" in few.reason and "not carried over by it" in few.reason


def test_a_step_leaves_to_another_what_that_one_is_for(tmp_path: Path) -> None:
    """Pinning an image was said to settle variables of NCCL and vLLM's attention back end; a step that is not shown settles nothing."""
    env = "export VLLM_ATTENTION_BACKEND=FLASHINFER\nexport NCCL_NVLS_ENABLE=1\nvllm serve m --tensor-parallel-size 16\n"
    steps = {step.id: step.rules for step in scanned(tmp_path / "served", env_DOT_sh=env).runbook}
    assert "vllm-attention-backend-variable" in steps["serving"] and "nccl-nvlink-variables" in steps["collectives"]
    assert "tensor-parallel-over-node" in steps["parallel"] and "tensor-parallel-over-node" not in steps["serving"]
    assert not {"vllm-attention-backend-variable", "nccl-nvlink-variables", "tensor-parallel-over-node"} & set(steps["image"])
    alone = scanned(tmp_path / "alone", env_DOT_sh="export NCCL_MNNVL_ENABLE=1\n")
    rules = {finding.rule for finding in alone.findings}
    assert rules and rules == {rule for step in alone.runbook for rule in step.rules}


def test_the_baseline_asks_only_for_versions_that_a_command_records(tmp_path: Path) -> None:
    """C++ repositories were asked for the versions of packages, and no command recorded any."""
    hpc = scanned(tmp_path / "hpc", k_DOT_cu=MASK).runbook[0]
    assert "versions of the driver and the compiler," in hpc.expect and "nvcc --version > baseline-compiler.txt" in hpc.commands
    served = scanned(tmp_path / "served", serve_DOT_py="import tensorrt_llm\n").runbook[0]
    assert "versions of the driver and the packages," in served.expect and any("pip freeze" in one for one in served.commands)
    assert not any("nvcc" in one for one in served.commands)


def test_what_a_way_adds_counts_build_and_deployment_files(tmp_path: Path) -> None:
    """A service whose images and charts are all replaced was said to need six lines."""
    compose = "services:\n" + "".join(f"  s{i}:\n    image: nvcr.io/nim/meta/llama-{i}:1.0\n" for i in range(9))
    report = scanned(tmp_path, compose_DOT_yaml=compose, client_DOT_py="import pynvml\npynvml.nvmlInit()\n")
    hand, build, way = report.estimate.hand_lines, report.estimate.build_lines, report.strategies[0]
    assert build.p50 > hand.p50 and way.added_lines.p50 == float(f"{round(hand.p50 + build.p50):.2g}")


def test_a_step_runs_the_tests_once(tmp_path: Path) -> None:
    """The step that proves the lanes ran the tests serialised and then again; the steps behind it do that."""
    ballot = "__global__ void k(unsigned* o) { unsigned m = __ballot_sync(0xffffffff, threadIdx.x & 1); o[0] = m; }\n"
    tested = {
        step.id: step.commands for step in scanned(tmp_path / "a", k_DOT_cu=ballot, tests__test_k_DOT_py="def test_k(): ...\n").runbook
    }
    assert [command.startswith("AMD_SERIALIZE_KERNEL=3") for command in tested["warps"]] == [True]
    assert "python -m pytest -q" in tested["tests"] and "python -m pytest -q 2>&1 | tee -a baseline-tests.txt" in tested["baseline"]
    bare = {step.id: step.commands for step in scanned(tmp_path / "b", k_DOT_cu=ballot).runbook}
    assert len(bare["warps"]) == 1 and bare["warps"][0].startswith("# no tests were found")


def test_settings_of_a_build_are_settled_where_it_is_built(tmp_path: Path) -> None:
    env = "export TORCH_CUDA_ARCH_LIST=8.0\npython setup.py install\n"
    report = scanned(tmp_path, k_DOT_cu=MASK, setup_DOT_py="from torch.utils.cpp_extension import CUDAExtension\n", env_DOT_sh=env)
    steps = {step.id: step.rules for step in report.runbook}
    assert "torch-cuda-arch-list" in steps["build"] and "torch-cuda-arch-list" not in steps["image"]
