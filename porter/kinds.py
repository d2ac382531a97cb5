"""Kinds: what sort of file a path is, by its name and, where the name does not say, by its content."""

from __future__ import annotations

import functools
import re
from pathlib import PurePosixPath

from porter.parse.word_index import index_of

CUDA_SUFFIXES = (".cu", ".cuh", ".hip", ".cu.h", ".cu.hpp", ".cu.in", ".cuh.in")
CXX_SUFFIXES = (
    ".h",
    ".hpp",
    ".hh",
    ".hxx",
    ".cpp",
    ".cc",
    ".cxx",
    ".c",
    ".inl",
    ".inc",
    ".ipp",
    ".tpp",
    ".h.in",
    ".hpp.in",
    ".cpp.in",
    ".cc.in",
)
ARCHIVE_SUFFIXES = (
    ".whl",
    ".zip",
    ".conda",
    ".egg",
    ".tar",
    ".tar.gz",
    ".tgz",
    ".tar.xz",
    ".txz",
    ".tar.bz2",
    ".tbz2",
    ".tar.zst",
    ".tzst",
)
BINARY_SUFFIXES = (".cubin", ".fatbin", ".engine", ".plan", ".so", ".trt", ".a", ".dll", ".pyd", ".safetensors", ".gguf", *ARCHIVE_SUFFIXES)
MAX_LOOKED_INTO = 256 * 1024 * 1024  # bytes of a library or an archive: the lists of what they hold stand at their ends
BY_NAME = (
    (
        re.compile(r"(constraints|requirements|requires|deps)[^/]*\.(txt|in)\Z|[^/]*[-_.](requirements|constraints)\.(txt|in)\Z"),
        "requirements",
    ),
    (re.compile(r"pyproject([-_.][^/]*)?\.toml\Z"), "pyproject"),
    (re.compile(r"setup\.cfg\Z"), "setup-cfg"),
    (re.compile(r"Pipfile\Z"), "pipfile"),
    (re.compile(r"(poetry|uv|pdm)\.lock\Z|Pipfile\.lock\Z|pylock[^/]*\.toml\Z"), "python-lock"),
    (re.compile(r"([^/]*environment[^/]*|conda[^/]*|[^/]*-env|env[-_][^/]*)\.ya?ml\Z|meta\.ya?ml\Z|recipe\.ya?ml\Z|pixi\.lock\Z"), "conda"),
    (re.compile(r"CMakeLists\.txt\Z|[^/]*\.cmake(\.in)?\Z"), "cmake"),
    (re.compile(r"(GNU)?[Mm]akefile([._-][^/]*)?\Z|[^/]*\.(mk|mak)\Z|[^/]*\.make\Z"), "make"),
    (re.compile(r"BUILD(\.bazel)?\Z|WORKSPACE(\.bazel)?\Z|MODULE\.bazel\Z|[^/]*\.bzl\Z|[^/]*\.bazel\Z|\.bazelrc\Z"), "bazel"),
    (re.compile(r"meson(\.build|_options\.txt|\.options)\Z"), "meson"),
    (re.compile(r"(Dockerfile|Containerfile)([._-][^/]*)?\Z|[^/]*\.(dockerfile|Dockerfile|containerfile)\Z"), "docker"),
    (re.compile(r"build\.rs\Z"), "rust"),
    (re.compile(r"Jenkinsfile[^/]*\Z"), "jenkins"),
    (re.compile(r"[^/]*\.env(\.(example|template|sample))?\Z"), "shell"),
)
BY_SUFFIX = {
    ".py": "python", ".pyi": "python", ".pyx": "cython", ".pxd": "cython", ".ipynb": "notebook", ".ptx": "ptx",
    ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml", ".sh": "shell", ".bash": "shell", ".slurm": "shell",
    ".sbatch": "shell", ".pbtxt": "pbtxt", ".tf": "hcl", ".hcl": "hcl", ".tfvars": "hcl",
}  # fmt: skip
PYTHON_IN_FOLDER = re.compile(r"(^|/)requirements/[^/]+\.(txt|in)\Z")
CUDA_SIGN = re.compile(
    rb"__global__|__device__|__shared__|<<<|\bcuda[A-Z][A-Za-z]|\bcuda_|\bcu(?:Mem|Module|Ctx|Device|Launch|Stream|Event|Init|Func|Link|Tensor)"
    rb"|\b(?:cublas|cudnn|cufft|curand|cusparse|cusolver|nvrtc|nvml|cupti|nccl|nvtx)[A-Z]"
    rb"|at::cuda|c10::cuda|\bcub::|\bthrust::|\bcutlass::|\bcute::|nvinfer|\bCUDA_(?:CHECK|VERSION|ARCH)|\b__CUDA"
)
CUDA_WORDS = index_of(frozenset(  # one of which every such sign holds: to try all signs at every byte takes eight times as long
    b"__global__ __device__ __shared__ <<< cuda cuMem cuModule cuCtx cuDevice cuLaunch cuStream cuEvent cuInit cuFunc cuLink cuTensor "
    b"cublas cudnn cufft curand cusparse cusolver nvrtc nvml cupti nccl nvtx cub:: thrust:: cutlass:: cute:: nvinfer CUDA_ __CUDA".split()
))  # fmt: skip
CUDA_INCLUDE = re.compile(rb"#\s*include\s*[<\"](?:[^>\"\n]{0,200}/)?(?:cu[a-z_]*|nv[a-z_0-9]*|mma|cub|thrust|nccl)(?:\.h|\.cuh|/)")
BINARY_MAGIC = (b"\x7fELF", b"MZ", b"PK\x03\x04", b"\x50\xed\x55\xba")


def kind_of(path: str, data: bytes | None = None) -> str | None:
    """The kind of a file, or None for one that porter does not read.

    With ``data`` (a head is enough) a C or C++ file that shows CUDA is "cuda"; without it such a file is "cxx".
    """
    kind = _kind_of_name(path)
    return "cuda" if kind == "cxx" and data is not None and _shows_cuda(data) else kind


def _shows_cuda(data: bytes) -> bool:
    return CUDA_INCLUDE.search(data) is not None or (CUDA_WORDS.holds(data) and CUDA_SIGN.search(data) is not None)


@functools.lru_cache(maxsize=50_000)
def _kind_of_name(path: str) -> str | None:
    name = path.rpartition("/")[2]
    lower = name.lower()
    for pattern, kind in BY_NAME:
        if pattern.fullmatch(name) or (kind in ("requirements", "conda") and pattern.fullmatch(lower)):
            return kind
    if PYTHON_IN_FOLDER.search(path):
        return "requirements"
    if lower.endswith(CUDA_SUFFIXES):
        return "cuda"
    if lower.endswith(CXX_SUFFIXES):
        return "cxx"
    if lower.endswith(BINARY_SUFFIXES) or re.search(r"\.so(\.\d+)+\Z", lower):
        return "binary"
    return BY_SUFFIX.get(PurePosixPath(lower).suffix)


def binary_limit(path: str, limit: int) -> int:
    """How many bytes of a binary are read: more of libraries and archives, the usual limit of weights and engines."""
    name = PurePosixPath(path).name.lower()
    deep = name.endswith((".so", ".a", ".dll", ".pyd", *ARCHIVE_SUFFIXES)) or ".so." in name
    return max(limit, MAX_LOOKED_INTO) if deep else limit


def decode(data: bytes) -> bytes:
    """The text of a file as UTF-8 bytes, whatever it was stored in: UTF-8, UTF-16 or UTF-32 with a mark, or Latin-1; NULs become spaces.

    A UTF-8 byte-order mark is kept as three spaces, so that byte columns stay what an editor's bytes are.
    """
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return data.decode("utf-32", "replace").encode("utf-8").replace(b"\0", b" ")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").encode("utf-8").replace(b"\0", b" ")
    if data.startswith(b"\xef\xbb\xbf"):
        data = b"   " + data[3:]
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        data = data.decode("latin-1").encode("utf-8")
    return data.replace(b"\0", b" ")


def looks_binary(data: bytes) -> bool:
    """Whether bytes under a source file's name are no text: a known magic, or more than one NUL in a hundred bytes."""
    if data.startswith(BINARY_MAGIC):
        return True
    head = data[:65536]
    return not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")) and head.count(b"\0") * 100 > len(head) > 0
