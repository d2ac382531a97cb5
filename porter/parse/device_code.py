"""What a compiled file needs of NVIDIA: libraries by its ELF header, GPU sections, and the architectures of embedded device code.

The layout of a fatbin (container: magic, version, header size, payload size; entry: kind, header size, payload size, architecture at
byte 28) is not published; it was read off files that nvcc 13.0 wrote, and the tests hold such a file.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from porter.parse.elf import needed_libraries, section_names
from porter.parse.pe import imported_libraries

ELF = b"\x7fELF"
WINDOWS = b"MZ"
FATBIN = b"\x50\xed\x55\xba"
ARCHIVE = b"!<arch>\n"
MAX_CONTAINERS = 4_096
MAX_ENTRIES = 256
_MARKS = (b".nv_fatbin", b"__nv_relfatbin", b".hip_fatbin")
_NVIDIA = re.compile(
    r"lib(?:cu(?:da|dart|blas|fft|rand|sparse|solver|dnn|pti|tensor|file|dss|quantum|inj|obj|vid|vs|ml|df|graph|custatevec)|nv(?:infer|onnxparser|rtc"
    r"|jpeg|jitlink|toolsext|parsers|shmem|comp|idia|perf|scibuf|optix|blas|ml|encode|cuvid|buf|ds|imgcodec)|npp|nccl|tensorrt|cvcuda|torch_cuda|c10_cuda)"
    r"[A-Za-z0-9_+.-]*?\.so",
    re.IGNORECASE,
)

_NVIDIA_DLL = re.compile(
    r"(?P<stem>cudart|cublas(?:lt)?|cufftw?|curand|cusparse|cusolver(?:mg)?|cudnn\w*?|cupti|cutensor\w*?|cufile|nvcuda|nvinfer\w*?|nvonnxparser"
    r"|nvrtc(?:-builtins)?|nvtoolsext|nvjpeg|nvjitlink|npp[a-z]+|nvml|nvcuvid|nvencodeapi|nccl|torch_cuda\w*?|c10_cuda)(?:64)?(?:_[\d_]+)?\.dll",
    re.IGNORECASE,
)
_ON_LINUX = {"nvcuda": "cuda", "nvml": "nvidia-ml", "nvencodeapi": "nvidia-encode", "nvtoolsext": "nvToolsExt", "nvjitlink": "nvJitLink"}


@dataclass(frozen=True)
class Inside:
    """Needed libraries, GPU sections and architectures (sm_90 for machine code, compute_90 for PTX) of one compiled file."""

    libraries: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()

    @property
    def nvidia(self) -> tuple[str, ...]:
        """The needed libraries that are NVIDIA's."""
        return tuple(name for name in self.libraries if is_nvidia(name))

    def words(self) -> str:
        """What it needs, as the rest of a sentence; empty when that is nothing of NVIDIA's."""
        carries = any(".nv" in name or "__nv" in name for name in self.sections) or self.architectures
        code = "carries device code" + (f" for {', '.join(self.architectures)}" if self.architectures else "") if carries else ""
        return " and ".join(filter(None, (f"needs {', '.join(self.nvidia)}" if self.nvidia else "", code)))


def is_nvidia(name: str) -> bool:
    """Whether a library's file name, on Linux or Windows, is that of a library of NVIDIA."""
    return _NVIDIA.match(name) is not None or _NVIDIA_DLL.fullmatch(name) is not None


def on_linux(name: str) -> str:
    """What a library of NVIDIA with a Windows name is called on Linux, where rules know it: cudart64_12.dll is libcudart.so."""
    match = _NVIDIA_DLL.fullmatch(name)
    return f"lib{_ON_LINUX.get(match['stem'].lower(), match['stem'])}.so" if match else name


def inside(data: bytes) -> Inside:
    """What a compiled file says of itself; empty for anything but ELF and PE files, static libraries and fatbins."""
    if data.startswith(ELF):
        sections = tuple(name for name in section_names(data) if "fatbin" in name or name.startswith(".nv"))
        found = architectures(data)
        if found and not any(name.startswith(".nv") for name in sections):
            sections = (*sections, ".nv_fatbin")  # the list of sections is stripped, or behind the part that was unpacked
        return Inside(tuple(needed_libraries(data)), sections, found)
    if data.startswith(WINDOWS):
        found = architectures(data)
        return Inside(tuple(imported_libraries(data)), (".nv_fatbin",) if found else (), found)
    if data.startswith(ARCHIVE):
        marks = tuple(mark.decode() for mark in _MARKS if mark in data)
        return Inside((), marks, architectures(data) if marks else ())
    return Inside((), (), architectures(data)) if data.startswith(FATBIN) else Inside()


def architectures(data: bytes) -> tuple[str, ...]:
    """The architectures in the fatbin containers of a file, machine code before PTX, in rising order."""
    found: set[tuple[bool, int]] = set()
    at = data.find(FATBIN)
    for _ in range(MAX_CONTAINERS):
        if at < 0 or at + 16 > len(data):
            break
        version, header, size = struct.unpack_from("<HHQ", data, at + 4)
        if version == 1 and header == 16:
            found.update(_entries(data, at + 16, min(at + 16 + size, len(data))))
        at = data.find(FATBIN, at + 4)
    return tuple(f"{'compute' if is_ptx else 'sm'}_{number}" for is_ptx, number in sorted(found))


def _entries(data: bytes, at: int, end: int) -> set[tuple[bool, int]]:
    found: set[tuple[bool, int]] = set()
    for _ in range(MAX_ENTRIES):
        if at + 32 > end:
            break
        kind, _, header, size = struct.unpack_from("<HHIQ", data, at)
        number = struct.unpack_from("<I", data, at + 28)[0]
        if kind not in (1, 2) or not 32 <= header <= 1024 or not 10 <= number <= 999:
            break
        found.add((kind == 1, number))
        at += header + size
    return found
