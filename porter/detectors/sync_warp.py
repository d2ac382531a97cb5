"""Synchronisation within a warp: steps on shared memory without a barrier, empty __syncwarp, lanes that leave, spinning lanes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from porter.config import Config
from porter.detectors.warp_masks import own_macros
from porter.flow.breaks import same
from porter.flow.env import Env
from porter.flow.event import Event, Guard
from porter.flow.expr import Expr, walk
from porter.flow.program import Program, program_of
from porter.flow.roles import survey
from porter.flow.tails import tails
from porter.flow.use import Use, Uses
from porter.flow.values import HARDWARE, WARP
from porter.flow.warps import fixed_uses, hardware_uses
from porter.model import Confidence, Hit
from porter.parse import Parsed

KINDS = ("cuda", "cxx")
WAITS = re.compile(r"(?i)(?:\w+_)?(?:try_|consumer_|producer_|barrier_)?(?:wait|acquire|arrive)(?:_\w+)?\Z")
TAKES = re.compile(r"(?i)(?<![bc])(?<!un)lock|acquire|(?<![a-z])enter")  # no block, clock, unlock, center
RELEASES = frozenset(("atomicExch", "atomicCAS", "atomicSub"))
COUNTS = frozenset(("atomicAdd", "atomicAnd"))  # of the lock itself
PTX_WAITS = re.compile(r"mbarrier\.(?:try|test)_wait|\bbar(?:rier)?\.(?:cta\.)?sync\s+(?:%?\w+)\s*,")


def detect(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    """Hits on synchronisation within a warp."""
    program = program_of(parsed, index)
    yield from _empty(program)
    own = own_macros(program)  # for AMD they drop the mask, and nothing waits for lanes that left
    guarded: dict[str, bool] = {}
    for uses in survey(program)[0]:
        if not uses.env.function.on_device:
            continue
        yield from _tails(uses)
        yield from _early_exit(uses, own)
        yield from _divergent_barrier(uses)
        yield from _roles(uses.env)
        yield from _spin(uses.env, program, guarded)


def _empty(program: Program) -> Iterator[Hit]:
    for env in program.envs:
        function = env.function
        if function.name == "__syncwarp" and not function.events:
            yield Hit("syncwarp-defined-empty", function.span, "__syncwarp does nothing", "__syncwarp", confidence=Confidence.HIGH)


def _tails(uses: Uses) -> Iterator[Hit]:
    """Chains of shared-memory steps of one warp, with nothing between them."""
    name = uses.env.function.name
    for chain in tails(uses.env):
        target = chain[0].target
        owner = target.args[0].op if target is not None else ""
        message = f"{len(chain)} steps on {owner} in {name} with no barrier between them"
        yield Hit("warp-synchronous-tail", chain[0].span, message, name, confidence=Confidence.HIGH)


def _early_exit(uses: Uses, own: frozenset[str]) -> Iterator[Hit]:
    """A full-mask collective after a return of some lanes."""
    env = uses.env
    left: Event | None = None
    returns = [event for event in env.function.events if event.kind == "return" and event.guards and not event.loops]
    if not returns:
        return
    asks = bool(hardware_uses(uses)) or any(use.width == HARDWARE or _by_name(env, use) for use in uses.of("shuffle"))
    rows = asks and not fixed_uses(uses)  # a row of the block is a wave, on every device
    for event in returns:
        if _by_thread(env, event.guards[-1], rows):
            left = left or event
    if left is None:
        return
    for use in uses.of("shuffle", "vote"):
        call = use.expr
        if call.line > left.line and call.name.endswith("_sync") and call.name not in own and call.args and _full(env, call.args[0]):
            message = f"{call.name} after lanes left {env.function.name} in line {left.line}"
            yield Hit("early-exit-before-collective", call.span, message, env.function.name, confidence=Confidence.MEDIUM)
            return


def _by_name(env: Env, shuffle: Use) -> bool:
    """True for a shuffle whose width has the name of a warp's and no number, such as a template parameter."""
    width = env.value(shuffle.expr.args[-1]) if len(shuffle.expr.args) > 3 else None
    return width is not None and width.kind == "named_width"


def _full(env: Env, mask: Expr) -> bool:
    value = env.value(mask)
    return value.kind == "const" and value.num is not None and value.num & 0xFFFFFFFF == 0xFFFFFFFF


def _by_thread(env: Env, guard: Guard, rows: bool) -> bool:
    """True where a condition differs between the lanes of a wave; ``rows``: not where it only differs between rows of the block."""
    if not guard.sense or guard.condition.kind != "binary":
        return False
    values = [env.value(part) for part in walk(guard.condition) if part.kind in ("name", "binary")]
    return any(value.kind in ("tid", "gid", "lane") and not (rows and value.via in ("y", "z")) for value in values)


def _divergent_barrier(uses: Uses) -> Iterator[Hit]:
    env = uses.env
    for use in uses.of("barrier"):
        for guard in use.event.guards:
            if guard.condition.kind == "binary" and guard.condition.op in ("<", "==", "<=", ">", ">="):
                sides = [env.value(arg) for arg in guard.condition.args]
                if any(side.kind in ("lane", "tid") and side.proven for side in sides):
                    message = f"{use.expr.name} under a condition on the thread index in {env.function.name}"
                    yield Hit("barrier-in-divergent-branch", use.expr.span, message, env.function.name, confidence=Confidence.MEDIUM)
                    break


def _roles(env: Env) -> Iterator[Hit]:
    """A branch or a switch on the index of a 32-lane warp of which two sides wait for something."""
    waiting: dict[int, dict[tuple[int, bool], Guard]] = {}
    called = any(WAITS.match(call.name) for call in (*(call for _, call in env.parts.calls), *env.parts.methods))
    for event in env.function.events if called else [event for event in env.function.events if event.kind == "asm"]:
        if not _waits(event):
            continue
        for guard in event.guards:
            if _by_warp(env, guard.condition):
                chosen = guard.condition.args[0]  # the cases of a switch share it
                waiting.setdefault(id(chosen), {})[id(guard.condition), guard.sense] = guard
    for sides in waiting.values():
        first = min((guard.condition for guard in sides.values()), key=lambda condition: condition.span)
        if len(sides) > 1 and env.live(first.line):
            message = f"{env.function.name} gives roles to warps of 32 threads, and both sides wait"
            yield Hit("warp-specialised-roles", first.span, message, env.function.name, confidence=Confidence.MEDIUM)


def _waits(event: Event) -> bool:
    """True for a named barrier, an mbarrier or a call that waits for another role."""
    if event.kind == "asm":
        return PTX_WAITS.search(event.op) is not None
    return event.value is not None and any(part.kind in ("call", "method") and WAITS.match(part.name) for part in walk(event.value))


def _by_warp(env: Env, condition: Expr) -> bool:
    """True for a comparison of the index of a warp of 32 lanes, or of a role made of it, with a number or a name."""
    if condition.kind != "binary" or condition.op not in ("==", "!=", "<", "<=", ">", ">="):
        return False
    sides = [env.value(arg) for arg in condition.args]
    if any(side.kind == "role" and side.width == WARP for side in sides):
        return condition.op in ("==", "!=")
    return any(side.kind == "warp" and side.proven and side.width == WARP for side in sides) and any(side.kind == "const" for side in sides)


def _spin(env: Env, program: Program, guarded: dict[str, bool]) -> Iterator[Hit]:
    """while (atomicCAS(lock) != 0); with the release after the loop, or in another function, by more than one lane of a warp."""
    for event in env.function.events:
        if event.kind != "loop" or event.value is None or not event.loops:
            continue
        loop = event.loops[-1]
        taken = next((part for part in env.walked(event.value) if part.kind == "call" and part.name in ("atomicCAS", "atomicExch")), None)
        if taken is None or event.value is not loop.condition or _only_reads(taken) or _updates(env, taken):
            continue
        if any(_releases(other, taken) for other in env.function.events if loop in other.loops):
            continue
        if any(_one_lane(env, guard) for guard in event.guards):
            continue
        name = env.function.name
        if any(other.line > loop.end_line and _releases(other, taken) for other in env.function.events):
            message = f"lanes of one wave spin on a lock that {name} frees after the loop"
            yield Hit("intra-wave-spin-lock", event.span, message, name, confidence=Confidence.MEDIUM)
        elif env.function.side != "kernel" and TAKES.search(name) and not _by_one_lane(program, guarded, name):
            message = f"lanes of one wave spin on a lock that {name} takes and another function frees"
            yield Hit("intra-wave-spin-lock", event.span, message, name, confidence=Confidence.LOW)


def _only_reads(call: Expr) -> bool:
    """True for atomicCAS(p, 1, 1), which changes nothing: what it waits for, another block does."""
    return call.name == "atomicCAS" and len(call.args) == 3 and same(call.args[1], call.args[2])


def _updates(env: Env, call: Expr) -> bool:
    """True for atomicCAS(p, old, f(old)), tried until nobody came between: every lane gets through, one after the other."""
    if call.name != "atomicCAS" or len(call.args) != 3 or env.value(call.args[1]).kind == "const":
        return False
    return any(part.kind == "name" and part.op in env.assigns for part in walk(call.args[1]))


def _by_one_lane(program: Program, guarded: dict[str, bool], name: str) -> bool:
    """True where every call of a function or method in the file stands under a condition that one lane passes; filled for all at once."""
    if not guarded:
        guarded[""] = False
        for env in program.envs:
            for event in env.function.events:
                calls = [part for part in env.walked(event.value) if part.kind in ("call", "method")] if event.value is not None else []
                alone = bool(calls) and any(_one_lane(env, guard) for guard in event.guards)
                for called in {text for part in calls for text in (part.op, part.name)}:
                    guarded[called] = guarded.get(called, True) and alone
    return guarded.get(name, False)


def _releases(event: Event, taken: Expr) -> bool:
    """True for an atomic that may free the lock, and for a plain store into it."""
    if event.kind == "loop" or event.value is None:
        return False
    if event.kind == "assign" and event.op == "=" and event.target is not None and taken.args:
        lock, stored = _named(taken.args[0]), _named(event.target)
        if lock and lock == stored and event.target.kind in ("index", "unary"):
            return True
    own = _named(taken.args[0]) if taken.args else ""
    return any(
        part.kind == "call" and (part.name in RELEASES or (part.name in COUNTS and part.args and _named(part.args[0]) == own))
        for part in walk(event.value)
    )


def _named(expr: Expr) -> str:
    """The first name of an expression, such as lock of &lock[i] and of *lock."""
    return next((part.op for part in walk(expr) if part.kind == "name"), "")


def _one_lane(env: Env, guard: Guard) -> bool:
    """True where a condition names the one thread or lane that passes, alone or among others that must hold too."""
    pending = [guard.condition] if guard.sense else []
    while pending:
        condition = pending.pop()
        if condition.kind == "binary" and condition.op == "&&":
            pending += condition.args
        elif condition.kind == "binary" and condition.op == "==" and any(env.value(arg).kind in ("lane", "tid") for arg in condition.args):
            return True
    return False
