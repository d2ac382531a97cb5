"""The guards before a real preprocessor: every line that libclang skips is dead here, and every line it reads is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from porter import link
from porter.model import Live, SourceFile
from porter.parse import clang, cuda
from porter.parse.guards import guards_of

ROOT = Path(__file__).parent.parent / "fixtures"
FILES = sorted(p for p in ROOT.rglob("*") if p.suffix in (".cu", ".cuh") and b"#if" in p.read_bytes())
CODE = b"""
#ifndef COMPAT_H
#define COMPAT_H
#ifdef USE_ROCM
  #define LANES 64
  #define SHFL(v) __shfl(v, 0)
#elif defined(__CUDA_ARCH__)
  #define LANES 32
#else
  #define LANES 32
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && !defined(USE_ROCM)
int a;
#elif LANES * 2 == 128 && (defined(SHFL) || 0)
int b;
#else
int c;
#endif
#if (LANES >> 5) % 2 == 0 ? 1 : 0
int d;
#endif
#undef LANES
#ifdef LANES
int e;
#endif
#endif
"""


def check(data: bytes) -> int:
    device, host = clang.skipped(data, clang.AMD_DEVICE), clang.skipped(data, clang.AMD_HOST)
    assert device is not None
    assert host is not None
    guards = guards_of(data, "a.cu")
    decided = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        live = guards.at(number)
        if line.lstrip()[:1] == b"#" or live is Live.UNKNOWN:
            continue
        decided += 1
        assert (live is Live.NO) == (number in device and number in host), (number, line)
    return decided


needs_clang = pytest.mark.skipif(clang.library() is None, reason="libclang does not load on this machine")


@needs_clang
def test_guards_agree_on_every_decided_line() -> None:
    assert check(CODE) >= 6


@needs_clang
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_guards_agree_on_fixtures(path: Path) -> None:
    assert check(path.read_bytes()) > 0


@needs_clang
def test_folding_agrees_with_the_compiler() -> None:
    text = b"constexpr int A = (1 << 5) | 3; enum E { X = 7, Y, Z = Y * A };\nconst int C = 17 % 5 - 4 / 3;"
    theirs = clang.constants(text)
    index = link.link([link.survey(cuda.parse(SourceFile("a.cu", "cuda", text)))])
    assert theirs is not None
    ours = {name: index.constant(name, "a.cu") for name in ("A", "X", "Y", "Z", "C")}
    assert ours == {name: theirs[name] for name in ours}


def test_no_answer_without_libclang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clang, "library", lambda: None)
    assert clang.skipped(b"#if 0\n#endif\n") is None
    assert clang.constants(b"const int a = 1;") is None


def test_no_answer_for_a_file_that_is_too_large() -> None:
    assert clang.skipped(b" " * (clang.MAX_BYTES + 1)) is None


def test_libclang_is_there_where_all_tools_must_be() -> None:
    assert clang.library() is not None or not os.environ.get("PORTER_REQUIRE_TOOLS")
