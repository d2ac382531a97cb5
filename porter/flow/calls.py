"""Calls: what builtins, helper functions and methods of cooperative groups give back, as far as warps go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.flow import values, wrappers
from porter.flow.expr import Expr
from porter.flow.names import BALLOTS, LANE_CALLS, WARP_CALLS, by_name
from porter.flow.values import HARDWARE, UNKNOWN_WIDTH, WARP, Value

if TYPE_CHECKING:
    from porter.flow.env import Env


def called(env: Env, expr: Expr, depth: int) -> Value:
    """The value of a call of a function, builtin or macro."""
    builtin = env.program.builtin(expr)
    if builtin is not None:
        return env.value(builtin, depth + 1)
    name = expr.name
    if name in BALLOTS:
        return Value("mask", bits=64, via=name)
    if name in ("min", "max", "fminf", "std::min", "std::max") and len(expr.args) == 2:
        a, b = env.value(expr.args[0], depth + 1), env.value(expr.args[1], depth + 1)
        if a.kind == "const" and b.kind == "const" and a.num is not None and b.num is not None:
            return a.but(num=min(a.num, b.num) if name.endswith("min") else max(a.num, b.num), symbols=(*a.symbols, *b.symbols))
        return a if a.kind not in ("const", "other") else b.but(kind="other") if b.kind == "const" else b
    if name in ("__popc", "__ffs", "__clz", "__popcll", "__ffsll", "__clzll", "__brev", "__brevll"):
        return Value("other", bits=32)
    if name in ("__shfl_sync", "__shfl", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync") and len(expr.args) >= 2:
        inner = env.value(expr.args[1 if name.endswith("_sync") else 0], depth + 1)
        return inner if inner.kind in ("mask", "warp") else Value("other", bits=inner.bits)
    if name in ("tiled_partition", "thread_block_tile") and expr.targs:
        size = env.value(expr.targs[0], depth + 1)
        return Value("tile", num=size.num, width=size.num or UNKNOWN_WIDTH, symbols=size.symbols)
    if name == "coalesced_threads":
        return Value("tile", width=HARDWARE, via="coalesced")
    made = env.program.returned(env.unit, name, depth)
    if made.kind != "other":
        return made
    held = wrappers.definition(env.program, name)
    if held is not None and held.wraps[0] == "laneid":
        return Value("lane", width=HARDWARE, via="laneid")
    if name in WARP_CALLS:
        return Value(WARP_CALLS[name], width=WARP, via="cutlass")
    if name in LANE_CALLS:
        return Value("lane", width=HARDWARE, via="laneid", proven=name.startswith("__"))
    for arg in expr.args[:4]:
        if env.value(arg, depth + 1).kind == "warp":
            return Value("role", width=WARP, via=name)  # what some function makes of the index of a warp
    return by_name(name)


def method(env: Env, expr: Expr, depth: int) -> Value:
    """The value of a call of a method: cooperative groups above all."""
    owner = env.value(expr.args[0], depth + 1)
    if owner.kind == "tile":
        if expr.op == "thread_rank":
            return Value("lane", width=owner.width, via="tile", symbols=owner.symbols)
        if expr.op == "meta_group_rank":
            return Value("warp", width=owner.width, via="tile", symbols=owner.symbols)
        if expr.op in ("ballot", "match_any", "match_all"):
            return Value("mask", bits=32, via="tile", width=owner.width)
        if expr.op in ("size", "num_threads") and owner.num is not None:
            return values.const(owner.num, 32, owner.symbols)
    if expr.op == "thread_rank":
        return Value("tid")
    return by_name(expr.op)
