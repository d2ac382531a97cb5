"""What the two builds define before they read a file: the AMD build (hipcc, ROCm flags) and the CUDA build (nvcc).

A build compiles a file in several passes (device, host, and plain C++ for headers); a line is live if any pass reads it.
Hipified code is meant: the translation turns __CUDACC__ into __HIPCC__, so both are defined in the AMD build, while
__CUDA_ARCH__, __NVCC__, CUDA_VERSION and CUDART_VERSION are left as they are and stand for nothing there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from porter.parse.cuda_expr import NONZERO, UNKNOWN, Value

ABSENT = None  # the macro is not defined

AMD, NVIDIA = "amd", "nvidia"


@dataclass(frozen=True, slots=True)
class Pass:
    """One compiler run over a file: the vendor it builds for and whether it is the device, host or plain C++ pass."""

    vendor: str
    stage: str  # device, host, plain


def _listed(text: str) -> list[str]:
    return text.split()


DEVICE_PASSES = (Pass(AMD, "device"), Pass(AMD, "host"), Pass(NVIDIA, "device"), Pass(NVIDIA, "host"))
ALL_PASSES = (*DEVICE_PASSES, Pass(AMD, "plain"), Pass(NVIDIA, "plain"))

_UNSURE = frozenset(_listed("NDEBUG DEBUG _DEBUG _WIN32 WIN32 _WIN64 _MSC_VER __APPLE__ __aarch64__ __ARM_ARCH __SANITIZE_ADDRESS__"))
_NO_BUILD = frozenset(
    _listed("__CLION_IDE__ __JETBRAINS_IDE__ __INTELLISENSE__ __RESHARPER__ __CDT_PARSER__ __clangd__ __DOXYGEN__ DOXYGEN")
)
_ALWAYS: dict[str, Value] = {"__cplusplus": NONZERO, "__linux__": 1, "__unix__": 1, "__LINE__": NONZERO, "__FILE__": NONZERO}
NVIDIAS = frozenset(
    _listed(
        "__CUDA_ARCH__ __NVCC__ __CUDA__ CUDA_VERSION CUDART_VERSION __CUDACC_RTC__ __CUDACC_VER_MAJOR__ __CUDACC_VER_MINOR__ "
        "__CUDACC_VER_BUILD__ __CUDACC_VER__ __CUDACC_EXTENDED_LAMBDA__ __CUDACC_RELAXED_CONSTEXPR__ __CUDACC_DEBUG__ "
        "__CUDA_ARCH_LIST__ __HIP_PLATFORM_NVIDIA__ __HIP_PLATFORM_NVCC__ __NVCOMPILER __PGIC__ __CUDA_API_VERSION "
        "__CUDART_API_VERSION __NVCC_DIAG_PRAGMA_SUPPORT__ CUBLAS_VERSION CUBLAS_VER_MAJOR CUBLAS_VER_MINOR CUBLAS_VER_PATCH CUDNN_VERSION "
        "CUDNN_MAJOR CUDNN_MINOR CUDNN_PATCHLEVEL CUSPARSE_VERSION CUSPARSE_VER_MAJOR CUSPARSE_VER_MINOR CUSOLVER_VERSION "
        "CUSOLVER_VER_MAJOR CUSOLVER_VER_MINOR CUFFT_VERSION CUFFT_VER_MAJOR CUFFT_VER_MINOR CURAND_VERSION CURAND_VER_MAJOR NVRTC_VERSION"
    )
)
# CUTLASS sets its own macros by __CUDA_ARCH__.
FROM_CUDA_ARCH = ("__CUDA_ARCH_FEAT_", "__CUDA_ARCH_SPECIFIC", "__CUDA_ARCH_FAMILY", "CUTLASS_ARCH_", "CUTE_ARCH_")
_HIP_COMPILER = frozenset(_listed("__HIP__ __HIPCC__ __CUDACC__ __clang__ __HIP_PLATFORM_CLANG__"))
_HIP_DEVICE = frozenset(
    _listed("__HIP_DEVICE_COMPILE__ __AMDGCN__ __AMDGPU__ __AMD__ __amdgcn__ __AMDGCN_WAVEFRONT_SIZE __AMDGCN_WAVEFRONT_SIZE__")
)
_TRUE_WORDS = frozenset(_listed("ROCM HIP AMDGCN HIPCC HIPIFY"))
_AMD_WORDS = frozenset(
    _listed("AMD AMDGPU MIOPEN RCCL ROCBLAS HCC HIPBLAS HIPBLASLT HIPFFT HIPSPARSE HIPRAND HIPRTC HIPCUB HIPDNN ROCWMMA CK GFX")
)
_AGAINST = frozenset(_listed("NO NOT NON DISABLE DISABLED WITHOUT SKIP OFF UNSUPPORTED"))
_FEATURES = frozenset(("FP", "FP8", "OCP", "FNUZ", "HAS"))
_NUMBERS = frozenset(_listed("VERSION VER MAJOR MINOR PATCH ARCH"))
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_GFX = re.compile(r"__(?:gfx|GFX)[0-9a-fA-F_]+x*__\Z")


def words_of(name: str) -> frozenset[str]:
    """The words of a macro name, upper case, split at underscores, digits and changes of case."""
    return frozenset(word.upper() for word in _WORDS.findall(name))


def ambient(name: str, run: Pass) -> Value | None:
    """What a macro is before the file's own lines: a value, UNKNOWN where it may or may not be defined, None where it is not."""
    if name in _ALWAYS:
        return _ALWAYS[name]
    if name in _UNSURE:
        return UNKNOWN
    if name in _NO_BUILD:  # what editors and documentation tools define while they read a file
        return ABSENT
    found = _amd(name, run) if run.vendor == AMD else _nvidia(name, run)
    return found[0] if found else _by_words(name, run)


def _amd(name: str, run: Pass) -> tuple[Value | None] | None:
    if name in NVIDIAS or name.startswith(FROM_CUDA_ARCH):
        return (ABSENT,)
    if name in _HIP_COMPILER:
        plain: Value | None = UNKNOWN if name == "__clang__" else ABSENT
        return (plain if run.stage == "plain" else 1,)
    if name in _HIP_DEVICE:
        # The wavefront-size macro is gone from newer ROCm releases, so it may or may not be there.
        return ((UNKNOWN if "WAVEFRONT" in name else 1) if run.stage == "device" else ABSENT,)
    if _GFX.match(name):
        return (UNKNOWN if run.stage == "device" else ABSENT,)
    if name in ("HIP_VERSION", "HIP_VERSION_MAJOR"):
        return (NONZERO,)
    return (1,) if name == "__HIP_PLATFORM_AMD__" else None


def _nvidia(name: str, run: Pass) -> tuple[Value | None] | None:
    if name == "__CUDA_ARCH__" or name.startswith("__CUDA_ARCH_"):
        if run.stage != "device":
            return (ABSENT,)
        return (NONZERO if name in ("__CUDA_ARCH__", "__CUDA_ARCH_LIST__") else UNKNOWN,)
    if name in ("__CUDACC__", "__NVCC__"):
        return (ABSENT if run.stage == "plain" else 1,)
    if name in ("CUDA_VERSION", "CUDART_VERSION") or name.startswith("__CUDACC_VER_"):
        return (NONZERO,)
    if name in _HIP_DEVICE or name in ("__HIP__", "__HIPCC__") or _GFX.match(name):
        return (ABSENT,)
    return (UNKNOWN,) if name in NVIDIAS or name in _HIP_COMPILER else None


def _by_words(name: str, run: Pass) -> Value | None:
    words = words_of(name)
    if words & _AGAINST:
        return UNKNOWN
    amd = run.vendor == AMD
    if words & _FEATURES and words & _TRUE_WORDS:  # HIP_FP8_TYPE_OCP and the like differ from GPU to GPU
        return UNKNOWN if amd else ABSENT
    if words & _TRUE_WORDS or ("USE" in words and any(word.startswith(("HIP", "ROC")) for word in words)):
        if not amd:
            return ABSENT
        return NONZERO if words & _NUMBERS else 1
    if words & _AMD_WORDS:
        return UNKNOWN if amd else ABSENT
    return UNKNOWN


def is_predefined(name: str) -> bool:
    """Whether a compiler or the usual build of one vendor defines a name by itself; all others are the project's own."""
    listed = name in NVIDIAS or name in _HIP_COMPILER or name in _HIP_DEVICE or name in _ALWAYS
    return listed or name in ("USE_ROCM", "HIP_VERSION", "HIP_VERSION_MAJOR", "__HIP_PLATFORM_AMD__") or _GFX.match(name) is not None
