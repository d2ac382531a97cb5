"""Why a line is not in the build for AMD: a port, NVIDIA's macros, or nobody."""

from __future__ import annotations

import pytest

from porter import rules, unread
from porter.config import Config
from porter.detect import Matcher, detect, load_detectors
from porter.link import link
from porter.model import Hit, Live, SourceFile
from porter.parse import cuda

RULES = rules.load()
MATCHER = Matcher(RULES)
DETECTORS = tuple(one for one in load_detectors(RULES) if one.name in ("inline_ptx", "cuda_arch"))
NAP = '  asm volatile("nanosleep.u32 %0;" ::"r"(64));'


def _hits(*lines: str) -> list[Hit]:
    parsed = cuda.parse(SourceFile("k.cu", "cuda", "\n".join(lines).encode()))
    hits, problems = detect(parsed, link([]), Config(), MATCHER, DETECTORS)
    assert problems == []
    return unread.explained(parsed, hits)


def _dead(*lines: str) -> Hit:
    (hit,) = [hit for hit in _hits(*lines) if hit.rule.startswith("inline-ptx")]
    assert hit.live is Live.NO
    return hit


@pytest.mark.parametrize("condition", ["#ifndef USE_ROCM", "#if !defined(__HIP_PLATFORM_AMD__) && __CUDA_ARCH__ >= 700", "#ifdef USE_ROCM"])
def test_a_port_needs_no_other_words(condition: str) -> None:
    body = [condition, "  wait();", "#else", NAP, "#endif"] if condition == "#ifdef USE_ROCM" else [condition, NAP, "#endif"]
    assert _dead("__device__ void f() {", *body, "}").unread == ""


def test_code_under_an_architecture_was_not_ported_by_anyone() -> None:
    words = _dead("__global__ void f(int* p) {", "#if __CUDA_ARCH__ >= 700", NAP, "  p[0] = 1;", "#endif", "}").unread
    assert words == (
        "Not compiled for AMD, since __CUDA_ARCH__ is not defined there; see the finding on the condition in line 2; nobody ported it"
    )


def test_without_a_finding_on_the_condition_only_its_line_is_named() -> None:
    words = _dead("__device__ void f() {", "  work();", "#if __CUDA_ARCH__ >= 700", NAP, "#else", "  work();", "#endif", "}").unread
    assert words.startswith("Not compiled for AMD, since __CUDA_ARCH__ is not defined there")


def test_macros_that_follow_from_nvidias_are_told() -> None:
    words = _dead("#if __CUDA_ARCH__ >= 700", "#define HAS_NAP", "#endif", "__device__ void f() {", "#ifdef HAS_NAP", NAP, "#endif", "}")
    assert words.unread == (
        "Not compiled for AMD, since HAS_NAP is defined only where NVIDIA's macros are (condition in line 5); nobody ported it"
    )


@pytest.mark.parametrize("lines", [("#if 0", NAP, "#endif"), ("#if 1", "  work();", "#else", NAP, "#endif")])
def test_code_switched_off_is_no_port(lines: tuple[str, ...]) -> None:
    assert _dead("__device__ void f() {", *lines, "}").unread == "Switched off in the source (line 2)"


def test_live_code_and_ports_around_it_have_no_words() -> None:
    assert all(hit.unread == "" for hit in _hits("__device__ void f() {", NAP, "}") if hit.rule.startswith("inline-ptx"))
    nested = _dead("#ifndef USE_ROCM", "__device__ void f() {", "#if __CUDA_ARCH__ >= 700", NAP, "#endif", "}", "#endif")
    assert nested.unread == ""
