from __future__ import annotations

import re
from pathlib import Path

import pytest

from porter import link, rules, testing
from porter.config import Config
from porter.detectors import warp_lanes, warp_launches
from porter.examine import Auditor
from porter.model import Confidence, Hit, SourceFile
from porter.parse import Parsed
from porter.parse.cuda import parse

ROOT = Path(__file__).parent.parent
DETECTORS = (
    "warp_masks",
    "warp_votes",
    "warp_lanes",
    "warp_constants",
    "warp_launches",
    "warp_libraries",
    "warp_cases",
    "warp_shared",
    "sync_warp",
)
GC = (ROOT / "fixtures/rules/lane-index-32/graph_colour.cu").read_bytes()


@pytest.fixture(scope="module")
def ruleset() -> rules.RuleSet:
    return rules.load()


def hits(text: str | bytes, *targets: str) -> list[Hit]:
    import importlib

    data = text.encode() if isinstance(text, str) else text
    parsed: Parsed = parse(SourceFile("k.cu", "cuda", data))
    config = Config(targets=targets or ("gfx942",))
    found: list[Hit] = []
    for name in DETECTORS:
        found += importlib.import_module(f"porter.detectors.{name}").detect(parsed, None, config)
    return found


def ids(text: str | bytes, *targets: str) -> set[str]:
    return {hit.rule for hit in hits(text, *targets)}


def test_every_rule_of_the_area_has_a_detector_that_is_tested(ruleset: rules.RuleSet) -> None:
    mine = [rule for rule in ruleset.rules.values() if rule.area == "warp-size"]
    assert len(mine) > 30
    assert {rule.detector for rule in mine if rule.detector} == set(DETECTORS)


def test_examples_and_fixtures_hold(ruleset: rules.RuleSet) -> None:
    failures = []
    audit = Auditor(Config(targets=testing.ALL_TARGETS), ruleset)
    for rule in ruleset.rules.values():
        if rule.area == "warp-size":
            failures += testing.check_rule_examples(ruleset, rule.id, audit)
    assert failures == []


def test_targets_of_32_lanes_have_no_hazard_of_64() -> None:
    assert "lane-index-32" in ids(GC, "gfx942")
    assert "lane-index-32" not in ids(GC, "gfx1100")
    assert "ballot-in-32-bits" not in ids(GC, "gfx1250")


def test_hits_name_the_targets_on_which_they_bite() -> None:
    found = [hit for hit in hits(GC, "gfx942", "gfx1100") if hit.rule == "ballot-in-32-bits"]
    assert found and all(hit.targets == ("gfx942",) for hit in found)


def test_a_mask_of_four_bytes_does_not_compile_on_any_target() -> None:
    text = "__device__ int f(int v) { return __shfl_xor_sync(0xffffffff, v, 1, 32); }"
    assert "sync-mask-32bit" in ids(text, "gfx1100")


def test_a_width_fixed_at_64_is_wrong_on_targets_of_32_lanes() -> None:
    text = "#define WARP_SIZE 64\n__device__ int f() { return threadIdx.x % WARP_SIZE; }"
    (hit,) = hits(text, "gfx942", "gfx1100")
    assert (hit.rule, hit.targets, hit.confidence) == ("warp-size-constant-64", ("gfx1100",), Confidence.HIGH)


def test_one_group_lists_the_other_places() -> None:
    found = min((hit for hit in hits(GC) if hit.rule == "lane-index-32"), key=lambda hit: hit.span)
    lines = {place.line for place in found.related}
    text = GC.decode().split("\n")
    assert any("__ballot" in text[line - 1] for line in lines)
    assert any("static const int WS" in text[line - 1] for line in lines)


def test_bits_of_a_word_are_not_lanes() -> None:
    text = GC.decode().split("\n")
    (line,) = [i for i, words in enumerate(text, 1) if "palette[colour / WS]" in words]
    assert all(hit.span.line != line for hit in hits(GC))


@pytest.mark.parametrize(
    "body",
    [
        "int i = blockIdx.x * blockDim.x + threadIdx.x; out[i >> 5] |= 1u << (i & 31);",
        "__shared__ float tile[32][33]; tile[threadIdx.y][threadIdx.x] = 0; __syncthreads();",
        "int group = n / 32; out[group] = n % 32;",
        "if (n % 32 != 0) return; out[threadIdx.x] = 0;",
        "unsigned all = 0xffffffff; out[threadIdx.x] = all;",
        'out[0] = __popc(out[1]) + __ffs(out[2]); // warp 32 lane 31\n  const char* s = "__ballot_sync(0xffffffff, p)";',
    ],
)
def test_32_that_is_no_warp_is_left_alone(body: str) -> None:
    assert hits(f"__global__ void k(unsigned* out, int n) {{ {body} }}") == []


def test_shuffles_that_stay_inside_their_half_are_right() -> None:
    scan = """
__device__ int scan(int x) {
  int lane = threadIdx.x & 31;
  for (int d = 1; d < 32; d *= 2) {
    int y = __shfl_up_sync(~0ull, x, d);
    if (lane >= d) x += y;
  }
  return x;
}
"""
    assert ids(scan) == {"warp-32-self-consistent"}
    assert "shuffle-without-width" in ids(scan.replace("if (lane >= d) ", ""))


def test_a_mask_handed_on_is_no_vote() -> None:
    text = "__device__ float f(float v) { for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(__activemask(), v, o); return v; }"
    assert ids(text) == {"warp-32-self-consistent"}


def test_a_matrix_fragment_of_a_whole_wave_breaks_32_lanes() -> None:
    text = """
__global__ void k(const half* a) {
  int warp = threadIdx.x / 32;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> f;
  wmma::load_matrix_sync(f, a + warp * 256, 16);
}
"""
    assert "warp-index-32" in ids(text)


def test_only_templates_deduce_the_type_of_warp_size() -> None:
    body = "__device__ int f(int n) {{ return {}(warpSize, n); }}\n"
    assert "warpsize-deduced" in ids(body.format("std::min"))
    assert "warpsize-deduced" not in ids(body.format("min"))  # HIP's own overloads take it, as the compiler shows


def test_a_width_that_differs_by_target_is_no_fixed_width() -> None:
    text = "#if defined(__GFX9__)\n#define WARP_SIZE 64\n#else\n#define WARP_SIZE 32\n#endif\n"
    text += "__device__ int lane() { return threadIdx.x % WARP_SIZE; }\n"
    text += "__global__ void k(unsigned* m) { unsigned b = __ballot_sync(~0ull, lane()); m[threadIdx.x] = __popc(b); }\n"
    assert "warp-size-constant" not in ids(text)
    assert "lane-index-32" not in ids(text)


def test_sides_of_a_block_of_products_are_no_steps_of_a_warp() -> None:
    text = "__global__ void k(float* g) {\n  __shared__ float c[96];\n  int i = threadIdx.x, d = 8;\n"
    text += "  c[6 * i + 0] += c[6 * (i + d) + 0];\n  c[6 * i + 1] += c[6 * (i + d) + 1];\n  c[6 * i + 2] += c[6 * (i + d) + 2];\n"
    text += "  c[6 * i + 4] += c[6 * (i + d) + 4];\n  g[i] = c[i];\n}\n"
    assert "warp-synchronous-tail" not in ids(text)
    steps = "".join(f"  c[i] += c[i + {n}];\n" for n in (16, 8, 4, 2, 1))
    assert "warp-synchronous-tail" in ids(
        "__global__ void k(float* g) {\n  __shared__ float c[96];\n  int i = threadIdx.x;\n" + steps + "}\n"
    )


def hit_of(rule: str, text: str) -> Hit:
    return next(hit for hit in hits(text) if hit.rule == rule)


def test_a_vote_that_is_kept_for_32_lanes_breaks_on_64_and_one_that_skips_work_does_not() -> None:
    text = "__global__ void k(int* any, const int* x) {\n  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;\n"
    keeps = "  int found = __any_sync(~0ull, x[lane] > 0);\n  if (lane == 0) any[warp] = found;\n}\n"
    skips = "  if (!__any_sync(~0ull, x[lane] > 0)) return;\n  if (lane == 0) any[warp] = 1;\n}\n"
    assert "lane-index-32" in ids(text + keeps)
    assert "warp-32-self-consistent" in ids(text + skips)


def test_a_mask_in_a_branch_of_part_of_a_wave_says_so() -> None:
    text = "__global__ void k(float* x) {\n  float v = x[0];\n  if (threadIdx.x < 32) {\n"
    text += "    v += __shfl_down_sync(0xffffffff, v, 16);\n  }\n  x[0] = v;\n}\n"
    assert "by line 3 only part of a wave" in hit_of("sync-mask-32bit", text).message
    assert "part of a wave" not in hit_of("sync-mask-32bit", text.replace("< 32", "< 64")).message


def test_cub_types_named_in_a_class_are_seen() -> None:
    text = "template <int N> struct Agent {\n  using Reduce = cub::WarpReduce<float>;\n  using Fixed = cub::WarpReduce<float, 32>;\n"
    text += "  __device__ float first(float v) { return __shfl_sync(0xffffffff, v, 0); }\n};\n"
    found = [hit for hit in hits(text) if hit.rule == "cub-warp-default-width"]
    assert [hit.span.line for hit in found] == [2]
    assert found[0].confidence is Confidence.HIGH


def test_a_kernel_of_a_header_launched_elsewhere_in_half_waves() -> None:
    header = "__global__ void k(float* x) { x[0] = __shfl_sync(~0ull, x[threadIdx.x], 0); }\n"
    source = '#include "k.cuh"\nvoid go(float* x) { k<<<1, 32>>>(x); }\n'
    files = [parse(SourceFile(name, "cuda", text.encode())) for name, text in (("k.cuh", header), ("go.cu", source))]
    index = link.link([link.survey(one) for one in files])
    found = [hit for hit in warp_launches.detect(files[0], index, Config()) if hit.rule == "one-warp-block"]
    assert [(hit.span.line, hit.related[0].path) for hit in found] == [(1, "go.cu")]


def test_a_width_from_a_function_of_an_included_header_is_followed() -> None:
    header = "namespace dh { constexpr int WarpThreads() { return 32; } }\n"
    source = '#include "h.cuh"\n__global__ void k(unsigned* m) {\n  int lane = threadIdx.x % dh::WarpThreads();\n'
    source += "  m[lane] = __ballot_sync(~0ull, lane);\n}\n"
    files = [parse(SourceFile(name, "cuda", text.encode())) for name, text in (("h.cuh", header), ("k.cu", source))]
    index = link.link([link.survey(one) for one in files])
    assert "lane-index-32" in {hit.rule for hit in warp_lanes.detect(files[1], index, Config())}


def test_an_algorithm_of_cub_as_wide_as_the_device_breaks_code_of_32_lanes() -> None:
    text = "struct Agent {\n  using Scan = cub::WarpScan<int>;\n"
    text += "  __device__ void Forward(int* x) { Scan(s).InclusiveSum(x[0], x[0]); }\n};\n"
    text += "__global__ void k(int* x) {\n  int row = threadIdx.x / 32;\n  Agent agent;\n  agent.Forward(x + row);\n}\n"
    assert "warp-index-32" in ids(text)
    assert "warp-32-self-consistent" in ids(text.replace("<int>;", "<int, 32>;"))


def test_a_block_of_cub_counts_all_its_sides() -> None:
    text = "__global__ void k(double* x) {{ typedef cub::BlockReduce<double, 16, cub::BLOCK_REDUCE_WARP_REDUCTIONS{}> R; }}\n"
    assert "cub-block-by-warps" in ids(text.format(""))
    assert "cub-block-by-warps" in ids(text.format(", 6"))
    assert "cub-block-by-warps" not in ids(text.format(", 16"))


def test_blocks_of_32_for_a_kernel_that_asks_the_device() -> None:
    kernel = "__global__ void k(float* x) {{ int row = threadIdx.x / {}; x[row] = 1; }}\n"
    host = "void go(float* x, int warps) {\n  int threads = 32 * warps;\n  k<<<1, threads>>>(x);\n}\n"
    found = [hit for hit in hits(kernel.format("warpSize") + host) if hit.rule == "host-warp-count"]
    assert [(hit.span.line, hit.confidence) for hit in found] == [(3, Confidence.MEDIUM)]
    assert "host-warp-count" not in ids(kernel.format("8") + host)


def test_a_scan_of_a_warp_on_shared_memory_is_a_chain_and_never_good_news() -> None:
    text = "#define WARP_SIZE 32\n__device__ unsigned scan(unsigned v, volatile unsigned* s, int most) {\n"
    text += "  int i = 2 * threadIdx.x - (threadIdx.x & (WARP_SIZE - 1));\n"
    text += "".join(f"  if ({step} <= most) {{ s[i] += s[i - {1 << step}]; }}\n" for step in range(5)) + "  return s[i] - v;\n}\n"
    found = ids(text)
    assert "warp-synchronous-tail" in found
    assert "warp-32-self-consistent" not in found


def test_roles_of_warps_that_wait_for_each_other() -> None:
    text = "__global__ void k(float* x) {{\n  int warp = threadIdx.x / 32;\n  if (warp == 0) {{ wait_empty(0); }} else {{ {}; }}\n}}\n"
    assert hit_of("warp-specialised-roles", text.format("wait_full(0)")).span.line == 3
    assert "warp-specialised-roles" not in ids(text.format("x[0] = 1"))
    assert "warp-specialised-roles" not in ids(text.format("wait_full(0)").replace("/ 32", "/ 64"))


def test_masks_made_from_the_place_in_a_warp_of_32_are_told_and_never_good_news() -> None:
    text = """#define kWarpSize 32
    __global__ void grouped(float* out, int G) {
      const int group_per_warp = kWarpSize / blockDim.x;
      const int group_in_warp = (threadIdx.z * G + threadIdx.y) % group_per_warp;
      const unsigned mask = ((1 << blockDim.x) - 1) << (group_in_warp * blockDim.x);
      float v = out[threadIdx.x];
      for (int offset = blockDim.x >> 1; offset > 0; offset >>= 1) v += __shfl_down_sync(mask, v, offset);
      const int lane = threadIdx.x % kWarpSize;
      out[lane] = v + __shfl_down_sync(mask, v, 1);
    }
    """
    made = [hit for hit in hits(text) if hit.rule == "partial-sync-mask"]
    assert [(hit.span.line, hit.subject) for hit in made] == [(5, "grouped")]
    assert "warp-32-self-consistent" not in ids(text)
    by_argument = text.replace("(group_in_warp * blockDim.x)", "G")  # nobody knows of what
    assert "partial-sync-mask" not in ids(by_argument)
    assert "warp-32-self-consistent" in ids(by_argument)
    device = text.replace("#define kWarpSize 32", "").replace("kWarpSize", "warpSize")
    assert "partial-sync-mask" not in ids(device)
    ported = re.sub(r"^.*__shfl.*$", r"#ifndef USE_ROCM\n\g<0>\n#endif", text, flags=re.M)
    assert "partial-sync-mask" not in ids(ported)  # the mask is made for both, and used for one
    first = text.replace("float v = out[threadIdx.x];", "if (threadIdx.x >= 32) return; float v = out[threadIdx.x];")
    assert "partial-sync-mask" in ids(first)  # threads of other rows are in the wave
    assert not ids(text, "gfx1100") & {"partial-sync-mask"}


def test_a_mask_by_place_is_right_where_the_upper_half_of_a_wave_is_kept_out() -> None:
    text = """__global__ void k(float* out) {
      const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
      if (GUARD) out[lane] += __shfl_xor_sync(0xffull << (lane & 24), out[lane], 4, 8) + warp;
    }
    """
    for guard, is_hit in (("threadIdx.x < 32", False), ("warp == 0", False), ("warp == 1", True), ("lane < 8", True)):
        assert ("partial-sync-mask" in ids(text.replace("GUARD", guard))) is is_hit, guard
