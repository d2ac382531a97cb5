"""Triton rules: PTX in inline assembly, LDS sums by target, flags of the kernel, lists for the autotuner."""

from __future__ import annotations

import pytest

from porter.config import Config
from porter.detectors import triton_features, triton_memory, triton_source
from porter.model import Hit, SourceFile
from porter.parse import python

HEAD = "import triton\nimport triton.language as tl\n"


def hits(detector: object, text: str, *targets: str, path: str = "kernels.py") -> list[Hit]:
    parsed = python.parse(SourceFile(path, "python", (HEAD + text).encode()))
    return list(detector.detect(parsed, None, Config(targets=targets or ("gfx942",))))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "opcodes"),
    [
        ("tanh.approx.f32 $0, $1;", ["tanh.approx.f32"]),
        ("{ .reg .b8 t;\\n cvt.rn.satfinite.e2m1x2.f32 t, $2, $1; mov.b32 $0, {t, t}; }", ["cvt.rn.satfinite.e2m1x2.f32", "mov.b32"]),
        ("@p ld.global.b32 $0, [$1]; // comment", ["ld.global.b32"]),
        ("", []),
    ],
)
def test_opcodes(text: str, opcodes: list[str]) -> None:
    assert triton_source.ptx_opcodes(text)[: len(opcodes)] == opcodes
    assert bool(triton_source.ptx_opcodes(text)) is bool(opcodes)


def test_lds_sum_by_target() -> None:
    config = 'c = triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_stages=3, num_warps=8)\n'
    found = hits(triton_memory, config, "gfx942", "gfx950")
    assert [(hit.rule, hit.targets) for hit in found] == [("triton-stages-over-lds", ("gfx942",))]
    assert "(3 - 1) x (128 x 64 + 64 x 256) x 2 bytes = 98,304 bytes" in found[0].message
    assert hits(triton_memory, config, "gfx950") == []
    assert hits(triton_memory, config.replace("num_stages=3", "num_stages=2"), "gfx942") == []


def test_autotune_list_with_something_left_is_one_note() -> None:
    big = 'triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_stages=4)'
    small = 'triton.Config({"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}, num_stages=2)'
    assert [hit.rule for hit in hits(triton_memory, f"L = [{big}, {big}, {small}]\n")] == ["triton-autotune-list-pruned"]
    assert [hit.rule for hit in hits(triton_memory, f"L = [{big}, {big}]\n")] == ["triton-stages-over-lds"] * 2


def test_warps_only_matter_on_wave64() -> None:
    launch = "kernel[grid](x, num_warps=32)\nn = num_warps * 32\n"
    assert sorted(hit.rule for hit in hits(triton_source, launch, "gfx942", "gfx1100")) == ["triton-num-warps-32", "triton-warps-times-32"]
    assert all(hit.targets == ("gfx942",) for hit in hits(triton_source, launch, "gfx942", "gfx1100"))
    assert hits(triton_source, launch, "gfx1100") == []


def test_fp8_of_triton_by_target() -> None:
    text = "def f(x):\n    return x.to(tl.float8e4nv)\n"
    assert [hit.rule for hit in hits(triton_features, text, "gfx90a")] == ["triton-fp8-e4nv"]
    assert hits(triton_features, text, "gfx942", "gfx950") == []


def test_amd_side_files_are_left_alone() -> None:
    text = "def f(p):\n    return tl.make_tensor_descriptor(p, [1], [1], [1])\n"
    assert [hit.rule for hit in hits(triton_features, text)] == ["triton-tma-descriptor"]
    assert hits(triton_features, text, path="model/amd/kernels.py") == []
    assert hits(triton_features, text, "gfx1250") == []


def test_wrapped_tl_is_triton() -> None:
    text = "from mylib.triton_utils import tl\ndef f(x):\n    tl.extra.cuda.gdc_wait()\n"
    parsed = python.parse(SourceFile("a.py", "python", text.encode()))
    assert [hit.rule for hit in triton_features.detect(parsed, None, Config())] == ["triton-cuda-extra"]
