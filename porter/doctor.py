"""Doctor: which tools of this machine can add to a report, what each would add, and how to get the ones that are missing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from porter.hipify import clang, perl
from porter.verify import compilers

FORMAT = "porter.doctor/1"
_NUMBER = re.compile(r"\d+(?:\.\d+)+|\d+")
# ROCm 7.14 and later are packaged as amdrocm and amdrocm-COMPONENT; up to 7.2 every tool has a package of its own.
# https://rocm.docs.amd.com/en/docs-10.0.0/about/transition-guide-TheRock.html, checked 2026-12-01.
_AMDROCM = "package amdrocm of AMD's repository (ROCm 7.14 and later)"


_LINKS = "porter verify up to the rung links, with libamdhip64 of the same HIP"


class Tool(msgspec.Struct, frozen=True):
    """One tool: where it was found (empty for not), its version, what it adds to a report, and how to get it."""

    name: str
    found: str
    version: str
    adds: str
    get: str
    note: str = ""


def examine(environment: Mapping[str, str], hip_include: str = "", hipify_path: str = "") -> tuple[Tool, ...]:
    """What is there, in the order in which it matters. ``environment`` gives PATH, ROCM_PATH, PORTER_HIPIFY, PORTER_HIP_INCLUDE."""
    search = (hipify_path, environment.get("PORTER_HIPIFY", ""), environment.get("PATH", ""), environment.get("ROCM_PATH", ""))
    return (
        _hipify_perl(perl.find(*search)),
        _hipify_clang(clang.find("", "", *search[2:])),
        _program(
            "hipcc", compilers.find_program("hipcc", environment), f"{_LINKS}, for the targets that it knows",
            f"{_AMDROCM}; hipcc up to 7.2, and in Debian; hipcc-rocm in Ubuntu 26.04",
        ),
        _program(
            "amdclang++", compilers.find_program("amdclang++", environment), f"{_LINKS}, for every target",
            f"{_AMDROCM}; rocm-llvm up to 7.2",
        ),
        _clang(environment),
        _headers(environment, hip_include),
        _program("git", compilers.find_program("git", environment), "the commit in the report, and --baseline REV", "package git"),
        _program("ripgrep", compilers.find_program("rg", environment), "nothing: porter has a search of its own", "package ripgrep"),
    )  # fmt: skip


def _hipify_perl(path: Path | None) -> Tool:
    adds = "a second translation in the scan and in porter hipify --compare: lines where the two disagree want a look"
    get = f"{_AMDROCM}; hipify-clang up to 7.2, which holds it; or the one file bin/hipify-perl of HIPIFY with --hipify PATH"
    return Tool("hipify-perl", str(path or ""), perl.version(path) if path else "", adds, get, "version of HIP" if path else "")


def _hipify_clang(path: Path | None) -> Tool:
    adds = "porter hipify --engine clang: a translation that knows types"
    get = f"{_AMDROCM}; hipify-clang up to 7.2; it needs a CUDA toolkit too"
    return Tool("hipify-clang", str(path or ""), clang.version(path) if path else "", adds, get, "newest HIP that it knows" if path else "")


def _program(name: str, path: Path | None, adds: str, get: str) -> Tool:
    text = compilers.version_text(path) if path else ""
    match = _NUMBER.search(text)
    return Tool(name, str(path or ""), match[0] if match else "", adds, get)


def _clang(environment: Mapping[str, str]) -> Tool:
    path = compilers.find_clang(environment)
    adds = "porter verify up to the rung compiles, for every target, together with HIP's headers"
    older = compilers.find_program("clang++", environment) if path is None else None
    note = f"{older} is version {compilers.clang_version(older)}, too old" if older else ""
    return Tool(
        f"clang {compilers.LEAST_CLANG}+", str(path or ""), str(compilers.clang_version(path)) if path else "", adds,
        "package clang-19 or newer of the distribution, or apt.llvm.org", note,
    )  # fmt: skip


def _headers(environment: Mapping[str, str], hip_include: str) -> Tool:
    headers = compilers.find_headers(hip_include, environment)
    get = f"{_AMDROCM}; hip-dev up to 7.2; libamdhip64-dev of the distribution; or --hip-include DIR or PORTER_HIP_INCLUDE"
    get += ", which may be triton/backends/amd/include of a triton wheel"
    note = "version of HIP; code is translated for it, so newer names count as missing" if headers else ""
    return Tool(
        "HIP headers", headers.folder if headers else "", headers.version if headers else "",
        "porter verify beyond the rung parses", get, note,
    )  # fmt: skip


def report(tools: tuple[Tool, ...]) -> str:
    """The tools as text: what is there, then what is missing and how to get it."""
    lines = []
    for tool in tools:
        mark = "found" if tool.found else "missing"
        lines.append(f"{mark:8}{tool.name:14}{f'{tool.version}  {tool.found}'.strip() if tool.found else ''}".rstrip())
        lines.append(f"{'':8}adds: {tool.adds}")
        if tool.note:
            lines.append(f"{'':8}note: {tool.note}")
        if not tool.found:
            lines.append(f"{'':8}get: {tool.get}")
    missing = [tool.name for tool in tools if not tool.found]
    lines.append("")
    lines.append(f"Without {', '.join(missing)} a scan is the same but for what they add." if missing else "Nothing is missing.")
    return "\n".join(lines) + "\n"


def as_json(tools: tuple[Tool, ...]) -> str:
    """The tools as JSON: {"schema", "tools": [{name, found, version, adds, get, note}]}."""
    return json.dumps({"schema": FORMAT, "tools": msgspec.to_builtins(tools)}, indent=2) + "\n"
