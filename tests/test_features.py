"""Device features and guards: what is found, what is left alone, on small real inputs."""

from __future__ import annotations

import importlib
import time

import pytest

from porter import link
from porter.config import Config
from porter.detectors import changed_signature, float_atomics, folding, places
from porter.detectors.shared_memory import lds_of
from porter.model import Confidence, Hit, SourceFile
from porter.parse import Parsed, cuda

ALL = ("gfx90a", "gfx942", "gfx950")
DETECTORS = (
    "cuda_arch", "dynamic_parallelism", "shared_memory", "launch_bounds", "tuned_constants", "device_macros", "launch_size", "bf16_alias",
)  # fmt: skip


def parse(code: str, name: str = "k.cu") -> Parsed:
    return cuda.parse(SourceFile(name, "cuda", code.encode()))


def hits(code: str, targets: tuple[str, ...] = ALL) -> list[Hit]:
    parsed = parse(code)
    index = link.link([])
    modules = [importlib.import_module(f"porter.detectors.{name}") for name in DETECTORS]
    return [hit for module in modules for hit in module.detect(parsed, index, Config(targets=targets))]


def rules_of(code: str) -> list[tuple[str, int]]:
    return [(hit.rule, hit.span.line) for hit in hits(code)]


GUARDS = [
    ("__device__ void f(int* p) {\n#if __CUDA_ARCH__ >= 800\n  *p = 1;\n#endif\n}", [("cuda-arch-missing-code", 2)]),
    ("__global__ void f(int* p) {\n#if __CUDA_ARCH__ >= 800\n  *p = 1;\n#endif\n}", [("cuda-arch-empty-kernel", 2)]),
    ("__global__ void f(int* p) {\n  int i = 0;\n#if __CUDA_ARCH__ >= 800\n  *p = i;\n#endif\n}", [("cuda-arch-missing-code", 3)]),
    ("__device__ void f(int* p) {\n#if __CUDA_ARCH__ >= 800\n  *p = 1;\n#else\n  __trap();\n#endif\n}", [("cuda-arch-trap", 2)]),
    (
        '__device__ void f(int* p) {\n#if __CUDA_ARCH__ >= 800\n  *p = 1;\n#else\n  printf("no");\n  assert(0);\n#endif\n}',
        [("cuda-arch-trap", 2)],
    ),
    ("__device__ void f(int* p) {\n#if __CUDA_ARCH__ >= 800\n  *p = 1;\n#else\n  *p = 2;\n#endif\n}", [("cuda-arch-fallback", 2)]),
    ("__device__ void f(int* p) {\n#if __CUDA_ARCH__ < 600\n  *p = 1;\n#endif\n}", [("cuda-arch-fallback", 2)]),
    (
        "__host__ __device__ void f(int* p) {\n#ifdef __CUDA_ARCH__\n  atomicAdd(p, 1);\n#else\n  ++*p;\n#endif\n}",
        [("cuda-arch-device-pass", 2)],
    ),
    ("#if CUDA_VERSION < 9000\n#error old\n#endif\n", [("cuda-guard-error", 1)]),
    ("#if CUDA_VERSION >= 11000\n#include <cuda_bf16.h>\n#endif\n", [("cuda-version-missing-code", 1)]),
    ("#if CUDA_VERSION >= 11000\nint a();\n#else\nint b();\n#endif\n", [("cuda-version-fallback", 1)]),
    ("#ifdef __NVCC__\n#define D __device__\n#else\n#define D\n#endif\n", [("qualifier-macro-empty", 1)]),
    ("#if CUDA_VERSION >= 11000\n#define HAS_X 1\n#endif\n", [("cuda-version-fallback", 1)]),
    (
        "__host__ __device__ float f(float x) {\n#ifdef __CUDA_ARCH__\n  return __fdividef(x, 2);\n#else\n  return x / 2;\n#endif\n}",
        [("cuda-arch-host-branch", 2)],
    ),
    # near misses
    ("__device__ void f(int* p) {\n#if __CUDA_ARCH__ >= 800 || defined(USE_ROCM)\n  *p = 1;\n#endif\n}", []),
    ("__device__ void f(int* p) {\n#if __CUDA_ARCH__ >= 800 || defined(__HIP_DEVICE_COMPILE__)\n  *p = 1;\n#endif\n}", []),
    ("__device__ void f(int* p) {\n#ifndef USE_ROCM\n#if __CUDA_ARCH__ >= 800\n  *p = 1;\n#endif\n#endif\n}", []),
    ("__device__ void f(int* p) {\n#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600\n  *p = 1;\n#endif\n}", []),
    ("__device__ void f(int* p) {\n#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600\n  *p = 1;\n#endif\n}", []),
    ("__device__ void f(int* p) {\n  // #if __CUDA_ARCH__ >= 800\n  *p = 1;\n}", []),
    ("__device__ void f(int* p) {\n#if __CUDA_ARCH__ >= 900\n  cudaGridDependencySynchronize();\n#endif\n  *p = 1;\n}", []),
    ("__device__ void f(int* p) {\n#if __CUDA_ARCH__ >= 700\n  static_assert(sizeof(int) == 4);\n#endif\n  *p = 1;\n}", []),
    ("void host(int* p) {\n#if __CUDA_ARCH__ >= 800\n  *p = 1;\n#else\n  *p = 2;\n#endif\n}", []),
    ("#if defined(CUDA_VERSION) && CUDA_VERSION < 9000\n#error old\n#endif\n", []),
    (
        "void w(int* s) {\n#ifdef __CUDACC_VER_MAJOR__\n  wait(s, kDefault);\n#else  // clang\n  wait(s,  kDefault);\n#endif\n}",
        [],
    ),
    ("#if 0\n#if CUDA_VERSION >= 11000\nint a();\n#endif\n#endif\n", []),
    ('const char* s = "#if __CUDA_ARCH__ >= 800";\n', []),
]


@pytest.mark.parametrize(("code", "expected"), GUARDS)
def test_guards(code: str, expected: list[tuple[str, int]]) -> None:
    assert [(rule, line) for rule, line in rules_of(code) if rule.startswith(("cuda-", "device-macro", "qualifier"))] == expected


def test_the_message_says_which_branch_amd_takes() -> None:
    (hit,) = hits("__device__ void f(int* p) {\n#if __CUDA_ARCH__ >= 800\n  *p = 1;\n#else\n  *p = 2;\n#endif\n}")
    assert "#else of line 4" in hit.message and "line 5" in hit.message and "line 3" in hit.message


def test_an_empty_kernel_that_is_launched() -> None:
    code = "__global__ void f(int* p) {\n#if __CUDA_ARCH__ >= 700\n  *p = 1;\n#endif\n}\nvoid h(int* p) { f<<<1, 1>>>(p); }\n"
    (hit,) = hits(code)
    assert hit.rule == "cuda-arch-empty-kernel" and hit.confidence is Confidence.HIGH


def test_an_empty_kernel_that_nobody_launches_is_less_sure() -> None:
    (hit,) = hits("__global__ void f(int* p) {\n#if __CUDA_ARCH__ >= 700\n  *p = 1;\n#endif\n}\n")
    assert hit.confidence is Confidence.MEDIUM


FEATURES = [
    ("__global__ void c();\n__global__ void k() {\n  c<<<1, 1>>>();\n}", [("dynamic-parallelism", 3)]),
    ("__global__ void c();\n__device__ void k() {\n  c<<<1, 1>>>();\n}", [("dynamic-parallelism", 3)]),
    ("__global__ void c();\nvoid k() {\n  c<<<1, 1>>>();\n}", []),
    ("__global__ void c();\nvoid k() {\n  auto f = [] { c<<<1, 1>>>(); };\n  f();\n}", []),
    ("__global__ void k() {\n  cudaDeviceSynchronize();\n}", [("device-runtime-call", 2)]),
    ("void k() {\n  cudaDeviceSynchronize();\n}", []),
    ("__host__ __device__ void k() {\n#ifndef __CUDA_ARCH__\n  cudaDeviceSynchronize();\n#endif\n}", []),
    ("__global__ void __launch_bounds__(256, 2, 1) k() {}", [("launch-bounds-cluster-argument", 1)]),
    ("__global__ void __launch_bounds__(256, 2) k() {}", []),
    ("__global__ void __launch_bounds__(f(1, 2, 3)) k() {}", []),
    ("__global__ void k();\nvoid h() { k<<<1, 1, 96 * 1024>>>(); }", [("shared-memory-over-lds", 2)]),
    ("__global__ void k();\nvoid h() { k<<<1, 1, 48 * 1024>>>(); }", []),
    ("#define KB 1024\n__global__ void k();\nvoid h() { k<<<1, 1, 100 * KB>>>(); }", [("shared-memory-over-lds", 3)]),
    ("void h(int n) { cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, n); }", [("shared-memory-opt-in", 1)]),
    ("void h(P p) { cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, p.sharedMemPerBlockOptin); }", []),
    ("void h() { cudaFuncSetAttribute(k, cudaFuncAttributePreferredSharedMemoryCarveout, 100); }", []),
    ("constexpr int kNumSMs = 132;", [("sm-count-constant", 1)]),
    ("#define NUM_SM 108\n", [("sm-count-constant", 1)]),
    ("constexpr int kNumSamples = 132;", []),
    ("constexpr int kNumSMs = 7;", []),
    ("constexpr float kFp8Max = 448.0f;", [("fp8-range-constant", 1)]),
    ("constexpr int kImageSize = 448;", []),
    ("void h() {\n#if defined(__gfx942__)\n  fast();\n#endif\n}", [("device-macro-on-host", 2)]),
    ("#if defined(__gfx942__)\n#define FAST\n#endif\nvoid h() {\n#ifdef FAST\n  fast();\n#endif\n}", [("device-macro-on-host", 5)]),
    ("__device__ void h() {\n#if defined(__gfx942__)\n  fast();\n#endif\n}", []),
    ("__device__ __forceinline__ int h() {\n#if defined(__gfx942__)\n  return 1;\n#endif\n  return 0;\n}", []),
    ("constexpr int h() {\n#if defined(__GFX9__)\n  return 64;\n#else\n  return 32;\n#endif\n}", []),
    ("template <class T> constexpr bool b = std::is_same<T, nv_bfloat16>::value;", [("bf16-type-alias", 1)]),
    ("template <class T> constexpr bool b = std::is_same<T, __nv_bfloat16>::value;", []),
    ("__global__ void k(long n);\nvoid h(int64_t n) { k<<<(n + 31) / 32, 32>>>(n); }", [("launch-over-4g-threads", 2)]),
    ("__global__ void k(long n);\nvoid h(int n) { k<<<(n + 31) / 32, 32>>>(n); }", []),
    ("__global__ void k(long n);\nvoid h(int64_t n) { k<<<std::min<int64_t>((n + 31) / 32, 1024), 32>>>(n); }", []),
]


@pytest.mark.parametrize(("code", "expected"), FEATURES)
def test_features(code: str, expected: list[tuple[str, int]]) -> None:
    assert [(rule, line) for rule, line in rules_of(code) if not rule.startswith("cuda-arch")] == expected


def test_lds_by_target() -> None:
    assert [lds_of(target) for target in ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1250")] == [65536, 65536, 163840, 65536, 327680]


def test_only_the_targets_that_are_too_small_are_named() -> None:
    (hit,) = hits("__global__ void k();\nvoid h() { k<<<1, 1, 96 * 1024>>>(); }")
    assert hit.targets == ("gfx90a", "gfx942")
    assert hits("__global__ void k();\nvoid h() { k<<<1, 1, 96 * 1024>>>(); }", ("gfx950",)) == []


def test_static_arrays_are_added_up() -> None:
    code = "__global__ void k() {\n  __shared__ float a[128][128];\n  __shared__ double b[64];\n}\n"
    (hit,) = hits(code)
    assert hit.rule == "shared-memory-over-lds" and "64.5 KiB" in hit.message and hit.subject == "k"
    assert hits(code.replace("double b[64]", "double b[N]").replace("[128][128]", "[128][127]")) == []


def test_folding() -> None:
    parsed = parse("#define A 4\n#define B (A * 2)\nconstexpr int kC = B + sizeof(float);\nenum { kD = 3 };\n#define LOOP LOOP\n")
    assert [folding.fold(parsed, text) for text in ("kC", "kD * A", "B << 1", "unknown", "LOOP", "")] == [12, 12, 16, None, None, None]


def test_device_code() -> None:
    parsed = parse("__device__ int f() { return 1; }\nint g() { return 2; }\nXGBOOST_DEVICE int h() { return 3; }\n")
    functions = places.captured(parsed, "function")
    assert [(places.name_of(parsed, f), places.is_device(parsed, f)) for f in functions] == [("f", True), ("g", False), ("h", True)]


@pytest.mark.parametrize(("rocm", "found"), [("7.2", [2, 3]), ("10.1", [2, 3]), ("10.2", [2])])
def test_a_signature_that_hip_took_over_is_found_before_that_release(rocm: str, found: list[int]) -> None:
    code = (
        "void f(float* p, size_t n, cudaMemLocation where) {\n"
        "  cudaMemPrefetchAsync(p, n, where, 0, 0);\n"
        "  cudaMemAdvise(p, n, cudaMemAdviseSetReadMostly, cudaMemLocation{cudaMemLocationTypeDevice, 0});\n}\n"
    )
    told = changed_signature.detect(parse(code), link.link([]), Config(rocm=rocm))
    assert [hit.span.line for hit in told] == found


def test_a_kernel_of_many_sums_is_looked_through_once() -> None:
    parsed = parse("__global__ void k(half* p, half2 v) {\n  half2* q = (half2*)p;\n" + "  atomicAdd(q, v);\n" * 5000 + "}\n")
    started = time.process_time()
    found = [hit.span.line for hit in float_atomics.detect(parsed, link.link([]), Config(targets=ALL)) if hit.rule == "narrow-float-atomic"]
    assert found == list(range(3, 5003))
    assert time.process_time() - started < 2.0
