"""Calls of functions of other files: wrappers of warp builtins, as the builtin's call that they stand for, and what shuffles or votes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from porter.flow.expr import Expr
from porter.flow.fragments import parse_expression
from porter.kernel_features import MARK
from porter.link import Index
from porter.survey import FunctionDef

if TYPE_CHECKING:
    from porter.flow.env import Env
    from porter.flow.program import Program

MAX_DEFAULT = 80  # bytes of a default argument
TORCH = {  # ATen/cuda/DeviceUtils.cuh: the builtin that a build for AMD calls, and how many of the arguments it takes
    "WARP_SHFL": ("__shfl", 3), "WARP_SHFL_UP": ("__shfl_up", 3), "WARP_SHFL_DOWN": ("__shfl_down", 3), "WARP_SHFL_XOR": ("__shfl_xor", 3),
    "WARP_BALLOT": ("__ballot", 1),
}  # fmt: skip
TORCH_HEADER = "DeviceUtils.cuh"  # of ATen or THC


def expanded(program: Program, call: Expr) -> Expr | None:
    """The call of a builtin that a call of a wrapper comes to, at the same place; None for any other call."""
    made = _of_torch(program, call) if call.op in TORCH else None
    if made is not None:
        return made
    held = definition(program, call.name)
    if held is None or held.wraps[0] == "laneid":
        return None
    names = {param.name: place for place, param in enumerate(held.params)}
    args = tuple(_argument(call, held, names, text) for text in held.wraps[1:])
    return msgspec.structs.replace(call, op=held.wraps[0], args=args, targs=(), shape=())


def _of_torch(program: Program, call: Expr) -> Expr | None:
    """The call of a builtin behind a helper of PyTorch, where the project has none of that name and includes PyTorch's header."""
    index = program.index
    if not isinstance(index, Index) or not program.sees_torch or program.named(call.op):
        return None
    own = (*index.functions.get(call.op, ()), *index.macros.get(call.op, ()))
    around = index.reach(program.unit.parsed.file.path) if own else ()
    if any(place in around for place, _ in own):
        return None
    builtin, count = TORCH[call.op]
    return msgspec.structs.replace(call, op=builtin, args=call.args[:count], targs=(), shape=())


def includes_torch(index: Index, path: str) -> bool:
    """True for a file that includes PyTorch's header of such helpers, itself or by what it includes."""
    return any(name.endswith(TORCH_HEADER) for place in index.reach(path) if place in index.files for name in index.files[place].includes)


def definition(program: Program, name: str) -> FunctionDef | None:
    """The wrapper that a name means in another file that this one includes; None where the file has such a function itself."""
    index = program.index
    if not isinstance(index, Index) or name not in index.wrappers or name.startswith("__") or program.named(name):
        return None
    held = index.function(name, program.unit.parsed.file.path)
    return held if held is not None and held.wraps else None


def collectives_elsewhere(program: Program, calls: Iterable[str]) -> list[str]:
    """Of the names that a function calls, those that mean a function of another file which shuffles or votes."""
    index, path = program.index, program.unit.parsed.file.path
    if not isinstance(index, Index):
        return []
    return [name for name in calls if not program.named(name) and index.is_collective(name, path)]


def waves_elsewhere(env: Env, calls: Iterable[str]) -> list[tuple[str, str, int, bool]]:
    """What a function calls or makes objects of in other files that speaks for the whole wave of the device, itself or by what it calls.

    Name, path, line, and whether it asks for the device's lane (else it makes masks of lanes).
    """
    program, index = env.program, env.program.index
    if not isinstance(index, Index):
        return []
    path = program.unit.parsed.file.path
    found = []
    for name in sorted(env.types.union(calls)):
        held = index.placed(name, path) if name in index.functions and name not in index.wrappers and not program.named(name) else None
        if held is None or held[0] == path or held[1].side not in ("device", "both"):
            continue
        asked = [word[1:] for word in held[1].features if word.startswith(MARK)]
        lane = any(_is_hardware_lane(index, word, held[0]) for word in asked)
        if lane or any(word.startswith("__") and "lane" not in word for word in asked):
            found.append((name, held[0], held[1].line, lane))
    return found


def sums_elsewhere(env: Env, calls: Iterable[str]) -> list[tuple[str, str, int]]:
    """Name, path and line of what a function calls in other files that adds up 32 lanes, whatever the device has."""
    program, index = env.program, env.program.index
    if not isinstance(index, Index):
        return []
    path = program.unit.parsed.file.path
    named = ((name, index.placed(name, path)) for name in sorted(calls) if name in index.functions and not program.named(name))
    return [(name, held[0], held[1].line) for name, held in named if held is not None and held[0] != path and held[1].by_32]


def _is_hardware_lane(index: Index, name: str, path: str) -> bool:
    """True where a name that speaks of a lane means the device's: a builtin, or a wrapper of the register."""
    held = index.function(name, path)
    return held.wraps[:1] == ("laneid",) if held is not None else name in ("__lane_id", "__laneid")


def _argument(call: Expr, held: FunctionDef, names: dict[str, int], text: str) -> Expr:
    """What stands in the place of one argument of the builtin."""
    place = names.get(text)
    if place is not None and place < len(call.args):
        return call.args[place]
    if place is not None:
        text = held.params[place].default
    made = parse_expression(text.encode()) if 0 < len(text) <= MAX_DEFAULT else None
    if made is None:
        return msgspec.structs.replace(call, kind="other", op="", args=(), targs=(), shape=())
    return made
