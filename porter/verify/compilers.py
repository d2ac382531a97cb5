"""Compilers: finds what on this machine can compile HIP, with which headers, and how each is called for a GPU target."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from porter import programs
from porter.hipify import api

LEAST_CLANG = 17
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HIP_PLATFORM": "amd"}
_CLANG_VERSION = re.compile(r"clang version (\d+)(?:\.\d+)*")
_MACRO = re.compile(r"^#define HIP_VERSION_(MAJOR|MINOR)\s+(\d+)", re.MULTILINE)
_COMMON = (
    "-w", "-ferror-limit=200", "-fno-caret-diagnostics", "-fno-color-diagnostics", "-fdiagnostics-show-category=name",
    "-fno-crash-diagnostics", "-ftemplate-backtrace-limit=0", "-H",
)  # fmt: skip


class Headers(msgspec.Struct, frozen=True):
    """A folder with HIP's headers and the HIP version that they say they are."""

    folder: str
    version: str


class Compiler(msgspec.Struct, frozen=True):
    """A compiler for HIP: its program, what it calls itself, and where its headers are.

    ``kind`` is rocm (amdclang++ or hipcc with ROCm's device library, so that device code is linked too) or clang (any clang
    with HIP's headers and no device library). ``runtime`` is the folder with the HIP runtime library that belongs to the
    headers, empty where there is none.
    """

    name: str
    program: str
    version: str
    kind: str
    headers: Headers
    runtime: str = ""

    @property
    def can_link(self) -> bool:
        """Whether whole programs can be linked: a device library, and a runtime library of the same HIP."""
        return self.kind == "rocm" and bool(self.runtime)

    @property
    def is_script(self) -> bool:
        """Whether the program hands its arguments to a shell."""
        return Path(self.program).name.startswith("hipcc")

    def link(self, target: str, output: str) -> list[str]:
        """The call that makes host and device code and links both into a library; what no library defines is a warning."""
        call = [self.program, "-x", "hip", f"--offload-arch={target}", *_COMMON, "-D__HIP_PLATFORM_AMD__=1", "-fPIC", "-shared"]
        # Undefined names are told as warnings, because those of other libraries and files are for their own link to find.
        return [*call, f"-L{self.runtime}", "-lamdhip64", "-Wl,-z,defs", "-Wl,--warn-unresolved-symbols", "-Wl,--no-demangle", "-o", output]

    def command(self, target: str, output: str) -> list[str]:
        """The call without defines, include paths and source; device code only, because that also checks the host's."""
        call = [self.program, "-x", "hip", f"--offload-arch={target}", "--cuda-device-only", *_COMMON, "-D__HIP_PLATFORM_AMD__=1"]
        if self.kind == "rocm":
            return [*call, "-c", "-o", output]
        # Naming a folder that is searched anyway would put it before the C++ library's, which must come first.
        headers = [] if self.headers.folder == "/usr/include" else ["-isystem", self.headers.folder]
        # The wrapper is clang's own; naming it spares the search for a ROCm installation that is not there.
        return [*call, "-nogpulib", "-nogpuinc", "-include", "__clang_hip_runtime_wrapper.h", *headers, "-S", "-o", output]


def search_path(environment: Mapping[str, str]) -> list[Path]:
    """Folders that programs are looked for in: PATH, then ROCM_PATH and the places where ROCm installs, newest first."""
    folders = programs.folders(environment.get("PATH", ""))
    for root in rocm_roots(environment):
        folders += [root / "bin", root / "lib" / "llvm" / "bin", root / "llvm" / "bin"]
    return folders


def rocm_roots(environment: Mapping[str, str]) -> list[Path]:
    """Folders that may hold a ROCm installation."""
    return programs.rocm_roots(environment.get("ROCM_PATH", ""))


def find_program(name: str, environment: Mapping[str, str]) -> Path | None:
    """The first program of that name; None for none."""
    for folder in search_path(environment):
        candidate = folder / name
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    return None


@functools.lru_cache(maxsize=64)
def version_text(program: Path, option: str = "--version") -> str:
    """What a program prints of its version; empty when it does not answer in time."""
    try:
        done = subprocess.run(
            [str(program), option], capture_output=True, timeout=20, env=_ENVIRONMENT, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + done.stderr).decode("utf-8", "replace")[:4000]


def clang_version(program: Path) -> int:
    """Major version of a clang; 0 when it does not say."""
    match = _CLANG_VERSION.search(version_text(program))
    return int(match[1]) if match else 0


def read_headers(folder: Path) -> Headers | None:
    """The HIP headers below a folder; None where hip/hip_runtime.h or its version is missing."""
    try:
        text = (folder / "hip" / "hip_version.h").read_text(encoding="utf-8", errors="replace")[:20000]
    except OSError:
        return None
    parts = dict(_MACRO.findall(text))
    if not (folder / "hip" / "hip_runtime.h").is_file() or len(parts) < 2:
        return None
    return Headers(str(folder), f"{parts['MAJOR']}.{parts['MINOR']}")


def find_headers(explicit: str, environment: Mapping[str, str]) -> Headers | None:
    """HIP headers: ``explicit`` (--hip-include), PORTER_HIP_INCLUDE, ROCm's folders, /usr/include."""
    for given in (explicit, environment.get("PORTER_HIP_INCLUDE", "")):
        if given:
            return read_headers(Path(given).resolve())
    folders = [root / "include" for root in rocm_roots(environment)] + [Path("/usr/include")]
    return next(filter(None, map(read_headers, folders)), None)


def find_clang(environment: Mapping[str, str]) -> Path | None:
    """The newest clang++ on the search path that is at least version 17."""
    names = [f"clang++-{number}" for number in range(40, LEAST_CLANG - 1, -1)]
    found = [path for path in (find_program(name, environment) for name in ("clang++", *names)) if path is not None]
    good = [path for path in found if clang_version(path) >= LEAST_CLANG]
    return max(good, key=clang_version, default=None)


def find_all(hip_include: str, environment: Mapping[str, str]) -> list[Compiler]:
    """Every usable compiler, the one that proves most first: ROCm's own, a clang with given headers, a distribution's hipcc."""
    out: list[Compiler] = []
    headers = find_headers(hip_include, environment)
    root = next((root for root in rocm_roots(environment) if read_headers(root / "include") is not None), None)
    rocm = read_headers(root / "include") if root else None
    if root is not None and rocm is not None and not hip_include:
        for name in ("amdclang++", "hipcc"):
            program = find_program(name, environment)
            if program is not None:
                runtime = find_runtime(rocm.version, (root / "lib", root / "lib64"))
                out.append(Compiler(name, str(program), str(clang_version(program) or ""), "rocm", rocm, runtime))
    clang = find_clang(environment)
    if clang is not None and headers is not None:
        out.append(Compiler(f"clang {clang_version(clang)}", str(clang), str(clang_version(clang)), "clang", headers))
    distribution = read_headers(Path("/usr/include"))
    hipcc = find_program("hipcc", environment)
    if rocm is None and hipcc is not None and distribution is not None and not hip_include:
        runtime = find_runtime(distribution.version, (*sorted(Path("/usr/lib").glob("*-linux-gnu")), Path("/usr/lib64")))
        own = Compiler("hipcc", str(hipcc), distribution.version, "rocm", distribution, runtime)
        # With the same headers the distribution's own compiler proves more, because it has the libraries.
        out.insert(0 if headers == distribution else len(out), own)
    return out


def find_runtime(hip: str, folders: Iterable[Path]) -> str:
    """The folder with libamdhip64 of a HIP version; the library's number is the major version of HIP since 4."""
    major = hip.partition(".")[0]
    return next((str(folder) for folder in folders if (folder / f"libamdhip64.so.{major}").exists()), "")


def rocm_of(hip: str) -> str:
    """The oldest ROCm release with this HIP version, or the newest with an older one; both as in the table of versions."""
    known = api.rocm_versions()
    exact = [rocm for rocm, version in known.items() if version == hip]
    older = [rocm for rocm, version in known.items() if api.version(version) <= api.version(hip)]
    return exact[0] if exact else older[-1] if older else next(iter(known))
