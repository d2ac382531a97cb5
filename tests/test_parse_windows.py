"""Windows DLLs built byte by byte, Zstandard archives and conda packages with one inside: what they import is told."""

from __future__ import annotations

import struct

import pytest
import zstandard
from test_parse_archive import messages, seen, tarred, zipped
from test_parse_binary import elf

from porter.parse import device_code, tarball
from porter.parse.pe import imported_libraries


def pe(imports: tuple[str, ...], delayed: tuple[str, ...] = ()) -> bytes:
    """A 64-bit PE file with one section that holds its import tables."""
    raw, address = 0x200, 0x1000
    body = bytearray(0x400)
    at = 0x200
    places = []
    for name in (*imports, *delayed):
        body[at : at + len(name)] = name.encode()
        places.append(address + at)
        at += len(name) + 1
    for index in range(len(imports)):
        struct.pack_into("<IIIII", body, 20 * index, 1, 0, 0, places[index], 1)
    for index in range(len(delayed)):
        struct.pack_into("<II", body, 0x100 + 32 * index, 1, places[len(imports) + index])
    directories = [(0, 0)] * 16
    directories[1], directories[13] = (address, 20), (address + 0x100, 32) if delayed else (0, 0)
    optional = struct.pack("<H", 0x20B) + b"\0" * 106 + struct.pack("<I", 16) + b"".join(struct.pack("<II", *pair) for pair in directories)
    head = b"MZ" + b"\0" * 58 + struct.pack("<I", 0x40) + b"PE\0\0"
    head += struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, len(optional), 0x2000) + optional
    head += b".rdata\0\0" + struct.pack("<IIII", len(body), address, len(body), raw) + b"\0" * 16
    return head.ljust(raw, b"\0") + bytes(body)


def test_imports_and_delayed_imports_of_a_dll() -> None:
    image = pe(("KERNEL32.dll", "cudart64_12.dll"), ("nvcuda.dll",))
    assert imported_libraries(image) == ["KERNEL32.dll", "cudart64_12.dll", "nvcuda.dll"]
    assert messages("bin/fast.dll", image) == {"cuda-binary": "needs cudart64_12.dll, nvcuda.dll"}
    assert messages("pkg/_C.cp312-win_amd64.pyd", image) == {"cuda-binary": "needs cudart64_12.dll, nvcuda.dll"}
    assert messages("bin/plain.dll", pe(("KERNEL32.dll", "MSVCP140.dll"))) == {}


@pytest.mark.parametrize("at", range(0, 0x200, 7))
def test_wrong_numbers_in_a_dll_are_survived(at: int) -> None:
    image = bytearray(pe(("cudart64_12.dll",)))
    image[at : at + 4] = b"\xff\xff\xff\x7f"
    assert len(imported_libraries(bytes(image))) <= 1
    assert imported_libraries(bytes(image[:at])) == []


@pytest.mark.parametrize(
    ("name", "linux"),
    [
        ("cudart64_110.dll", "libcudart.so"),
        ("nvinfer_10.dll", "libnvinfer.so"),
        ("cublasLt64_12.dll", "libcublasLt.so"),
        ("nvcuda.dll", "libcuda.so"),
        ("curl.dll", "curl.dll"),
        ("libcudart.so.12", "libcudart.so.12"),
    ],
)
def test_names_on_windows(name: str, linux: str) -> None:
    assert device_code.on_linux(name) == linux
    assert device_code.is_nvidia(name) is (name != "curl.dll")


def test_zstandard_archives_and_conda_packages_are_looked_into() -> None:
    packed = zstandard.compress(tarred({"lib/python3.12/site-packages/ops/_C.so": elf()}, "w"))
    assert messages("cache/ops.tar.zst", packed)["cuda-binary"] == (
        "lib/python3.12/site-packages/ops/_C.so in it needs libcudart.so.12 and carries device code"
    )
    package = zipped({"metadata.json": b"{}", "pkg-ops-1.0-0.tar.zst": packed, "info-ops-1.0-0.tar.zst": zstandard.compress(b"no tar")}, 0)
    assert messages("cache/ops-1.0-0.conda", package)["cuda-binary"].startswith("lib/python3.12/site-packages/ops/_C.so in it needs")


def test_damaged_and_swelling_zstandard_gives_less() -> None:
    packed = zstandard.compress(tarred({"a.so": b"x" * 4_000}, "w"))
    found, got = seen(packed[: len(packed) // 2])
    assert (found.left_out, got) == (["its end is missing"], {})
    most = zstandard.compress(tarred({"a.so": elf(), "b.so": b"x" * 400_000}, "w"))
    found, got = seen(most[:-6])
    assert found.left_out == ["its end is missing"] and got["a.so"] == elf()[: len(got["a.so"])] != b""
    broken, _ = seen(packed[:20] + b"\xff" * 20 + packed[40:])
    assert broken.left_out
    bomb, _ = seen(zstandard.compress(tarred({"z.so": b"\0" * (tarball.BOMB_BYTES + 2**20)}, "w"), 19))
    assert bomb.left_out == ["it unpacks to hundreds of times its size"]
