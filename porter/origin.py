"""Origin: whose code a path is (own, vendored, generated, AMD-side), and which file is the AMD version of which."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from porter.model import Origin

TOOLKIT_HEADERS = frozenset(
    f"{name}.{ending}" for name in ("cuda", "cuda_runtime_api", "cuda_fp16", "cuda_bf16", "cuda_fp8", "cuda_fp6", "cuda_fp4", "nvml")
    for ending in ("h", "hpp")
)  # fmt: skip
TOOLKIT_NOTICE = re.compile(rb"NOTICE TO (?:LICENSEE|USER):")  # heads each of them; what a project writes in their place has none
VENDOR_FOLDERS = frozenset(
    [
        "third_party",
        "third-party",
        "thirdparty",
        "3rdparty",
        "3rd_party",
        "3rd-party",
        "vendor",
        "vendors",
        "vendored",
        "extern",
        "externs",
        "external",
        "externals",
        "external_libs",
        "external-libs",
        "external_lib",
        "extlib",
        "extlibs",
        "submodules",
        "_vendor",
        "node_modules",
    ]
)
KNOWN_LIBRARIES = frozenset(
    [
        "cutlass",
        "cub",
        "cccl",
        "thrust",
        "libcudacxx",
        "composable_kernel",
        "eigen",
        "eigen3",
        "googletest",
        "gtest",
        "pybind11",
        "nanobind",
        "nlohmann",
        "fmt",
        "spdlog",
        "glm",
        "rapidjson",
        "boost",
        "catch2",
        "dmlc-core",
        "nvtx3",
        "moderngpu",
        "mshadow",
        "cub-1.8.0",
        "flatbuffers",
        "protobuf",
        "json11",
        "stb",
    ]
)
OPTIX_HEADERS = frozenset(["optix_function_table.h", "optix_stubs.h"])  # NVIDIA's own: a project's folder for its OptiX code has neither
AMD_FOLDERS = frozenset(["hip", "rocm", "amd", "amdgpu", "hipified"])
SOURCE_FOLDERS = frozenset(["src", "python", "python-package", "python_package", "lib", "source"])
AMD_WORD = re.compile(r"(?:^|[^a-z0-9])(?:hip|rocm|amd|amdgpu|rocmlir|aiter)(?:[^a-z0-9]|$)|(?:^|[^a-z])rocm[0-9]")
CAMEL_AMD = re.compile(r"(?<![A-Za-z])(?:Hip|HIP|ROCm|Rocm)(?=[A-Z])|(?<=[a-z])(?:HIP|Hip|ROCm|ROCM)(?=[A-Z_.-])")
CAMEL_CUDA = re.compile(r"(?<![A-Za-z])(?:Cuda|CUDA)(?=[A-Z])|(?<=[a-z])(?:CUDA|Cuda)(?=[A-Z_.-])")
CAMEL = re.compile(f"{CAMEL_AMD.pattern}|{CAMEL_CUDA.pattern}")
BUILD_NAME = re.compile(r"(^|/)((gnu)?makefile|dockerfile|containerfile)[^/]*$")  # makefile.hip is no kernel
CUDA_WORD = re.compile(r"(?<![a-z0-9])(cuda|nvidia|cu)(?![a-z])[0-9]*")
GENERATED_HEAD = re.compile(
    rb"(?i)@generated|auto-?generated|automatically generated|generated automatically"
    rb"|(?:this file|this code|file|code)\s+(?:was|is|has been)\s+(?:auto\w*\s+)?generated"
    rb"|generated (?:by|from|with|using)\b[^\n]{0,80}(?:do not|don't) (?:edit|modify)"
    rb"|(?:do not|don't) (?:edit|modify)[^\n]{0,60}generated|/\*[^\n*]{0,40}DO NOT (?:EDIT|MODIFY)"
)
WRITTEN_OUT = re.compile(rb"[^\s\"'][^\"']*[\"']")  # a string stands before it on its line: what a generator writes, not its own head
OF_THE_FILE = re.compile(  # before "automatically generated", which else may be said of any thing: a key, __hash__
    rb"(?i)[^A-Za-z]*(?:(?:this|the|following|file|files|code|source|sources|module|header|script|content|contents|test|tests|kernel|kernels"
    rb"|implementation|implementations|note|warning|important|is|are|was|were|has|have|been|all|and|an?|any|c|cuda|python|copyright|do|not|edit)"
    rb"[^A-Za-z]+)*\Z"
)
HEAD_BYTES = 1500
MANY_FILES = 50
SAME_SHAPE = 25  # files of one name shape in such a folder
DTYPE_WORD = re.compile(r"(?i)(fp|bf|f|e|s|u|int|uint|float|sm|hdim|k|m|n)?\d+|(bf16|fp16|fp8|half|bfloat|true|false|causal|split)")


def library_copies(paths: list[str], licence_folders: frozenset[str]) -> frozenset[str]:
    """Folders that are a copy of a known library: named so, and holding its licence, its include folder or its main header.

    The name alone does not tell: many projects keep their own kernels for CUTLASS in a folder called cutlass.
    """
    found: set[str] = set()
    for path in paths:
        parts = path.lower().split("/")
        for depth, part in enumerate(parts[:-1], 1):
            if part not in KNOWN_LIBRARIES and part != "optix":
                continue
            rest = "/".join(parts[depth:])
            folder = "/".join(path.split("/")[:depth])
            if part == "optix":
                found |= {folder} if rest.removeprefix("include/") in OPTIX_HEADERS else set()
                continue
            main = (f"{part}.h", f"{part}.hpp", f"{part}.cuh", f"{part}/{part}.h", f"{part}/{part}.cuh", "version.h", "version.cuh")
            if folder in licence_folders or rest.startswith(("include/", f"{part}/")) or rest in main:
                found.add(folder)
    return frozenset(found)


def makers_folders(paths: list[str]) -> frozenset[str]:
    """Folders called vendors that speak of makers of GPUs: vendors/cuda.h stands beside vendors/hip.h, one shim for each."""
    stems: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        folder, _, name = path.rpartition("/")
        if folder.rpartition("/")[2].lower() in ("vendor", "vendors"):
            stems[folder].add(name.partition(".")[0].lower())
    return frozenset(folder for folder, found in stems.items() if found & {"cuda", "nvidia"} and found & AMD_FOLDERS)


def folder_origin(
    parts: tuple[str, ...], submodules: frozenset[str], licensed: frozenset[str], copies: frozenset[str], makers: frozenset[str]
) -> tuple[Origin, str, str]:
    """Origin of the files below a folder, the topmost folder that decides, and why; OWN with two empty texts.

    ``submodules`` are the paths of .gitmodules, ``licensed`` the folders below the root with a licence text of their own,
    ``copies`` those of library_copies, ``makers`` those of makers_folders, which are nobody else's code.
    """
    for depth, part in enumerate(parts, 1):
        path = "/".join(parts[:depth])
        name = part.lower()
        deep = name == "submodules" and depth > 1  # a package's word for its parts
        if name in VENDOR_FOLDERS and not deep and path not in makers:
            return Origin.VENDORED, path, "vendored: folder of third-party code"
        if path in submodules:
            return Origin.VENDORED, path, "vendored: git submodule"
        if path in copies:
            return Origin.VENDORED, path, f"vendored: copy of {name}"
        if path in licensed:
            return Origin.VENDORED, path, "vendored: has a licence of its own"
        if name in AMD_FOLDERS or name.endswith(("_hip", "_rocm", "-hip", "-rocm", "_hipified")):
            return Origin.AMD, path, "AMD-side: folder of the AMD version"
    return Origin.OWN, "", ""


def is_amd_name(path: str) -> bool:
    """Whether a file's name alone says that it is the AMD version: rocm.txt, Dockerfile.rocm, kernel_hip.cpp, x.hip."""
    name = PurePosixPath(path).name.lower()
    if name.endswith((".hip", ".prehip")) or ".hip." in name:
        return True
    return bool(AMD_WORD.search(name)) and not CUDA_WORD.search(name)


def siblings(paths: list[str]) -> dict[str, str]:
    """For every file whose AMD version stands beside it: that version's path.

    A pair differs in one word: requirements/cuda.txt and requirements/rocm.txt, conv_cuda.cu and conv_hip.cu, k.cu and k.hip;
    Dockerfile and Dockerfile.rocm; SetupCUDA.cmake and SetupHIP.cmake; the AMD version may also lie in a hip or rocm folder
    beside the cuda folder, cuda/CudaContext.cpp and hip/HipContext.cpp. A file that names no vendor is no half of a pair with
    one in a rocm folder below it: an AMD build may well use both.
    """
    amd: dict[str, str] = {}
    for path in paths:
        if (
            is_amd_name(path)
            or CAMEL_AMD.search(path.rpartition("/")[2])
            or any(part in AMD_FOLDERS for part in path.lower().split("/")[:-1])
        ):
            amd.setdefault(_neutral(path), path)
    found: dict[str, str] = {}
    for path in paths:
        other = amd.get(_neutral(path))
        amds = is_amd_name(path) or CAMEL_AMD.search(path.rpartition("/")[2]) is not None
        if other and other != path and not amds and _is_pair(path, other):
            found[path] = other
    return found


def _is_pair(path: str, other: str) -> bool:
    same_folder = path.rpartition("/")[0] == other.rpartition("/")[0]
    if CAMEL_AMD.search(other.rpartition("/")[2]) and not any(part in AMD_FOLDERS for part in other.lower().split("/")[:-1]):
        return same_folder and CAMEL_CUDA.search(path.rpartition("/")[2]) is not None
    return same_folder or bool(CUDA_WORD.search(path.lower())) or other.endswith(".hip")


def _neutral(path: str) -> str:
    """A path with its vendor words taken out, so that both versions of a file give the same text; kinds stay apart."""
    lower = CAMEL.sub("", path).lower()
    is_build = bool(BUILD_NAME.search(lower))
    is_kernel = not is_build and lower.endswith((".cu", ".cuh", ".hip", ".hip.cpp", ".cu.hip", ".hip.h", ".hip.hpp", ".prehip"))
    lower = re.sub(r"(\.(hip|cuh?|prehip))+(\.(cpp|h|hpp))?$", "", lower) if is_kernel else lower
    lower = re.sub(r"(?<![a-z0-9])(cuda|nvidia|nv|nvcc|hip|hipcc|rocm|amd|amdgpu)(?![a-z])(?:[0-9.]+(?=[-_./]|$))?", "", lower)
    return ("kernel:" if is_kernel else "") + re.sub(r"[-_./]+", "/", lower).strip("/")


def own_modules(paths: Iterable[str]) -> frozenset[str]:
    """Python packages and modules that the repository itself holds, importable from its root or from a source folder.

    Of a folder without __init__.py (a namespace: megatron) only the packages in it are (megatron.core), since the rest of the namespace
    may be another distribution's.
    """
    found, within = set(), set()
    for path in paths:
        *folders, name = path.split("/")
        if folders and folders[0] in SOURCE_FOLDERS:
            folders = folders[1:]
        if len(folders) == 1 and name in ("__init__.py", "__init__.pyi"):
            found.add(folders[0])
        elif len(folders) == 2 and name == "__init__.py":
            within.add((folders[0], folders[1]))
        elif not folders and name.endswith(".py"):
            found.add(name.removesuffix(".py"))
    return frozenset(found | {f"{outer}.{inner}" for outer, inner in within if outer not in found})


def toolkit_header(path: str, head_of: Callable[[str], bytes | None]) -> tuple[Origin, str, str] | None:
    """Origin, folder and reason for a copy of one of the CUDA toolkit's own headers, which a port replaces; else None."""
    folder, _, name = path.rpartition("/")
    if name not in TOOLKIT_HEADERS or not TOOLKIT_NOTICE.search(head_of(path) or b""):
        return None
    return Origin.VENDORED, folder, "vendored: headers of the CUDA toolkit"


def is_generated(head: bytes) -> bool:
    """Whether the head of a file says that a machine wrote it."""
    head = head[:HEAD_BYTES]
    lower = head.lower()
    if b"generated" not in lower and b"do not" not in lower:
        return False
    return any(_of_the_file(head, match) for match in GENERATED_HEAD.finditer(head))


def _of_the_file(head: bytes, match: re.Match[bytes]) -> bool:
    """Whether these words are said of the file they stand in."""
    before = head[head.rfind(b"\n", 0, match.start()) + 1 : match.start()]
    if WRITTEN_OUT.match(before.lstrip()):
        return False
    return not match[0].lower().startswith((b"auto", b"generated auto")) or bool(OF_THE_FILE.match(before))


def machine_made(paths: list[str]) -> frozenset[str]:
    """CUDA files that stand in one folder by the dozens with names of one shape: instantiations that a script wrote."""
    folders: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        folders[path.rpartition("/")[0]].append(path)
    found: list[str] = []
    for members in folders.values():
        if len(members) < MANY_FILES:
            continue
        shapes: dict[str, list[str]] = defaultdict(list)
        for path in members:
            shapes[DTYPE_WORD.sub("#", PurePosixPath(path).name)].append(path)
        for group in shapes.values():
            if len(group) >= SAME_SHAPE:
                found += group
    return frozenset(found)
