"""Meanings of names: what a variable, a parameter, a member or a constant is to a warp, from all that gives it a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.flow import number, values
from porter.flow.event import Event
from porter.flow.expr import Expr
from porter.flow.names import TILE_TYPE, by_name, is_width
from porter.flow.values import OTHER, UNKNOWN_WIDTH, Value

if TYPE_CHECKING:
    from porter.flow.env import Env


def resolve(env: Env, expr: Expr, decl: Event | None, depth: int) -> Value:
    """What a name stands for at its place: a variable, a parameter, a member, a constant; ``decl`` is its declaration."""
    text = expr.op
    if text in env.asm:
        return env.asm[text]
    if decl is not None:
        return _local(env, text, decl, depth)
    if text in env.params:
        return _parameter(env, text, depth)
    template = env.templates.get(text)
    if template is not None:
        return _template(env, text, template.default, depth)
    if env.outer is not None:
        return env.outer.name(expr, depth)
    if env.function.owner:
        member = env.program.members.value(env.function.owner, text, depth)
        if member.kind != "other":
            return member
    found = env.program.constant(env.unit, expr.name if text not in env.unit.constants else text)
    if found is not None:
        return found
    assigned = env.assigns.get(text)
    if assigned:
        return _assigned(env, assigned, OTHER, depth)
    return by_name(expr.name)


def _local(env: Env, text: str, decl: Event, depth: int) -> Value:
    bits = env.program.bits(decl.type)
    tile = _tile(env, decl.type)
    if tile is not None:
        return tile
    first = env.value(decl.value, depth + 1) if decl.value is not None else OTHER
    if decl.value is not None and decl.value.kind == "list" and len(decl.value.args) == 1:
        first = env.value(decl.value.args[0], depth + 1)
    constant = "const" in decl.type
    if first.kind == "const" and constant and not first.symbols:
        first = first.but(symbols=(text,))
    assigned = env.assigns.get(text)
    later = [event for event in assigned or () if decl.line <= event.line <= decl.scope_end and env.live(event.line)]
    made = _assigned(env, later, first, depth) if later else first
    if made.kind == "const" and later and not constant:
        made = Value("variable", made.num, bits=made.bits)
    if made.kind == "other":
        made = by_name(text)
    stepped = env.stepped.get(text)
    if stepped and any(decl.line <= line <= decl.scope_end for line in stepped):
        made = made.but(kind={"tid": "gid", "const": "variable"}.get(made.kind, made.kind))  # a thread index that moves counts elements
    return made.but(bits=bits) if bits and made.bits != bits else made


def _tile(env: Env, kind: str) -> Value | None:
    """A cooperative-groups tile, where the type says how wide it is."""
    match = TILE_TYPE.search(kind) if "tile" in kind else None
    if match is None:
        return None
    parsed = number.parse(match[1])
    size = values.const(*parsed) if parsed is not None else env.program.constant(env.unit, match[1]) or OTHER
    return Value("tile", num=size.num, width=size.num if size.num is not None else UNKNOWN_WIDTH, symbols=size.symbols)


def _assigned(env: Env, events: list[Event], first: Value, depth: int) -> Value:
    made = first
    for event in events:
        if event.op == "=" and event.value is not None:
            value = env.value(event.value, depth + 1)
        elif event.op in ("|=", "&=", "+=", "-=", "^=", ">>=", "<<=", "%=", "/=") and made.kind != "const" and event.value is not None:
            value = values.binary(event.op[:-1], made, env.value(event.value, depth + 1))
            if value.kind == "other":
                continue
        else:
            continue
        if made.kind in ("other", "const", "variable") or value.kind == "mask":
            made = value
    return made


def _parameter(env: Env, text: str, depth: int) -> Value:
    place, param = env.params[text]
    bits = env.program.bits(param.type)
    tile = _tile(env, param.type)
    if tile is not None:
        return tile
    made = OTHER
    if "*" not in param.type:
        made = env.program.argument(env.function, place, depth)
    if made.kind == "other" and param.default is not None:
        made = env.value(param.default, depth + 1)
    if made.kind == "other":
        made = by_name(text)
    return made.but(bits=bits) if bits and made.bits != bits else made


def _template(env: Env, text: str, default: Expr | None, depth: int) -> Value:
    made = env.value(default, depth + 1) if default is not None else OTHER
    if made.kind == "other" and is_width(text):
        made = env.program.instantiated(env.function, text, depth)
    if made.kind == "const":
        return made.but(symbols=(text, *made.symbols))
    return made if made.kind == "hw" else by_name(text)
