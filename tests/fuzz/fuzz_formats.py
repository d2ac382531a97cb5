"""Fuzz targets behind the signatures of binary formats: compiled files, weights and archives, with names and sizes out of the bytes."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator

Target = Callable[[bytes], object]


def _compiled(head: bytes) -> Target:
    from porter.parse import device_code

    return lambda data: device_code.inside(head + data).words()


def _pe() -> Target:
    """Bytes behind the signature of a PE file: header, optional header, sections, directories."""
    start = b"MZ" + bytes(0x3A) + struct.pack("<I", 0x40) + b"PE\0\0"
    return _compiled(start)


def _safetensors() -> Target:
    from porter.parse import safetensors

    return lambda data: safetensors.formats(struct.pack("<Q", len(data) + 1) + b"{" + data)


def _archive() -> Target:
    """Members of an archive: name, size as written and as told, packing, all out of the bytes."""
    from porter.model import SourceFile
    from porter.parse import binary

    def one(data: bytes) -> None:
        how, rest = (data[0] if data else 0), data[1:]
        made, name = _zip(rest) if how % 3 == 0 else _tar(rest, how), "a-1-py3-none-any.whl" if how % 3 == 0 else "a.tar.gz"
        at = how * 7 % max(len(made), 1)
        broken = made[:at] + bytes([how]) + made[at + 1 :] if how & 64 else made
        binary.parse(SourceFile(name, "binary", broken))

    return one


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    for number, part in enumerate(data.split(b"\xff")[:20]):
        name, _, body = part.partition(b"\n")
        yield name.decode("utf-8", "replace").replace("\0", "") or f"lib{number}.so", (b"\x7fELF" + body if number % 2 else body)


def _zip(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as box:
        for name, body in dict(_members(data)).items():
            box.writestr(zipfile.ZipInfo(name[:300].rstrip("/") or "a"), body)
    return out.getvalue()


def _tar(data: bytes, how: int) -> bytes:
    import zstandard

    out = io.BytesIO()
    mode = ("w:gz", "w:xz", "w:bz2", "w:")[how % 4]
    with tarfile.open(fileobj=out, mode=mode, format=(tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)[how & 1]) as box:  # type: ignore[call-overload]
        for name, body in _members(data):
            info = tarfile.TarInfo(name[:300])
            info.size = len(body)
            box.addfile(info, io.BytesIO(body))
    return zstandard.compress(out.getvalue()) if mode == "w:" and how & 32 else out.getvalue()


def _tar_blocks() -> Target:
    """Bytes as blocks of a plain tar file, with the magic put where it belongs."""
    from porter.model import SourceFile
    from porter.parse import binary

    def one(data: bytes) -> None:
        blocks = [bytearray(data[at : at + 512].ljust(512, b"\0")) for at in range(0, len(data), 512)]
        for number, block in enumerate(blocks):
            if number == 0 or block[500] & 1:
                block[257:263] = b"ustar\0"
        binary.parse(SourceFile("a.tar", "binary", b"".join(map(bytes, blocks))))

    return one


def _zstandard() -> Target:
    from porter.parse import archive

    return lambda data: archive.look(b"\x28\xb5\x2f\xfd" + data, lambda _: True, lambda *_: None)


FORMATS: dict[str, Callable[[], Target]] = {
    "elf": lambda: _compiled(b"\x7fELF\x02\x01\x01"), "elf-32": lambda: _compiled(b"\x7fELF\x01\x02\x01"), "pe": _pe,
    "fatbin": lambda: _compiled(b"\x50\xed\x55\xba"), "ar": lambda: _compiled(b"!<arch>\n"), "safetensors": _safetensors,
    "archive": _archive, "tar": _tar_blocks, "zstandard": _zstandard,
}  # fmt: skip
