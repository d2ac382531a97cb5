"""Binaries: what their suffix says, and what an ELF file or an archive's members need, read without running or writing anything."""

from __future__ import annotations

from dataclasses import dataclass, field

from packaging.utils import canonicalize_name

from porter.model import Live, SourceFile
from porter.parse import Parsed, archive, device_code, safetensors
from porter.parse.device_code import Inside
from porter.parse.requirement_line import name_in_url, read_requirement
from porter.parse.sheet import Sheet

_SUFFIXES = (
    ".cubin", ".fatbin", ".engine", ".plan", ".trt", ".whl", ".ptx", ".onnx", ".so", ".a", ".hsaco", ".co", ".mxr", ".nsys-rep",
    ".ncu-rep", ".safetensors", ".gguf",
)  # fmt: skip
_IN_ARCHIVES = (".cubin", ".fatbin", ".ptx", ".engine", ".plan", ".trt", ".hsaco")
_SOURCES = (".cu", ".cuh")
_FEW = 3
_MAX_NEEDS = 200
_EM_CUDA = 190
_EM_AMDGPU = 224


@dataclass
class _Seen:
    """What the members of an archive say: all libraries, sections and architectures, the first member that needs something, how many do."""

    libraries: dict[str, None] = field(default_factory=dict)
    sections: dict[str, None] = field(default_factory=dict)
    first: str = ""
    count: int = 0
    requires: list[str] = field(default_factory=list)

    def take(self, name: str, data: bytes) -> None:
        """Look at one member: a compiled file, or a wheel's METADATA (its Requires-Dist lines)."""
        if name.endswith("METADATA"):
            head = data.partition(b"\n\n")[0].decode("utf-8", "replace").splitlines()
            self.requires += [line[14:].strip() for line in head if line.startswith("Requires-Dist:")][:_MAX_NEEDS]
            return
        found = device_code.inside(data)
        self.libraries |= dict.fromkeys(found.libraries)
        self.sections |= dict.fromkeys(found.sections)
        if words := found.words():
            self.count += 1
            self.first = self.first or f"{name} in it {words}"

    def words(self) -> str:
        """The first member that needs something, and how many more do."""
        return self.first + (f"; {self.count - 1} more such files" if self.count > 1 else "")


def parse(file: SourceFile) -> Parsed:
    """Facts of a binary: its suffix, `elf:<library>` for each needed library, `elf:<section>` for GPU code inside; archives by members."""
    sheet = Sheet(SourceFile(file.path, file.kind, b"", file.origin), "binary")
    base = file.path.rsplit("/", 1)[-1]
    for name in dict.fromkeys(_names(base.lower(), file.data)):
        sheet.add("binary", name, 0, 0, words=device_code.inside(file.data).words() if name == ".fatbin" else "")
    if archive.is_archive(base.lower()):
        _archive(sheet, base, file)
    elif base.lower().endswith(".safetensors"):
        for name in safetensors.formats(file.data):
            sheet.add("binary", f"safetensors:{name}", 0, 0)
    else:
        _compiled(sheet, base, file)
    parsed = sheet.parsed
    parsed.file = file
    return parsed


def _compiled(sheet: Sheet, base: str, file: SourceFile) -> None:
    found = device_code.inside(file.data)
    words = found.words() or (f"ships {base}" if device_code.is_nvidia(base) else "")
    names = [base] if device_code.is_nvidia(base) else []
    _needs(sheet, Inside((*found.libraries, *names), found.sections), words)
    if not file.data.startswith((device_code.ELF, device_code.ARCHIVE, device_code.WINDOWS)):
        return
    if len(file.data) < 64:
        sheet.problem(0, "file is cut short", matters=False)
    if file.size:
        sheet.problem(0, f"only its first {len(file.data) >> 20} MiB were looked into: what lies behind may need NVIDIA's libraries too")


def _needs(sheet: Sheet, found: Inside, words: str) -> None:
    for name in dict.fromkeys((*found.libraries, *found.sections)):
        sheet.add(
            "binary",
            f"elf:{device_code.on_linux(name)}",
            0,
            0,
            words=words if device_code.is_nvidia(name) or name in found.sections else "",
        )


def _archive(sheet: Sheet, base: str, file: SourceFile) -> None:
    """What an archive is by its name, and what its members are and need."""
    if base.endswith(".whl"):
        _wheel(sheet, base)
    elif base.endswith(".conda"):
        sheet.add("conda_package", base.rsplit("-", 2)[0].lower() if base.count("-") >= 2 else "", 0, 0)
    seen = _Seen()
    for_windows = base.endswith(".whl") and "win" in base.rsplit("-", 1)[-1]
    held = archive.look(file.data, _is_metadata if for_windows else _is_wanted, seen.take)
    for suffixes, called in (*(((suffix,), suffix) for suffix in _IN_ARCHIVES), (_SOURCES, "archive:.cu")):
        if members := [name for name in held.names if name.endswith(suffixes)]:
            sheet.add("binary", called, 0, 0, words=_listed(members))
    shipped = [name.rsplit("/", 1)[-1] for name in held.names if device_code.is_nvidia(name.rsplit("/", 1)[-1])]
    words = seen.words() or (_listed(shipped) if shipped else "")
    _needs(sheet, Inside((*seen.libraries, *shipped), tuple(seen.sections)), words)
    for text in seen.requires:
        _required(sheet, text, base)
    for why in held.left_out if not _is_pointer(file.data) else ():
        sheet.problem(0, f"not all of it was looked into: {why}", matters=False)
    if file.size:
        sheet.problem(0, f"only its first {len(file.data) >> 20} MiB were looked into", matters=False)


def _is_wanted(name: str) -> bool:
    """Whether a member is opened: shared objects and static libraries, and the list of what a wheel requires."""
    base = name.rsplit("/", 1)[-1]
    return base.endswith((".so", ".a", ".fatbin", ".dll", ".pyd")) or ".so." in base or _is_metadata(name)


def _is_metadata(name: str) -> bool:
    return name.endswith(".dist-info/METADATA")


def _listed(found: list[str]) -> str:
    more = f" and {len(found) - _FEW} more" if len(found) > _FEW else ""
    return f"holds {', '.join(found[:_FEW])}{more}"


def _required(sheet: Sheet, text: str, wheel: str) -> None:
    """A requirement of a wheel's metadata; extras of it are not installed unasked."""
    try:
        need = read_requirement(text)
    except ValueError:
        return
    if need is not None and "extra" not in need.detail.get("marker", ""):
        sheet.add("requirement", need.name, 0, 0, need.live, **need.detail, pinned_by=wheel)


def _is_pointer(data: bytes) -> bool:
    """Whether the file is a Git LFS pointer in place of its content."""
    return data.startswith(b"version https://git-lfs")


def _wheel(sheet: Sheet, name: str) -> None:
    """A wheel that lies in the repository is a dependency: project, version and build tag are in its name (PEP 427)."""
    parts = name.removesuffix(".whl").split("-")
    if len(parts) >= 5 and canonicalize_name(parts[0]):
        sheet.add("requirement", name_in_url(name), 0, 0, Live.NO if "win" in parts[-1] else Live.YES, specifier=f"=={parts[1]}", url=name)


def _names(base: str, data: bytes) -> list[str]:
    """Suffix by name, then by content: a cubin or a fatbin stays one under any name."""
    found = []
    if ".so." in base:
        found.append(".so")
    found += [suffix for suffix in _SUFFIXES if base.endswith(suffix)][:1]
    if data.startswith(device_code.ELF) and len(data) >= 20:
        machine = int.from_bytes(data[18:20], "little" if data[5:6] != b"\x02" else "big")
        found += [".cubin"] if machine == _EM_CUDA else [".hsaco"] if machine == _EM_AMDGPU else []
    elif data.startswith(device_code.FATBIN):
        found.append(".fatbin")
    return found
