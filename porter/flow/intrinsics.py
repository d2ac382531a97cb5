"""Builtins and library names that act on a whole warp, by what they do."""

from __future__ import annotations

import re
from functools import lru_cache

from porter.flow.expr import Expr

SHUFFLES = {
    "__shfl_sync": "idx", "__shfl_up_sync": "up", "__shfl_down_sync": "down", "__shfl_xor_sync": "xor",
    "__shfl": "idx", "__shfl_up": "up", "__shfl_down": "down", "__shfl_xor": "xor",
}  # fmt: skip
VOTES = {
    "__ballot_sync": "ballot", "__ballot": "ballot", "__any_sync": "any", "__any": "any", "__all_sync": "all", "__all": "all",
    "__uni_sync": "all", "__match_any_sync": "match", "__match_all_sync": "match", "__activemask": "activemask",
    "__reduce_add_sync": "reduce", "__reduce_min_sync": "reduce", "__reduce_max_sync": "reduce", "__reduce_and_sync": "reduce",
    "__reduce_or_sync": "reduce", "__reduce_xor_sync": "reduce",
}  # fmt: skip
MATRIX = frozenset({"load_matrix_sync", "store_matrix_sync", "mma_sync", "bmma_sync"})
FRAGMENTS = re.compile(
    r"(?:^|_|\b)(?:w?mma|mma_?\w*|ldmatrix|ldsm\w*|wgmma\w*|movmatrix|elect_one\w*|elect)(?:_|\b|\.|$)|\bcute::|\bcutlass::"
)
BARRIERS = frozenset({"__syncthreads", "__syncthreads_count", "__syncthreads_or", "__syncthreads_and", "__barrier_sync"})
BIT_COUNTS = {"__popc": "__popcll", "__ffs": "__ffsll", "__clz": "__clzll", "__brev": "__brevll", "__fns": "__fns64"}
FOREIGN = frozenset({"std", "cg", "cooperative_groups", "cub", "hipcub", "thrust", "cutlass", "cute", "cuda"})  # namespaces of libraries


@lru_cache(maxsize=20_000)
def is_fragment(name: str) -> bool:
    """True for a name that speaks of matrix instructions or of libraries for them."""
    return FRAGMENTS.search(name) is not None


def is_foreign(call: Expr) -> bool:
    """True for a call of a library's function, which no function of the project with the same last name is."""
    return "::" in call.op and call.op.lstrip(":").partition("::")[0] in FOREIGN
