"""Calls of functions of other files: wrappers of warp builtins, as the builtin's call that they stand for, and what shuffles or votes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from porter.flow.expr import Expr
from porter.flow.fragments import parse_expression
from porter.link import Index
from porter.survey import FunctionDef

if TYPE_CHECKING:
    from porter.flow.program import Program

MAX_DEFAULT = 80  # bytes of a default argument
TORCH = {  # ATen/cuda/DeviceUtils.cuh: the builtin that a build for AMD calls, and how many of the arguments it takes
    "WARP_SHFL": ("__shfl", 3), "WARP_SHFL_UP": ("__shfl_up", 3), "WARP_SHFL_DOWN": ("__shfl_down", 3), "WARP_SHFL_XOR": ("__shfl_xor", 3),
    "WARP_BALLOT": ("__ballot", 1),
}  # fmt: skip
TORCH_HEADER = "DeviceUtils.cuh"  # of ATen or THC


def expanded(program: Program, call: Expr) -> Expr | None:
    """The call of a builtin that a call of a wrapper comes to, at the same place; None for any other call."""
    if call.op in TORCH:
        return _of_torch(program, call)
    held = definition(program, call.name)
    if held is None or held.wraps[0] == "laneid":
        return None
    names = {param.name: place for place, param in enumerate(held.params)}
    args = tuple(_argument(call, held, names, text) for text in held.wraps[1:])
    return msgspec.structs.replace(call, op=held.wraps[0], args=args, targs=(), shape=())


def _of_torch(program: Program, call: Expr) -> Expr | None:
    """The call of a builtin behind a helper of PyTorch, where the project has none of that name and includes PyTorch's header."""
    index, path = program.index, program.unit.parsed.file.path
    if not isinstance(index, Index) or program.named(call.op):
        return None
    around = index.reach(path)
    if any(place in around for place, _ in (*index.functions.get(call.op, ()), *index.macros.get(call.op, ()))):
        return None
    if not any(name.endswith(TORCH_HEADER) for place in around if place in index.files for name in index.files[place].includes):
        return None
    builtin, count = TORCH[call.op]
    return msgspec.structs.replace(call, op=builtin, args=call.args[:count], targs=(), shape=())


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
