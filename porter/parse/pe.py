"""Libraries that a Windows DLL or program imports (PE format, Microsoft's specification, import directory and delay imports)."""

from __future__ import annotations

import re
import struct

MAX_IMPORTS = 1_000
MAX_SECTIONS = 96
MAX_NAME = 256
_TABLES = ((1, 20, 12), (13, 32, 4))  # data directory, size of an entry, where the address of the name stands in it
_NAME = re.compile(rb"[\w.+-]{1,250}\Z")


def imported_libraries(data: bytes) -> list[str]:
    """File names of the imported libraries as written, in order; empty for anything that is no whole PE file."""
    try:
        return list(dict.fromkeys(_imports(data)))
    except struct.error:
        return []


def _imports(data: bytes) -> list[str]:
    if data[:2] != b"MZ":
        return []
    at = struct.unpack_from("<I", data, 0x3C)[0]
    if data[at : at + 4] != b"PE\0\0":
        return []
    count, optional_size = struct.unpack_from("<H", data, at + 6)[0], struct.unpack_from("<H", data, at + 20)[0]
    optional = at + 24
    wide = struct.unpack_from("<H", data, optional)[0] == 0x20B
    directories = optional + (112 if wide else 96)
    held = struct.unpack_from("<I", data, directories - 4)[0]
    sections = [
        struct.unpack_from("<IIII", data, optional + optional_size + 40 * index + 8) for index in range(min(count, MAX_SECTIONS))
    ]  # virtual size, virtual address, raw size, raw offset
    found: list[str] = []
    for directory, size, name_at in _TABLES:
        if directory < held:
            table = _offset(struct.unpack_from("<I", data, directories + 8 * directory)[0], sections)
            found += _names(data, table, size, name_at, sections)
    return found


def _offset(address: int, sections: list[tuple[int, ...]]) -> int:
    """Where in the file an address of the loaded image stands; -1 for none."""
    for size, start, raw_size, raw in sections:
        if address and start <= address < start + max(size, raw_size):
            return address - start + raw
    return -1


def _names(data: bytes, table: int, size: int, name_at: int, sections: list[tuple[int, ...]]) -> list[str]:
    found: list[str] = []
    for index in range(MAX_IMPORTS if table >= 0 else 0):
        entry = table + index * size
        if entry + size > len(data) or not any(data[entry : entry + size]):
            break
        at = _offset(struct.unpack_from("<I", data, entry + name_at)[0], sections)
        name = data[at : at + MAX_NAME].split(b"\0", 1)[0] if at >= 0 else b""
        if _NAME.match(name):
            found.append(name.decode("ascii"))
    return found
