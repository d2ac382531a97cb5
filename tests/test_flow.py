from __future__ import annotations

import pytest

from porter.flow import number, warps
from porter.flow.breaks import Break, breaks_of
from porter.flow.env import Env
from porter.flow.program import program_of
from porter.flow.unit import unit_of
from porter.flow.use import Uses
from porter.flow.values import HARDWARE, UNKNOWN_WIDTH, Value
from porter.model import SourceFile
from porter.parse import Parsed
from porter.parse.cuda import parse


def read(text: str) -> Parsed:
    return parse(SourceFile("k.cu", "cuda", text.encode()))


def env_of(text: str, name: str = "k") -> Env:
    (env,) = program_of(read(text)).named(name)
    return env


def value_of(expression: str, before: str = "", constants: str = "") -> Value:
    env = env_of(f"{constants}\n__global__ void k(int n, float* p) {{\n  {before}\n  auto warp_value = {expression};\n}}\n")
    event = next(event for event in env.function.events if event.name == "warp_value")
    return env.value(event.value)


@pytest.mark.parametrize(
    ("text", "value", "bits"),
    [
        ("32", 32, 32), ("0xffffffff", 0xFFFFFFFF, 32), ("0xffffffffu", 0xFFFFFFFF, 32), ("4294967295", 0xFFFFFFFF, 64),
        ("0xffffffffffffffff", 0xFFFFFFFFFFFFFFFF, 64), ("1ull", 1, 64), ("0b101", 5, 32), ("1'024", 1024, 32), ("017", 15, 32),
    ],
)  # fmt: skip
def test_literals_have_a_value_and_a_width(text: str, value: int, bits: int) -> None:
    assert number.parse(text) == (value, bits)


@pytest.mark.parametrize("text", ["1.5f", "0x", "32px", "", "089"])
def test_what_is_no_integer_has_none(text: str) -> None:
    assert number.parse(text) is None


@pytest.mark.parametrize(
    ("kind", "bits"),
    [("unsigned int", 32), ("const uint64_t", 64), ("auto", 0), ("T", 0), ("unsigned long long", 64), ("lane_mask_t", 64), ("int*", 0)],
)
def test_types_have_a_width_as_far_as_they_tell(kind: str, bits: int) -> None:
    assert number.type_bits(kind) == bits


@pytest.mark.parametrize(
    ("expression", "kind", "width"),
    [
        ("threadIdx.x % 32", "lane", 32),
        ("threadIdx.x & 31", "lane", 32),
        ("threadIdx.x & 0x1f", "lane", 32),
        ("static_cast<int>(threadIdx.x) % 32u", "lane", 32),
        ("threadIdx.x & (warpSize - 1)", "lane", HARDWARE),
        ("threadIdx.x >> 5", "warp", 32),
        ("threadIdx.x / warpSize", "warp", HARDWARE),
        ("blockDim.x / 32", "warps", 32),
        ("(blockDim.x + 31) >> 5", "warps", 32),
        ("(threadIdx.y * blockDim.x + threadIdx.x) / 32", "warp", 32),
    ],
)
def test_the_chain_from_the_thread_index_says_what_a_value_is(expression: str, kind: str, width: int) -> None:
    made = value_of(expression)
    assert (made.kind, made.width, made.proven) == (kind, width, True)


@pytest.mark.parametrize("expression", ["n % 32", "n >> 5", "p[3] / 32", "(n + 31) / 32", "blockIdx.x / 32", "sizeof(int) * 32"])
def test_data_divided_by_32_is_no_lane_and_no_warp(expression: str) -> None:
    assert value_of(expression).kind not in ("lane", "warp", "warps")


def test_names_are_followed_through_locals_macros_constants_and_enumerators() -> None:
    constants = "#define LOG2 5\n#define WS (1 << LOG2)\nenum { LANES = WS };\nstatic constexpr int kMask = LANES - 1;"
    made = value_of("t & kMask", before="const unsigned t = threadIdx.x;", constants=constants)
    assert (made.kind, made.width) == ("lane", 32)
    assert "kMask" in made.symbols and "WS" in made.symbols


def test_a_parameter_is_what_all_callers_pass() -> None:
    text = """
__device__ int f(int where) { int copy = where; return copy + __popc(__activemask() & 31); }
__global__ void a(int* p) { p[0] = f(threadIdx.x % 32); }
__global__ void b(int* p) { p[0] = f(threadIdx.x & 31); }
"""
    env = env_of(text, "f")
    assert env.value(env.function.events[0].value).kind == "lane"


def test_a_helper_gives_back_its_lane() -> None:
    text = "__device__ int mine() { return threadIdx.x & 31; }\n__global__ void k(int* p) { int a = mine(); p[a] = 0; }"
    env = env_of(text)
    assert env.value(env.function.events[0].value).width == 32


def test_laneid_from_ptx_is_the_hardware_s() -> None:
    env = env_of('__device__ int k() { unsigned r; asm("mov.u32 %0, %%laneid;" : "=r"(r)); int v = r; return v; }')
    (made,) = [env.value(event.value) for event in env.function.events if event.name == "v"]
    assert (made.kind, made.width) == ("lane", HARDWARE)


def test_a_thread_index_that_a_loop_moves_counts_elements() -> None:
    env = env_of("__global__ void k(int* p) { for (int i = threadIdx.x; i < 99; i += blockDim.x) { int w = i / 32; p[w] = 0; } }")
    (made,) = [env.value(event.value) for event in env.function.events if event.name == "w"]
    assert made.kind != "warp" or made.via == "gid"


def test_an_unknown_width_stays_unknown() -> None:
    made = value_of("threadIdx.x % WARP_SIZE")
    assert (made.kind, made.width) == ("lane", UNKNOWN_WIDTH)


def test_a_declaration_that_reads_like_two_comparisons_is_one() -> None:
    env = env_of("__global__ void k() { ns::thread_block_tile<32> tile = ns::part(b); int r = tile.thread_rank(); }")
    (made,) = [env.value(event.value) for event in env.function.events if event.name == "r"]
    assert (made.kind, made.width) == ("lane", 32)


def test_bodies_of_macros_are_read_at_their_place() -> None:
    unit = unit_of(read("\n#define SUM(v) \\\n  v += __shfl_xor_sync(0xffffffff, v, 16); \\\n  v += 1\n"))
    (macro,) = unit.by_name("SUM")
    assert macro.side == "macro"
    assert [event.line for event in macro.events] == [3, 4]
    assert macro.events[0].span.column == 3


def test_guards_and_loops_surround_events() -> None:
    env = env_of("__global__ void k(int n) {\n  for (int o = 16; o > 0; o >>= 1) {\n    if (n) { n = 1; } else n = 2;\n  }\n}\n")
    first, second = [event for event in env.function.events if event.kind == "assign" and event.op == "="]
    assert [guard.sense for guard in (*first.guards, *second.guards)] == [True, False]
    assert first.loops[0].variable == "o" and first.loops[0].line == 2


@pytest.mark.parametrize(
    "text",
    [
        "__global__ void k() { int x = " + "(" * 400 + "32" + ")" * 400 + "; }",
        "__global__ void k() { int x = " + "1+" * 5000 + "threadIdx.x%32; }",
        "__global__ void k() { " + "if (threadIdx.x < 32) { " * 300 + "}" * 300 + " }",
        "#define A B\n#define B A\n__global__ void k() { int w = threadIdx.x / A; }",
        "__device__ int f(int a) { return f(a % 32); }\n__global__ void k() { int w = f(threadIdx.x); }",
        "__global__ void k(int lane) { int a = b; int b = a; a = b % 32; }",
        "__global__ void k( { [[[ <<< 32 >>> ; warp % & 31",
        "__global__ void k(int* p) { p[0] = threadIdx.x() % 32; }",
    ],
)
def test_hostile_shapes_end(text: str) -> None:
    program = program_of(read(text))
    for env in program.envs:
        for event in env.function.events:
            env.value(event.value)
            env.value(event.target)


def test_helpers_of_many_kernels_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = "".join(
        f"__device__ float h{i}(float v) {{ for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o); return v; }}\n"
        for i in range(10)
    )
    calls = " ".join(f"v = h{i}(v);" for i in range(10))
    kernels = "".join(f"__global__ void k{i}(float* p) {{ float v = p[threadIdx.x % 32]; {calls} p[0] = v; }}\n" for i in range(20))
    seen: list[str] = []

    def counted(uses: Uses) -> list[Break]:
        seen.append(uses.env.function.name)
        return breaks_of(uses)

    monkeypatch.setattr(warps, "breaks_of", counted)
    found = warps.verdicts(program_of(read(sums + kernels)))
    assert {verdict.state for verdict in found} == {"consistent"}
    assert len(found) == 30 and sorted(seen) == sorted({verdict.uses.env.function.name for verdict in found})
