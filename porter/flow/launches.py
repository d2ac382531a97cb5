"""Launches of a function: <<< >>>, the runtime's calls, objects and functions of the project that wrap them; kernel and block."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from porter.flow.env import Env
from porter.flow.event import Event
from porter.flow.expr import Expr
from porter.flow.program import Program
from porter.flow.values import Value, const
from porter.link import Index
from porter.model import Live
from porter.survey_launches import LAUNCHERS

RUNTIME = frozenset(name for name, (_, _, block) in LAUNCHERS.items() if block >= 0)
CONFIGURED = LAUNCHERS.keys() - RUNTIME  # the block is in a configuration before the kernel
WRAPPER = re.compile(r"(?i)\w*launch\w*\Z")
AXES = "xyz"
CALLS = frozenset({"call", "invoke", "method"})


class Launch(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A launch: the kernel's last name, the call, the expression of the block, and its extents as far as they are known."""

    kernel: str
    call: Expr
    block: Expr
    sizes: tuple[Value, ...]


def launches_of(program: Program, env: Env) -> Iterator[Launch]:
    """The launches in a function, in source order."""
    for event in env.function.events:
        for part in env.walked(event.value) if event.value is not None else ():
            made = _launch(program, env, part) if part.shape or part.kind in CALLS else None
            if made is not None:
                yield made


def _launch(program: Program, env: Env, part: Expr) -> Launch | None:
    if len(part.shape) >= 2:
        return Launch(_meant(env, part), part, part.shape[1], block_shape(env, part.shape[1]))
    if part.kind not in CALLS or not part.args:
        return None
    if part.name in RUNTIME and len(part.args) > 2:
        return Launch(_kernel(env, part.args[0]), part, part.args[2], block_shape(env, part.args[2]))
    if part.name in CONFIGURED and len(part.args) > 1:
        block = _configured(env, part.args[0])
        return Launch(_kernel(env, part.args[1]), part, block, block_shape(env, block)) if block is not None else None
    return _wrapped(program, env, part) or _by_convention(program, env, part)


def _wrapped(program: Program, env: Env, call: Expr) -> Launch | None:
    """A call of a function or macro of the file that launches what it is given."""
    if call.kind != "call":
        return None
    for inner in program.named(call.name):
        if inner.function.side == "kernel" or inner is env:
            continue
        for part in inner.parts.launches:
            made = _substituted(env, call, inner, part)
            if made is not None:
                return made
    return None


def _substituted(env: Env, call: Expr, inner: Env, part: Expr) -> Launch | None:
    """A launch within a wrapper, with the arguments of a call of it in the place of its parameters."""
    if len(part.shape) < 2 or part.op not in inner.params or part.op in inner.decls:
        return None
    place = inner.params[part.op][0]
    if place >= len(call.args):
        return None
    block = part.shape[1]
    sizes = block_shape(inner, block)
    core = block.args[0] if block.kind == "call" and block.name == "dim3" and len(block.args) == 1 else block
    if core.kind == "name" and core.op in inner.params and core.op not in inner.decls:
        where = inner.params[core.op][0]
        if where >= len(call.args):
            return None
        block = call.args[where]
        sizes = block_shape(env, block)
    return Launch(_kernel(env, call.args[place]), call, block, sizes)


def _by_convention(program: Program, env: Env, call: Expr) -> Launch | None:
    """A wrapper that is not in the file: its name says launch, and grid and block stand before the kernel that it is given."""
    given, name = call.args, call.name
    if call.kind == "invoke":
        first = call.args[0]
        name = first.name
        given = (*first.args, *call.args[1:])
    elif call.kind == "method":
        given = call.args[1:]
    if not WRAPPER.match(name):
        return None
    for place, arg in enumerate(given[:8]):
        kernel = _kernel(env, arg)
        if kernel and _is_kernel(program, kernel):
            known = place == 2 or (place > 2 and (call.kind == "invoke" or _is_grid(env, given[0])))  # else a stream may come first
            return Launch(kernel, call, given[1], block_shape(env, given[1])) if known else None
    return None


def _is_grid(env: Env, expr: Expr) -> bool:
    """True for what is written or declared as a dim3."""
    if expr.kind == "name":
        return env.type_of(expr) == "dim3"
    return expr.kind == "list" or (expr.kind == "call" and expr.name == "dim3")


def _is_kernel(program: Program, name: str) -> bool:
    if any(env.function.side == "kernel" for env in program.named(name)):
        return True
    if not isinstance(program.index, Index):
        return False
    return any(one.side == "kernel" and one.live is not Live.NO for _, one in program.index.functions.get(name, ()))


def _kernel(env: Env, expr: Expr) -> str:
    """The last name of the kernel that an argument means: casts, & and variables that hold it looked through."""
    while expr.kind in ("cast", "unary") and expr.args:
        expr = expr.args[0]
    return _meant(env, expr) if expr.kind in ("name", "call") else ""


def _meant(env: Env, expr: Expr) -> str:
    """The kernel behind a name: itself, or what a local variable was made from."""
    decl = env.declaration(expr) if expr.op in env.decls else None
    value = decl.value if decl is not None else None
    while value is not None and value.kind in ("cast", "unary") and value.args:
        value = value.args[0]
    return value.name if value is not None and value.kind == "name" else expr.name


def _configured(env: Env, expr: Expr) -> Expr | None:
    """The block that a launch configuration was given: cfg.blockDim = block, or {grid, block, …}."""
    while expr.kind in ("unary", "cast") and expr.args:
        expr = expr.args[0]
    if expr.kind != "name":
        return None
    given = [event.value for event in _fields(env, expr.op) if event.target is not None and event.target.op == "blockDim"]
    decl = env.declaration(expr) if expr.op in env.decls else None
    if not given and decl is not None and decl.value is not None and decl.value.kind == "list" and len(decl.value.args) > 1:
        return decl.value.args[1]
    return given[0] if len(given) == 1 else None


def _fields(env: Env, name: str) -> list[Event]:
    """The assignments to fields of a local variable, in source order."""
    return [
        event
        for event in env.function.events
        if event.kind == "assign" and event.op == "=" and event.target is not None and event.target.kind == "field"
        and event.target.args[0].op == name and env.live(event.line)
    ]  # fmt: skip


def block_shape(env: Env, expr: Expr) -> tuple[Value, ...]:
    """The extents of a block, as far as they are known: one value for a number, up to three for a dim3."""
    if expr.kind == "call" and expr.name == "dim3":
        return tuple(env.value(arg) for arg in expr.args)
    if expr.kind == "list":
        return tuple(env.value(arg) for arg in expr.args)
    decl = env.declaration(expr) if expr.kind == "name" and expr.op in env.decls else None
    if decl is None:
        return (env.value(expr),)
    value = decl.value
    made = value is not None and value.kind == "call" and value.name == "dim3"
    if "dim3" not in decl.type and not made:
        return (env.value(expr),)
    sizes = [env.value(arg) for arg in value.args] if value is not None and (value.kind == "list" or made) else []
    if value is not None and not sizes and value.kind not in ("list", "call"):
        sizes = [env.value(value)]
    for event in _fields(env, expr.op):
        axis = AXES.find(event.target.op) if event.target is not None and len(event.target.op) == 1 else -1
        if axis < 0 or event.guards:
            return (Value("other"),)  # set to one thing or another
        sizes += [const(1)] * (axis + 1 - len(sizes))
        sizes[axis] = env.value(event.value)
    return tuple(sizes) if sizes else (Value("other"),)
