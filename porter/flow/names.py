"""Names that speak of warps: lanes, warps, widths, and the builtins that give them."""

from __future__ import annotations

import re
from functools import lru_cache

from porter.flow.values import OTHER, UNKNOWN_WIDTH, Value

LANE_NAME = re.compile(
    r"(?:\w+_)?(?:lane|lane_?id|lane_?idx|lane_?index|lid_in_warp|tid_?in_?warp|thread_?in_?warp|warp_?lane|in_?warp_?id)_?\Z", re.I
)
WARP_NAME = re.compile(r"(?:\w+_)?(?:warp|wid|warp_?id|warp_?idx|warp_?index|warp_?num|warp_?rank)_?\Z", re.I)
THREAD_NAME = re.compile(r"(?:\w+_)?(?:tid|thread_?id|thread_?idx|t_?idx|thread_?rank|tidx|local_?tid|tid_x)\Z", re.I)
WIDTH_NAME = re.compile(
    r"(?:k|c|g|cu|cuda|gpu|the|max|num|log)?_?(?:\w*_)?(?:warp_?size|warp_?sz|size_?of_?warp|warp_?width|warp_?threads?|threads?_?(?:per|in)_?(?:a_)?warp|wave_?size"
    r"|lanes_?per_?warp|num_?lanes|warpsize|wrapsize|wavefront_?size)_?\Z",
    re.I,
)
BALLOTS = frozenset({"__ballot_sync", "__ballot", "__activemask", "__match_any_sync", "__match_all_sync", "__match_any", "__match_all"})
HARDWARE_NAMES = frozenset(
    {"warpSize", "WARPSIZE_HW", "CUB_PTX_WARP_THREADS", "CUB_WARP_THREADS", "__AMDGCN_WAVEFRONT_SIZE", "C10_WARP_SIZE"}
)
LANE_CALLS = frozenset({"__lane_id", "__laneid", "laneid", "LaneId", "getLaneId", "lane_id", "get_lane_id", "get_laneid"})
WARP_CALLS = {
    "canonical_warp_idx": "warp", "canonical_warp_idx_sync": "warp", "canonical_warp_idx_in_warp_group": "warp",
    "canonical_lane_idx": "lane",
}  # fmt: skip
BUILTINS = {
    **{f"threadIdx.{axis}": Value("tid", via=axis) for axis in "xyz"},
    **{f"blockDim.{axis}": Value("block_size", via=axis) for axis in "xyz"},
    **{f"{name}.{axis}": Value("block") for name in ("blockIdx", "gridDim") for axis in "xyz"},
}
TILE_TYPE = re.compile(r"\bthread_block_tile\s*<\s*(\w+)")
LANE_MASKS = re.compile(r"%+lanemask_(\w\w)")


def _speaks_of_warps(text: str) -> bool:
    """False for most names, which the patterns for lanes and widths would only be tried on."""
    lowered = text.lower()
    return "warp" in lowered or "lane" in lowered or "wave" in lowered or "wrap" in lowered


@lru_cache(maxsize=20_000)
def is_width(text: str) -> bool:
    """True for a name that speaks of the width of a warp."""
    return _speaks_of_warps(text) and WIDTH_NAME.match(text) is not None


@lru_cache(maxsize=20_000)
def speaks_of_width(text: str) -> bool:
    """The same for a name that may be qualified."""
    return is_width(text.rpartition("::")[2])


@lru_cache(maxsize=20_000)
def by_name(text: str) -> Value:
    """What a name alone says of a value; never proof."""
    if is_width(text) and not text.lower().startswith("log"):
        return Value("named_width", 0, symbols=(text,), proven=False)
    if _speaks_of_warps(text) and LANE_NAME.match(text):
        return Value("lane", width=UNKNOWN_WIDTH, proven=False, via="name")
    if WARP_NAME.match(text):
        return Value("warp", width=UNKNOWN_WIDTH, proven=False, via="name")
    if THREAD_NAME.match(text):
        return Value("tid", proven=False, via="name")
    return OTHER
