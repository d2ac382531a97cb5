"""The host's side of a warp: blocks of one warp or of part of a wave, counts from 32, guards that refuse 64, launch bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from porter.config import Config
from porter.flow.breaks import breaks_of
from porter.flow.env import Env
from porter.flow.expr import Expr, walk
from porter.flow.launches import Launch, launches_of
from porter.flow.names import is_width
from porter.flow.program import Program, program_of
from porter.flow.roles import closure, survey
from porter.flow.use import Uses
from porter.flow.values import WARP, WAVE
from porter.flow.warps import hardware_uses, verdicts, width_symbols
from porter.flow.wrappers import collectives_elsewhere, waves_elsewhere
from porter.link import Index
from porter.model import Confidence, Hit, Live, Related, Span
from porter.parse import Parsed

KINDS = ("cuda", "cxx")
PER_PROCESSOR = ("maxThreadsPerMultiProcessor", "maxThreadsPerBlock", "regsPerMultiprocessor")
ASSERTS = re.compile(r"(?i)assert|check|require|enforce|expect")
ARITHMETIC = ("*", "/", "%", "+", "-", "<<", ">>", "&")


def detect(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    """Hits on launches and host arithmetic; only where a wave64 target is asked for, launch bounds always."""
    program = program_of(parsed, index)
    for env in program.envs:
        if len(env.function.bounds) >= 2:
            where = env.function.bounds[1]
            message = f"{env.function.name} asks for {_words(where)} as second argument"
            yield Hit("launch-bounds-second-argument", where.span, message, env.function.name, confidence=Confidence.HIGH)
    targets = config.wave64_targets
    if not targets:
        return
    broken = any(verdict.state in ("broken", "mixed", "hardware") for verdict in verdicts(program))
    symbols = width_symbols(program)
    yield from _asserts(program, targets)
    for env in program.envs:
        if env.function.side == "kernel" and isinstance(index, Index) and env.live(env.function.span.line):
            yield from _launched_elsewhere(program, env, index, targets)
        yield from _checks(env, targets, symbols)
        if env.function.side not in ("host", "macro"):
            continue
        yield from _launches(program, env, targets)
        if env.function.side == "host":
            yield from _counts(env, targets, broken, symbols)


def _words(expr: Expr) -> str:
    return expr.op if expr.kind in ("num", "name") else "an expression"


def _launches(program: Program, env: Env, targets: tuple[str, ...]) -> Iterator[Hit]:
    for launch in launches_of(program, env):
        yield from _launch(program, env, launch, targets)
        yield from _warps_of_32(program, env, launch, targets)


def _warps_of_32(program: Program, env: Env, launch: Launch, targets: tuple[str, ...]) -> Iterator[Hit]:
    """A block of 32 times a number, for a kernel that asks the device how wide a warp is."""
    product = launch.block
    if product.kind == "name":
        decl = env.declaration(product)
        product = decl.value if decl is not None and decl.value is not None else product
    if product.kind in ("call", "list") and product.args:  # dim3
        product = product.args[0]
    if product.kind != "binary" or product.op != "*" or env.value(product).kind == "const":
        return
    if not any(side.kind == "const" and side.num == WARP and not side.symbols for side in map(env.value, product.args)):
        return
    _, table = survey(program)
    if any(hardware_uses(one) for found in table.get(launch.kernel, []) for one in closure(program, table, found)):
        message = f"{launch.kernel} runs in blocks of 32 times a number of warps, and takes the width of a warp from the device"
        yield Hit("host-warp-count", product.span, message, launch.kernel, confidence=Confidence.MEDIUM, targets=targets)


def _launch(program: Program, env: Env, launch: Launch, targets: tuple[str, ...]) -> Iterator[Hit]:
    name, sizes = launch.kernel, launch.sizes
    if sizes and all(size.kind == "const" and size.num is not None for size in sizes):
        lambdas = [uses for uses in survey(program)[0] if uses.env.outer is env and _within(uses.env.function.span, launch.call)]
        found = _shape_hit(program, name, [size.num or 0 for size in sizes], lambdas)
        if found is not None:
            rule, what = found
            yield Hit(rule, launch.call.span, f"{name} {what}", name, confidence=Confidence.MEDIUM, targets=targets)


def _within(span: Span, call: Expr) -> bool:
    return (call.line, call.column) <= (span.line, span.column) and (span.end_line, span.end_column) <= (call.end_line, call.end_column)


def _shape_hit(program: Program, kernel: str, numbers: list[int], more: Iterable[Uses] = ()) -> tuple[str, str] | None:
    """The rule that blocks of this shape break for a kernel of the file, and why in words."""
    listed, table = survey(program)
    threads = 1
    for number in numbers:
        threads *= number
    reached = [one for found in (*table.get(kernel, ()), *more) for one in closure(program, table, found)]
    collective = any(one.of("shuffle", "vote", "syncwarp", "matrix") or collectives_elsewhere(program, one.calls) for one in reached)
    shape = "x".join(str(number) for number in numbers)
    if numbers[0] == WARP and threads > WARP and any(_breaks_rows(one) for one in reached):
        return "warp-per-row-32", f"runs in blocks of {shape}: two rows share a wave of 64"
    if threads == WARP and (collective or any(hardware_uses(one) for one in reached)):
        asks = "" if collective else ", and takes the width from the device"
        return "one-warp-block", f"runs in blocks of one 32-thread warp: half a wave{asks}"
    if threads % WAVE and collective:
        return "block-not-multiple-of-64", f"runs in blocks of {threads} threads, no multiple of 64"
    return None


def _breaks_rows(uses: Uses) -> bool:
    """True for code that two rows of 32 threads in one wave break: its own, or what it uses of other files."""
    return any(found.proven for found in breaks_of(uses)) or bool(waves_elsewhere(uses.env, uses.calls))


def _launched_elsewhere(program: Program, env: Env, index: Index, targets: tuple[str, ...]) -> Iterator[Hit]:
    """A kernel of this file that other files launch: the finding stands at the kernel, the launches are its other places."""
    function = env.function
    path = program.unit.parsed.file.path
    for place, launch in index.launches_of(function.name):
        if place == path or launch.live is Live.NO or path not in index.reach(place):
            continue
        text = launch.block.removeprefix("dim3(").removesuffix(")") if launch.block.startswith("dim3(") else launch.block
        numbers = [index.fold(part, place) for part in text.split(",")]
        if any(number is None for number in numbers):
            continue
        found = _shape_hit(program, function.name, [number or 0 for number in numbers])
        if found is not None:
            start = Span(function.span.line, function.span.column, function.span.line, function.span.column)
            where = (Related(place, launch.line, "launched here"),)
            yield Hit(
                found[0], start, f"{function.name} {found[1]}", function.name, confidence=Confidence.MEDIUM, targets=targets, related=where
            )
            return


def _checks(env: Env, targets: tuple[str, ...], symbols: frozenset[str]) -> Iterator[Hit]:
    """Comparisons that refuse a warp size other than 32; one that only chooses between two ways is none."""
    found: list[tuple[Expr, bool]] = []
    for _, call in env.parts.calls:
        for arg in call.args if _asserts_by_name(call.op) else ():
            if not _takes_wide(env, arg):
                found += [(inner, True) for inner in walk(arg) if inner.kind == "binary" and inner.op == "=="]
    if env.function.side in ("host", "macro"):
        found += [(part, False) for part in env.parts.compared if part.op == "!="]
    for comparison, asserts in found:
        if (what := _refuses(env, comparison, symbols, asserts)) != "":
            message = f"{env.function.name} compares the {what} of a warp with 32"
            yield Hit("warp-size-check", comparison.span, message, env.function.name, confidence=Confidence.MEDIUM, targets=targets)


@lru_cache(maxsize=20_000)
def _asserts_by_name(name: str) -> bool:
    return ASSERTS.search(name) is not None


def _asserts(program: Program, targets: tuple[str, ...]) -> Iterator[Hit]:
    """static_assert(WARP_SIZE == 32) outside functions and within them."""
    inside = [(env, event.value) for env in program.envs for event in env.function.events if event.kind == "static_assert" and event.value]
    seen: set[Span] = set()
    for env, condition in (*inside, *((program.outside, condition) for condition in program.unit.asserts)):
        for part in walk(condition) if not _takes_wide(env, condition) else ():
            if part.kind != "binary" or part.op != "==" or part.span in seen or not env.live(part.line):
                continue
            named, number = part.args if part.args[0].kind == "name" else part.args[::-1]
            if named.kind == "name" and is_width(named.name) and number.kind == "num" and env.value(number).num == WARP:
                seen.add(part.span)
                message = f"a static_assert wants {named.name} to be 32"
                yield Hit("warp-size-check", part.span, message, named.name, confidence=Confidence.MEDIUM, targets=targets)


def _takes_wide(env: Env, condition: Expr) -> bool:
    """True for a condition that holds for 64 lanes too: size == 32 || size == 64."""
    equal = [part for part in walk(condition) if part.kind == "binary" and part.op == "=="]
    return any(env.value(arg).num == WAVE and env.value(arg).kind == "const" for part in equal for arg in part.args)


def _refuses(env: Env, comparison: Expr, symbols: frozenset[str], asserts: bool) -> str:
    """What a comparison holds against 32: the device's size of a warp, or the constant for it; empty for neither."""
    a, b = env.value(comparison.args[0]), env.value(comparison.args[1])
    if b.kind == "hw":
        a, b = b, a
    if b.kind != "const" or b.num != WARP:
        return ""
    if a.kind == "hw" and (a.via == "property" or (a.via == "warpSize" and asserts and env.function.on_device)):
        return "size"
    named = a.kind == "const" and bool(symbols & set(a.symbols)) and not b.symbols
    return "constant" if named and env.function.side == "host" else ""


def _counts(env: Env, targets: tuple[str, ...], broken: bool, symbols: frozenset[str]) -> Iterator[Hit]:
    """Arithmetic of the host with a constant that means the warp, and with 32 beside a device property."""
    lines: set[int] = set()
    for event in env.function.events:
        for root in (event.value, event.target):
            if root is None:
                continue
            for part in env.walked(root):
                if part.kind != "binary" or part.op not in ARITHMETIC or part.line in lines:
                    continue
                yield from _count(env, part, targets, broken, lines, symbols)


def _count(env: Env, part: Expr, targets: tuple[str, ...], broken: bool, lines: set[int], width: frozenset[str]) -> Iterator[Hit]:
    sides = [env.value(arg) for arg in part.args]
    for side, expr, other in ((sides[0], part.args[0], part.args[1]), (sides[1], part.args[1], part.args[0])):
        if side.kind != "const" or side.num != WARP:
            continue
        names = [expr.name] if expr.kind == "name" and (expr.name in width or is_width(expr.name)) else []
        if other.kind == "field" and other.op in PER_PROCESSOR:
            lines.add(part.line)
            message = f"{other.op} is divided by 32"
            yield Hit("occupancy-with-32", part.span, message, env.function.name, confidence=Confidence.HIGH, targets=targets)
        elif names:
            lines.add(part.line)
            sure = Confidence.MEDIUM if broken else Confidence.LOW
            message = f"{env.function.name} computes with {names[0]} (32)"
            yield Hit("host-warp-count", part.span, message, names[0], confidence=sure, targets=targets)
