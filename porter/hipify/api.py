"""The name table: what every CUDA name is called in HIP and in the roc libraries, since when, and whether it exists at all.

The facts come from HIPIFY (MIT, see NOTICE) and from HIP headers; they are data under rules/api/, one file a library.
"""

from __future__ import annotations

import difflib
import functools
from pathlib import Path

import msgspec

from porter.errors import ConfigError
from porter.rules import rules_folder

Version = tuple[int, ...]

DOCS = "https://rocm.docs.amd.com/projects/HIPIFY/en/latest/reference/tables/"
_PAGES = {
    "runtime": "CUDA_Runtime_API_functions_supported_by_HIP.html",
    "driver": "CUDA_Driver_API_functions_supported_by_HIP.html",
    "complex": "cuComplex_API_supported_by_HIP.html",
    "rtc": "CUDA_RTC_API_supported_by_HIP.html",
    "device": "CUDA_Device_API_supported_by_HIP.html",
    "blas": "CUBLAS_API_supported_by_HIP.html",
    "dnn": "CUDNN_API_supported_by_MIOPEN.html",
    "rand": "CURAND_API_supported_by_HIP.html",
    "fft": "CUFFT_API_supported_by_HIP.html",
    "solver": "CUSOLVER_API_supported_by_HIP.html",
    "sparse": "CUSPARSE_API_supported_by_HIP.html",
    "tensor": "CUTENSOR_API_supported_by_HIP.html",
    "cub": "CUB_API_supported_by_HIP.html",
}
LIBRARIES = {
    "runtime": "CUDA runtime API", "driver": "CUDA driver API", "complex": "cuComplex", "rtc": "NVRTC", "device": "CUDA device function",
    "blas": "cuBLAS", "dnn": "cuDNN", "rand": "cuRAND", "fft": "cuFFT", "solver": "cuSOLVER", "sparse": "cuSPARSE",
    "sparselt": "cuSPARSELt", "tensor": "cuTENSOR", "cub": "CUB", "file": "cuFile", "caffe2": "Caffe2", "comm": "NCCL",
}  # fmt: skip
ROC_LIBRARIES = frozenset({"blas", "sparse", "solver", "rand", "dnn"})


class ApiName(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One CUDA name. Versions are text as HIPIFY records them, empty where it records none; ``hip`` is empty for no HIP name.

    ``before`` are name@version: what HIP, or the roc library, called it before that HIP version.
    ``support``: supported, experimental, unsupported, roc-only (no HIP name but a roc one), removed-include (the header is
    not needed). ``notes`` are words: no-roc, v2-only, hip7.1-declared, hip7.1-absent.
    """

    name: str
    api: str
    hip: str
    roc: str
    kind: str
    support: str
    cuda_added: str = ""
    cuda_deprecated: str = ""
    cuda_removed: str = ""
    hip_added: str = ""
    hip_deprecated: str = ""
    hip_removed: str = ""
    before: tuple[str, ...] = ()
    notes: frozenset[str] = frozenset()

    @property
    def library(self) -> str:
        """What NVIDIA calls the API the name belongs to."""
        return LIBRARIES.get(self.api, self.api)

    @property
    def docs(self) -> str:
        """The page of AMD's documentation that lists the name, empty for none."""
        page = _PAGES.get(self.api, "")
        return DOCS + page if page else ""


class ArgumentEdit(msgspec.Struct, frozen=True, gc=False):
    """What the call of a function needs beside its new name; arguments count from 0.

    ``names``: whose names it goes with: hip, roc, miopen. ``edit``: symbol, kernel-pointer,
    size-pointer (casts), insert, replace, drop, copy, move, overload.
    """

    names: str
    argument: int
    edit: str
    text: str = ""
    to: int = 0
    count: int = 1
    lossy: bool = False


@functools.lru_cache(maxsize=1000)  # ten thousand names share a few dozen
def version(text: str) -> Version:
    """A dotted version as numbers; what is no number counts as 0."""
    return tuple(int(part) if part.isdigit() else 0 for part in text.split(".")) if text else ()


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()[1:]


def _rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in _lines(path)]


@functools.lru_cache(maxsize=1)
def _unread() -> dict[str, tuple[str, str]]:
    """The library and the line of every CUDA name: a scan asks for a few hundred of ten thousand, and only those are taken apart."""
    out: dict[str, tuple[str, str]] = {}
    for path in sorted((rules_folder() / "api").glob("*.tsv")):
        library = path.stem
        if library in LIBRARIES:
            out.update({line[: line.index("\t")]: (library, line) for line in _lines(path)})
    return out


@functools.lru_cache(maxsize=1)
def names() -> frozenset[bytes]:
    """Every CUDA name of every library file under rules/api/, as it stands in source text."""
    return frozenset(name.encode() for name in _unread())


@functools.lru_cache(maxsize=1)
def table() -> dict[str, ApiName]:
    """What is known of every name, by its CUDA name."""
    return {name: _read(library, line) for name, (library, line) in _unread().items()}


def _read(library: str, line: str) -> ApiName:
    row = line.split("\t")
    return msgspec.convert([row[0], library, *row[1:11], row[11].split(), row[12].split()], ApiName)


@functools.lru_cache(maxsize=1)
def argument_edits() -> dict[str, tuple[ArgumentEdit, ...]]:
    """The argument edits by CUDA function."""
    out: dict[str, list[ArgumentEdit]] = {}
    for function, names, argument, edit, text, to, count, lossy in _rows(rules_folder() / "api" / "arguments.tsv"):
        row = ArgumentEdit(names, int(argument), edit, text, int(to or 0), int(count or 1), lossy == "yes")
        out.setdefault(function, []).append(row)
    return {name: tuple(edits) for name, edits in out.items()}


@functools.lru_cache(maxsize=1)
def rocm_versions() -> dict[str, str]:
    """HIP version by ROCm version, oldest first; the two are numbered apart since ROCm 7.14."""
    return {row[0]: row[1] for row in _rows(rules_folder() / "api" / "rocm.tsv")}


def hip_version(rocm: str = "") -> Version:
    """The HIP version of a ROCm release (7.2 or 7.2.1; empty for the newest); raises ConfigError for one never released."""
    known = rocm_versions()
    if not rocm:
        return version(list(known.values())[-1])
    short = ".".join(rocm.strip().split(".")[:2])
    if short not in known:
        raise ConfigError(f"ROCm {rocm} is not known", "known are " + ", ".join(known))
    return version(known[short])


@functools.lru_cache(maxsize=20_000)
def lookup(name: str) -> ApiName | None:
    """What is known of a CUDA name; None for a name that no table holds."""
    found = _unread().get(name)
    return _read(*found) if found is not None else None


def close_matches(name: str) -> tuple[str, ...]:
    """Up to five names spelt like ``name``, best first."""
    lowered = {known.lower(): known for known in _unread()}
    found = difflib.get_close_matches(name.lower(), lowered, n=5, cutoff=0.75)
    return tuple(lowered[match] for match in found)
