"""A second opinion from libclang: which lines its preprocessor skips and what constants are worth, with our own stub header.

No part of a scan: the tests hold the guards and the folded constants against it line by line, and where both agree it could
confirm nothing that is not known already. ``porter verify`` parses with it where there is no compiler for HIP. Everything here
answers None where libclang is missing or the file is too large; no answer is no statement.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

MAX_BYTES = 1 << 20  # libclang cannot be interrupted; a file of this size takes it well under a second
STUBS = Path(__file__).parent / "stubs"
AMD_DEVICE = ("__HIP__=1", "__HIPCC__=1", "__CUDACC__=1", "__HIP_PLATFORM_AMD__=1", "__HIP_DEVICE_COMPILE__=1", "USE_ROCM=1")
AMD_HOST = ("__HIP__=1", "__HIPCC__=1", "__CUDACC__=1", "__HIP_PLATFORM_AMD__=1", "USE_ROCM=1")
_RECORD, _INCOMPLETE, _KEEP_GOING = 0x01, 0x02, 0x200
_EVALUATES_TO_INT = 1


@cache
def library() -> Any:
    """The clang.cindex module with a working library, or None."""
    try:
        from clang import cindex

        lib = cindex.conf.lib
        fields = {"_fields_": [("count", ctypes.c_uint), ("ranges", ctypes.POINTER(cindex.SourceRange))]}
        ranges: Any = ctypes.POINTER(type("SourceRangeList", (ctypes.Structure,), fields))
        lib.clang_getAllSkippedRanges.argtypes = [cindex.TranslationUnit]
        lib.clang_getAllSkippedRanges.restype = ranges
        lib.clang_disposeSourceRangeList.argtypes = [ranges]
        lib.clang_Cursor_Evaluate.argtypes = [cindex.Cursor]
        lib.clang_Cursor_Evaluate.restype = ctypes.c_void_p
        lib.clang_EvalResult_getKind.argtypes = [ctypes.c_void_p]
        lib.clang_EvalResult_getAsLongLong.argtypes = [ctypes.c_void_p]
        lib.clang_EvalResult_getAsLongLong.restype = ctypes.c_longlong
        lib.clang_EvalResult_dispose.argtypes = [ctypes.c_void_p]
    except (ImportError, OSError, AttributeError, RuntimeError):  # the wheel is missing, or its library does not load on this machine
        return None
    return cindex


def _unit(data: bytes, defines: tuple[str, ...]) -> Any:
    cindex = library()
    if cindex is None or len(data) > MAX_BYTES:
        return None
    name = "porter_unit.cpp"
    stub = str(STUBS / "cuda_language.h")
    options = ["-x", "c++", "-std=c++17", "-nostdinc", "-nostdinc++", "-w", "-fbracket-depth=512", "-include", stub]
    options += [f"-D{define}" for define in defines]
    try:
        text = data.decode("utf-8", "replace")
        return cindex.Index.create().parse(name, options, [(name, text)], _RECORD | _INCOMPLETE | _KEEP_GOING)
    except cindex.TranslationUnitLoadError:
        return None


def skipped(data: bytes, defines: tuple[str, ...] = AMD_DEVICE) -> frozenset[int] | None:
    """The lines (from 1) that the preprocessor skips under the given macros."""
    unit = _unit(data, defines)
    if unit is None:
        return None
    lib = library().conf.lib
    found: set[int] = set()
    listed = lib.clang_getAllSkippedRanges(unit)
    try:
        for number in range(listed.contents.count):
            stretch = listed.contents.ranges[number]
            if stretch.start.file is not None and stretch.start.file.name == "porter_unit.cpp":
                found.update(range(stretch.start.line + 1, stretch.end.line))
    finally:
        lib.clang_disposeSourceRangeList(listed)
    return frozenset(found)


def constants(data: bytes, defines: tuple[str, ...] = AMD_DEVICE) -> dict[str, int] | None:
    """Integer constants and enumerators outside functions, with the values that the compiler's own folding gives."""
    unit = _unit(data, defines)
    if unit is None:
        return None
    cindex = library()
    found: dict[str, int] = {}
    stack = [unit.cursor]
    while stack:
        cursor = stack.pop()
        for child in cursor.get_children():
            kind = child.kind
            if kind in (cindex.CursorKind.NAMESPACE, cindex.CursorKind.STRUCT_DECL, cindex.CursorKind.ENUM_DECL):
                stack.append(child)
            elif child.location.file is None or child.location.file.name != "porter_unit.cpp":
                continue
            elif kind == cindex.CursorKind.ENUM_CONSTANT_DECL:
                found[child.spelling] = child.enum_value
            elif kind == cindex.CursorKind.VAR_DECL and child.type.is_const_qualified():
                value = _evaluated(cindex.conf.lib, child)
                if value is not None:
                    found[child.spelling] = value
    return found


def _evaluated(lib: Any, cursor: Any) -> int | None:
    result = lib.clang_Cursor_Evaluate(cursor)
    if not result:
        return None
    try:
        return int(lib.clang_EvalResult_getAsLongLong(result)) if lib.clang_EvalResult_getKind(result) == _EVALUATES_TO_INT else None
    finally:
        lib.clang_EvalResult_dispose(result)
