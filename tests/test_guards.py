"""Preprocessor conditionals: what the AMD build and the CUDA build read, and what cannot be told."""

from __future__ import annotations

import time

import pytest

from porter.model import Live
from porter.parse import cuda_expr
from porter.parse.cuda_build import AMD, NVIDIA, Pass, ambient, words_of
from porter.parse.cuda_expr import NONZERO, UNKNOWN, Value, evaluate
from porter.parse.cuda_lex import directives, mask
from porter.parse.guards import guards_of

YES, NO, MAYBE = Live.YES, Live.NO, Live.UNKNOWN


def lives(text: str, path: str = "a.cu", given: dict[str, str] | None = None) -> dict[str, tuple[Live, Live]]:
    """Liveness for AMD and CUDA of every line that is a single word, by that word."""
    guards = guards_of(text.encode(), path, given)
    return {
        line.strip(): (guards.at(number), guards.nvidia_at(number))
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip().isidentifier()
    }


def branches(condition: str, path: str = "a.cu", given: dict[str, str] | None = None) -> tuple[Live, Live, Live, Live]:
    found = lives(f"{condition}\nyes\n#else\nno\n#endif\n", path, given)
    return (*found["yes"], *found["no"])


CONDITIONS = {  # AMD then CUDA for the branch itself, AMD then CUDA for its #else
    "#ifdef USE_ROCM": (YES, NO, NO, YES),
    "#ifndef USE_ROCM": (NO, YES, YES, NO),
    "#if !defined(__HIP_PLATFORM_AMD__)": (NO, YES, YES, NO),
    "#if defined(__HIPCC__) || defined(FOO)": (YES, MAYBE, NO, MAYBE),
    "#if defined(GGML_USE_HIP)": (YES, NO, NO, YES),
    "#ifdef __HIP_DEVICE_COMPILE__": (YES, NO, YES, YES),
    "#ifdef __CUDA_ARCH__": (NO, YES, YES, YES),
    "#if __CUDA_ARCH__ >= 800": (NO, MAYBE, YES, YES),
    "#if __CUDA_ARCH__ < 800": (YES, YES, NO, MAYBE),
    "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800": (NO, MAYBE, YES, YES),
    "#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700": (YES, YES, NO, MAYBE),
    "#if __CUDA_ARCH__ > 0": (NO, YES, YES, YES),
    "#if (defined(__CUDA_ARCH__) and (__CUDA_ARCH__ >= 800)) or defined(MY_CHOICE)": (MAYBE, MAYBE, MAYBE, MAYBE),
    "#if (defined(__CUDA_ARCH__) and (__CUDA_ARCH__ >= 800)) or defined(__CLION_IDE__)": (NO, MAYBE, YES, YES),
    "#if defined(__CUDA_ARCH__) and not (__CUDA_ARCH__ < 800)": (NO, MAYBE, YES, YES),
    "#ifdef CUTLASS_ARCH_MMA_SM90A_ENABLED": (NO, MAYBE, YES, MAYBE),
    "#if CUDA_VERSION >= 11000": (NO, MAYBE, YES, MAYBE),
    "#ifdef CUDA_VERSION": (NO, YES, YES, NO),
    "#ifdef __CUDACC__": (YES, YES, NO, NO),
    "#ifdef __NVCC__": (NO, YES, YES, NO),
    "#ifdef USE_CUDA": (MAYBE, MAYBE, MAYBE, MAYBE),
    "#ifdef SOMETHING": (MAYBE, MAYBE, MAYBE, MAYBE),
    "#if HIP_VERSION >= 60200000": (MAYBE, NO, MAYBE, YES),
    "#if defined(__gfx90a__) || defined(__gfx942__)": (MAYBE, NO, YES, YES),
    "#ifdef DISABLE_HIP_GRAPHS": (MAYBE, MAYBE, MAYBE, MAYBE),
    "#if 0": (NO, NO, YES, YES),
    "#if 1 ? 0 : 1": (NO, NO, YES, YES),
    "#if __has_include(<hip/hip_runtime.h>) && defined(USE_ROCM)": (MAYBE, NO, MAYBE, YES),
    "#if (": (MAYBE, MAYBE, MAYBE, MAYBE),
    "#if": (MAYBE, MAYBE, MAYBE, MAYBE),
    "#if defined(HIP_FP8_TYPE_OCP)": (MAYBE, NO, MAYBE, YES),
    "#if defined(__AMDGCN_WAVEFRONT_SIZE)": (MAYBE, NO, YES, YES),
    "#ifdef SHIP_IT": (MAYBE, MAYBE, MAYBE, MAYBE),
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions(condition: str) -> None:
    assert branches(condition) == CONDITIONS[condition]


def test_a_header_is_read_by_plain_compilers_too() -> None:
    assert branches("#ifdef __CUDACC__", "a.h") == (YES, YES, YES, YES)
    assert branches("#ifdef __HIPCC__", "a.h") == (YES, NO, YES, YES)
    assert branches("#ifdef USE_ROCM", "a.h") == (YES, NO, NO, YES)


def test_elif_chains() -> None:
    found = lives("#if defined(USE_ROCM)\na\n#elif __CUDA_ARCH__ >= 900\nb\n#elif FOO\nc\n#else\nd\n#endif\ne\n")
    assert found == {"a": (YES, NO), "b": (NO, MAYBE), "c": (NO, MAYBE), "d": (NO, MAYBE), "e": (YES, YES)}


def test_nesting() -> None:
    found = lives("#ifdef USE_ROCM\n#ifdef FOO\na\n#else\nb\n#endif\nc\n#else\n#if 1\nd\n#endif\n#endif\n")
    assert found == {"a": (MAYBE, NO), "b": (MAYBE, NO), "c": (YES, NO), "d": (NO, YES)}


def test_macros_of_the_file_are_followed() -> None:
    text = (
        "#ifdef USE_ROCM\n#define WARP 64\n#else\n#define WARP (1 << 5)\n#define HAS_ASYNC\n#endif\n"
        "#if WARP == 64\na\n#else\nb\n#endif\n#ifdef HAS_ASYNC\nc\n#endif\n#undef WARP\n#if WARP\nd\n#endif\n"
    )
    assert lives(text) == {"a": (YES, NO), "b": (NO, YES), "c": (NO, YES), "d": (NO, NO)}


def test_a_macro_defined_under_an_unknown_condition_is_unknown() -> None:
    assert lives("#ifdef FOO\n#define BAR 1\n#endif\n#if BAR\na\n#else\nb\n#endif\n") == {"a": (MAYBE, MAYBE), "b": (MAYBE, MAYBE)}


def test_include_guards_with_a_vendor_word_are_no_conditions() -> None:
    text = "#ifndef MY_HIP_COMPAT_H\n#define MY_HIP_COMPAT_H\na\n#ifndef HIP_BLOCK\n#define HIP_BLOCK 256\n#endif\nb\n#endif\n"
    assert lives(text, "a.h") == {"a": (YES, YES), "b": (YES, YES)}
    assert guards_of(text.encode(), "a.h").at(5) is MAYBE


def test_a_default_for_a_vendor_setting_does_not_kill_the_vendors_code() -> None:
    assert lives("#ifndef WITH_HIP\n#define WITH_HIP 0\n#endif\n#if WITH_HIP\na\n#endif\n") == {"a": (MAYBE, NO)}


def test_a_macro_of_the_file_is_what_the_file_says_whatever_its_name() -> None:
    text = "#if defined(__gfx942__)\n#define __HIP__MI3XX__\n#endif\n#ifdef __HIP__MI3XX__\na\n#else\nb\n#endif\n"
    assert lives(text) == {"a": (MAYBE, NO), "b": (MAYBE, YES)}


def test_include_guards_and_defaults_are_live() -> None:
    text = "#ifndef SRC_REDUCE_H\n#define SRC_REDUCE_H\na\n#ifndef TILE\n#define TILE 4\n#endif\n#if TILE == 4\nb\n#endif\n#endif\n"
    assert lives(text, "a.h") == {"a": (YES, YES), "b": (YES, YES)}
    assert guards_of(text.encode(), "a.h").at(5) is YES


def test_given_macros_decide() -> None:
    assert branches("#ifdef WITH_FAST", given={"WITH_FAST": "1"}) == (YES, YES, NO, NO)
    assert branches("#if LEVEL > 2", given={"LEVEL": "3"}) == (YES, YES, NO, NO)


def test_directives_in_comments_and_strings_are_none() -> None:
    text = '/*\n#if 0\n*/\na\n// \\\n#if 0\nb\nconst char* s = R"(\n#if 0\n)";\nc\n'
    assert lives(text) == {"a": (YES, YES), "b": (YES, YES), "c": (YES, YES)}


def test_a_hash_inside_a_line_is_no_directive_and_costs_no_more_than_its_line() -> None:
    text = b"int a; # define A 1\n \t# define B \\\n 2\n# # define C\n" + b"x #define D \\\n" * 100_000 + b"#undef E\n"
    start = time.process_time()
    found = [(line.word, line.text, line.line, line.end) for line in directives(mask(text))]
    assert found[:1] == [("define", "B   2", 2, 3)] and found[1:] == [("undef", "E", 100_005, 100_005)]
    assert time.process_time() - start < 5


def test_continued_directives() -> None:
    assert lives("#if defined(USE_ROCM) && \\\n    !defined(FOO_X) || \\\n    1\na\n#else\nb\n#endif\n") == {"a": (YES, YES), "b": (NO, NO)}


def test_conditions_are_named_as_written() -> None:
    guards = guards_of(b"#ifdef USE_ROCM\na\n#else\n#if FOO > 3\nb\n#endif\n#endif\nc\n")
    assert guards.condition(2) == "#ifdef USE_ROCM"
    assert guards.condition(5) == "#else of #ifdef USE_ROCM > #if FOO > 3"
    assert guards.condition(8) == ""
    assert guards.amd_only(2)
    assert not guards.amd_only(5)


@pytest.mark.parametrize(
    "text", ["#endif\n#else\na\n", "#if USE_ROCM\na\n", "#elif X\na\n", "#if 1\n#else\n#else\n#endif\na\n", "#\n#if\n#define\na"]
)
def test_unbalanced_directives_do_no_harm(text: str) -> None:
    assert set(lives(text)) == {"a"}


def test_words_of_macro_names() -> None:
    assert words_of("TORCH_USE_HIPBLAS") == {"TORCH", "USE", "HIPBLAS"}
    assert words_of("kUseRocm") == {"K", "USE", "ROCM"}
    assert "HIP" not in words_of("WHIPLASH")


def test_ambient_values() -> None:
    assert ambient("HIP_VERSION", Pass(AMD, "host")) is NONZERO
    assert ambient("__AMDGCN_WAVEFRONT_SIZE", Pass(AMD, "host")) is None
    assert ambient("__CUDA_ARCH__", Pass(NVIDIA, "device")) is NONZERO
    assert ambient("_WIN32", Pass(AMD, "host")) is UNKNOWN


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7), ("(1 << 5) - 1", 31), ("0x1F & ~3u", 28), ("1'000", 1000), ("017", 15), ("-7 / 2", -3), ("-7 % 2", -1),
        ("1 and not 0", 1), ("0 or 3 not_eq 3", 0), ("compl 0 bitand 6", 6),
        ("1 / 0", UNKNOWN), ("1 << 99", UNKNOWN), ("A * 2", 64), ("!A", 0), ("A > 31 ? 4 : 8", 4), ("sizeof(float) * 8", 32),
        ("static_cast<unsigned int>(A) / 4", 8), ("(size_t)A", 32), ("std::max(A, 40)", 40), ("B", UNKNOWN), ("B && 0", 0), ("B || 1", 1),
        ("1.5", UNKNOWN), ("f(x)", UNKNOWN), ("'a'", UNKNOWN), ("", UNKNOWN), ("(" * 4000, UNKNOWN), ("-" * 3000 + "1", UNKNOWN),
        ("(A + 31) / 32", 1), ("true", 1), ("0xFFFFFFFFFFFFFFFF", 2**64 - 1), ("0xFFFFFFFFFFFFFFFF * 4", UNKNOWN),
    ],
)  # fmt: skip
def test_expressions(text: str, value: Value) -> None:
    assert evaluate(text, lambda name: 32 if name == "A" else UNKNOWN) == value


def test_tokens_of_a_long_expression_are_not_kept() -> None:
    before = cuda_expr._tokens.cache_info().misses
    assert evaluate(" + ".join(["1"] * 1000), lambda _: UNKNOWN) == 1000
    assert cuda_expr._tokens.cache_info().misses == before
