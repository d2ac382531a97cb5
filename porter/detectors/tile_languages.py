"""Kernels in TileLang and Gluon that use what only NVIDIA's GPUs have: one finding a file, since a kernel is rewritten as a whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from porter.config import Config
from porter.detectors.python_scope import KINDS, File, file_of
from porter.model import Fact, Hit, Live
from porter.parse import Parsed

__all__ = ["KINDS", "WORDS", "detect"]

WORDS = (b"tilelang", b"gluon")
TILELANG = re.compile(
    r"tilelang\.language\.(?:tma_|wgmma_|wait_wgmma\Z|tcgen05_|alloc_tmem\Z|mbarrier_|alloc_cluster_barrier\Z|ClusterKernel\Z|clc_|cluster_"
    r"|block_rank_in_cluster\Z|set_max_nreg\Z|annotate_(?:producer_reg_dealloc|consumer_reg_alloc)\Z|fence_proxy_async\Z|warpgroup_"
    r"|cp_async_barrier_noinc\Z|mma_gemm_blockscaled\Z|ptx_mma|ptx_ldmatrix|match_(?:any|all)_sync\Z)"
)
GLUON = re.compile(r"triton\.experimental\.gluon\.(?:language\.nvidia|nvidia)(?:\.|\Z)|triton\.experimental\.gluon\.language\.NVMMA")
MOST_NAMED = 4


def detect(parsed: Parsed, index: object, config: Config) -> Iterable[Hit]:
    """Hits of tilelang-nvidia-operations and triton-gluon-nvidia."""
    file = file_of(parsed)
    if file is None or file.made_for_amd:
        return
    if b"tilelang" in file.source.lower:
        yield from _one(file, "tilelang-nvidia-operations", [fact for fact in file.facts("py_call") if TILELANG.match(fact.name)], "T")
    if b"gluon" in file.source.lower:
        found = [fact for fact in file.parsed.facts if fact.kind in ("py_import", "py_call") and GLUON.match(fact.name)]
        yield from _one(file, "triton-gluon-nvidia", [fact for fact in found if "optional" not in fact.detail], "gluon")


def _one(file: File, rule: str, facts: list[Fact], subject: str) -> Iterator[Hit]:
    """The hit of a file, at the first place that AMD can reach, with the operations it uses."""
    places = [(fact, path[-1]) for fact in facts if (path := file.path(fact)) and not file.amd_only(path[-1])]
    places = [place for place in places if place[0].live is not Live.NO] or places
    if not places:
        return
    fact, node = places[0]
    names = list(dict.fromkeys(one.name.rpartition(".")[2] for one, _ in places))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    lines = len({one.span.line for one, _ in places})
    message = f"uses {', '.join(names[:MOST_NAMED])}{more}, on {lines} line{'s' if lines > 1 else ''} of this file"
    yield msgspec.structs.replace(file.hit(rule, node, message, subject), span=fact.span, live=fact.live)
