"""What one file tells another about warps: wrappers, macros for __device__, own types, members, launches, and widths in headers."""

from __future__ import annotations

from unittest import mock

import pytest

from porter import link
from porter.config import Config
from porter.detectors import sync_warp, warp_constants, warp_lanes, warp_libraries
from porter.flow import env as environments
from porter.flow import roles
from porter.flow.expr import walk
from porter.flow.launches import launches_of
from porter.flow.program import Program, program_of
from porter.flow.values import HARDWARE, WARP, Value
from porter.model import Confidence, Live, SourceFile
from porter.parse import Parsed, specifiers
from porter.parse.cuda import parse
from porter.parse.warp_wrappers import wrapped


def index_of(files: dict[str, str]) -> tuple[link.Index, dict[str, Parsed]]:
    parsed = {path: parse(SourceFile(path, "cuda", text.encode())) for path, text in files.items()}
    return link.link([link.survey(one) for one in parsed.values()]), parsed


def program(path: str, files: dict[str, str]) -> Program:
    index, parsed = index_of(files)
    return program_of(parsed[path], index)


def value(of: Program, function: str, name: str) -> Value:
    (env,) = of.named(function)
    event = next(event for event in env.function.events if event.name == name)
    return env.name(event.value) if event.value is not None and event.value.kind == "name" else env.value(event.value)


HEADER = (
    "#define DI __device__ __forceinline__\n#define MY_KERNEL static __global__ void\nconstexpr int kWarp = 32;\n"
    'DI int laneId() { int id; asm("mov.s32 %0, %%laneid;" : "=r"(id)); return id; }\n'
    "DI unsigned ballot_of(bool x, unsigned mask = 0xffffffffu) { return __ballot_sync(mask, x); }\n"
    "typedef unsigned int Word;\nusing Mask = Word;\n"
)


def test_wrappers_of_another_file_mean_the_builtin() -> None:
    body = "MY_KERNEL k(int* p) {\n  int l = laneId();\n  auto m = ballot_of(p[l] > 0);\n}\n"
    of = program("k.cu", {"w.cuh": HEADER, "k.cu": '#include "w.cuh"\n' + body})
    assert (value(of, "k", "l").kind, value(of, "k", "l").width) == ("lane", HARDWARE)
    assert (value(of, "k", "m").kind, value(of, "k", "m").via) == ("mask", "__ballot_sync")


def test_a_function_of_the_file_itself_is_not_replaced_by_a_wrapper_elsewhere() -> None:
    body = "__device__ unsigned ballot_of(bool x) { return x; }\n__global__ void k(int* p) {\n  auto m = ballot_of(threadIdx.x & 31);\n}\n"
    of = program("k.cu", {"w.cuh": HEADER, "k.cu": body})
    assert value(of, "k", "m").kind != "mask"


def test_a_projects_own_wrapper_with_pytorchs_name_is_read_in_its_file() -> None:
    header = "DI unsigned WARP_BALLOT(bool x, unsigned mask = 0xffffffffu) { return __ballot_sync(mask, x); }\n"
    body = "#include <ATen/cuda/DeviceUtils.cuh>\n__global__ void k(int* p) {\n  unsigned m = WARP_BALLOT(p[0] > 0);\n}\n"
    of = program("k.cu", {"w.cuh": HEADER + header, "k.cu": '#include "w.cuh"\n' + body})
    assert (value(of, "k", "m").kind, value(of, "k", "m").via) == ("mask", "__ballot_sync")


def test_macros_before_the_name_say_where_a_function_runs() -> None:
    index, parsed = index_of({"w.cuh": HEADER, "k.cu": "MY_KERNEL k(int* p) { p[threadIdx.x & 31] = 0; }\nDI int f() { return 32; }\n"})
    assert [(kernel.name, kernel.path) for kernel in index.kernels] == [("k", "k.cu")]
    sides = {env.function.name: env.function.side for env in program_of(parsed["k.cu"], index).envs}
    assert sides == {"k": "kernel", "f": "device"}


def test_words_before_a_declaration_end_at_punctuation_and_skip_directives() -> None:
    data = b"int a; // x\n#if DEVICE\nAPI HOT\n#endif\nvoid f() {}"
    assert specifiers.before(data, data.index(b"void")).split() == [b"API", b"HOT"]
    assert specifiers.before(b"int a;void f() {}", 6) == b""


@pytest.mark.parametrize(("text", "bits"), [("Word", 32), ("const Mask&", 32), ("Mask*", 0), ("unsigned long long", 64), ("Unknown", 0)])
def test_own_names_of_integers_have_a_width(text: str, bits: int) -> None:
    assert program("k.cu", {"w.cuh": HEADER, "k.cu": '#include "w.cuh"\n'}).bits(text) == bits


def test_a_type_with_one_width_for_each_vendor_is_the_one_that_amd_reads() -> None:
    text = "#ifdef __HIP_PLATFORM_AMD__\nusing M = unsigned long long;\n#else\nusing M = unsigned;\n#endif\n"
    assert program("k.cu", {"k.cu": text}).bits("M") == 64


@pytest.mark.parametrize(("condition", "kind"), [("#ifndef __HIP_PLATFORM_AMD__", "hw"), ("#ifdef __HIP_PLATFORM_AMD__", "const")])
def test_a_constant_that_amd_does_not_read_hides_no_warp_size(condition: str, kind: str) -> None:
    text = f"{condition}\nconstexpr int warpSize = 32;\n#endif\n__global__ void k(int* p) {{\n  int n = warpSize;\n}}\n"
    assert value(program("k.cu", {"k.cu": text}), "k", "n").kind == kind


def test_members_are_what_all_that_sets_them_agrees_on() -> None:
    text = (
        "struct A { int lane; int odd; __device__ A() : lane(threadIdx.x & 31), odd(1) {}\n"
        "  __device__ void set() { odd = threadIdx.x & 31; }\n  __device__ int get() { auto l = lane; auto o = odd; return l + o; } };\n"
        "__global__ void k(A a) { auto l = a.lane; }\n"
    )
    of = program("k.cu", {"k.cu": text})
    assert (value(of, "get", "l").kind, value(of, "get", "l").width) == ("lane", WARP)
    assert value(of, "get", "o").kind == "other"
    assert value(of, "k", "l").kind == "lane"


def test_short_bodies_with_one_builtin_are_wrappers() -> None:
    assert wrapped(b"{ return __shfl_sync(mask, v, f(a, b), 32); }") == ("__shfl_sync", "mask", "v", "f(a, b)", "32")
    assert wrapped(b"{ return __any_sync(m, a) + __popc(__ballot_sync(m, b)); }") == ()
    assert wrapped(b"{ for (;;) v += __shfl_down_sync(m, v, 1); }") == ()
    assert wrapped(b"{\n  // unlike __ballot_sync(m, x)\n  return x;\n}") == ()
    assert wrapped(b"{ return __shfl_sync(m /* all */, v, l);  // if asked for\n}") == ("__shfl_sync", "m", "v", "l")
    shim = b"{\n#ifdef AMD\n  return __shfl(v, i);\n#else\n  return __shfl_sync(m, v, i);\n#endif\n}"
    assert wrapped(shim) == ("__shfl_sync", "m", "v", "i")
    assert wrapped(shim, lambda line: line == 2) == ("__shfl", "v", "i")
    assert wrapped(b"{ return 0; }" + b" " * 700 + b"__activemask()") == ()


LAUNCHES = (
    "__global__ void k(float* p) { p[threadIdx.x & 31] = 0; }\n"
    "template <class F> void start(F f, int blocks, int threads) { f<<<blocks, threads>>>(nullptr); }\n"
    "void go(float* p, int n, Stream q) {\n  {}\n}\n"
)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("k<<<1, 32>>>(p);", (32,)), ("start(k, 1, 32);", (32,)), ("start(k, 32, n);", (None,)),
        ("cudaLaunchKernel((void*)&k, dim3(1), dim3(32, 2), a, 0, 0);", (32, 2)), ("LaunchKernel{1, 64}(k, p);", (64,)),
        ("q.launch(dim3(1), dim3{32, 4}, k, p);", (32, 4)), ("launch(dim3(1), 32, 0, q, k, p);", (32,)), ("launch(q, 1, 32, k, p);", None),
        ("dim3 g(1); launch(g, 32, 0, k, p);", (32,)), ("LaunchKernel{1, 64, 0, q}(k, p);", (64,)),
        ("dim3 b; b.y = 2; b.x = 32; k<<<1, b>>>(p);", (32, 2)),
        ("cudaLaunchConfig_t c; c.blockDim = 32; cudaLaunchKernelEx(&c, k, p);", (32,)),
        ("cudaLaunchConfig_t c; c.blockDim = 32; if (n) c.blockDim = 64; cudaLaunchKernelEx(&c, k, p);", None),
    ],
)  # fmt: skip
def test_launches_have_a_kernel_and_a_block(text: str, sizes: tuple[int | None, ...] | None) -> None:
    of = program("k.cu", {"k.cu": LAUNCHES.replace("{}", text, 1)})
    (env,) = of.named("go")
    found = [(launch.kernel, tuple(size.num for size in launch.sizes)) for launch in launches_of(of, env)]
    assert found == ([] if sizes is None else [("k", sizes)])


def test_a_launching_function_that_is_given_no_kernel_launches_nothing() -> None:
    of = program("k.cu", {"k.cu": LAUNCHES.replace("{}", "relaunch(p, 32, n);", 1)})
    assert not list(launches_of(of, of.named("go")[0]))


@pytest.mark.parametrize(("call", "sure"), [("__ballot_sync(~0ull, 1)", Confidence.MEDIUM), ("0ull", Confidence.LOW)])
def test_a_width_in_a_header_is_judged_by_the_files_that_use_it(call: str, sure: Confidence) -> None:
    user = f'#include "w.cuh"\n__global__ void k(int* p) {{\n  auto m = {call};\n  p[threadIdx.x / kWarp] = m != 0;\n}}\n'
    index, parsed = index_of(
        {"w.cuh": "constexpr int kWarp = 32;\nconstexpr int kWarpSize = kWarp;\n", "k.cu": user.replace("kWarp", "kWarpSize")}
    )
    (hit,) = warp_constants.detect(parsed["w.cuh"], index, Config(targets=("gfx942",)))
    assert hit.confidence is sure
    assert [(place.path, place.line) for place in hit.related] == [("k.cu", 4)]


def test_functions_that_no_build_for_amd_reads_answer_for_nobody() -> None:
    text = (
        "#ifdef __CUDACC__\n#ifndef __HIP_PLATFORM_AMD__\nint width() { return 32; }\n#else\nint width() { return 64; }\n#endif\n#endif\n"
    )
    index, _ = index_of({"w.cuh": text, "k.cu": '#include "w.cuh"\n'})
    found = index.function("width", "k.cu")
    assert found is not None and found.returns == "64" and found.live is not Live.NO


WIDTHS = (
    "#define WIDTH 32\n__device__ constexpr int wide() {\n#ifdef __GFX9__\n  return 64;\n#else\n  return 32;\n#endif\n}\n"
    "__device__ int other(bool x) {\n  if (x) return 64;\n  return 32;\n}\n"
)


def test_a_width_that_a_function_of_another_file_finds_out_in_branches_is_the_devices() -> None:
    body = '#include "w.cuh"\n__global__ void k(int* p) {\n  int n = wide();\n  int m = other(p[0]);\n  p[0] = n + m + warpSize;\n}\n'
    of = program("k.cu", {"w.cuh": WIDTHS, "k.cu": body})
    assert (value(of, "k", "n").kind, value(of, "k", "n").as_width) == ("hw", HARDWARE)
    assert value(of, "k", "m").kind == "other"


@pytest.mark.parametrize(
    ("text", "kind"), [("Pow2<WIDTH>::mod", "lane"), ("my::Pow2<32>::div", "warp"), ("Pow2<8>::mod", "sub"), ("std::mod", "other")]
)
def test_classes_that_divide_by_what_they_are_given(text: str, kind: str) -> None:
    of = program(
        "k.cu",
        {"w.cuh": WIDTHS, "k.cu": f'#include "w.cuh"\n__global__ void k(int* p) {{\n  int n = {text}(threadIdx.x);\n  p[n] = 32;\n}}\n'},
    )
    assert value(of, "k", "n").kind == kind


ROWS = (
    "template <int {0}>\n__global__ void rows(float* p, long n) {{\n"
    "  long r = blockIdx.x * blockDim.y + threadIdx.y;\n  if (r >= n) return;\n"
    "  p[r] = __shfl_xor_sync(0xffffffff, p[threadIdx.x], 1, {0});\n}}\n"
)


@pytest.mark.parametrize(("name", "found"), [("warp_size", 0), ("columns", 1)])
def test_rows_as_wide_as_the_device_leave_as_whole_waves(name: str, found: int) -> None:
    index, parsed = index_of({"k.cu": ROWS.format(name)})
    hits = [hit.rule for hit in sync_warp.detect(parsed["k.cu"], index, Config())]
    assert hits.count("early-exit-before-collective") == found


def test_a_loop_over_lanes_beside_matrix_instructions_places_no_fragment() -> None:
    body = "  cute::gemm(p);\n  int lane = cutlass::canonical_lane_idx();\n  for (int i = lane; i < n; i += 32) p[i] = 0;\n"
    index, parsed = index_of({"k.cu": f"__global__ void k(float* p, int n) {{\n{body}}}\n"})
    assert list(warp_lanes.detect(parsed["k.cu"], index, Config())) == []
    placed = body.replace("int i = lane", "int i = threadIdx.x % 32")
    index, parsed = index_of({"k.cu": f"__global__ void k(float* p, int n) {{\n{placed}}}\n"})
    assert "matrix-fragment-lanes-32" in [hit.rule for hit in warp_lanes.detect(parsed["k.cu"], index, Config())]


def test_a_width_of_64_lists_the_files_that_count_with_it() -> None:
    header = "#ifdef USE_ROCM\n#define WARP_SIZE 64\n#else\n#define WARP_SIZE 32\n#endif\n"
    host = '#include "w.h"\nint blocks(int n) {\n  dim3 block(WARP_SIZE, 4);\n  return n / WARP_SIZE;\n}\n'
    index, parsed = index_of({"w.h": header, "host.cu": host})
    (hit,) = [
        hit
        for hit in warp_constants.detect(parsed["w.h"], index, Config(targets=("gfx942", "gfx1100")))
        if hit.rule == "warp-size-constant-64"
    ]
    assert (hit.span.line, hit.targets) == (2, ("gfx1100",))
    assert [(place.path, place.line) for place in hit.related] == [("host.cu", 3), ("host.cu", 4)]


def test_a_template_parameter_with_the_name_of_a_width_is_what_the_file_gives_for_it() -> None:
    kernel = "template <typename T, int WARP_SIZE>\n__global__ void k(T* p) {\n  int n = WARP_SIZE;\n}\n"
    host = "void f(int* p) {\n  constexpr int Width = 32;\n  LAUNCH((k<int, Width>), 8, Width, p);\n}\n"
    of = program("k.cu", {"k.cu": kernel + host})
    assert (value(of, "k", "n").kind, value(of, "k", "n").num) == ("const", WARP)
    of = program("k.cu", {"k.cu": kernel + host + "void g(int* p) {\n  k<int, 64><<<8, 64>>>(p);\n}\n"})
    assert value(of, "k", "n").kind == "hw"
    assert value(program("k.cu", {"k.cu": kernel}), "k", "n").kind == "named_width"


TILES = (
    "namespace cg = cooperative_groups;\n__global__ void k(double* p, double* sums) {\n"
    "  auto tile = cg::tiled_partition<32>(cg::this_thread_block());\n"
    "  double v = cg::reduce(tile, p[threadIdx.x], cg::plus<double>());\n  if (tile.thread_rank() == 0) sums[threadIdx.x / %s] = v;\n}\n"
)


@pytest.mark.parametrize(("width", "rule"), [("warpSize", "warpsize-mixed-with-32"), ("32", "tiled-partition-32")])
def test_tiles_of_32_whose_results_are_counted_by_the_devices_width(width: str, rule: str) -> None:
    index, parsed = index_of({"k.cu": TILES % width})
    assert [hit.rule for hit in warp_libraries.detect(parsed["k.cu"], index, Config())] == [rule]


def test_a_function_of_the_host_is_not_called_by_a_library_function_of_that_name() -> None:
    host = "int reduce(int size, int n) {\n  launch(32);\n  return size % 32;\n}\n"
    index, parsed = index_of({"k.cu": TILES % "32" + host})
    hits = list(warp_libraries.detect(parsed["k.cu"], index, Config()))
    assert [(hit.rule, hit.span.line) for hit in hits] == [("tiled-partition-32", 3)]


def test_an_index_cut_by_32_and_put_together_again_is_a_layout() -> None:
    body = "  int row = threadIdx.x;\n  p[%s] = __shfl_xor_sync(~0ull, p[row], 1);\n"
    for text, sure in (("(row % 32) * 16 + (row / 32) * 4", Confidence.LOW), ("row / 32", Confidence.HIGH)):
        index, parsed = index_of({"k.cu": f"__global__ void k(float* p) {{\n{body % text}}}\n"})
        (hit,) = [hit for hit in warp_lanes.detect(parsed["k.cu"], index, Config()) if hit.rule == "warp-32-self-consistent"]
        assert hit.confidence is sure


def test_a_group_holds_the_calls_of_other_files_that_speak_to_other_lanes() -> None:
    head = "template <class T>\n__device__ T total(T v) {\n"
    header = head + "  for (int s = 16; s > 0; s >>= 1) v += __shfl_xor_sync(~0ull, v, s);\n  return v;\n}\n"
    head = '#include "w.cuh"\n__global__ void k(float* p) {\n  float v = total(p[threadIdx.x]);\n'
    body = head + "  if (threadIdx.x % 32 == 0) p[threadIdx.x / 32] = v;\n}\n"
    index, parsed = index_of({"w.cuh": header, "k.cu": body})
    (hit,) = warp_lanes.detect(parsed["k.cu"], index, Config())
    assert [place.line for place in hit.related] == [3]


def test_a_long_function_is_walked_once_however_many_helpers_it_calls() -> None:
    """4000 calls of a helper took so long that the file was given up."""
    many = 60
    helper = "DI int warp_of() { return threadIdx.x >> 5; }\n"
    named = "".join(f"  const int w{i} = warp_of();\n  const int l{i} = laneId();\n" for i in range(many))
    body = named + "".join(f"  out[w{i}] = __shfl_sync(~0ull, w{i}, l{i}, 32);\n" for i in range(many))
    of = program("k.cu", {"w.cuh": HEADER + helper, "k.cu": '#include "w.cuh"\n__global__ void k(int* out) {\n' + body + "}\n"})
    with mock.patch.object(environments, "walk", wraps=walk) as gathered, mock.patch.object(roles, "walk", wraps=walk) as looked:
        uses = roles.survey(of)[0]
    (env,) = of.named("k")
    assert [one.role for one in uses[0].found].count("warp") == many
    assert gathered.call_count + looked.call_count < 4 * len(env.function.events)


@pytest.mark.parametrize("call", ["min(threadIdx.x / 32, 3)", "__shfl_sync(~0ull, threadIdx.x / 32, 0, 32)"])
def test_an_index_that_a_builtin_is_given_counts_once(call: str) -> None:
    of = program("k.cu", {"k.cu": f"__global__ void k(int* out) {{\n  const int warp = {call};\n  out[warp] = 1;\n}}\n"})
    (uses,) = roles.survey(of)[0]
    assert [one.expr.op for one in uses.of("warp")] == ["/"]


def test_includes_are_followed_once_for_all_calls_of_pytorchs_helpers() -> None:
    body = "".join(f"  out[{i}] = WARP_SHFL(out[{i}], 0);\n" for i in range(40))
    of = program("k.cu", {"k.cu": "#include <ATen/cuda/DeviceUtils.cuh>\n__global__ void k(int* out) {\n" + body + "}\n"})
    with mock.patch.object(link.Index, "reach", autospec=True, side_effect=link.Index.reach) as reached:
        (uses,) = roles.survey(of)[0]
    assert [one.role for one in uses.found].count("shuffle") == 40 and reached.call_count < 5
