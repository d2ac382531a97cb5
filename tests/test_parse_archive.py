"""Archives built in memory: what members need is listed, bombs and broken or odd archives give less and end soon."""

from __future__ import annotations

import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from functools import cache

import pytest
import zstandard
from test_parse_binary import elf

from porter.detect import Matcher, data_hits
from porter.model import Live, SourceFile
from porter.parse import archive, binary, device_code, tarball
from porter.rules import load


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return out.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w:gz", layout: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=layout) as file:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return out.getvalue()


def seen(data: bytes) -> tuple[archive.Contents, dict[str, bytes]]:
    got: dict[str, bytes] = {}
    return archive.look(data, lambda name: name.endswith(".so"), got.__setitem__), got


@cache
def matcher() -> Matcher:
    return Matcher(load())


def messages(path: str, data: bytes) -> dict[str, str]:
    hits = data_hits(binary.parse(SourceFile(path, "binary", data)), matcher())
    return {hit.rule: hit.message for hit in hits if hit.live is not Live.NO}


def fatbin(*entries: tuple[int, int]) -> bytes:
    """A container with entries of (1 for PTX or 2 for machine code, architecture), as nvcc 13.0 lays them out."""
    body = b"".join(
        kind.to_bytes(2, "little") + b"\1\1" + (64).to_bytes(4, "little") + (8).to_bytes(8, "little") + b"\0" * 12
        + number.to_bytes(4, "little") + b"\0" * 32 + b"payload!" for kind, number in entries
    )  # fmt: skip
    return device_code.FATBIN + b"\1\0\x10\0" + len(body).to_bytes(8, "little") + body


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
@pytest.mark.parametrize("layout", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tar_members_with_long_names_are_read_in_every_packing(mode: str, layout: int) -> None:
    long = "deep/" * 40 + "libk.so"
    found, got = seen(tarred({"README": b"x" * 700, long: elf(), "b.so": b"\x7fELF"}, mode, layout))
    assert found.names == ["README", long, "b.so"]
    assert got == {long: elf(), "b.so": b"\x7fELF"}
    assert found.left_out == []


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_zip_members_are_read_stored_and_deflated(method: int) -> None:
    found, got = seen(zipped({"a/libk.so": elf(), "notes.txt": b"hello"}, method))
    assert (found.names, got, found.left_out) == (["a/libk.so", "notes.txt"], {"a/libk.so": elf()}, [])


def test_a_wheel_says_what_its_extension_needs_and_what_it_requires() -> None:
    metadata = (
        b"Name: fastops\nVersion: 1.0\nRequires-Dist: tensorrt>=10\nRequires-Dist: cupy-cuda12x; extra == 'gpu'\n\nRequires-Dist: pycuda\n"
    )
    wheel = zipped({"fastops/_C.so": elf(), "fastops/_D.so": elf(), "fastops-1.0.dist-info/METADATA": metadata})
    found = messages("wheels/fastops-1.0-cp312-cp312-linux_x86_64.whl", wheel)
    assert found == {
        "cuda-binary": "fastops/_C.so in it needs libcudart.so.12 and carries device code; 1 more such files",
        "tensorrt": "depends on tensorrt (>=10)",
    }


def test_an_archive_lists_engines_cubins_sources_and_nvidia_libraries() -> None:
    held = {"m/1/model.plan": b"x", "k/scan.cubin": b"x", "src/a.cu": b"x", "src/b.cu": b"x", "trt/lib/libnvinfer.so.10": b""}
    found = messages("vendor/models.tar.gz", tarred(held))
    assert found == {
        "tensorrt-engine-file": "holds m/1/model.plan",
        "cubin-file": "holds k/scan.cubin",
        "cuda-sources-in-archive": "holds src/a.cu, src/b.cu",
        "cuda-binary": "holds libnvinfer.so.10",
    }
    assert messages("data/photos.zip", zipped({"a.jpg": b"x", "lib/libz.so": elf(needed=("libc.so.6",), sections=(".text",))})) == {}


def test_embedded_device_code_is_named_by_architecture() -> None:
    image = elf() + fatbin((2, 80), (2, 90), (1, 90))
    assert device_code.architectures(image) == ("sm_80", "sm_90", "compute_90")
    assert messages("libk.so", image)["cuda-binary"] == "needs libcudart.so.12 and carries device code for sm_80, sm_90, compute_90"
    assert device_code.architectures(fatbin((2, 80))[:40]) == ()
    assert device_code.architectures(device_code.FATBIN * 100) == ()


@pytest.mark.parametrize(
    "name", ["libcudart.so.12", "libnvinfer_plugin.so.10.3.0", "libcublasLt-3f2a.so.12", "libnppig.so.12", "libnccl.so"]
)
def test_names_of_nvidias_libraries(name: str) -> None:
    assert device_code.is_nvidia(name)
    assert "cuda-binary" in messages(f"lib/{name}", b"version https://git-lfs.github.com/spec/v1\n")


@pytest.mark.parametrize("name", ["libcurl.so.4", "libcups.so.2", "libnvme.so", "libcustom.so", "libcunit.so", "libnvpair.so"])
def test_names_of_other_libraries(name: str) -> None:
    assert not device_code.is_nvidia(name)


class _Zeros(io.RawIOBase):
    def read(self, size: int = -1) -> bytes:
        return b"\0" * size


def test_a_tar_bomb_is_left_early_and_said() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=9) as file:
        info = tarfile.TarInfo("zeros")
        info.size = 24 * 2**20
        file.addfile(info, _Zeros())
    found, _ = seen(out.getvalue())
    assert found.left_out == ["it unpacks to hundreds of times its size"]


def test_a_zip_bomb_of_overlapping_members_spends_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand entries that all point at the same body: the unpacked sum stays within the archive's budget."""
    one = zipped({"a.so": b"\0" * 2**20})
    start, end = one.index(b"PK\1\2"), one.index(b"PK\5\6")
    many = one[:end] + one[start:end] * 999 + one[end:]
    monkeypatch.setattr(archive, "TOTAL_BYTES", 4 * 2**20)
    sizes: list[int] = []
    found = archive.look(many, lambda name: True, lambda name, data: sizes.append(len(data)))
    assert sum(sizes) <= 4 * 2**20
    assert "more than 4 MiB to unpack" in found.left_out


@pytest.mark.parametrize("at", range(0, 200, 7))
def test_damaged_and_cut_archives_are_survived(at: int) -> None:
    for data in (
        zipped({"a.so": elf(), "b.so": elf()}),
        tarred({"a.so": elf()}),
        tarred({"a.so": elf()}, "w"),
        tarred({"a": b"1"}, "w:xz"),
    ):
        broken = bytearray(data)
        broken[-at % len(broken)] ^= 0xFF
        broken[at % len(broken)] ^= 0x55
        seen(bytes(broken))
        seen(data[:at])


@pytest.mark.parametrize(
    "cut", [zstandard.compress(tarred({"a.so": elf()}, "w"))[:-20], tarred({"a.so": b"x" * 512, "b.so": elf()}, "w")[:1024]]
)
def test_a_tar_without_the_blocks_at_its_end_is_said_to_miss_it(cut: bytes) -> None:
    """A Zstandard stream that is cut says nothing of it, and a plain file cut between two members looks like a whole one."""
    found, _ = seen(cut)
    assert found.left_out == ["its end is missing"] and "b.so" not in found.names


def test_hostile_names_are_only_words() -> None:
    found, _ = seen(zipped({"../../etc/x.so": b"", "\x1b[31m.so": b"", "C:\\a.so": b""}))
    assert found.names == ["../../etc/x.so", "?[31m.so", "C:\\a.so"]
    negative = tarred({"a": b"1"}, "w").replace(b"00000000001\0", b"-0000000001\0", 1)
    assert seen(negative)[0].left_out == ["a header in it is damaged"]


def test_a_zip_without_its_end_is_read_from_the_front() -> None:
    found, got = seen(zipped({"a.so": elf(), "b.so": elf(), "c.txt": b"x"})[:-150])
    assert found.names[:2] == ["a.so", "b.so"]
    assert got == {"a.so": elf(), "b.so": elf()}
    assert found.left_out == ["the list of members at its end is missing"]


def test_a_damaged_list_of_members_is_said() -> None:
    data = zipped({"a.so": elf(), "b.so": elf()})
    second = data.rindex(b"PK\1\2")
    found, got = seen(data[:second] + b"XX" + data[second + 2 :])
    assert (found.names, got) == (["a.so"], {"a.so": elf()})
    assert found.left_out == ["the list of members at its end is damaged"]


def test_members_that_cannot_be_opened_are_said() -> None:
    encrypted = bytearray(zipped({"a.so": elf()}))
    encrypted[encrypted.index(b"PK\1\2") + 8] |= 1
    assert seen(bytes(encrypted))[0].left_out == ["members that are encrypted"]
    assert seen(zipped({"a.so": elf()}, zipfile.ZIP_BZIP2))[0].left_out == ["members packed by method 12"]
    assert seen(zlib.compress(b"x"))[0].left_out == ["no archive of a known kind"]
    assert seen(b"\x1f\x8b" + b"\0" * 40)[0].left_out == ["it is damaged"]
    stream = tarball.stream_of(tarred({"a.so": elf()})[:-30])
    assert stream is not None


@pytest.mark.parametrize("pack", [tarred, zipped, lambda members: zipped(members, zipfile.ZIP_STORED)])
def test_a_member_that_is_not_looked_into_to_its_end_is_said(
    pack: Callable[[dict[str, bytes]], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MEMBER_BYTES", 1000)
    assert seen(pack({"lib/a.so": b"ab" * 400}))[0].left_out == []
    found, members = seen(pack({"lib/a.so": b"ab" * 4000, "lib/b.so": b"b"}))
    assert found.left_out == [archive.ONLY_START]
    assert members == {"lib/a.so": b"ab" * 500, "lib/b.so": b"b"}


def test_a_conda_package_is_a_dependency_by_its_name() -> None:
    facts = binary.parse(SourceFile("pkgs/cudatoolkit-11.8.0-h6a678d5_0.conda", "binary", zipped({"metadata.json": b"{}"}))).facts
    assert [(fact.kind, fact.name) for fact in facts] == [("conda_package", "cudatoolkit")]


def test_git_lfs_pointers_are_no_broken_archives() -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    assert binary.parse(SourceFile("m/weights.zip", "binary", pointer)).problems == []
    assert binary.parse(SourceFile("m/weights.zip", "binary", b"garbage that is none")).problems[0].matters is False
