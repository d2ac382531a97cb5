"""What parsers of shell, container and build files say of single lines, branches and odd encodings."""

from __future__ import annotations

import pytest

from porter.model import Fact, Live, SourceFile
from porter.parse import parser_of
from porter.parse.cmake_guards import condition
from porter.parse.cmake_words import commands


def facts(kind: str, text: str | bytes, path: str = "x") -> list[Fact]:
    parse = parser_of(kind)
    assert parse is not None
    return parse(SourceFile(path, kind, text if isinstance(text, bytes) else text.encode())).facts


def names(kind: str, text: str, wanted: str) -> list[str]:
    return [fact.name for fact in facts(kind, text) if fact.kind == wanted]


@pytest.mark.parametrize(
    ("line", "kind", "name"),
    [
        ("sudo -u me env A=1 timeout 10m nvidia-smi", "command", "nvidia-smi"),
        ("srun -n 4 --gres=gpu:h100:1 python -m vllm.entrypoints.openai.api_server", "command", "vllm serve"),
        ("uv pip install --system 'torch==2.4.0+cu121' -r more.txt", "requirement", "torch"),
        ("python3 -m pip install -U cupy-cuda12x", "requirement", "cupy-cuda12x"),
        (
            "pip install -f https://data.pyg.org/whl/torch-2.4.0+cu121.html torch-scatter",
            "index_url",
            "https://data.pyg.org/whl/torch-2.4.0+cu121.html",
        ),
        ("dnf -y install cuda-toolkit-12-4-0:1.x86_64", "apt_package", "cuda-toolkit-12-4-0"),
        ("mamba create -n e -c rapidsai cudf=24.10", "conda_package", "cudf"),
        ("docker run -it --gpus=all --shm-size 8g nvcr.io/nvidia/pytorch:24.05-py3", "image", "nvcr.io/nvidia/pytorch:24.05-py3"),
        ("docker run img bash -c 'ncu --set full ./a'", "command", "ncu"),
        ('bash -lc "cd x && nvcc -arch=sm_90 a.cu"', "compile_flag", "-arch=sm_90"),
        ("g++ a.o -L/usr/local/cuda/lib64 -lcudart -o a", "link_library", "cudart"),
        ("X=$(nvcc --version)", "command", "nvcc"),
        ("g++ -U FOO -D BAR=1 a.cc", "compile_flag", "-UFOO"),
        ("nvcc -U FOO -D BAR=1 a.cu", "compile_flag", "-DBAR=1"),
        ("helm repo add nvidia https://helm.ngc.nvidia.com/nvidia && helm repo update", "index_url", "https://helm.ngc.nvidia.com/nvidia"),
        ('NVCC_GENCODE="-gencode=arch=compute_80,code=sm_80" make', "compile_flag", "-gencode=arch=compute_80,code=sm_80"),
        ("cmake -S . -DCMAKE_CUDA_ARCHITECTURES:STRING=90", "cmake_var", "CMAKE_CUDA_ARCHITECTURES"),
        ("docker run vllm/vllm-openai:v1 --quantization modelopt", "command_flag", "vllm serve --quantization=modelopt"),
    ],
)
def test_one_line_of_shell(line: str, kind: str, name: str) -> None:
    assert name in names("shell", line + "\n", kind)


@pytest.mark.parametrize(
    "line",
    [
        "echo nvidia-smi",
        "# nvidia-smi",
        "printf 'run nvidia-smi'",
        "cat <<'EOF'\nnvidia-smi\nEOF",
        "M='a nvidia-smi'",
        "command -v nvidia-smi",
    ],
)
def test_words_that_run_nothing(line: str) -> None:
    assert "nvidia-smi" not in names("shell", line + "\n", "command")


@pytest.mark.parametrize(
    ("test", "live"),
    [
        ('[ "$D" = rocm ]', Live.NO),
        ('[[ $D != "rocm" ]]', Live.YES),
        ('[ -z "$ROCM_PATH" ]', Live.YES),
        ("command -v rocminfo", Live.NO),
        ("[ -f x ]", Live.UNKNOWN),
        ("command -v nvcc", Live.UNKNOWN),
    ],
)
def test_the_else_branch_of_a_shell_test(test: str, live: Live) -> None:
    found = facts("shell", f"if {test}; then\n  amd-smi\nelse\n  nvidia-smi\nfi\n")
    lives = {fact.name: fact.live for fact in found if fact.kind == "command"}
    expected = Live.NO if live is Live.NO else live
    assert lives["nvidia-smi"] is expected


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("USE_ROCM", True),
        ("NOT USE_ROCM", False),
        ("USE_CUDA", False),
        ("USE_CUDA AND NOT X", False),
        ("USE_CUDA OR X", None),
        ("(USE_CUDA OR USE_ROCM) AND NOT WIN32", True),
        ('GPU_LANG STREQUAL "HIP"', True),
        ('GPU_LANG STREQUAL "CUDA"', False),
        ("CUDA_VERSION VERSION_GREATER 12", None),
        ('CMAKE_SYSTEM_PROCESSOR MATCHES "AMD64"', None),
        ("TARGET CUDA::cudart", False),
        ("EXISTS /opt/rocm", None),
        ("ON", True),
        ("", None),
    ],
)
def test_cmake_conditions_in_a_build_for_amd(text: str, truth: bool | None) -> None:
    arguments = commands(f"if({text})")[0][0].arguments
    assert condition(arguments, ported=True) is truth


def test_cuda_variables_decide_nothing_where_the_file_has_no_amd_side() -> None:
    found = facts("cmake", "if(USE_CUDA)\n  enable_language(CUDA)\nendif()\n")
    assert [fact.live for fact in found if fact.kind == "cmake_command"] == [Live.UNKNOWN]


@pytest.mark.parametrize(
    ("test", "live"),
    [("ifeq ($(GPU),hip)", Live.NO), ("ifdef USE_ROCM", Live.NO), ("ifndef USE_ROCM", Live.YES), ("ifeq ($(DEBUG),1)", Live.UNKNOWN)],
)
def test_the_else_branch_of_make(test: str, live: Live) -> None:
    found = facts("make", f"{test}\nA = 1\nelse\nCC = nvcc\nendif\n")
    assert {fact.live for fact in found if fact.name == "nvcc"} == {live}


def test_line_ends_and_byte_order_marks_do_not_shift_places() -> None:
    text = "\ufeff# ä\r\nFROM nvidia/cuda:12.4.1-base\r\nRUN echo é && \\\r\n  nvidia-smi\r\n"
    found = {fact.name: fact.span for fact in facts("docker", text)}
    assert (found["nvidia/cuda:12.4.1-base"].line, found["nvidia/cuda:12.4.1-base"].column) == (2, 6)
    assert (found["nvidia-smi"].line, found["nvidia-smi"].column) == (4, 3)


def test_columns_count_bytes() -> None:
    shell = [fact.span.column for fact in facts("shell", "echo é; nvidia-smi\n") if fact.name == "nvidia-smi"]
    assert shell == [10]
    found = [fact.span.column for fact in facts("yaml", "é: 1\nk: é\nimage: nvidia/cuda:12.4.1-base\n") if fact.kind == "image"]
    assert found == [8]


def test_helm_templates_and_aliases_leave_the_rest_readable() -> None:
    text = "{{- with .Values }}\na: &x\n  nvidia.com/gpu: {{ .n | quote }}\nb: *x\n{{- end }}\n"
    text += "{{/* a\n comment */}}\nc:\n  image: '{{ .r }}/nvidia/cuda:{{ .t }}'\n"
    found = facts("yaml", text)
    assert any(fact.name.startswith("a.nvidia.com/gpu=") for fact in found)
    assert [fact.name.replace("_", "") for fact in found if fact.kind == "image"] == ["/nvidia/cuda:"]


def test_helm_values_join_repository_and_tag() -> None:
    text = "image:\n  registry: nvcr.io\n  repository: nvidia/tritonserver\n  tag: 24.10-py3\n"
    assert names("yaml", text, "image") == ["nvcr.io/nvidia/tritonserver:24.10-py3"]


def test_stages_and_arguments_of_a_dockerfile() -> None:
    text = "ARG V=12\nARG B=nvidia/cuda:${V:-11}-base\nFROM --platform=linux/amd64 ${B} AS one\nFROM one\nFROM ${MISSING}\nFROM scratch\n"
    assert names("docker", text, "image") == ["nvidia/cuda:12-base", "${MISSING}"]
