"""Masks of *_sync builtins: 4-byte masks, which HIP refuses to compile, and masks that name only part of a warp."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from porter.config import Config
from porter.flow.env import Env
from porter.flow.event import Event
from porter.flow.expr import Expr
from porter.flow.placed import MASKED, part_of_a_wave, placed_masks
from porter.flow.program import Program, program_of
from porter.flow.values import Value
from porter.link import Index
from porter.model import Confidence, Hit, Live, Related, Span
from porter.parse import Parsed

KINDS = ("cuda", "cxx")
FULL = 0xFFFFFFFF
TAKES_32_BITS = "gfx1250"  # the one target whose device pass accepts a 4-byte mask, in the newest headers


def detect(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    """Hits of sync-mask-32bit and partial-sync-mask."""
    if b"_sync" not in parsed.file.data:
        return
    program = program_of(parsed, index)
    own = own_macros(program)
    strict = None if TAKES_32_BITS not in config.targets else tuple(t for t in config.targets if t != TAKES_32_BITS)
    for env in program.envs:
        for event, call in env.parts.calls:
            if call.args and call.name in MASKED:
                found = _judge(env, call, event, parsed.file.path, strict)
                yield from (msgspec.structs.replace(hit, live=Live.NO) for hit in found) if call.name in own else found
        if config.wave64_targets:
            yield from _placed(env, config.wave64_targets)


def _placed(env: Env, targets: tuple[str, ...]) -> Iterator[Hit]:
    """Masks that are made from the place in a warp of 32, each once however many calls it has."""
    seen: set[Span] = set()
    for call, shift in placed_masks(env):
        if shift.span not in seen:
            seen.add(shift.span)
            how = "its mask is made from the place in a warp of 32: lanes 32 to 63 name the lower half by it"
            message = f"{call.name} in line {call.line}: {how}"
            yield Hit("partial-sync-mask", shift.span, message, env.function.name, confidence=Confidence.MEDIUM, targets=targets)


def own_macros(program: Program) -> frozenset[str]:
    """Builtins that the project itself turns into macros in the build for AMD, which take any mask."""
    found = {env.function.name for env in program.envs if env.function.side == "macro" and env.live(env.function.span.line)}
    if isinstance(program.index, Index):
        found |= program.index.shimmed(program.unit.parsed.file.path)
        for name in MASKED:
            macros = program.index.macros.get(name, ())
            if any(macro.params is not None and macro.live is not Live.NO for _, macro in macros):
                found.add(name)
    return frozenset(found & MASKED)


def _judge(env: Env, call: Expr, event: Event, path: str, strict: tuple[str, ...] | None) -> Iterator[Hit]:
    mask = call.args[0]
    value = env.value(mask)
    source, related = _source(env, mask, path)
    if (value.bits or _returned(env, mask)) == 32:
        message = f"{source} is a 4-byte mask of {call.name}"
        line = part_of_a_wave(env, event)
        if line and value.kind == "const":
            message += f"; by line {line} only part of a wave gets here, so 64 ones would name lanes that do not"
        subject = _subject(mask, value)
        yield Hit("sync-mask-32bit", call.span, message, subject, confidence=Confidence.HIGH, targets=strict, related=related)
    if value.kind == "const" and value.num is not None and value.num & FULL not in (FULL, 0) and call.name != "__syncwarp":
        yield Hit(
            "partial-sync-mask", call.span, f"{call.name} with mask {mask.op or hex(value.num)}", subject=env.function.name,
            confidence=Confidence.MEDIUM, targets=None,
        )  # fmt: skip


def _returned(env: Env, mask: Expr) -> int:
    """Bits of what a function or method of the file gives back, where all of its name give as many; 0 for anything else."""
    if mask.kind not in ("call", "method"):
        return 0
    named = env.program.named(mask.name if mask.kind == "call" else mask.op)
    bits = {env.program.bits(one.function.returns) for one in named if one.function.side != "macro"}
    return bits.pop() if len(bits) == 1 else 0


def _subject(mask: Expr, value: Value) -> str:
    """What one decision changes: the macro or constant, or all literals together."""
    if value.symbols and value.kind == "const":
        return value.symbols[0]
    return "literal" if value.kind == "const" else "variable"


def _source(env: Env, mask: Expr, path: str) -> tuple[str, tuple[Related, ...]]:
    """The mask in words, and where it is defined."""
    if mask.kind == "name":
        decl = env.declaration(mask)
        if decl is not None:
            return f"{mask.op} ({decl.type or 'declared'})", (Related(path, decl.line, f"{mask.op} is declared here"),)
        if mask.op in env.params:
            kind = env.params[mask.op][1].type
            return f"parameter {mask.op} ({kind})", (Related(path, env.function.span.line, "parameter of this function"),)
        where = env.program.defined(mask.op)
        return mask.op, tuple(Related(place, line, f"{mask.op} is defined here") for place, line in where)
    if mask.kind == "num":
        return mask.op, ()
    if mask.kind == "unary" and mask.args[0].kind == "num":
        return mask.op + mask.args[0].op, ()
    if mask.kind in ("call", "method"):
        return f"what {mask.name if mask.kind == 'call' else mask.op} returns", ()
    return "the expression", ()
