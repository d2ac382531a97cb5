"""Binaries: what their suffix says, and what an ELF file needs, read from its headers without running or unpacking anything."""

from __future__ import annotations

from porter.model import Live, SourceFile
from porter.parse import Parsed, safetensors
from porter.parse.elf import needed_libraries, section_names
from porter.parse.requirement_line import name_in_url
from porter.parse.sheet import Sheet

_SUFFIXES = (
    ".cubin", ".fatbin", ".engine", ".plan", ".trt", ".whl", ".ptx", ".onnx", ".so", ".a", ".hsaco", ".co", ".mxr", ".nsys-rep",
    ".ncu-rep", ".safetensors",
)  # fmt: skip
_ARCHIVE_MARKS = (".nv_fatbin", ".hip_fatbin", "__nv_relfatbin")
_ELF = b"\x7fELF"
_FATBIN = b"\x50\xed\x55\xba"
_EM_CUDA = 190
_EM_AMDGPU = 224


def parse(file: SourceFile) -> Parsed:
    """Facts of a binary: its suffix, `elf:<library>` for each needed library, `elf:<section>` for GPU code inside."""
    sheet = Sheet(SourceFile(file.path, file.kind, b"", file.origin), "binary")
    data = file.data
    for name in dict.fromkeys(_names(file.path, data)):
        sheet.add("binary", name, 0, 0)
    if data.startswith(_ELF):
        libraries, sections, broken = needed_libraries(data), section_names(data), len(data) < 64
        for name in libraries:
            sheet.add("binary", f"elf:{name}", 0, 0)
        for name in sections:
            if "fatbin" in name or name.startswith(".nv"):
                sheet.add("binary", f"elf:{name}", 0, 0)
        if broken:
            sheet.problem(0, "ELF file is cut short", matters=False)
    elif file.path.lower().endswith(".safetensors"):
        for name in safetensors.formats(data):
            sheet.add("binary", f"safetensors:{name}", 0, 0)
    elif file.path.lower().endswith(".whl"):
        _wheel(sheet, file.path.rsplit("/", 1)[-1])
    elif data.startswith(b"!<arch>\n"):
        for mark in _ARCHIVE_MARKS:
            if mark.encode() in data:
                sheet.add("binary", f"elf:{mark}", 0, 0)
    parsed = sheet.parsed
    parsed.file = file
    return parsed


def _wheel(sheet: Sheet, name: str) -> None:
    """A wheel that lies in the repository is a dependency: project, version and build tag are in its name (PEP 427)."""
    parts = name.removesuffix(".whl").split("-")
    if len(parts) >= 5:
        sheet.add("requirement", name_in_url(name), 0, 0, Live.NO if "win" in parts[-1] else Live.YES, specifier=f"=={parts[1]}", url=name)


def _names(path: str, data: bytes) -> list[str]:
    """Suffix by name, then by content: a cubin or a fatbin stays one under any name."""
    base = path.rsplit("/", 1)[-1].lower()
    found = []
    if ".so." in base:
        found.append(".so")
    found += [suffix for suffix in _SUFFIXES if base.endswith(suffix)][:1]
    if data.startswith(_ELF) and len(data) >= 20:
        machine = int.from_bytes(data[18:20], "little" if data[5:6] != b"\x02" else "big")
        found += [".cubin"] if machine == _EM_CUDA else [".hsaco"] if machine == _EM_AMDGPU else []
    elif data.startswith(_FATBIN):
        found.append(".fatbin")
    return found
