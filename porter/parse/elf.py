"""Names in an ELF file (ELF specification, gABI 4.1 chapters 4 and 5): needed libraries and sections, every offset checked."""

from __future__ import annotations

import struct
from dataclasses import dataclass

MAX_ENTRIES = 4_096
MAX_NAME = 256
_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_STRTAB = 1, 5


@dataclass(frozen=True)
class _Header:
    wide: bool
    order: str
    segments: int
    segment_size: int
    segment_count: int
    sections: int
    section_size: int
    section_count: int
    names_index: int


def _header(data: bytes) -> _Header | None:
    if len(data) < 52 or data[:4] != b"\x7fELF" or data[4] not in (1, 2) or data[5] not in (1, 2):
        return None
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    try:
        layout = order + ("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH")
        fields = struct.unpack_from(layout, data, 16)
    except struct.error:
        return None
    segments, sections, segment_size, segment_count, section_size, section_count, names_index = fields[4:6] + fields[8:13]
    segment_count, section_count = min(segment_count, MAX_ENTRIES), min(section_count, MAX_ENTRIES)
    return _Header(wide, order, segments, segment_size, segment_count, sections, section_size, section_count, names_index)


def needed_libraries(data: bytes) -> list[str]:
    """Names of the shared libraries that the dynamic section asks for; empty for a static or broken file."""
    head = _header(data)
    if head is None:
        return []
    loads: list[tuple[int, int, int]] = []
    dynamic = (0, 0)
    for index in range(head.segment_count):
        fields = _unpack(data, head, head.segments + index * head.segment_size, "IIQQQQQQ" if head.wide else "IIIIIIII")
        if fields is None:
            break
        kind = fields[0]
        offset, address, size = (fields[2], fields[3], fields[5]) if head.wide else (fields[1], fields[2], fields[4])
        if kind == _PT_LOAD:
            loads.append((address, offset, size))
        elif kind == _PT_DYNAMIC:
            dynamic = (offset, size)
    return _needed(data, head, dynamic, loads)


def _needed(data: bytes, head: _Header, dynamic: tuple[int, int], loads: list[tuple[int, int, int]]) -> list[str]:
    step = 16 if head.wide else 8
    offsets: list[int] = []
    table = -1
    for index in range(min(dynamic[1] // step, MAX_ENTRIES)):
        entry = _unpack(data, head, dynamic[0] + index * step, "qQ" if head.wide else "iI")
        if entry is None or entry[0] == 0:
            break
        if entry[0] == _DT_NEEDED:
            offsets.append(entry[1])
        elif entry[0] == _DT_STRTAB:
            table = next((offset + entry[1] - address for address, offset, size in loads if address <= entry[1] < address + size), entry[1])
    return [name for name in (_text(data, table + offset) for offset in offsets) if name] if table >= 0 else []


def section_names(data: bytes) -> list[str]:
    """Names of the sections; empty for a stripped or broken section table."""
    head = _header(data)
    if head is None or head.names_index >= head.section_count:
        return []
    layout = "IIQQQQIIQQ" if head.wide else "IIIIIIIIII"
    table = _unpack(data, head, head.sections + head.names_index * head.section_size, layout)
    if table is None:
        return []
    names = []
    for index in range(head.section_count):
        fields = _unpack(data, head, head.sections + index * head.section_size, layout)
        if fields is None:
            break
        name = _text(data, table[4] + fields[0])
        if name:
            names.append(name)
    return names


def _unpack(data: bytes, head: _Header, offset: int, layout: str) -> tuple[int, ...] | None:
    try:
        return struct.unpack_from(head.order + layout, data, offset) if 0 <= offset < len(data) else None
    except struct.error:
        return None


def _text(data: bytes, offset: int) -> str:
    if not 0 <= offset < len(data):
        return ""
    raw = data[offset : offset + MAX_NAME].split(b"\0", 1)[0]
    return raw.decode("ascii", "replace") if raw and all(32 <= byte < 127 for byte in raw) else ""
