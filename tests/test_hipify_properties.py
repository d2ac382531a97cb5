# ruff: noqa: E501 - tables of hostile input
"""Properties of the translation on random token streams, and time on hostile ones."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from porter.hipify import Options, api, convert, diff
from porter.hipify.choices import choices

TOKEN = re.compile(rb"[A-Za-z_]\w*|\d[\w.']*|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|//[^\n]*|/\*.*?\*/|<<<|>>>|->|::|##|\S", re.DOTALL)
PLAIN = sorted(
    name for name, entry in api.table().items()
    if entry.support == "supported" and entry.kind in ("function", "type", "enum") and name not in api.argument_edits() and entry.api != "caffe2"
    and entry.name != "memoryBarrier" and entry.hip.isidentifier() and entry.hip != name
)  # fmt: skip
CUDA_NAMES = st.sampled_from(PLAIN)
OTHER_NAMES = st.sampled_from(["x", "foo", "mine", "cudaX", "cu", "hipMalloc", "std", "T", "threadIdx", "cudaMallocs", "n"])
GLUE = st.sampled_from(
    [" ", "\n", " + ", "(", ")", ", ", ";\n", "{", "}", ".", "->", "::", " :: ", "<", ">", "&", "*", "[0]", " = ", "## "]
)
LITERALS = st.sampled_from(['"cudaFree"', "'c'", "// cudaFree\n", "/* cudaFree\n */", '"\\"cudaFree"', "1'000", "0x1F", 'R"(cudaFree)"'])
PIECES = st.lists(st.one_of(CUDA_NAMES, OTHER_NAMES, GLUE, LITERALS), max_size=60)
LAUNCHES = st.sampled_from(["k<<<1, n>>>(x);", "k<int><<<g(1, 2), b, 0, s>>>(a, f(b));", "k<<<", ">>>(", "<<<a, b>>>"])
ANYTHING = st.one_of(
    st.binary(max_size=300), st.lists(st.one_of(CUDA_NAMES, GLUE, LITERALS, LAUNCHES), max_size=50).map(lambda p: "".join(p).encode())
)


def tokens(text: bytes) -> list[bytes]:
    return TOKEN.findall(text)


@settings(max_examples=300, deadline=None)
@given(PIECES)
def test_the_output_is_the_same_stream_but_for_the_table(pieces: list[str]) -> None:
    text = " ".join(pieces).encode()
    before, after = tokens(text), tokens(convert(text).output)
    names = choices(Options()).names
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        if old != new:
            assert new == names[old].target


@settings(max_examples=300, deadline=None)
@given(PIECES)
def test_tokens_outside_the_table_never_change(pieces: list[str]) -> None:
    text = " ".join(piece for piece in pieces if piece not in api.table()).encode()
    assert convert(text).output == text


@settings(max_examples=300, deadline=None)
@example(b"##CUBLASLT_EPILOGUE_BGRADA.k<<<,>>>()", "ggl", False, False)  # a launch of a pasted name
@given(ANYTHING, st.sampled_from(["cuda", "ggl"]), st.booleans(), st.booleans())
def test_twice_is_once_and_no_bytes_break_it(text: bytes, launch: str, roc: bool, implicit: bool) -> None:
    options = Options(launch=launch, roc=roc, runtime_is_implicit=implicit)
    once = convert(text, options).output
    assert convert(once, options).output == once


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([b"a", b"b", b"", b"c"]), max_size=30), st.lists(st.sampled_from([b"a", b"b", b"", b"d"]), max_size=30))
def test_a_diff_rebuilds_the_new_text(old: list[bytes], new: list[bytes]) -> None:
    text = diff(b"\n".join(old), b"\n".join(new), "f")
    lines = iter(b"\n".join(old).splitlines())
    out: list[bytes] = []
    at = 0
    for line in text.splitlines()[2:]:
        if line.startswith("@@"):
            start, _, count = line.split()[1][1:].partition(",")
            while at < int(start) - (count != "0"):
                out.append(next(lines))
                at += 1
        elif line.startswith("+"):
            out.append(line[1:].encode())
        else:
            expected = next(lines)
            at += 1
            assert expected == line[1:].encode()
            if line.startswith(" "):
                out.append(expected)
    assert out + list(lines) == b"\n".join(new).splitlines()


def seconds(text: bytes) -> float:
    started = time.process_time()
    convert(text, Options(launch="ggl", roc=True, miopen=True))
    return time.process_time() - started


@pytest.mark.parametrize(
    "piece",
    [
        b"cudaMemcpyToSymbol(", b"cudaMemcpyToSymbol(a, (", b"k<<<1, ", b"k<<<a<b>>>(", b"((((<<<>>>", b'R"a(', b'R"(', b'"\\', b"/* ", b"'",
        b"a<", b"#if 1\n#include <cuda.h>\n", b"cudnnSoftmaxForward(", b"cudnnSoftmaxForward(a,b,c,d,e,f,g,h,i)", b" ", b"cudaFree(a);\n",
        b"__global__ ", b"template <class T> __global__ ", b"// \\\n", b"cub::", b"x.\n\n\n cudaFree", b"#define cudaFree ", b"\x00", b"\xff",
        b"__float2bfloat16_rn(",
    ],
)  # fmt: skip
def test_time_grows_with_size_and_no_faster(piece: bytes) -> None:
    small = piece * (60_000 // len(piece))
    few = seconds(small)
    many = seconds(small * 5)
    assert many < 12 * few + 0.5, f"{few:.3f} s, then {many:.3f} s for five times as much"


def test_two_megabytes_of_plain_code_take_seconds() -> None:
    text = b"  cudaMemcpy(dst + i, src, n * sizeof(float), cudaMemcpyHostToDevice); // copies\n" * 25_000
    assert seconds(text) < 8
