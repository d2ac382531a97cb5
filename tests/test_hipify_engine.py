# ruff: noqa: E501 - tables of code before and after
"""The built-in translation: names, arguments, launches, includes."""

from __future__ import annotations

import pytest

from porter.errors import ConfigError
from porter.hipify import Options, convert
from porter.hipify.engine import left_in
from porter.rules import load as load_rules

DEVICE = Options(runtime_is_implicit=True)


def hip(text: str, **options: object) -> str:
    return convert(text.encode(), Options(**options)).output.decode()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cudaMalloc(&p, n);", "hipMalloc(&p, n);"),
        ("::cudaFree(p);", "::hipFree(p);"),
        ("return ::cudaFree(p);", "return ::hipFree(p);"),
        ("cudaError_t e = cudaSuccess;", "hipError_t e = hipSuccess;"),
        ("CUdeviceptr d; cuMemAlloc(&d, 4);", "hipDeviceptr_t d; hipMalloc(&d, 4);"),
        ("nv_bfloat16 x; __nv_bfloat162 y;", "__hip_bfloat16 x; __hip_bfloat162 y;"),
        ("#ifdef __CUDACC__\n#endif\n", "#ifdef __HIPCC__\n#endif\n"),
        ("cudaMallocHost(&p, n);", "hipHostMalloc(&p, n, hipHostMallocDefault);"),
        ("#ifdef DEBUG\n  cudaFree(p);\n#endif\n", "#ifdef DEBUG\n  hipFree(p);\n#endif\n"),
        ("#define SYNC cudaDeviceSynchronize()\n", "#define SYNC hipDeviceSynchronize()\n"),
        ("if (x) cudaFree(p); else cudaFree(q);", "if (x) hipFree(p); else hipFree(q);"),
        ("cudaEventCreate(&e);", "hipEventCreate(&e);"),
        ("cudaEventCreate(&e, cudaEventDefault);", "hipEventCreateWithFlags(&e, hipEventDefault);"),
        ("cuOccupancyMaxPotentialBlockSizeWithFlags(a, b, f, g, s, l, x);", "hipModuleOccupancyMaxPotentialBlockSizeWithFlags(a, b, f, s, l, x);"),
    ],
)  # fmt: skip
def test_names_and_their_arguments(before: str, after: str) -> None:
    assert hip(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "// cudaMalloc\n",
        "/* cudaMalloc\n cudaFree */",
        "// cudaMalloc \\\n cudaFree\n",
        'puts("cudaMalloc failed");',
        'auto s = R"x(cudaMalloc(")")x";',
        'auto s = u8R"(cudaMalloc)";',
        "x.cudaFree(p);",
        "x . cudaFree(p);",
        "p->cudaFree(q);",
        "p->/* why */cudaFree(q);",
        "mine::cudaMalloc(&p, n);",
        "cuda::std::cudaMalloc(&p);",
        "std::vector<int>::cudaMalloc();",
        "#define cudaMalloc my_malloc\n",
        "#undef cudaMalloc\n",
        "struct S { int cudaMalloc; };",
        "namespace mine { int cudaMalloc(int); }",
        "#define cudaMalloc(p, n) my_malloc(p, n)\nvoid f() { cudaMalloc(&p, 3); }\n",
        "mycudaMalloc(3); cudaMallocs(3); cudaMalloc_(3);",
        "int cub; cub = 3;",
        "mylib::cub::X x;",
        "using namespace cubism;",
        "int cuda_stream; CUDAContext c;",
        "v = __shfl_sync(m, v, 3); __syncthreads(); x = umin(a, b); y = saturate(z);",
        "cudaMemcpy##kind",
        '#include "src/cuda.h"\n#include <sys/cuda.h>\n#include "cuda.hpp"\n#include "user-cuda.h"\n',
        "#include <ATen/cuda/CUDAContext.h>\nat::cuda::CUDAStream s;\n",
    ],
)
def test_what_is_not_the_cuda_thing_stays(text: str) -> None:
    done = convert(text.encode())
    assert done.output.decode() == text
    assert not done.converted


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cub::BlockReduce<int, 3> r;", "hipcub::BlockReduce<int, 3> r;"),
        ("typedef ::cub::X Y;", "typedef ::hipcub::X Y;"),
        ("using namespace cub;", "using namespace hipcub;"),
        ("namespace c = cub;", "namespace c = hipcub;"),
        ("cub ::X x;", "hipcub ::X x;"),
        ("#include <cub/device/device_reduce.cuh>\n", "#include <hipcub/hipcub.hpp>\n"),
        ("template <cub::BlockLoadAlgorithm A> void f();", "template <hipcub::BlockLoadAlgorithm A> void f();"),
    ],
)
def test_cub(before: str, after: str) -> None:
    assert hip(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cudaMemcpyToSymbol(get(1, 2), p, n);", "hipMemcpyToSymbol(HIP_SYMBOL(get(1, 2)), p, n);"),
        ("cudaGetSymbolAddress((void**)&p, sym);", "hipGetSymbolAddress((void**)&p, HIP_SYMBOL(sym));"),
        (
            "CHECK( cudaMemcpyToSymbol( coef, h, 5 * sizeof(float) ));",
            "CHECK( hipMemcpyToSymbol( HIP_SYMBOL(coef), h, 5 * sizeof(float) ));",
        ),
        (
            "cudaFuncSetAttribute(kern<A, B>, cudaFuncAttributeMaxDynamicSharedMemorySize, n);",
            "hipFuncSetAttribute(reinterpret_cast<const void*>(kern<A, B>), hipFuncAttributeMaxDynamicSharedMemorySize, n);",
        ),
        (
            "cudaFuncSetAttribute((const void*)kern, cudaFuncAttributeMaxDynamicSharedMemorySize, n);",
            "hipFuncSetAttribute((const void*)kern, hipFuncAttributeMaxDynamicSharedMemorySize, n);",
        ),
        ("cudaMemcpyFromSymbol(f(a, cudaSuccess), sym[3], n);", "hipMemcpyFromSymbol(f(a, hipSuccess), HIP_SYMBOL(sym[3]), n);"),
        ("cudaGetSymbolSize(&n, x < y ? a : b);", "hipGetSymbolSize(&n, HIP_SYMBOL(x < y ? a : b));"),
        ("cudaMemcpyToSymbol(", "hipMemcpyToSymbol("),
    ],
)
def test_symbols_and_kernel_pointers(before: str, after: str) -> None:
    assert hip(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("k<<<1, n>>>();", "hipLaunchKernelGGL(k, dim3(1), dim3(n), 0, 0);"),
        ("k<<<(n + 255) / 256, 256>>>(a, b);", "hipLaunchKernelGGL(k, dim3((n + 255) / 256), dim3(256), 0, 0, a, b);"),
        ("k<<<div_up(n, 256), dim3(8, 8), m * sizeof(float), s()>>>(a);", "hipLaunchKernelGGL(k, dim3(div_up(n, 256)), dim3(8, 8), m * sizeof(float), s(), a);"),
        ("(*fp)<<<1, 2>>>(a);", "hipLaunchKernelGGL((*fp), dim3(1), dim3(2), 0, 0, a);"),
        ("ns::k<float, 3><<<g, b>>> ( x );", "hipLaunchKernelGGL(HIP_KERNEL_NAME(ns::k<float, 3>), dim3(g), dim3(b), 0, 0, x );"),
        ("k<vec<float>><<<g, b>>>(x);", "hipLaunchKernelGGL(HIP_KERNEL_NAME(k<vec<float>>), dim3(g), dim3(b), 0, 0, x);"),
        ("auto kern = k<float>; kern<<<1, 2>>>(p);", "auto kern = k<float>; hipLaunchKernelGGL(kern, dim3(1), dim3(2), 0, 0, p);"),
        ("template <typename T> __global__ void __launch_bounds__(64, 2) k(T x);\nvoid f() { k<<<1, 2>>>(3); }",
         "template <typename T> __global__ void __launch_bounds__(64, 2) k(T x);\nvoid f() { hipLaunchKernelGGL(HIP_KERNEL_NAME(k), dim3(1), dim3(2), 0, 0, 3); }"),
        ("k<<<a < b ? a : b, 64>>>(x);", "hipLaunchKernelGGL(k, dim3(a < b ? a : b), dim3(64), 0, 0, x);"),
        ("#define L(T) k<T> \\\n    <<<g, b>>>( \\\n        x)\n", "#define L(T) hipLaunchKernelGGL(HIP_KERNEL_NAME(k<T>), dim3(g), dim3(b), 0, 0, \\\n        x)\n"),
        ("k<<<1, {8, 8}>>>(cudaMemcpyDefault);", "hipLaunchKernelGGL(k, dim3(1), dim3{8, 8}, 0, 0, hipMemcpyDefault);"),
    ],
)  # fmt: skip
def test_launches_as_calls(before: str, after: str) -> None:
    text = hip("#include <hip/hip_runtime.h>\n" + before, launch="ggl")
    assert text == "#include <hip/hip_runtime.h>\n" + after


def test_launches_stay_by_default() -> None:
    text = "#include <hip/hip_runtime.h>\nvoid f() { k<<<1, 2>>>(3); }\n"
    assert hip(text) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("#include <curand.h>\n", "#include <hiprand/hiprand.h>\n"),
        ('#include "cuda.h"\n#include "cuda_runtime.h"\n#include <x>\n', '#include "hip/hip_runtime.h"\n#include <x>\n'),
        ("#if A\n#include <cuda.h>\n#else\n#include <cuda_runtime.h>\n#endif\n", "#if A\n#include <hip/hip_runtime.h>\n#else\n#include <hip/hip_runtime.h>\n#endif\n"),
        ("#include <cuda.h>\n#if A\n#include <cuda_runtime.h>\n#endif\n", "#include <hip/hip_runtime.h>\n#if A\n#endif\n"),
        ("#include <cuda.h>\n#include <cuda_runtime.h> // why\n", "#include <hip/hip_runtime.h>\n // why\n"),
        ("#  include   <cufft.h>\r\n", "#  include   <hipfft/hipfft.h>\r\n"),
        ("#include <device_launch_parameters.h>\nint x;\n", "#include <hip/hip_runtime.h>\nint x;\n"),
        ('#include "cublas_v2.h"\n#include <cusparse.h>\n', '#include "hipblas/hipblas.h"\n#include <hipsparse/hipsparse.h>\n'),
        ("#include <nccl.h>\n#include <cuda_fp16.h>\n#include <cuda_fp16.hpp>\n", "#include <rccl/rccl.h>\n#include <hip/hip_fp16.h>\n"),
        ("#include <vector_functions.h>\nint x;\n", "#include <hip/hip_runtime.h>\nint x;\n"),
        ("#include <cooperative_groups.h>\n", "#include <hip/hip_cooperative_groups.h>\n"),
    ],
)  # fmt: skip
def test_includes(before: str, after: str) -> None:
    assert hip(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("#pragma once\n#include <x>\n__global__ void k();\n", "#pragma once\n#include <hip/hip_runtime.h>\n#include <x>\n__global__ void k();\n"),
        ("#ifndef A_H\n#define A_H\n__global__ void f();\n#endif\n", "#ifndef A_H\n#define A_H\n#include <hip/hip_runtime.h>\n__global__ void f();\n#endif\n"),
        ("// licence\n\n__global__ void x();\n", "// licence\n\n#include <hip/hip_runtime.h>\n__global__ void x();\n"),
        ("#if A\n#include <x>\n#endif\n__global__ void x();\n", "#include <hip/hip_runtime.h>\n#if A\n#include <x>\n#endif\n__global__ void x();\n"),
        ('#ifdef __cplusplus\nextern "C" {\n#endif\n#include <x>\n__global__ void k();\n', '#include <hip/hip_runtime.h>\n#ifdef __cplusplus\nextern "C" {\n#endif\n#include <x>\n__global__ void k();\n'),
        ("// a\nnamespace n {\n#include <x>\n}\n__global__ void k();\n", "// a\n#include <hip/hip_runtime.h>\nnamespace n {\n#include <x>\n}\n__global__ void k();\n"),
        ("struct A {};\n#include <x>\n__global__ void k();\n", "struct A {};\n#include <hip/hip_runtime.h>\n#include <x>\n__global__ void k();\n"),
        ("\ufeff__global__ void x();\r\n", "\ufeff#include <hip/hip_runtime.h>\r\n__global__ void x();\r\n"),
        ("#include <x>\r\n__shared__ int a;", "#include <hip/hip_runtime.h>\r\n#include <x>\r\n__shared__ int a;"),
        ("// __global__ is a word\nint round(int);\n", "// __global__ is a word\nint round(int);\n"),
    ],
)  # fmt: skip
def test_the_runtime_header_comes_in_where_it_is_needed(before: str, after: str) -> None:
    assert hip(before) == after


def test_a_cuda_file_gets_the_header_that_nvcc_gives_unasked() -> None:
    assert convert(b"int x;\n", DEVICE).output == b"#include <hip/hip_runtime.h>\nint x;\n"
    assert convert(b"int x;\n").output == b"int x;\n"


def test_roc_and_miopen_reorder_arguments() -> None:
    softmax = "cudnnSoftmaxForward(h, CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_MODE_CHANNEL, a, x, f(1, 2), b, y, z);"
    assert (
        hip(softmax, miopen=True, roc=True)
        == "miopenSoftmaxForward_V2(h, a, x, f(1, 2), b, y, z, MIOPEN_SOFTMAX_FAST, MIOPEN_SOFTMAX_MODE_CHANNEL);"
    )
    scaled = "cublasSscal(h, n, &a, x, 1);"
    assert hip(scaled, roc=True) == "rocblas_sscal(h, n, &a, x, 1);"
    assert hip(scaled) == "hipblasSscal(h, n, &a, x, 1);"


def test_legacy_cublas_calls_stay() -> None:
    done = convert(b"#include <cublas.h>\nvoid f() { cublasSscal(n, 2.f, x, 1); }\n")
    assert done.output == b"#include <hipblas/hipblas.h>\nvoid f() { cublasSscal(n, 2.f, x, 1); }\n"
    assert [left.name for left in done.left] == ["cublasSscal"]


def test_the_rocm_version_decides_which_names_exist() -> None:
    text = b"cublasCscal(h, n, &a, x, 1); cuMemcpyAtoA(a, 0, b, 0, 4);"
    assert b"hipblasCscal_v2" in convert(text, Options(rocm="6.3")).output
    assert convert(b"#include <cublas_v2.h>\n", Options(rocm="6.3")).output == b"#include <hipblas.h>\n"
    assert convert(b"#include <cublas_v2.h>\n", Options(rocm="6.3", roc=True)).output == b"#include <rocblas.h>\n"
    assert convert(b"#include <cublas_v2.h>\n", Options(roc=True)).output == b"#include <rocblas/rocblas.h>\n"
    assert b"hipblasCscal(" in convert(text, Options(rocm="7.2")).output
    old = convert(b"cudaStreamBeginCaptureToGraph(s, g, d, e, n, m);", Options(rocm="5.7"))
    assert old.left and old.left[0].reason.startswith("added in HIP")
    with pytest.raises(ConfigError):
        convert(b"", Options(rocm="8.0"))


def test_experimental_names_need_the_option() -> None:
    text = b"auto m = CUTENSOR_AUTOTUNE_MODE_NONE;"
    assert convert(text).left[0].reason == "experimental"
    assert convert(text, Options(experimental=True)).output == b"auto m = HIPTENSOR_AUTOTUNE_MODE_NONE;"


def test_names_left_say_where_and_why() -> None:
    done = convert(b"int a;\n  cuGreenCtxCreate(c, d, 0, 1);\n")
    (left,) = done.left
    assert (left.name, left.span.line, left.span.column, left.reason) == ("cuGreenCtxCreate", 2, 3, "unsupported")


def test_device_functions_that_the_file_brings_along_are_no_gap() -> None:
    own = b"__device__ __hip_bfloat16 __float2bfloat16_rn(float f) { return __float2bfloat16(f); }\n"
    use = b"__device__ void f() { g(__float2bfloat16_rn(1.f)); }\n"
    assert [left.name for left in convert(use).left] == ["__float2bfloat16_rn"]
    assert not convert(own + use).left


def test_dead_lines_stay() -> None:
    text = b"cudaFree(a);\ncudaFree(b);\n#include <cuda.h>\n"
    done = convert(text, live=lambda line: line == 1)
    assert done.output == b"hipFree(a);\ncudaFree(b);\n#include <cuda.h>\n"
    assert done.converted == {"cudaFree": 1}


def test_names_that_the_project_defines_stay() -> None:
    assert hip("cudaFree(p); cudaMalloc(p, 3);", keep=frozenset({"cudaFree"})) == "cudaFree(p); hipMalloc(p, 3);"


def test_digit_separators_and_odd_bytes() -> None:
    assert hip("int a = 1'000'000; char c = 'x'; cudaFree(p);") == "int a = 1'000'000; char c = 'x'; hipFree(p);"
    latin = b"// caf\xe9\ncudaFree(\xe9);\n\xe9cudaFree(x);"
    assert convert(latin).output == b"// caf\xe9\nhipFree(\xe9);\n\xe9cudaFree(x);"


@pytest.mark.parametrize("name", ["__syncwarp", "__reduce_add_sync", "__reduce_xor_sync"])
@pytest.mark.parametrize(("rocm", "reasons"), [("6.3", ["added in HIP 7.0"]), ("7.0", []), ("", [])])
def test_warp_functions_come_with_a_version(name: str, rocm: str, reasons: list[str]) -> None:
    text = f"__global__ void k(int* p, unsigned m) {{ {name}(m); }}\n".encode()
    assert [left.reason for left in convert(text, Options(rocm=rocm)).left] == reasons


@pytest.mark.parametrize("folder", ["unsupported-cuda-runtime-api", "unsupported-cuda-library-api", "legacy-cublas-api"])
def test_what_is_left_is_the_same_without_the_text(folder: str) -> None:
    texts = [example.before for example in load_rules().rules[folder].examples]
    texts += ["#define cudaFree x\ncudaFree(p); cudaCtxResetPersistingL2Cache();\n__device__ float __nv_foo() { return 1; }\n"]
    for text in texts:
        done = convert(text.encode())
        assert left_in(text.encode(), Options(), lambda line: True) == (done.left, done.remarks)
        assert done.left or "cudaFree" not in text


def test_macros_that_hip_declares_have_their_names() -> None:
    text = b"int a[] = {cudaEnableDefault, cudaEventWaitExternal, cudaStreamAttributePriority, cudaEglFrameTypeArray};"
    found = convert(text, Options())
    assert found.output == b"int a[] = {hipEnableDefault, hipEventWaitExternal, hipStreamAttributePriority, cudaEglFrameTypeArray};"
