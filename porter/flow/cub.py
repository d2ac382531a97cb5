"""CUB's algorithms for warps: which of them are as wide as the hardware, because no width is given."""

from __future__ import annotations

from porter.flow.env import Env
from porter.flow.expr import Expr
from porter.flow.values import HARDWARE

WIDTH_PLACE = {"WarpReduce": 1, "WarpScan": 1, "WarpExchange": 2, "WarpMergeSort": 2, "WarpLoad": 3, "WarpStore": 3}


def default_width(env: Env, part: Expr) -> str:
    """The algorithm that a type or call names without a width, or with the hardware's; empty for anything else."""
    if not part.targs or part.kind not in ("name", "call"):
        return ""
    pieces = part.op.split("::")
    name = next((piece for piece in pieces if piece in WIDTH_PLACE), "")
    if not name or not (pieces[0].endswith("cub") or pieces[0] == name):  # bnb_cub is an alias of cub or hipcub
        return ""
    place = WIDTH_PLACE[name]
    width = env.value(part.targs[place]) if len(part.targs) > place else None
    return name if width is None or (width.is_width and width.as_width == HARDWARE) else ""
