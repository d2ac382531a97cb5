"""The words of porter: severities, confidences, actions, origins, categories and kinds of fact."""

from __future__ import annotations

from enum import StrEnum


class Ordered(StrEnum):
    """A word with a rank: members compare by the order in which they are written."""

    @property
    def rank(self) -> int:
        """Place in the order, from 0."""
        return type(self)._member_names_.index(self._name_)

    def __lt__(self, other: object) -> bool:
        return self.rank < self._other(other).rank

    def __le__(self, other: object) -> bool:
        return self.rank <= self._other(other).rank

    def __gt__(self, other: object) -> bool:
        return self.rank > self._other(other).rank

    def __ge__(self, other: object) -> bool:
        return self.rank >= self._other(other).rank

    def _other(self, other: object) -> Ordered:
        if type(other) is not type(self):
            raise TypeError(f"cannot order {type(self).__name__} against {type(other).__name__}")
        return other


class Severity(Ordered):
    """How bad it is on an AMD GPU if nothing is done."""

    INFO = "info"
    MINOR = "minor"
    MAJOR = "major"
    BLOCKER = "blocker"


class Confidence(Ordered):
    """How sure the detector is that the finding is real."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Action(StrEnum):
    """What somebody has to do."""

    NONE = "none"
    AUTOMATIC = "automatic"
    SWAP = "swap"
    EDIT = "edit"
    REDESIGN = "redesign"
    CHECK = "check"


class Live(StrEnum):
    """Whether code is compiled, or run, in the build for AMD."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Origin(StrEnum):
    """Whose code a file is; only OWN counts in the totals."""

    OWN = "own"
    VENDORED = "vendored"
    GENERATED = "generated"
    AMD = "amd-side"


CATEGORIES = (
    "warp-size", "inline-ptx", "cuda-only-library", "unsupported-api", "unsupported-feature", "arch-guard", "precision",
    "python-api", "triton", "build", "container", "deployment", "tooling", "environment", "model-format", "binary",
    "performance",
)  # fmt: skip
AMD_SIGNS_OF_A_PORT = 3  # guards or AMD-side files that make a project one that knows AMD
INSIGHT_CATEGORIES = ("works-as-is", "already-ported")

FACT_KINDS = {
    "include": "path in an #include, as written",
    "call": "callee of a C++ call, qualified as written, template arguments removed: cub::DeviceReduce::Sum",
    "type": "type name in C++, qualified as written, template arguments removed",
    "identifier": "any other use of a name in C++ code: enumerator, macro, variable",
    "launch": "kernel name of a <<<>>> launch",
    "define": "macro name in a #define",
    "macro_test": "macro named in an #if, #ifdef, #ifndef or #elif",
    "pragma": "text of a #pragma",
    "ptx": "PTX opcode with modifiers in an asm statement or a .ptx file: cp.async.cg.shared.global",
    "py_import": "dotted module of a Python import; `from a import b` gives a and a.b",
    "py_call": "dotted callee, import aliases resolved: torch.cuda.get_device_capability",
    "py_attr": "dotted attribute read or written, aliases resolved: torch.backends.cuda.matmul.allow_tf32",
    "py_arg": "keyword argument with a constant value, as key=value; detail.callee is the call",
    "py_string": "string constant that is a whole value: 'flash_attention_2'",
    "requirement": "PEP 503 name of a Python dependency; detail: specifier, extras, marker, url, pinned_by",
    "conda_package": "name of a conda dependency",
    "index_url": "URL of a package index or find-links page",
    "apt_package": "system package that apt, dnf, yum, apk or zypper installs",
    "cmake_package": "package of find_package; also meson dependency()",
    "cmake_command": "CMake command of interest, lower case: cuda_add_library, enable_language:CUDA, project:CUDA",
    "test_runner": "what runs compiled tests: ctest where CMake registers them, 'make test' or 'make check' by the top Makefile",
    "cmake_target": "imported target: CUDA::cublas",
    "cmake_var": "CMake variable that is set or read: CMAKE_CUDA_ARCHITECTURES",
    "build_symbol": "name in Bazel, Make, Meson or setup.py: cuda_library, @local_config_cuda, NVCC, CUDAExtension",
    "compile_flag": "compiler flag: -gencode, --use_fast_math, -maxrregcount",
    "link_library": "library without -l: cudart, cublas, nvinfer",
    "image": "container image reference, registry included",
    "env_var": "environment variable set or read; detail.value where constant",
    "command": "command line, first words: 'nvidia-smi', 'nsys profile', 'docker run'",
    "command_flag": "command and one flag: 'docker run --gpus', 'vllm serve --quantization=modelopt'",
    "manifest_key": "key path in YAML or compose, optional =value: resources.limits.nvidia.com/gpu, runtimeClassName=nvidia",
    "model_key": "key in a model's config, =value: quantization_config.quant_method=modelopt",
    "binary": "suffix or embedded mark of a binary: .engine, .cubin, elf:libcudart.so",
}
