"""The Python parser: facts, guards, embedded CUDA, what it survives, and that the word filter loses nothing."""

from __future__ import annotations

import itertools
import json

import pytest

from porter.model import Live, SourceFile
from porter.parse import Parsed, cython, notebook, python
from porter.parse.python_tree import Source
from porter.parse.python_words import Words, words_of
from porter.rules import load


def parse(text: str, path: str = "a.py", words: Words | None = None) -> Parsed:
    return python.parse(SourceFile(path, "python", text.encode()), words)


def names(parsed: Parsed, kind: str) -> list[str]:
    return [fact.name for fact in parsed.facts if fact.kind == kind]


def live_line(text: str) -> Live:
    """Liveness of the line that holds `here`."""
    parsed = parse(text)
    line = next(number for number, content in enumerate(text.splitlines(), 1) if "here" in content)
    found = {fact.live for fact in parsed.facts if fact.span.line == line and "here" in fact.name}
    assert len(found) == 1, parsed.facts
    return found.pop()


def test_imports_with_aliases_and_manner() -> None:
    parsed = parse("""
import torch as t, numpy
from numba import cuda as nc
from . import mine
try:
    import pynvml
except ImportError:
    pynvml = None
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import tensorrt
def f():
    import cupy.cuda
    nc.laneid
    return t.cuda.device_count()
""")
    facts = {fact.name: fact for fact in parsed.facts if fact.kind == "py_import"}
    assert {"torch", "numpy", "numba", "numba.cuda", "pynvml", "tensorrt", "cupy.cuda"} <= set(facts)
    assert not any("mine" in name for name in facts)
    assert facts["pynvml"].detail == {"optional": "1"}
    assert facts["tensorrt"].detail == {"type_checking": "1"}
    assert facts["cupy.cuda"].detail == {"lazy": "1"}
    assert facts["numpy"].span.line == 2 and facts["numpy"].span.column == 20
    assert "torch.cuda.device_count" in names(parsed, "py_call")
    assert "numba.cuda.laneid" in names(parsed, "py_attr")


def test_modules_loaded_by_name() -> None:
    parsed = parse("import importlib\nm = importlib.import_module('tensorrt')\nok = importlib.util.find_spec('apex') is not None\n")
    facts = {fact.name: fact.detail for fact in parsed.facts if fact.kind == "py_import"}
    assert facts["tensorrt"]["by_call"] == "importlib.import_module"
    assert "optional" not in facts["tensorrt"] and facts["apex"]["optional"] == "1"


def test_names_in_comments_and_strings_are_no_uses() -> None:
    parsed = parse('# import tensorrt\n"""torch.cuda.foo()"""\nx = "import pynvml"  # os.environ["A"]\n')
    assert {fact.kind for fact in parsed.facts} == {"py_string"}


def test_environment() -> None:
    parsed = parse("""
import os
os.environ["CUDA_VISIBLE_DEVICES"] = "0"
a = os.environ.get("NCCL_DEBUG", "INFO")
b = os.getenv("CUDA_HOME")
os.environ.setdefault("NCCL_ALGO", "Ring")
run(env={"TORCH_CUDA_ARCH_LIST": "9.0"})
if "CUDA_PATH" in os.environ:
    pass
""")
    facts = {fact.name: fact.detail for fact in parsed.facts if fact.kind == "env_var"}
    assert facts["CUDA_VISIBLE_DEVICES"] == {"access": "write", "value": "0"}
    assert facts["NCCL_DEBUG"] == {"access": "read"}
    assert facts["CUDA_HOME"] == {"access": "read"}
    assert facts["NCCL_ALGO"] == {"access": "write", "value": "Ring"}
    assert facts["TORCH_CUDA_ARCH_LIST"]["value"] == "9.0"


@pytest.mark.parametrize(
    ("call", "command", "flags"),
    [
        ('subprocess.run(["nvidia-smi", "--query-gpu=name", "-i", "0"])', "nvidia-smi", ["--query-gpu", "--query-gpu=name", "-i", "-i=0"]),
        ('os.system("nsys profile -o out python a.py")', "nsys profile", ["-o", "-o=out"]),
        ('subprocess.Popen(f"vllm serve {model} --quantization modelopt")', "vllm serve", ["--quantization", "--quantization=modelopt"]),
        ('subprocess.check_output(["/usr/local/cuda/bin/nvcc", "-V"])', "nvcc", ["-V"]),
        ('shutil.which("nvcc")', "nvcc", []),
    ],
)
def test_commands(call: str, command: str, flags: list[str]) -> None:
    parsed = parse(f"import os, subprocess, shutil\n{call}\n")
    assert names(parsed, "command") == [command]
    assert sorted(names(parsed, "command_flag")) == sorted(f"{command} {flag}" for flag in flags)


def test_arguments_from_calls_defaults_and_dicts() -> None:
    parsed = parse(
        'train(device="cuda", depth=-1)\nparams = {"tree_method": "gpu_hist"}\ndef f(backend="nccl"): pass\nk[(1,)](x, num_warps=32)\n'
    )
    assert set(names(parsed, "py_arg")) == {"device=cuda", "depth=-1", "tree_method=gpu_hist", "backend=nccl", "num_warps=32"}


def test_setup_py() -> None:
    parsed = parse(
        """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
deps = ["torch>=2.1"]
deps.append("cupy-cuda12x")
flags = {"cxx": ["-O3"], "nvcc": ["-O3", "--use_fast_math", "-gencode", "arch=compute_80,code=sm_80"]}
setup(install_requires=deps, extras_require={"trt": ["TensorRT==10.0 ; python_version > '3.8'"]},
      ext_modules=[CUDAExtension("a", ["a.cu"], extra_compile_args=flags)])
""",
        "setup.py",
    )
    wanted = {fact.name: fact.detail for fact in parsed.facts if fact.kind == "requirement"}
    assert wanted["torch"]["specifier"] == ">=2.1"
    assert {"torch", "cupy-cuda12x", "tensorrt"} == set(wanted)
    compile_flags = {fact.name: fact.detail.get("key") for fact in parsed.facts if fact.kind == "compile_flag"}
    assert compile_flags["--use_fast_math"] == "nvcc"
    assert "-gencode arch=compute_80,code=sm_80" in compile_flags
    assert "CUDAExtension" in names(parsed, "build_symbol")


AMD = "import torch\nIS_HIP = torch.version.hip is not None\n"
SELF = "self._cuda"
LIVENESS = [
    (AMD + "if IS_HIP:\n    a()\nelse:\n    here()\n", Live.NO),
    (AMD + "if not IS_HIP:\n    here()\n", Live.NO),
    (AMD + "if IS_HIP:\n    here()\n", Live.YES),
    (AMD + "def f():\n    if IS_HIP:\n        return 1\n    here()\n", Live.NO),
    (AMD + "def f():\n    if IS_HIP:\n        x = 1\n    here()\n", Live.YES),
    (AMD + "y = a() if IS_HIP else here()\n", Live.NO),
    (AMD + "if not IS_HIP and here():\n    pass\n", Live.NO),
    (AMD + "if IS_HIP or here():\n    pass\n", Live.NO),
    (AMD + "if other():\n    here()\n", Live.YES),
    ("if current_platform.is_cuda():\n    here()\n", Live.NO),
    ("if current_platform.is_cuda_alike():\n    here()\n", Live.YES),
    ("if current_platform.is_rocm():\n    a()\nelif other():\n    here()\n", Live.NO),
    ("if x.is_cuda:\n    here()\n", Live.YES),
    ("if torch.version.cuda is None:\n    raise E\nhere()\n", Live.NO),
    ("if torch.version.cuda:\n    here()\n", Live.NO),
    ("if torch.cuda.is_available():\n    here()\n", Live.YES),
    ("if getattr(torch.version, 'hip', None) is None:\n    here()\n", Live.NO),
    ("if is_cuda():\n    here()\n", Live.YES),
    ("if is_hip():\n    a()\nif is_cuda():\n    here()\n", Live.NO),
    ("@pytest.mark.skipif(current_platform.is_rocm(), reason='')\ndef test():\n    here()\n", Live.NO),
    ("@pytest.mark.skipif(not torch.cuda.is_available(), reason='')\ndef test():\n    here()\n", Live.YES),
    ("if target.backend == 'cuda':\n    here()\n", Live.NO),
    ("if device.type == 'cuda':\n    here()\n", Live.YES),
    ("if d.backend == 'cuda' and f():\n    here()\nif d.backend == 'rocm':\n    a()\n", Live.NO),
    ("if d.backend == 'cuda':\n    here()\nif d.backend == 'xpu':\n    a()\n", Live.YES),
    ("if d.type == 'cuda':\n    here()\nif d.type == 'rocm':\n    a()\n", Live.YES),
    ("def on_amd():\n    return torch.version.hip is not None\nif on_amd():\n    a()\nelse:\n    here()\n", Live.NO),
    (f"class A:\n  def __init__(self):\n    {SELF} = platform.is_cuda()\n  def f(self):\n    return {SELF} and here()\n", Live.NO),
    ("chip = 1\nif chip:\n    a()\nelse:\n    here()\n", Live.YES),
]


@pytest.mark.parametrize(("text", "live"), LIVENESS)
def test_liveness_on_amd(text: str, live: Live) -> None:
    assert live_line(text) is live


def test_guards_by_line() -> None:
    parsed = parse("if is_hip():\n    a = 1\nelse:\n    b = 2\n")
    assert [parsed.live(line) for line in (1, 2, 4)] == [Live.YES, Live.YES, Live.NO]


def test_embedded_cuda_keeps_its_place() -> None:
    kernel = 'extern "C" __global__\nvoid f(int* p) { p[0] = __shfl_sync(0xffffffff, 1, 2); }\n'
    text = 'import cupy\nname = "x"\nk = cupy.RawKernel(r"""\n' + kernel + '""", "f")\n'
    inner = parse(text).embedded
    assert len(inner) == 1 and inner[0].file.path == "a.py"
    assert len(inner[0].file.data) == len(text.encode())
    call = next(fact for fact in inner[0].facts if fact.name == "__shfl_sync")
    assert (call.span.line, call.span.column) == (5, text.splitlines()[4].index("__shfl") + 1)


@pytest.mark.parametrize(
    "text",
    [
        'src = f"__global__ void k({kind}* p) {{ __syncwarp(); }}"\n',
        'src = ("__global__ void k(int* p)"\n  "{ __syncwarp(); }")\n',
        'src = "__global__ void k(int* p) {\\n __syncwarp();\\n}"\n',
        'CODE = "int f() { __syncwarp(); return 1; }"\nmod = SourceModule(CODE)\n',
        'load_inline("m", cpp_sources="void f();", cuda_sources=["void f() { __syncwarp(); }"])\n',
    ],
)
def test_embedded_cuda_in_every_spelling(text: str) -> None:
    inner = parse(text).embedded
    assert [fact.name for fact in inner[0].facts if fact.kind == "call" and fact.name == "__syncwarp"] == ["__syncwarp"]


@pytest.mark.parametrize(
    "text", ['"""Docstring about __global__ kernels."""\n', 'if "__global__" in text:\n    pass\n', 'raise E("no __device__ function")\n']
)
def test_prose_is_no_cuda(text: str) -> None:
    assert parse(text).embedded == []


def test_the_empty_name_that_a_syntax_error_leaves_stands_nowhere() -> None:
    assert list(itertools.islice(Source(b"a = = 1\n").find(b""), 2)) == []


def test_embedded_cuda_in_dead_python_is_dead() -> None:
    text = 'if is_hip():\n    a = 1\nelse:\n    k = RawKernel("""__global__ void f() {\n  __syncwarp();\n}""", "f")\n'
    (inner,) = parse(text).embedded
    assert inner.live(5) is Live.NO
    assert [fact.live for fact in inner.facts if fact.name == "__syncwarp"] == [Live.NO]


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff\xfe\x00", b"def f(:\n", b"print 'two'\nexec x\n", b"(" * 200_000, b"not " * 50_000 + b"is_hip", b"a" + b".b" * 50_000,
     b"if is_hip():\n" * 3000, b"\t\n  \t x = {%% if a %%}\n", b"x = '''__global__ {;"],
)  # fmt: skip
def test_hostile_input_gives_a_result(data: bytes) -> None:
    parsed = python.parse(SourceFile("a.py", "python", data))
    assert 0.0 <= parsed.coverage <= 1.0


def test_a_syntax_error_costs_its_region_only() -> None:
    parsed = parse("import torch\nx = = 3 ]\n" + "y = 1\n" * 30 + "import tensorrt\ntorch.cuda.synchronize()\n")
    assert "tensorrt" in names(parsed, "py_import")
    assert "torch.cuda.synchronize" in names(parsed, "py_call")
    assert parsed.problems and 0.5 < parsed.coverage < 1.0


def test_python_two_is_read() -> None:
    parsed = parse("import pycuda\nprint 'hello'\nos.environ['CUDA_HOME']\n")
    assert names(parsed, "py_import") == ["pycuda"] and names(parsed, "env_var") == ["CUDA_HOME"]


def test_word_filter_loses_no_match(rich_source: str) -> None:
    from porter.detect import Matcher

    rules = load()
    matcher = Matcher(rules)
    words = words_of(rules.rules.values())
    assert words is not None

    def matched(parsed: Parsed) -> set[tuple[str, str, int]]:
        kinds = [fact for fact in parsed.facts if matcher.rules_of(fact.kind, fact.name)]
        return {(fact.kind, fact.name, fact.span.line) for fact in kinds}

    everything, filtered = matched(parse(rich_source)), matched(parse(rich_source, words=words))
    assert len(everything) > 8
    assert filtered == everything
    assert parse("x = 1\nprint(x)\n", words=words).tree is None


@pytest.fixture
def rich_source() -> str:
    return """
import os, subprocess
import cupy as cp
from numba import cuda as nc
from torch.cuda import synchronize as sync
import triton.language as tl
os.environ["CUDA_VISIBLE_DEVICES"] = "1"
subprocess.run(["nvidia-smi", "-q"])
k = cp.RawKernel("__global__ void f() {}", "f")
nc.shfl_down_sync(1, 2, 3)
nc.laneid
LLM(attention_backend="FLASHINFER")
AutoModel.from_pretrained("m", attn_implementation="flash_attention_2")
tl.dot(a, b, input_precision="tf32x3")
import tensorrt
import pynvml
lib = ctypes.CDLL("libcudart.so")
"""


def test_notebook_lines_are_the_files() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["import tensorrt\n"]},
        {"cell_type": "code", "outputs": [{"text": ["import apex\n"]}],
         "source": ["!pip install cupy-cuda12x\n", "import torch\n", "out = !nvidia-smi\n", "%timeit torch.cuda.synchronize()\n"]},
        {"cell_type": "code", "source": ["%%bash\n", "nsys profile python a.py\n"]},
        {"cell_type": "code", "source": ["%%cu\n", "__global__ void k() { __syncwarp(); }\n"]},
        {"cell_type": "code", "source": "import pynvml\nimport cudf"},
    ]  # fmt: skip
    text = json.dumps({"cells": cells, "metadata": {"kernelspec": {"language": "python"}}}, indent=1)
    parsed = notebook.parse(SourceFile("a.ipynb", "notebook", text.encode()))
    lines = text.splitlines()
    assert "tensorrt" not in names(parsed, "py_import") and "apex" not in names(parsed, "py_import")
    assert {"torch", "pynvml", "cudf"} <= set(names(parsed, "py_import"))
    assert "cupy-cuda12x" in names(parsed, "requirement")
    assert {"nvidia-smi", "nsys profile"} <= set(names(parsed, "command"))
    for fact in parsed.facts:
        assert fact.name.split(".")[0].split(" ")[0] in lines[fact.span.line - 1], fact
    inner = [fact for part in parsed.embedded for fact in part.facts if fact.name == "__syncwarp"]
    assert "__syncwarp" in lines[inner[0].span.line - 1]


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b'{"cells": [{"cell_type": "code", "source": ["import a', b'{"a":' * 100_000, b'{"cells": 3}', b"{" + b'"' * 99_999],
)
def test_hostile_notebooks(data: bytes) -> None:
    parsed = notebook.parse(SourceFile("a.ipynb", "notebook", data))
    assert parsed.facts == []


def test_other_languages_notebooks_are_not_python() -> None:
    text = json.dumps({"cells": [{"cell_type": "code", "source": ["import torch\n"]}], "metadata": {"kernelspec": {"language": "julia"}}})
    assert notebook.parse(SourceFile("a.ipynb", "notebook", text.encode())).facts == []


def test_cython() -> None:
    text = b"""# cimport nothing
cimport cuda.bindings.cyruntime as cr
from cupy.cuda cimport (stream,
    device)
cdef extern from "cuda_runtime.h" nogil:
    int cudaMalloc(void** p, size_t n)
'''cudaFree('''
x = "cudaFree("
"""
    parsed = cython.parse(SourceFile("a.pyx", "cython", text))
    found = [(fact.kind, fact.name, fact.span.line) for fact in parsed.facts]
    assert found == [
        ("py_import", "cuda.bindings.cyruntime", 2), ("py_import", "cupy.cuda", 3), ("py_import", "cupy.cuda.stream", 3),
        ("py_import", "cupy.cuda.device", 4), ("include", "cuda_runtime.h", 5), ("call", "cudaMalloc", 6),
    ]  # fmt: skip
