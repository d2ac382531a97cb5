"""Linking: what files tell each other about macros, constants, kernels, launches and conditionals."""

from __future__ import annotations

import pickle

import pytest

from porter import link
from porter.model import Live, SourceFile
from porter.parse import Parsed, cuda, parser_of


def parsed(path: str, text: str, kind: str = "cuda") -> Parsed:
    parse = parser_of(kind)
    assert parse is not None
    return parse(SourceFile(path, kind, text.encode()))


def index_of(files: dict[str, str], defines: tuple[str, ...] = ()) -> link.Index:
    return link.link([link.survey(parsed(path, text)) for path, text in files.items()], defines)


FILES = {
    "src/common/warp.h": "#pragma once\n"
    "#ifdef USE_ROCM\n#define WARP_SIZE 64\n#define HAS_BIG_MASKS\n#else\n#define WARP_SIZE 32\n#endif\n",
    "src/config.cuh": '#include "common/warp.h"\nnamespace c { constexpr int kWarps = 8; }\n'
    "enum Tile { SMALL = 16, NEXT, BIG = SMALL * 4 };\n"
    "struct T { static constexpr int kThreads = c::kWarps * WARP_SIZE; };\n",
    "src/kernel.cu": '#include "config.cuh"\ntemplate <typename T, int N = 4>\n'
    "__global__ __launch_bounds__(256, 2) void scale(T* x, int n = 1) {\n"
    "  int i = threadIdx.x;\n  constexpr int local = 3;\n}\n__device__ int lane() { return 0; }\nstatic __global__ void idle() {}\n",
    "src/launch.cu": "void go() {\n  scale<float><<<grid, 8 * 32, 128, s>>>(x);\n  auto k = &scale<half>;\n  k<<<1, 2>>>(x);\n"
    "  cudaLaunchKernel((void*)scale<int>, grid, block, args, 0, s);\n}\n",
    "other/a.cuh": "#define UNIQUE 7\n#define TWICE 1\n",
    "other/b.cuh": "#define TWICE 2\n",
}


def test_includes_resolve_beside_the_file_and_by_suffix() -> None:
    index = index_of(FILES)
    assert index.resolve("common/warp.h", "src/config.cuh") == "src/common/warp.h"
    assert index.resolve("warp.h", "other/a.cuh") == "src/common/warp.h"
    assert index.resolve("arp.h", "other/a.cuh") is None
    assert index.resolve("../src/config.cuh", "other/a.cuh") == "src/config.cuh"
    assert index.reach("src/kernel.cu") == ("src/kernel.cu", "src/config.cuh", "src/common/warp.h")


def test_include_circles_end() -> None:
    index = index_of({"a.cuh": '#include "b.cuh"\n', "b.cuh": '#include "a.cuh"\n'})
    assert index.reach("a.cuh") == ("a.cuh", "b.cuh")


def test_constants_fold_as_the_amd_build_sees_them() -> None:
    index = index_of(FILES)
    assert index.constant("WARP_SIZE", "src/kernel.cu") == 64
    assert index.constant("kWarps", "src/kernel.cu") == 8
    assert index.constant("T::kThreads", "src/kernel.cu") == 512
    assert [index.constant(name, "src/kernel.cu") for name in ("SMALL", "NEXT", "BIG")] == [16, 17, 64]
    assert index.fold("kWarps * 2 + NEXT", "src/kernel.cu") == 33


def test_what_is_not_one_number_is_none() -> None:
    index = index_of(FILES)
    assert index.constant("TWICE", "src/kernel.cu") is None
    assert index.constant("TWICE", "other/b.cuh") == 2
    assert index.constant("UNIQUE", "src/kernel.cu") == 7
    assert index.constant("local", "src/kernel.cu") is None
    assert index.fold("n + 1", "src/kernel.cu") is None


def test_constants_that_name_themselves_end() -> None:
    index = index_of({"a.cuh": "#define A B\n#define B A\n#define C (C + 1)\n"})
    assert index.constant("A", "a.cuh") is None
    assert index.constant("C", "a.cuh") is None


def test_defines_of_the_user_win() -> None:
    assert index_of(FILES, ("-DWARP_SIZE=16", "NAKED")).constant("WARP_SIZE", "src/kernel.cu") == 16
    assert index_of(FILES, ("NAKED",)).constant("NAKED", "src/kernel.cu") == 1


def test_build_files_give_flags() -> None:
    flags = link.survey(parsed("CMakeLists.txt", "add_definitions(-DTILE=48)\n", "cmake"))
    index = link.link([flags, link.survey(parsed("a.cu", "void f() {}\n"))])
    assert index.constant("TILE", "a.cu") == 48


def test_functions_know_sides_parameters_and_bounds() -> None:
    index = index_of(FILES)
    scale = index.function("scale", "src/launch.cu")
    assert scale is not None
    assert (scale.side, scale.bounds, scale.line, scale.end_line) == ("kernel", ("256", "2"), 2, 6)
    assert [(p.name, p.default) for p in scale.params] == [("x", ""), ("n", "1")]
    assert [(p.name, p.default) for p in scale.template] == [("T", ""), ("N", "4")]
    lane = index.function("lane", "src/kernel.cu")
    assert lane is not None
    assert lane.side == "device"


def test_kernels_count_their_launches() -> None:
    index = index_of(FILES)
    assert [(k.name, k.path, k.line, k.lines, k.launches) for k in index.kernels] == [
        ("scale", "src/kernel.cu", 2, 5, 3),
        ("idle", "src/kernel.cu", 8, 1, 0),
    ]
    launches = [launch for _, launch in index.launches_of("scale")]
    assert [(one.line, one.grid, one.block) for one in launches] == [(2, "grid", "8 * 32"), (4, "1", "2"), (5, "grid", "block")]
    assert launches[0].shared == "128"


def test_guards_learn_from_included_files() -> None:
    files = {
        **FILES,
        "src/use.cu": '#include "config.cuh"\n#ifdef HAS_BIG_MASKS\nint a;\n#else\nint b;\n#endif\n#if WARP_SIZE == 32\nint c;\n#endif\n',
    }
    index = index_of(files)
    one = parsed("src/use.cu", files["src/use.cu"])
    assert one.live(3) is Live.UNKNOWN
    index.enrich(one)
    assert (one.live(3), one.live(5), one.live(8)) == (Live.YES, Live.NO, Live.NO)


def test_guards_do_not_learn_from_files_that_are_not_included() -> None:
    text = "#ifdef HAS_BIG_MASKS\nint a;\n#endif\n"
    index = index_of({**FILES, "alone.cu": text})
    one = parsed("alone.cu", text)
    index.enrich(one)
    assert one.live(2) is Live.UNKNOWN


def test_the_users_defines_reach_the_guards() -> None:
    text = "#ifdef WITH_FAST\nint a;\n#else\ncudaFree(b);\n#endif\n"
    one = parsed("a.cu", text)
    index_of({"a.cu": text}, ("WITH_FAST",)).enrich(one)
    assert one.live(4) is Live.NO
    assert [f.live for f in one.facts if f.name == "cudaFree"] == [Live.NO]


def test_skimmed_headers_are_surveyed() -> None:
    skimmed = link.survey(cuda.skim(SourceFile("w.h", "cxx", b"#define WARP 32\n")))
    index = link.link([skimmed, link.survey(parsed("a.cu", '#include "w.h"\n'))])
    assert index.constant("WARP", "a.cu") == 32


def test_an_index_crosses_processes() -> None:
    index = pickle.loads(pickle.dumps(index_of(FILES)))
    assert index.constant("WARP_SIZE", "src/kernel.cu") == 64


def test_a_shim_below_an_option_counts() -> None:
    header = "#ifdef USE_GPU\n#if defined(__HIP_PLATFORM_AMD__)\n#define atomicAdd_block atomicAdd\n#endif\n#endif\n"
    index = index_of({"shim.h": header, "k.cu": '#include "shim.h"\n__global__ void k(int* p) { atomicAdd_block(p, 1); }\n'})
    assert index.shimmed("k.cu") == {"atomicAdd_block"}


def test_a_header_of_hip_names_is_a_shim_without_a_guard() -> None:
    header = "#pragma once\n#define nvtxRangePushA roctxRangePushA\n#define cudaMalloc hipMalloc\n#define cudaFree my_free\n"
    index = index_of({"hipify.h": header, "k.cc": '#ifdef FOR_AMD\n#include "hipify.h"\n#endif\n', "other.cc": "int a;\n"})
    assert index.shimmed("k.cc") == {"nvtxRangePushA", "cudaMalloc"}
    assert index.shimmed("other.cc") == frozenset()


HANDED = """
template <int D, bool soft> __global__ void attend(float* p) { p[0] = D + soft; }
__global__ void scale(float* p) { p[0] *= 2; }
__global__ void idle(float* p) { p[0] = 0; }
void run(context& ctx, float* idle, bool soft) {
  kernel_t a = attend<64, false>;
  launch_attention<64>(ctx, a, 4);
  kernel_t b;
  if (soft) {
    b = attend<64, true>;
  } else {
    b = attend<128, true>;
  }
  gpu::launch_attention<64>(ctx, b, 4);
  kernel_launch(scale, params, idle);
  describe(attend<64, false>);
}
"""


def test_a_kernel_behind_a_cast_in_a_macro_is_launched() -> None:
    call = "CHECK(cudaLaunchCooperativeKernel((void *) soft, 1, 32, a));"
    text = f"__global__ void soft(float* p) {{ p[0] = 1; }}\nvoid f(void** a) {{\n  {call}\n}}\n"
    assert [kernel.launches for kernel in index_of({"a.cu": text}).kernels] == [1]


def test_kernels_that_are_handed_to_a_function_of_the_project_are_launched() -> None:
    index = index_of({"a.cu": HANDED})
    assert {kernel.name: kernel.launches for kernel in index.kernels} == {"attend": 2, "scale": 1, "idle": 0}


TESTS = ("defined(AMX_USE_CUDA)", "FFT_BACKEND == 1", "FFT_BACKEND == 2", "defined(OWN_CUDA)", "defined(MY_CUDA)")
CHAINS = {
    "fft.h": "#if defined(AMX_USE_CUDA)\n#include <cufft.h>\n#elif defined(AMX_USE_HIP)\n#include <rocfft/rocfft.h>\n#endif\n",
    "plan.h": "#if(FFT_BACKEND==1)\n#include <nvrtc.h>\n#elif(FFT_BACKEND==2)\n#include <hip/hiprtc.h>\n#endif\n",
    "both.h": "#if defined(OWN_CUDA) || defined(OWN_HIP)\nint g;\n#elif defined(OWN_SYCL)\nint s;\n#endif\n",
    "said.h": "#ifdef MY_CUDA\nint c;\n#elif defined(MY_CUDA_AND_HIP)\nint h;\n#endif\n",
    "k.cu": "".join(f"#if {test}\nint a{at};\n#endif\n" for at, test in enumerate(TESTS)),
}


def test_chains_of_back_ends_say_what_a_build_for_amd_defines() -> None:
    listed = {path: parsed(path, text) for path, text in CHAINS.items()}
    index = link.link([link.survey(one) for one in listed.values()])
    assert index.backends == {"AMX_USE_CUDA": ("no", ""), "FFT_BACKEND": ("yes", "2")}
    kernel = listed["k.cu"]
    index.enrich(kernel)
    assert [kernel.live(line) for line in (2, 5, 8, 11, 14)] == [Live.NO, Live.NO, Live.YES, Live.UNKNOWN, Live.UNKNOWN]


def test_constants_that_name_each_other_twice_are_worked_out_once() -> None:
    lines = ["constexpr int v0 = 1;"] + [f"constexpr int v{i} = (v{i - 1} + v{i - 1}) % 1000 + v{i - 1};" for i in range(1, 15)]
    index = index_of({"chain.cuh": "\n".join(lines) + "\nconstexpr int loop = loop + 1;\n"})
    expected = 1
    for _ in range(14):
        expected = (expected + expected) % 1000 + expected
    assert index.constant("v14", "chain.cuh") == expected
    assert index.constant("loop", "chain.cuh") is None


def test_functions_that_are_one_return_say_what() -> None:
    index = index_of({"warp.cuh": "constexpr int WarpThreads() { return 32; }\nint two(int a) { a += 1; return a; }\n"})
    assert index.function("dh::WarpThreads", "warp.cuh").returns == "32"  # type: ignore[union-attr]
    assert index.function("two", "warp.cuh").returns == ""  # type: ignore[union-attr]


def test_captured_nodes_come_in_the_order_of_their_places() -> None:
    text = b"".join(b"__device__ int f%d(int x) { return __shfl_sync(0xffffffff, x, %d); }\n" % (n % 7, n) for n in range(200))
    captured = cuda.parse(SourceFile("k.cu", "cuda", text)).extra["captured"]
    starts = [node.start_byte for node in captured.all("function")]
    assert len(starts) == 200 and starts == sorted(starts)


@pytest.mark.parametrize("condition", ["#ifndef __HIP_PLATFORM_AMD__", "#if MINE"])
def test_code_in_a_string_is_dead_where_the_code_around_it_is(condition: str) -> None:
    text = f'#include "w.h"\n{condition}\nconst char* p = R"(\n__global__ void k(int* p) {{\n  __syncwarp();\n}}\n)";\n#endif\n'
    header = "#ifdef __HIP_PLATFORM_AMD__\n#define MINE 0\n#else\n#define MINE 1\n#endif\n"
    parsed = cuda.parse(SourceFile("k.cu", "cuda", text.encode()))
    index_of({"w.h": header, "k.cu": text}).enrich(parsed)
    assert [fact.live for fact in parsed.embedded[0].facts if fact.name == "__syncwarp"] == [Live.NO]
