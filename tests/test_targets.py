"""The same sources judged for five targets: lanes of a wave, LDS of a workgroup, 4-byte masks, fp8."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from porter.cli import main
from porter.config import check_targets
from porter.errors import ConfigError

HPC = Path(__file__).parent.parent / "fixtures/repos/hpc-cmake"
KERNEL = """#include <cuda_fp8.h>
__global__ void k(float* out, const __nv_fp8_e4m3* in) {
  __shared__ float tile[BYTES / 4];
  float v = float(in[threadIdx.x]);
  v += __shfl_down_sync(0xffffffff, v, 16);
  int lane = threadIdx.x % 32;
  unsigned votes = __ballot_sync(0xffffffffu, v > 0);
  tile[threadIdx.x] = v;
  if (lane == 0) out[blockIdx.x] = tile[0] + __popc(votes);
}
"""
WAVE64 = {"ballot-in-32-bits", "lane-index-32", "lane-mask-32bit-intrinsic"}
OVER, MASK = {"shared-memory-over-lds"}, {"sync-mask-32bit"}
WATCHED = WAVE64 | OVER | MASK
EXPECTED = {  # target: rules at 128 KiB of shared memory, and the largest size in KiB that fits
    "gfx90a": (WAVE64 | MASK | OVER, 64),
    "gfx942": (WAVE64 | MASK | OVER, 64),
    "gfx950": (WAVE64 | MASK, 160),
    "gfx1100": (MASK | OVER, 64),
    "gfx1201": (MASK | OVER, 64),
    "gfx1250": (set(), 320),
}


def rules_for(path: Path, target: str, out: Path) -> set[str]:
    done = CliRunner().invoke(main, ["scan", str(path), "--target", target, "--output", str(out)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return {finding["rule"] for finding in json.loads(out.read_text())["findings"]}


@pytest.mark.parametrize("target", EXPECTED)
def test_a_kernel_is_judged_by_its_target(target: str, tmp_path: Path) -> None:
    rules, limit = EXPECTED[target]
    for name, kib in (("given", 128), ("fits", limit), ("over", limit + 1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "k.cu").write_text(KERNEL.replace("BYTES", str(kib * 1024)))
    given, fits, over = (rules_for(tmp_path / name, target, tmp_path / f"{name}.json") for name in ("given", "fits", "over"))
    assert given & WATCHED == rules
    assert "fp8-format" in given
    assert over >= OVER and not OVER & fits


@pytest.mark.parametrize("target", EXPECTED)
def test_a_project_is_judged_by_its_target(target: str, tmp_path: Path) -> None:
    found = rules_for(HPC, target, tmp_path / "r.json")
    wide = target in ("gfx90a", "gfx942", "gfx950")
    narrow = {"warp-32-self-consistent", "warp-size-constant", "lane-shift-32bit", "shuffle-without-width"}
    assert (found & (WAVE64 | narrow) == WAVE64 | narrow) if wide else not found & (WAVE64 | narrow)
    assert ("sync-mask-32bit" in found) == (target != "gfx1250")
    assert ("float-atomic-on-mi200" in found) == (target == "gfx90a")
    assert {"cublas", "inline-ptx-float", "cmake-cuda-language"} <= found


def test_several_targets_name_those_that_refuse_the_mask(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL.replace("BYTES", "1024"))
    out = tmp_path / "r.json"
    done = CliRunner().invoke(main, ["scan", str(tmp_path), "--target", "gfx942,gfx1250", "--output", str(out)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    listed = [finding["targets"] for finding in json.loads(out.read_text())["findings"] if finding["rule"] == "sync-mask-32bit"]
    assert listed and all(targets == ["gfx942"] for targets in listed)


@pytest.mark.parametrize(
    ("given", "said"),
    [("gfx9000", "not a GPU target"), ("gfx94g", "not a GPU target"), ("sm_90", "not a GPU target"), (",", "no GPU target given")],
)
def test_a_target_that_is_none_is_refused(given: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        check_targets(tuple(given.split(",")))
