"""ELF files built byte by byte: needed libraries, GPU sections, and files that lie about their offsets."""

from __future__ import annotations

import json
import struct

import pytest

from porter.model import Live, SourceFile
from porter.parse import binary
from porter.parse.elf import needed_libraries, section_names

STRINGS = b"\0libcudart.so.12\0libc.so.6\0.nv_fatbin\0.text\0"


def elf(
    machine: int = 62, needed: tuple[str, ...] = ("libcudart.so.12", "libc.so.6"), sections: tuple[str, ...] = (".nv_fatbin", ".text")
) -> bytes:
    """A 64-bit little-endian ELF with one load segment, a dynamic section and a section table."""
    strings_at = 0x200
    dynamic = b"".join(struct.pack("<qQ", 1, STRINGS.index(b"\0" + name.encode() + b"\0") + 1) for name in needed)
    dynamic += struct.pack("<qQ", 5, 0x1000 + strings_at) + struct.pack("<qQ", 0, 0)
    dynamic_at, sections_at = 0x300, 0x400
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0x1000, 0x1000, 0x800, 0x800, 0x1000)
    dyn = struct.pack("<IIQQQQQQ", 2, 6, dynamic_at, 0x1000 + dynamic_at, 0, len(dynamic), len(dynamic), 8)
    table = [struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, strings_at, len(STRINGS), 0, 0, 1, 0)]
    table += [struct.pack("<IIQQQQIIQQ", STRINGS.index(name.encode()), 1, 0, 0, 0, 0, 0, 0, 1, 0) for name in sections]
    head = b"\x7fELF\x02\x01\x01" + b"\0" * 9
    head += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, sections_at, 0, 64, 56, 2, 64, len(table), 0)
    image = bytearray(0x800)
    for at, part in ((0, head), (64, load + dyn), (strings_at, STRINGS), (dynamic_at, dynamic), (sections_at, b"".join(table))):
        image[at : at + len(part)] = part
    return bytes(image)


def names(path: str, data: bytes) -> set[str]:
    return {fact.name for fact in binary.parse(SourceFile(path, "binary", data)).facts}


def test_needed_libraries_and_gpu_sections_of_a_shared_object() -> None:
    assert needed_libraries(elf()) == ["libcudart.so.12", "libc.so.6"]
    assert section_names(elf()) == [".nv_fatbin", ".text"]
    assert names("lib/libx.so.1.2", elf()) == {".so", "elf:libcudart.so.12", "elf:libc.so.6", "elf:.nv_fatbin"}


def test_a_static_object_without_cuda_says_only_its_suffix() -> None:
    assert names("a/b.so", elf(needed=("libc.so.6",), sections=(".text",))) == {".so", "elf:libc.so.6"}


def test_machine_and_magic_tell_gpu_code_under_any_name() -> None:
    assert ".cubin" in names("kernel.bin", elf(machine=190))
    assert ".hsaco" in names("kernel.bin", elf(machine=224))
    assert names("k.bin", b"\x50\xed\x55\xba" + b"\0" * 20) == {".fatbin"}
    assert names("model.engine", b"ptrt") == {".engine"}
    assert names("libx.a", b"!<arch>\n....__nv_relfatbin....") == {".a", "elf:__nv_relfatbin"}


@pytest.mark.parametrize("at", range(16, 64))
def test_wrong_offsets_are_survived(at: int) -> None:
    data = bytearray(elf())
    data[at] = 0xFF
    binary.parse(SourceFile("x.so", "binary", bytes(data)))
    binary.parse(SourceFile("x.so", "binary", bytes(data[: at + 4])))


def safetensors(header: dict[str, object], length: int | None = None) -> bytes:
    """A file with this header and eight bytes of weights; ``length`` may lie about the header's."""
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + b"\0" * 8


def test_safetensors_headers_tell_narrow_formats_and_nvfp4() -> None:
    plain = {"w.weight": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}
    assert names("m.safetensors", safetensors(plain)) == {".safetensors"}
    eight = {"__metadata__": {"format": "pt"}, "w.weight": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}}
    assert names("m.safetensors", safetensors(eight)) == {".safetensors", "safetensors:F8_E4M3"}
    four = {
        "w.weight": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
        "w.weight_scale": {"dtype": "F8_E4M3", "shape": [1], "data_offsets": [4, 5]},
        "w.weight_scale_2": {"dtype": "F32", "shape": [1], "data_offsets": [5, 9]},
    }
    assert names("m.safetensors", safetensors(four)) == {".safetensors", "safetensors:F8_E4M3", "safetensors:nvfp4"}


@pytest.mark.parametrize("data", [b"", b"version https://git-lfs", b"\xff" * 64, safetensors({"a": 1}, 2**40), safetensors({"a": []})[:12]])
def test_safetensors_that_are_none_say_nothing(data: bytes) -> None:
    assert names("m.safetensors", data) == {".safetensors"}


def test_a_wheel_is_a_dependency_by_its_name() -> None:
    wheel = "wheels/torch-2.8.0+cu128-cp312-cp312-manylinux_2_28_x86_64.whl"
    facts = binary.parse(SourceFile(wheel, "binary", b"PK\3\4")).facts
    assert [(fact.kind, fact.name, fact.detail.get("specifier", ""), fact.live) for fact in facts] == [
        ("binary", ".whl", "", Live.YES),
        ("requirement", "torch", "==2.8.0+cu128", Live.YES),
    ]
    assert binary.parse(SourceFile("x-1.0-cp312-cp312-win_amd64.whl", "binary", b"PK\3\4")).facts[1].live is Live.NO
    assert len(binary.parse(SourceFile("notawheel.whl", "binary", b"")).facts) == 1
