"""The compatibility header: one source for both vendors, with the CUDA names that a project uses and no others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from porter.errors import InputError
from porter.hipify import Options, api, convert, gets_runtime_unasked
from porter.hipify.choices import Choices, choices
from porter.hipify.live import live_lines
from porter.hipify_command import cuda_sources
from porter.parse.guards import guards_of

RUNTIME = ("hip/hip_runtime.h", "cuda_runtime.h")
# Libraries whose headers a file may go without, because they are often not installed where the rest is.
_OPTIONAL = ("blas", "dnn", "fft", "rand", "solver", "sparse", "sparselt", "tensor", "cub", "rtc", "file", "comm", "complex")
_NEVER = ("__CUDACC__",)  # compilers and libraries decide by it
_MOST_PLACES = 3
_LAUNCH = "<<<>>>"

# Functions whose HIP twin is called with other arguments, as functions of their own.
_POINTER_FIRST = """\
template <class Kernel, class... Rest>
inline hipError_t {0}(Kernel* kernel, Rest... rest) {{
  return {1}(reinterpret_cast<const void*>(kernel), rest...);
}}"""
_WRAPPED = {
    "cudaFuncSetCacheConfig": _POINTER_FIRST,
    "cudaFuncSetSharedMemConfig": _POINTER_FIRST,
    "cudaFuncSetAttribute": _POINTER_FIRST,
    "cudaLaunchKernel": _POINTER_FIRST,
    "cudaLaunchCooperativeKernel": _POINTER_FIRST,
    "cudaFuncGetAttributes": """\
template <class Kernel>
inline hipError_t {0}(hipFuncAttributes* attributes, Kernel* kernel) {{
  return {1}(attributes, reinterpret_cast<const void*>(kernel));
}}""",
    "cudaEventCreate": """\
inline hipError_t {0}(hipEvent_t* event) {{ return {1}(event); }}
inline hipError_t {0}(hipEvent_t* event, unsigned flags) {{ return hipEventCreateWithFlags(event, flags); }}""",
    "cudaGraphInstantiate": """\
inline hipError_t {0}(hipGraphExec_t* exec, hipGraph_t graph, unsigned long long flags = 0) {{
  return hipGraphInstantiateWithFlags(exec, graph, flags);
}}
inline hipError_t {0}(hipGraphExec_t* exec, hipGraph_t graph, hipGraphNode_t* node, char* log, size_t size) {{
  return {1}(exec, graph, node, log, size);
}}""",
}
# What C++ callers need not see: HIP's own overloads take a symbol as it is, and the flag has a default.
_SAME_CALL = frozenset(("symbol",))
_DEFAULTED = frozenset(("cudaMallocHost",))

_TOP = """\
// CUDA and HIP from one source: {count} of CUDA's names, which is what this project uses, for ROCm {rocm} (HIP {hip}).
// Made by porter shim {version}; make it again when the project uses more names.
//
// Include this file in place of {headers}.
// Compile it with nvcc as before, and with a HIP compiler as HIP (clang++ -x hip, hipcc, CMake's LANGUAGE HIP).
// Launches keep <<<>>>. A test for __CUDACC__ that means "a GPU compiler" becomes CUDA_HIP_COMPILER.
#pragma once

#if defined(__HIP__) || defined(__HIPCC__) || defined(__HIP_PLATFORM_AMD__)
#define CUDA_HIP_AMD 1
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#endif

#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__HIP__)
#define CUDA_HIP_COMPILER 1
#endif
"""
_WAVE = """\
#ifndef CUDA_HIP_WAVE  // another header of this kind may have brought it
#define CUDA_HIP_WAVE 1
namespace cuda_hip {

#ifdef CUDA_HIP_AMD
// One bit for every lane; HIP asks for 64 bits on wavefronts of 32 lanes too.
using lane_mask = unsigned long long;
#else
using lane_mask = unsigned int;
#endif
constexpr lane_mask all_lanes = ~lane_mask(0);

// Lanes of a wavefront or warp, for device code only: one program can hold code for several GPUs, so the host must ask.
#if defined(CUDA_HIP_AMD) && defined(__HIP_DEVICE_COMPILE__) && !defined(__GFX8__) && !defined(__GFX9__)
constexpr int device_wave_size = 32;
#elif defined(CUDA_HIP_AMD)
constexpr int device_wave_size = 64;
#else
constexpr int device_wave_size = 32;
#endif

// Lanes of a wavefront or warp of a device, for host code; 0 when the runtime does not say.
inline int wave_size(int device) {
  int lanes = 0;
#ifdef CUDA_HIP_AMD
  return hipDeviceGetAttribute(&lanes, hipDeviceAttributeWarpSize, device) == hipSuccess ? lanes : 0;
#else
  return cudaDeviceGetAttribute(&lanes, cudaDevAttrWarpSize, device) == cudaSuccess ? lanes : 0;
#endif
}

}  // namespace cuda_hip
#endif  // CUDA_HIP_WAVE
"""


class Shim(msgspec.Struct, frozen=True):
    """The header's text, how many names it holds, the names it cannot hold with their places, and files that were not read."""

    text: str
    names: int
    left: dict[str, tuple[str, ...]]
    passed_over: tuple[str, ...] = ()


class _Used(msgspec.Struct):
    """What the sources use: converted names and headers, and names left with the places where they stand."""

    names: Counter[str]
    left: dict[str, list[str]]
    headers: list[str]
    passed_over: list[str]


def make(root: Path, rocm: str = "", version: str = "") -> Shim:
    """The header for a folder; raises InputError for a missing folder, ConfigError for an unknown ROCm version."""
    if not root.is_dir():
        raise InputError(f"{root}: no such folder")
    chosen = choices(Options(rocm=rocm))
    used = _used(root, rocm)
    names = sorted(name for name in used.names if name.encode() in chosen.names and name not in _NEVER)
    by_hand = [name for name in names if name not in _WRAPPED and not _same_call(name)]
    kept = [name for name in names if name not in by_hand]
    for name in by_hand:
        used.left.setdefault(name, []).append(f"{chosen.names[name.encode()].target.decode()} takes other arguments")
    left = {name: tuple(places) for name, places in sorted(used.left.items())}
    return Shim(_text(kept, chosen, used, left, rocm, version), len(kept), left, tuple(used.passed_over))


def _used(root: Path, rocm: str) -> _Used:
    used = _Used(Counter(), {}, [], [])
    for path, data in cuda_sources(root, used.passed_over):
        options = Options(rocm=rocm, runtime_is_implicit=gets_runtime_unasked(path))
        done = convert(data, options, live_lines(guards_of(data, path)))
        used.names.update(done.converted)
        for item in done.left:
            used.left.setdefault(item.name, []).append(f"{path}:{item.span.line}")
    headers = choices(Options(rocm=rocm)).headers
    used.headers = sorted(name for name in used.names if name.encode() in headers)
    return used


def _same_call(name: str) -> bool:
    """Whether C++ can call HIP's function with the arguments of CUDA's."""
    rows = [row for row in api.argument_edits().get(name, ()) if row.names == "hip"]
    return name in _DEFAULTED or all(row.edit in _SAME_CALL for row in rows)


def _text(names: list[str], chosen: Choices, used: _Used, left: dict[str, tuple[str, ...]], rocm: str, version: str) -> str:
    hip = ".".join(map(str, chosen.hip))
    release = rocm or list(api.rocm_versions())[-1]
    listed = ", ".join(f"<{header}>" for header in used.headers) or f"<{RUNTIME[1]}>"
    parts = [_TOP.format(count=len(names), rocm=release, hip=hip, version=version, headers=listed)]
    parts.append("#ifdef CUDA_HIP_AMD\n")
    parts += _section(used.headers, names, chosen, amd=True)
    parts.append("#else  // NVIDIA\n")
    parts += _section(used.headers, names, chosen, amd=False)
    parts.append("#endif  // CUDA_HIP_AMD\n")
    parts.append(_WAVE)
    if left:
        parts.append("// Used by this project and not in this header, because HIP has no such name or calls it otherwise:\n" + _left(left))
    return "\n".join(parts)


def _section(headers: list[str], names: list[str], chosen: Choices, amd: bool) -> list[str]:
    """The includes of one vendor, and AMD's aliases, library by library."""
    out: list[str] = []
    by_library: dict[str, list[str]] = {}
    for name in names:
        by_library.setdefault(chosen.names[name.encode()].api, []).append(name)
    includes: dict[str, list[str]] = {"runtime": [RUNTIME[0] if amd else RUNTIME[1]]}
    for header in headers:
        choice = chosen.headers[header.encode()]
        target = choice.target.decode() if amd else header
        if target:
            includes.setdefault(choice.api, []).append(target)
    order = sorted(includes.keys() | by_library.keys(), key=lambda one: (one in _OPTIONAL, one != "runtime", one))
    for library in order:
        lines = [f"#include <{header}>" for header in dict.fromkeys(includes.get(library, []))]
        lines += [_alias(name, chosen) for name in by_library.get(library, [])] if amd else []
        if lines:
            out.append(_guarded(library, lines))
    return out


def _guarded(library: str, lines: list[str]) -> str:
    body = "\n".join(lines)
    if library not in _OPTIONAL:
        return f"// {api.LIBRARIES.get(library, library)}\n{body}\n"
    switch = f"CUDA_HIP_NO_{library.upper()}"
    return f"#ifndef {switch}  // {api.LIBRARIES.get(library, library)}\n{body}\n#endif\n"


def _alias(name: str, chosen: Choices) -> str:
    choice = chosen.names[name.encode()]
    target = choice.target.decode()
    if name in _WRAPPED:
        body = _WRAPPED[name].format(name, target)
        return f"#ifndef CUDA_HIP_{name}\n#define CUDA_HIP_{name} 1\n{body}\n#endif"
    if choice.kind == "namespace":
        return f"namespace {name} = {target};"
    return f"#define {name} {target}"


def _left(left: dict[str, tuple[str, ...]]) -> str:
    lines = []
    for name, places in left.items():
        more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
        lines.append(f"//   {name}: {', '.join(_plain(place) for place in places[:_MOST_PLACES])}{more}")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """A path that can stand in a comment: nothing that ends or continues a line."""
    return "".join(char if char.isprintable() and char not in "\\?" else "_" for char in text)
