"""CUDA C++ into facts: names in their places, awkward syntax, coverage, hostile input."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from porter.model import Fact, Live, SourceFile
from porter.parse import Parsed, cuda, specifiers
from porter.parse.cuda import parse, skim
from porter.parse.cuda_embedded import embedded

FIXTURE = Path(__file__).parent.parent / "fixtures" / "parse" / "cuda" / "awkward.cu"


def read(text: str | bytes, path: str = "a.cu") -> Parsed:
    return parse(SourceFile(path, "cuda", text.encode() if isinstance(text, str) else text))


def names(parsed: Parsed, kind: str) -> list[str]:
    return [fact.name for fact in parsed.facts if fact.kind == kind]


def one(parsed: Parsed, kind: str, name: str) -> Fact:
    found = [fact for fact in parsed.facts if fact.kind == kind and fact.name == name]
    assert len(found) == 1, (kind, name, [f.span for f in found])
    return found[0]


@pytest.fixture(scope="module")
def awkward() -> Parsed:
    return read(FIXTURE.read_bytes(), "csrc/awkward.cu")


def line_of(needle: str) -> int:
    text = FIXTURE.read_text()
    return text[: text.index(needle)].count("\n") + 1


def test_awkward_syntax_is_read_whole(awkward: Parsed) -> None:
    assert awkward.coverage > 0.995
    assert awkward.problems == []


def test_includes_with_guards(awkward: Parsed) -> None:
    assert names(awkward, "include") == ["cuda_runtime.h", "warp/reduce.cuh", "cuda/pipeline"]
    assert one(awkward, "include", "cuda/pipeline").live is Live.NO
    assert one(awkward, "include", "cuda_runtime.h").live is Live.YES


def test_calls_are_named_as_written_without_template_arguments(awkward: Parsed) -> None:
    calls = names(awkward, "call")
    assert "cub::DeviceReduce::Sum" in calls
    assert "__shfl_xor_sync" in calls
    assert "cg::tiled_partition" in calls
    assert one(awkward, "call", "cub::DeviceReduce::Sum").detail["template"] == "<float*, 4>"
    assert one(awkward, "call", "__shfl_xor_sync").args == ("FULL_MASK", "value", "offset")


def test_namespace_aliases_are_resolved_beside_the_written_name(awkward: Parsed) -> None:
    fact = one(awkward, "call", "cooperative_groups::tiled_partition")
    assert fact.detail["written"] == "cg::tiled_partition"
    assert fact.detail["template"] == "<32>"


def test_comments_and_strings_are_no_uses(awkward: Parsed) -> None:
    everything = {fact.name for fact in awkward.facts}
    assert "cudaMemcpyToSymbol" not in everything
    assert "cudaFreeHost" not in everything


def test_macro_bodies_are_code_at_their_place(awkward: Parsed) -> None:
    fact = one(awkward, "call", "cudaGetErrorString")
    assert fact.detail["macro"] == "CHECK_CUDA"
    assert fact.span.line == line_of("cudaGetErrorString")
    line = FIXTURE.read_text().splitlines()[fact.span.line - 1]
    assert line[fact.span.column - 1 : fact.span.end_column - 1] == "cudaGetErrorString(status)"
    macro_launch = [f for f in awkward.facts if f.kind == "launch" and f.detail.get("macro") == "LAUNCH"]
    assert [f.args for f in macro_launch] == [("grid", "256", "0", "stream")]


def test_defines_keep_value_and_parameters(awkward: Parsed) -> None:
    assert one(awkward, "define", "FULL_MASK").detail == {"value": "0xffffffffu"}
    assert one(awkward, "define", "LANE_OF").detail == {"value": "((t) & 31)", "params": "t"}


def test_launches_keep_their_configuration(awkward: Parsed) -> None:
    fact = next(f for f in awkward.facts if f.kind == "launch" and "macro" not in f.detail)
    assert fact.name == "kernel"
    assert fact.args == ("dim3(n / 256)", "dim3(256)", "48 * 1024", "stream")
    assert fact.context == "host"


def test_contexts_follow_attribute_words(awkward: Parsed) -> None:
    assert one(awkward, "call", "__shfl_xor_sync").context == "device"
    assert one(awkward, "call", "tile_copy").context == "device"
    assert one(awkward, "call", "use").context == "device"
    assert one(awkward, "call", "cudaFuncSetAttribute").context == "host"
    assert one(awkward, "call", "thrust::for_each").context == "host"


def test_attribute_words_that_the_parser_does_not_see_are_facts(awkward: Parsed) -> None:
    fact = one(awkward, "call", "__cluster_dims__")
    assert fact.args == ("1, 2, 1",)
    assert fact.span.line == line_of("__cluster_dims__")
    assert one(awkward, "identifier", "__grid_constant__").detail == {"attribute": "yes"}


def test_branches_that_cut_a_call_are_read_and_guarded(awkward: Parsed) -> None:
    call = one(awkward, "call", "cublasSgemm")
    assert call.args[2] == "CUBLAS_OP_T"
    amd = one(awkward, "identifier", "rocblas_operation_none")
    assert (amd.live, amd.span.line) == (Live.YES, line_of("rocblas_operation_none"))
    assert one(awkward, "identifier", "CUBLAS_OP_T").live is Live.NO


def test_local_names_are_no_identifier_facts(awkward: Parsed) -> None:
    identifiers = names(awkward, "identifier")
    assert "value" not in identifiers
    assert "stream" not in identifiers
    assert "CUBLAS_OP_N" in identifiers
    assert not [name for name in identifiers if not name.strip("_")]


def test_members_are_dotted_calls_and_bare_identifiers() -> None:
    parsed = read("void f(cudaDeviceProp p, Grid* g) { g->sync(); BlockReduce(tmp).Sum(x); int w = p.warpSize; }")
    assert {"g.sync", ".Sum", "BlockReduce"} <= set(names(parsed, "call"))
    assert one(parsed, "identifier", "warpSize").detail == {"of": "p"}
    assert names(parsed, "type") == ["cudaDeviceProp", "Grid"]


def test_types_are_qualified() -> None:
    parsed = read("nvcuda::wmma::fragment<wmma::matrix_a, 16, 16, 16, half> a; ::cuda::std::atomic<int> n;")
    assert "nvcuda::wmma::fragment" in names(parsed, "type")
    assert "cuda::std::atomic" in names(parsed, "type")
    assert "half" in names(parsed, "type")


def test_macro_tests_and_pragmas() -> None:
    parsed = read("#pragma unroll 4\n#if defined(A) && B >= 3\n#elif C\n#endif\n#ifndef D\n#endif\n")
    assert names(parsed, "macro_test") == ["A", "B", "C", "D"]
    assert names(parsed, "pragma") == ["unroll 4"]
    assert names(parsed, "identifier") == []


def test_primitive_types_given_to_macros_cost_nothing() -> None:
    text = "void f() {\n  CALL_CONVERT(float, uint8_t, kAuto);\n  CALL_CONVERT(uint8_t, float, kAuto);\n  cudaFree(p);\n}\n"
    parsed = read(text)
    assert parsed.coverage == 1.0
    assert names(parsed, "call") == ["CALL_CONVERT", "CALL_CONVERT", "cudaFree"]


def test_a_broken_function_costs_its_own_region() -> None:
    good = "__global__ void k(float* p) { p[threadIdx.x] = __shfl_sync(~0u, 1.f, 0); }\n"
    parsed = read(good * 20 + "void broken() { x = = ] 4 @ ; ?? }\n" + good * 20)
    assert parsed.coverage > 0.9
    assert names(parsed, "call").count("__shfl_sync") >= 39


def test_garbage_is_a_problem_that_matters() -> None:
    parsed = read("%$ ]] ) } ??? @@ \n" * 50)
    assert parsed.coverage < 0.5
    assert [p.matters for p in parsed.problems] == [True]


def test_crlf_bom_and_latin_text() -> None:
    data = b"\xef\xbb\xbf#include <cublas_v2.h>\r\n// gr\xfc\xdfe\r\nvoid f() { cublasCreate(&h); }\r\n"
    parsed = read(data)
    assert names(parsed, "include") == ["cublas_v2.h"]
    assert one(parsed, "call", "cublasCreate").span.line == 3


HOSTILE = {
    "nested": b"int x = " + b"(" * 1_000_000,
    "balanced": b"int x = " + b"(" * 200_000 + b"1" + b")" * 200_000 + b";",
    "braces": b"{" * 500_000,
    "sum": b"int x = " + b"a+" * 300_000 + b"1;",
    "templates": b"a<b,c<d," * 50_000,
    "nul": b"\0" * 100_000,
    "comment": b"/*" * 400_000,
    "raw": b'R"x(' * 200_000,
    "quotes": b"'\"\\" * 200_000,
    "defines": b"#define A(x) f(x\n" * 20_000,
    "conditionals": b"#if A\n" * 20_000,
    "conditional-expression": b"#if " + b"(" * 100_000 + b"\n#endif\n",
    "line-continuations": b"\\\n" * 300_000,
    "invalid": bytes(range(128, 256)) * 2000,
    "capitals": b"AAAA " * 200_000,
    "typenames": b"typename A " * 50_000,
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_input_ends_soon(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "PARSE_SECONDS", 1.0)
    start = time.process_time()
    parsed = parse(SourceFile(f"{name}.cu", "cuda", HOSTILE[name]))
    assert time.process_time() - start < 15
    assert 0.0 <= parsed.coverage <= 1.0


def test_what_is_refused_is_a_problem() -> None:
    for name in ("nested", "sum", "nul"):
        parsed = parse(SourceFile("x.cu", "cuda", HOSTILE[name]))
        assert parsed.tree is None
        assert [p.matters for p in parsed.problems] == [True]


def test_skim_reads_directives_only() -> None:
    text = b'#include "b.h"\n#define WARP_SIZE 32 // lanes\n#define F(a, b) (a)\nvoid f() { cudaFree(p); }\n'
    parsed = skim(SourceFile("a.h", "cxx", text))
    assert [(f.kind, f.name) for f in parsed.facts] == [("include", "b.h"), ("define", "WARP_SIZE"), ("define", "F")]
    assert parsed.facts[1].detail == {"value": "32"}
    assert parsed.facts[2].detail == {"value": "(a)", "params": "a, b"}


def test_offsets_survive_every_repair() -> None:
    text = FIXTURE.read_bytes()
    lines = text.split(b"\n")
    parsed = read(text)
    for fact in parsed.facts:
        if fact.kind in ("type", "identifier") and fact.span.line == fact.span.end_line and "written" not in fact.detail:
            there = lines[fact.span.line - 1][fact.span.column - 1 : fact.span.end_column - 1]
            assert there.startswith(fact.name.split("::")[0].encode()), fact


def test_a_loop_macro_in_a_kernel_is_device_code() -> None:
    parsed = cuda.parse(
        SourceFile("k.cu", "cuda", b"__global__ void k(int n) {\n  KERNEL_LOOP(i, n) {\n    work(i);\n  }\n}\nBox::Box() { fill(); }\n")
    )
    assert {f.name: f.context for f in parsed.facts if f.kind == "call" and f.name in ("work", "fill")} == {
        "work": "device",
        "fill": "host",
    }


def test_values_and_array_sizes_are_uses_and_declared_names_are_not() -> None:
    parsed = cuda.parse(
        SourceFile("k.cu", "cuda", b"void f() {\n  auto kind = cudaMemcpyHostToDevice;\n  int table[MAX_ROWS], other{LIMIT};\n}\n")
    )
    assert [f.name for f in parsed.facts if f.kind == "identifier"] == ["cudaMemcpyHostToDevice", "MAX_ROWS", "LIMIT"]


def test_comments_between_the_strings_of_a_program_do_not_part_them() -> None:
    lines = (r'"__global__ void k(float* p) {\n"  // the kernel', r'  "  __syncwarp();\n"', r'  /* its end */ "}\n";', 'auto t = "other";')
    parsed = read("const char* program = " + "\n".join(lines) + "\n")
    assert [(fact.name, fact.span.line) for part in parsed.embedded for fact in part.facts if fact.kind == "call"] == [("__syncwarp", 2)]
    assert b"other" not in parsed.embedded[0].file.data


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"// __global__ void f() {;}\n", False),
        (b'/* says "__global__ void f() {;}" */ int x;\n', False),
        (b'extern "C" __global__ void f() {;} // __global__\n', False),
        (b'const char* s = "__global__ void f(int a) {;}";\n', True),
        (b'const char* s = "\\\n__global__ void f(int a) {;}\\\n";\n', True),
        (b'const char* s = R"(\n__global__ void f(int a) {;}\n)";\n', True),
        (b'const char* s = "' + b"\\\n" * 300 + b'__global__ void f(int a) {;}";\n', True),
    ],
)
def test_cuda_in_strings_is_found_wherever_the_string_begins(text: bytes, found: bool) -> None:
    parsed = parse(SourceFile("a.cpp", "cxx", text))
    assert len(parsed.embedded) == found
    assert all(b"void f(int a)" in inner.file.data for inner in parsed.embedded)


def test_one_long_line_of_words_is_looked_at_once() -> None:
    file = SourceFile("a.cu", "cuda", b"/*__global__*/ " + b"int __global__; " * 250_000)
    guards = read("").guards
    started = time.process_time()
    assert guards is not None and embedded(file, guards, parse, []) == []
    assert time.process_time() - started < 3.0


def test_words_before_a_declaration_are_what_the_regex_finds() -> None:
    chance = random.Random(3)
    pieces = [
        b"DEVICE",
        b" ",
        b"\n",
        b"}",
        b";",
        b"// note",
        b"#define A",
        b"x",
        b")",
        b">",
        b"*/",
        b"1",
        b"_HD ",
        b"static ",
        b"#",
        b"\t",
        b"{ ",
    ]
    several = 0
    for _ in range(3000):
        data = b"".join(chance.choices(pieces, k=chance.randint(0, 12)))
        lines = [line.partition(b"//")[0] for line in data.split(b"\n") if line.lstrip()[:1] != b"#"]
        match = specifiers._WORDS.search(b"\n".join(lines))
        assert specifiers.before(data + b"f", len(data)) == (match.group() if match else b""), data
        several += match is not None
    assert several > 300
