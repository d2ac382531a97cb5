"""The stack around the kernels: sources are pages, settings of scale, Triton back ends, libraries of setup.py, hidden files."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from porter import detect
from porter.config import Config
from porter.discover import discover
from porter.examine import Auditor
from porter.kinds import kind_of
from porter.model import Confidence, SourceFile
from porter.other_devices import device_of
from porter.parse import parser_of
from porter.pipeline import audit
from porter.rules import load
from porter.testing import ALL_TARGETS


@cache
def auditor() -> Auditor:
    return Auditor(Config(targets=ALL_TARGETS), load())


def rules_in(name: str, text: str) -> dict[str, list[int]]:
    return {rule: sorted(lines) for rule, lines in auditor().rule_lines(name, text.encode()).items() if lines}


def test_no_source_is_the_front_of_a_repository() -> None:
    front = re.compile(r"https://(?:github|gitlab)\.com/[^/]+/[^/]+/?\Z")
    assert [rule.id for rule in load().rules.values() for source in rule.sources if front.match(source.url)] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sh", "vllm serve m -tp 16\n"),
        ("a.sh", "python -m sglang.launch_server --model m --tp-size 16\n"),
        ("a.py", "from vllm import LLM\nx = LLM('m', tensor_parallel_size=32)\n"),
        ("values.yaml", "vllmConfig:\n  tensorParallelSize: 16\n"),
        (
            "pod.yaml",
            "kind: Pod\nspec:\n  containers:\n    - name: a\n      args: ['--tensor-parallel-size', '16']\n      command: [vllm, serve]\n",
        ),
    ],
)
def test_groups_larger_than_a_node(name: str, text: str) -> None:
    assert "tensor-parallel-over-node" in rules_in(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sh", "vllm serve m -tp 8 --pipeline-parallel-size 16\n"),
        ("a.py", "from vllm import LLM\nx = LLM('m', tensor_parallel_size=8)\n"),
        ("a.sh", "curl --tp 16 http://x\n"),
        ("values.yaml", "replicas: 16\nport: 72\n"),
    ],
)
def test_groups_of_a_node(name: str, text: str) -> None:
    assert "tensor-parallel-over-node" not in rules_in(name, text)


def test_racks_are_named_by_their_settings_not_by_a_number() -> None:
    assert rules_in("a.yaml", "kind: Pod\nspec:\n  nodeSelector:\n    nvidia.com/gpu.clique: a.1\n")["nvlink-domain-assumption"] == [4]
    assert rules_in("a.sh", "export NCCL_MNNVL_ENABLE=1\n") == {"nvlink-domain-assumption": [1]}
    assert rules_in("a.sh", "export NCCL_MNNVL_ENABLE=0\nexport WORLD_SIZE=72\n") == {}


@pytest.mark.parametrize(
    ("backend", "rule"),
    [
        ("backend: 'python'", "triton-server-portable-backend"),
        ("platform: 'ensemble'", "triton-server-portable-backend"),
        ("backend: 'fil'", "triton-server-nvidia-backend"),
        ("platform: 'pytorch_libtorch'", "triton-server-pytorch-backend"),
        ("platform: 'tensorrt_plan'", "triton-tensorrt-model"),
    ],
)
def test_back_ends_of_triton_inference_server(backend: str, rule: str) -> None:
    assert rules_in("m/config.pbtxt", f'name: "m"\n{backend}\n'.replace("'", '"')) == {rule: [2]}
    assert rules_in("m/config.json", '{"backend": "dali", "platform": "ensemble"}') == {}


def test_plug_ins_modules_and_operators() -> None:
    text = "export NCCL_NET_PLUGIN=ofi\nexport NCCL_NET_GDR_LEVEL=3\nmodprobe nvidia-peermem\nsystemctl enable --now nvidia-fabricmanager\n"
    text += "export DS_BUILD_CUTLASS_OPS=1\nexport DS_BUILD_GDS=0\n"
    assert rules_in("node.sh", text) == {
        "nccl-plugin": [1],
        "nccl-variables": [2],
        "gpudirect-modules": [3],
        "nvidia-fabric-packages": [4],
        "deepspeed-nvidia-ops": [5],
    }


def test_jax_platforms_by_name() -> None:
    text = "import jax\njax.devices('cuda')\njax.config.update('jax_platforms', 'cuda')\njax.local_devices(backend='cuda')\n"
    assert rules_in("a.py", text) == {"jax-cuda-platform": [2, 3, 4]}
    assert rules_in("b.py", "import jax\njax.devices('gpu')\njax.config.update('jax_platforms', 'cuda,rocm')\nprint('cuda')\n") == {}


def test_libraries_of_extensions_in_setup_py() -> None:
    text = "from setuptools import Extension\nx = Extension('a', ['a.c'],\n  libraries=['cudart', 'm'],\n  extra_link_args=['-lcublas'])\n"
    assert rules_in("setup.py", text) == {"cuda-runtime-library": [3], "cublas": [4]}
    assert rules_in("books.py", "libraries = ['cudart']\n") == {}


def test_makefiles_export_variables() -> None:
    assert rules_in("Makefile", "export NCCL_ALGO = Ring\nNCCL_PROTO = LL\n") == {"nccl-tuned-protocol": [1]}


def test_hidden_files_are_named_and_settings_are_read(tmp_path: Path) -> None:
    for name in (".pre-commit-config.yaml", ".vscode/tasks.json", ".git/config.json", ".env", ".gitattributes"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("NCCL_ALGO=Ring\n")
    found = discover(tmp_path, Config())
    assert [(entry.path, entry.why) for entry in found.skipped] == [(".pre-commit-config.yaml", "hidden"), (".vscode", "hidden")]
    assert [entry.path for entry in found.entries] == [".env"]
    assert rules_in(".env", "NCCL_ALGO=Ring\n") == {"nccl-tuned-protocol": [1]}


def test_a_licence_of_the_projects_own_package_makes_no_foreign_code(tmp_path: Path) -> None:
    other = "Permission is granted to use this software for research only and no other use is allowed at all. " * 5
    (tmp_path / "LICENSE").write_text("Apache License, Version 2.0, as published by the foundation. " * 8)
    for folder, text in (("src/axolotl/integrations", "Axolotl Community Licence. " + other), ("src/axolotl/copied", other)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "LICENSE.md").write_text(text)
        (tmp_path / folder / "a.py").write_text("import tensorrt\n")
    assert {entry.path: entry.origin.value for entry in discover(tmp_path, Config()).entries} == {
        "src/axolotl/integrations/a.py": "own",
        "src/axolotl/copied/a.py": "vendored",
    }


def test_images_machines_charts_and_matrices() -> None:
    assert rules_in("Dockerfile", "FROM hiyouga/pytorch:th2.6-cu124-devel\n") == {"cuda-tagged-image": [1]}
    assert rules_in("Dockerfile", "FROM nvcr.io/nvidia/morpheus/morpheus:25.06\n") == {"cuda-tagged-image": [1]}
    assert rules_in("Dockerfile", "FROM example/app:cut3-rocm7\n") == {}
    assert rules_in("a.sh", "helm install --wait x -n gpu nvidia/gpu-operator\n") == {"nvidia-gpu-operator": [1]}
    assert rules_in("a.sh", "kubectl apply -f https://raw.githubusercontent.com/NVIDIA/k8s-device-plugin/v0.14.1/x.yml\n") == {
        "nvidia-device-plugin-image": [1]
    }
    assert rules_in("a.tf", 'variable "t" {\n  default = ["g5.xlarge"]\n}\n') == {"cloud-gpu-node-selector": [2]}
    assert rules_in("a.tf", 'variable "t" {\n  default = ["m5.xlarge", "g4ad.xlarge"]\n}\n') == {}
    assert rules_in("a.yaml", "types:\n  - g5.xlarge\n  - g5.2xlarge\n") == {"cloud-gpu-node-selector": [2]}
    assert rules_in("a.yaml", "resources:\n  accelerators: H100:8\nname: A100\n") == {"cloud-gpu-node-selector": [2]}
    matrix = "jobs:\n  a:\n    strategy:\n      matrix:\n        cuda: ['12.8']\n        python: ['3.12']\n"
    assert rules_in(".github/workflows/a.yml", matrix) == {"ci-cuda-matrix": [5]}
    assert rules_in("values.yml", matrix) == {}


@pytest.mark.parametrize(
    ("path", "kind", "device"),
    [
        ("docker/ascend/Dockerfile.a3", "docker", "ascend"),
        ("docker/Dockerfile.cpu", "docker", "cpu"),
        ("backends/gaudi/server/Makefile-fbgemm", "make", "gaudi"),
        ("tests/end_to_end/tpu/run.sh", "shell", "tpu"),
        ("src/worker/tpu_worker.py", "python", "tpu"),
        ("cmd_macos.sh", "shell", "macos"),
        ("requirements/full/requirements_apple_silicon.txt", "requirements", "apple"),
        ("requirements/env_torch.mac.cpu.yml", "conda", "mac"),
        ("requirements/env_torch.cpu.yml", "conda", "cpu"),
        ("src/mac/address.py", "python", ""),
        ("docker/Dockerfile.cpu-gpu", "docker", ""),
        ("src/neuron/model.py", "python", ""),
        ("src/output/input.py", "python", ""),
        ("docker/Dockerfile", "docker", ""),
        ("cpu/kernels.py", "python", ""),
        ("npu/kernel.cu", "cuda", ""),
    ],
)
def test_files_of_other_devices(path: str, kind: str, device: str) -> None:
    assert device_of(path, kind) == device


def test_what_another_device_or_another_package_brings_is_no_work(tmp_path: Path) -> None:
    (tmp_path / "ascend").mkdir()
    (tmp_path / "ascend/Dockerfile").write_text("FROM ubuntu:22.04\nRUN pip install torch==2.8.0\n")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "vllm"\nversion = "1"\n[project.optional-dependencies]\nall = ["vllm[x]"]\n'
    )
    lock = 'version = 1\n[[package]]\nname = "app"\nsource = { virtual = "." }\ndependencies = [{ name = "sglang" }, { name = "plain" }]\n'
    lock += '[[package]]\nname = "sglang"\nversion = "0.5"\ndependencies = [{ name = "nvidia-cutlass-dsl" }]\n'
    lock += '[[package]]\nname = "nvidia-cutlass-dsl"\nversion = "4.5"\n'
    lock += '[package.optional-dependencies]\ncu13 = [{ name = "cuda-tile" }]\n[[package]]\nname = "cuda-tile"\nversion = "1.3"\n'
    lock += '[[package]]\nname = "plain"\nversion = "1"\ndependencies = [{ name = "cupy-cuda12x" }]\n'
    lock += '[[package]]\nname = "cupy-cuda12x"\nversion = "13"\n'
    lock += '[[package]]\nname = "torch"\nversion = "2.8.0"\n[[package]]\nname = "torch"\nversion = "2.8.0+cu128"\n'
    (tmp_path / "uv.lock").write_text(lock)
    report = audit(tmp_path, Config(jobs=0))
    assert [(f.rule, f.path) for f in report.findings] == [("sglang", "uv.lock"), ("cupy-cuda", "uv.lock"), ("torch", "uv.lock")]
    assert report.findings[2].message.endswith("depends on torch (==2.8.0+cu128)")
    ported = {f.rule: f.message for f in report.insights if f.category == "already-ported"}
    assert "Comes with sglang" in ported["cutlass-dsl"]
    assert "Comes with nvidia-cutlass-dsl" in ported["cuda-tile"]
    assert "File of another device (ascend)" in ported["torch"]


def test_what_tests_only_name_is_of_low_confidence() -> None:
    manifest = "kind: Pod\nspec:\n  containers:\n    - resources:\n        limits:\n          nvidia.com/gpu: 1\n"
    assert confidence_of("tests/expected/pod.yaml", manifest) == {"kubernetes-nvidia-gpu": Confidence.LOW}
    assert confidence_of("deploy/pod.yaml", manifest) == {"kubernetes-nvidia-gpu": None}
    text = 'def test():\n    assert props["gpu_name"] == "NVIDIA H100"\n'
    assert "nvidia-device-name-test" not in rules_in("tests/test_a.py", text)
    assert "nvidia-device-name-test" in rules_in("a.py", text)


def test_a_stale_target_that_is_only_looked_for_does_no_harm() -> None:
    assert rules_in("a.py", 'old = arch in ("gfx940", "gfx942")\n') == {}
    assert rules_in("a.py", 'import os\nos.environ["PYTORCH_ROCM_ARCH"] = "gfx940"\n') == {"gfx940-target": [2]}


def test_nvlink_settings_that_are_switched_off() -> None:
    assert rules_in("a.sh", "export NCCL_NVLS_ENABLE=1\nexport NCCL_NVLS_ENABLE=0\n") == {"nccl-nvlink-variables": [1]}


def confidence_of(name: str, text: str) -> dict[str, Confidence | None]:
    kind = kind_of(name) or ""
    parse = parser_of(kind)
    assert parse is not None
    own = auditor()
    hits, _ = detect.detect(parse(SourceFile(name, kind, text.encode())), own.index, own.config, own.matcher, own.detectors)
    return {hit.rule: hit.confidence for hit in hits}


def test_clones_downloads_and_images_in_scripts() -> None:
    text = 'N=${N:-$(nvidia-smi -L | wc -l)}\nIMAGE="nvcr.io/nvidia/pytorch:25.10-py3"\ngit clone -b v2 https://github.com/NVIDIA/gdrcopy.git\n'
    text += 'echo "deb https://developer.download.nvidia.com/devtools/repos/ubuntu2204/amd64/ /" > /etc/apt/sources.list.d/x.list\n'
    text += "aria2c https://developer.nvidia.com/downloads/assets/secure/nvshmem/nvshmem_src_3.2.5-1.txz\necho see https://github.com/NVIDIA/nccl\n"
    assert rules_in("a.sh", text) == {
        "nvidia-smi": [1],
        "ngc-pytorch-image": [2],
        "gdrcopy": [3],
        "cuda-package-repository": [4],
        "nvshmem": [5],
    }


def test_resources_and_images_in_python() -> None:
    text = 'import modal\nlimits = {"nvidia.com/gpu": "1"}\nimage = modal.Image.from_registry("nvidia/cuda:12.4.0-devel-ubuntu22.04")\n'
    assert rules_in("a.py", text) == {"kubernetes-nvidia-gpu": [2], "cuda-base-image": [3]}
    assert rules_in("b.py", 'url = "nvidia/cuda"\nkey = "nvidia.com/gpu"\n') == {}
    assert rules_in("tests/test_a.py", 'assert task.image == "nvcr.io/nvidia/nemo:25.02"\n') == {}
    assert rules_in("Dockerfile", "FROM nvcr.io/nvidia/tritonserver:24.10-py3-sdk\n") == {}
    options = "jobs:\n  a:\n    container:\n      image: ubuntu:24.04\n      options: --gpus all\n"
    assert rules_in(".github/workflows/a.yml", options) == {"docker-gpus-flag": [5]}


def test_server_arguments_say_what_works_and_what_does_not() -> None:
    assert rules_in("a.sh", "vllm serve m --quantization awq\nvllm serve m --quantization aqlm\nvllm serve nvidia/m-FP4\n") == {
        "checkpoint-awq": [1],
        "checkpoint-rare-quant": [2],
        "nvfp4-model-name": [3],
    }
    assert rules_in("values.yaml", "engine:\n  attentionBackend: FLASHINFER\n  backend: flashinfer\n") == {
        "attention-cuda-only-backend": [2]
    }


def test_old_places_and_macros_of_rocm() -> None:
    assert rules_in("Dockerfile", "FROM x\nENV PATH=/opt/rocm-6.0.2/bin:$PATH\nENV ROCM_PATH=/opt/rocm\n") == {"rocm-versioned-path": [2]}
    assert rules_in("CMakeLists.txt", "add_definitions(-D__HIP_PLATFORM_HCC__)\nset(HIP_PATH /opt/rocm/hip)\n") == {
        "hip-platform-hcc": [1],
        "rocm-versioned-path": [2],
    }


def test_slurm_containers_and_mapped_accelerators() -> None:
    assert rules_in("a.sh", "srun --container-image=nvcr.io#nvidia/pytorch:25.01-py3 python a.py\n") == {"ngc-pytorch-image": [1]}
    assert rules_in("sky.yaml", "resources:\n  accelerators: {A100: 8}\n") == {"cloud-gpu-node-selector": [2]}
    assert rules_in("pod.yaml", "spec:\n  nodeSelector:\n    nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3\n") == {
        "kubernetes-nvidia-labels": [3]
    }


def test_capability_helpers_with_two_numbers_and_partial_pyprojects() -> None:
    text = "from app.device import has_cuda_capability\nfast = has_cuda_capability(9, 0)\nold = has_cuda_capability(7, 0)\n"
    assert rules_in("a.py", text) == {"capability-passes-for-hopper": [2]}
    assert rules_in("requirements/pyproject-onebit.toml", '[tool.poetry.dependencies]\ncupy-cuda111 = ">=8.6"\n') == {"cupy-cuda": [2]}


def test_a_search_path_that_grows_is_found_where_it_gets_the_folder() -> None:
    text = "FROM x\nENV LIBRARY_PATH=$LIBRARY_PATH:/usr/local/cuda/lib64\nENV LIBRARY_PATH=$LIBRARY_PATH:/usr/local/lib\n"
    assert rules_in("Dockerfile", text) == {"cuda-install-path": [2]}


def test_lock_files_of_conda_and_pixi(tmp_path: Path) -> None:
    text = "version: 1\nmetadata:\n  channels:\n  - url: conda-forge\npackage:\n"
    for name, platform, needs in (
        ("cudf", "linux-64", "{cupy: ''}"),
        ("cupy", "linux-64", "{}"),
        ("cuml", "win-64", "{}"),
        ("cudf", "linux-64", "{}"),
    ):
        text += f"- name: {name}\n  version: '1'\n  manager: conda\n  platform: {platform}\n  dependencies: {needs}\n"
    (tmp_path / "conda-lock.yml").write_text(text)
    pixi = "version: 6\npackages:\n- conda: https://conda.anaconda.org/conda-forge/linux-64/cudnn-9.3-h1_0.conda\n"
    (tmp_path / "pixi.lock").write_text(pixi)
    report = audit(tmp_path, Config(jobs=0))
    assert [(f.rule, f.path, f.line) for f in report.findings] == [("cudf", "conda-lock.yml", 6), ("cudnn", "pixi.lock", 3)]
    assert [f.rule for f in report.insights] == ["cupy-cuda"]
