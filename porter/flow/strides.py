"""Loops over the lanes of a warp, and loops that halve or double a distance between lanes."""

from __future__ import annotations

import math

from porter.flow.env import Env
from porter.flow.event import Event, Loop
from porter.flow.expr import Expr
from porter.flow.loops import doubles, halves, loop_start, steps
from porter.flow.use import Use
from porter.flow.values import HARDWARE, WARP, Value


def loops_of(env: Env) -> list[Loop]:
    """The loops of a function that hold anything, each once, in source order."""
    seen: dict[int, Loop] = {}
    for event in env.function.events:
        for loop in event.loops:
            seen.setdefault(id(loop), loop)
    return list(seen.values())


def _is_32_elsewhere(env: Env, operand: Expr) -> bool:
    """True for a template parameter of which nobody here says how wide it is, where the project's constant of that name is 32."""
    if operand.kind != "name" or operand.op not in env.templates or env.value(operand).kind != "named_width":
        return False
    named = env.program.constant(env.unit, operand.op)
    return named is not None and named.kind == "const" and named.num == WARP


def _in_vectors(env: Env, start: Expr, step: Expr) -> Value | None:
    """The lane of a loop of which each of 32 lanes takes several elements: from lane * n in steps of 32 * n; None for any other."""
    values = [env.value(part) for part in _factors(start)]
    lanes = [value for value in values if value.kind == "lane" and value.width == WARP]
    if len(lanes) != 1 or len(values) < 2:
        return None
    by = env.value(step)
    if any(env.value(part).is_width and env.value(part).as_width == WARP for part in _factors(step)):
        return lanes[0]
    sizes = [value.num for value in values if value is not lanes[0]]
    known = all(size is not None for size in sizes)
    fits = known and by.kind == "const" and by.num == WARP * math.prod(size or 0 for size in sizes)
    return lanes[0] if fits else None


def _factors(expr: Expr) -> list[Expr]:
    """The factors of a product, casts looked through."""
    pending, found = [expr], []
    while pending:
        part = pending.pop()
        if part.kind == "cast" and part.args:
            pending.append(part.args[0])
        elif part.kind == "binary" and part.op == "*":
            pending += part.args
        else:
            found.append(part)
    return found


def loop_uses(env: Env, loop: Loop, found: list[Use]) -> None:
    """What a loop is to a warp: a stride over its lanes, or the steps of a reduction or scan over shuffles."""
    op, operand = steps(loop)
    if loop.step is None or operand is None:
        return
    start = loop_start(env, loop)
    inside = [use for use in found if use.role == "shuffle" and use.loop is loop]
    event = Event("loop", loop.line, span=loop.step.span)
    if op == "+=":
        by = env.value(operand)
        if start.kind in ("lane", "lane_ref", "warp") and (by.is_width or by.kind == "warps"):
            width = by.as_width if by.is_width else by.width
            if start.width == HARDWARE and _is_32_elsewhere(env, operand):
                width = WARP
            found.append(
                Use("stride", operand, event, start.but(symbols=(*start.symbols, *by.symbols)), start.kind, width, loop.step, loop)
            )
        elif loop.start is not None and (lane := _in_vectors(env, loop.start, operand)) is not None:
            found.append(Use("stride", operand, event, lane, "lane", WARP, loop.step, loop))
    elif inside and halves(loop):
        if start.kind == "const" and start.num == WARP // 2:
            found.append(Use("halving", loop.start or operand, event, start, "down", WARP, loop.step, loop))
        elif start.kind in ("hw_part", "hw"):
            found.append(Use("halving", loop.start or operand, event, start, "down", HARDWARE, loop.step, loop))
    elif inside and doubles(loop) and loop.condition is not None and loop.condition.kind == "binary":
        limit = env.value(loop.condition.args[1])
        if limit.kind == "const" and limit.num in (WARP, WARP // 2, WARP - 1):
            found.append(Use("halving", loop.condition.args[1], event, limit, "up", WARP, loop.condition, loop))
        elif limit.kind in ("hw", "hw_part"):
            found.append(Use("halving", loop.condition.args[1], event, limit, "up", HARDWARE, loop.condition, loop))
