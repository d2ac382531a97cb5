"""Short reductions over 32 lanes, as one file tells the others of them."""

from __future__ import annotations

import pytest

from porter.model import Live
from porter.parse.warp_wrappers import halves_32

LOOP = b"{ for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0ull, v, o); return v; }"


@pytest.mark.parametrize(
    ("body", "by_32"),
    [
        (LOOP, True),
        (LOOP.replace(b"o >>= 1", b"o /= 2"), True),
        (LOOP.replace(b"int o", b"unsigned int o"), True),
        (LOOP.replace(b"v, o)", b"v, o, 32)"), True),
        (LOOP.replace(b"16", b"8"), False),  # a part of a warp
        (LOOP.replace(b"16", b"32"), False),
        (LOOP.replace(b"16", b"warpSize / 2"), False),
        (b"{ if (warpSize == 64) v += __shfl_xor_sync(~0ull, v, 32); " + LOOP[1:], False),  # knows of 64 lanes
        (b"{ // " + LOOP[2:-1] + b"\n return v; }", False),  # a comment
        (LOOP.replace(b"v += __shfl_xor_sync(~0ull, v, o)", b"s[i] += s[i + o]"), False),
        (b"{" + b" v += 1;" * 400 + LOOP[1:], False),  # too long to be one thing
    ],
)
def test_a_reduction_over_32_lanes(body: bytes, by_32: bool) -> None:
    assert halves_32(body) is by_32


def test_a_loop_that_an_amd_build_leaves_out_is_none() -> None:
    body = b"{\n#ifndef USE_ROCM\n" + LOOP[1:-1] + b"\n#endif\n}"
    lives = [Live.YES, Live.YES, Live.NO, Live.YES]
    assert halves_32(body)
    assert not halves_32(body, lambda line: lives[line] is not Live.NO)
