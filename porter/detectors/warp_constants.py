"""Named warp sizes: constants fixed at 32 or 64, and warpSize where C++ wants a constant, an int, or the device."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from porter.config import Config
from porter.flow.env import Env
from porter.flow.event import Event
from porter.flow.expr import Expr, walk
from porter.flow.names import is_width
from porter.flow.program import Evaluator, Program, program_of
from porter.flow.roles import survey
from porter.flow.unit import Definition
from porter.flow.use import Use
from porter.flow.values import WARP, WAVE
from porter.flow.warps import related, verdicts
from porter.link import Index
from porter.model import Confidence, Hit, Live, Related, Span
from porter.parse import Parsed
from porter.parse.guards import SourceGuards

KINDS = ("cuda", "cxx")
MOST_PLACES = 400  # of other files that a definition lists
DEDUCED = frozenset({"std::min", "std::max", "std::clamp", "std::swap", "printf"})
CONSTANT_NAMES = frozenset({"warpSize", "CUB_WARP_THREADS", "CUB_PTX_WARP_THREADS"})
TORCH_WIDTH = frozenset({"C10_WARP_SIZE"})


def detect(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    """Hits on definitions of a warp size, and on warpSize where it is no constant."""
    program = program_of(parsed, index)
    yield from _definitions(program, config)
    yield from _local(program, config)
    names = CONSTANT_NAMES | _other_names(program)
    if any(name.encode() in parsed.file.data for name in names):
        for env in program.envs:
            yield from _not_constant(env, names)
    yield from _file_level(program)
    yield from _torch_width(program)


def _definitions(program: Program, config: Config) -> Iterator[Hit]:
    users = _users(program)
    judged = {id(v.uses): v.state for v in verdicts(program)}
    path = program.unit.parsed.file.path
    checked = _checked(program)
    for name, found in program.unit.constants.items():
        live = [d for d in found if program.unit.parsed.live(d.span.line) is not Live.NO]
        wide = is_width(name)
        uses = users.get(name, [])
        if not live or not (wide or uses):
            continue
        value = Evaluator(program.unit, program).value(live[0].value)
        fixed = next((definition for definition in live if WAVE in _numbers(program, definition)), None) if wide else None
        if fixed is not None:
            yield _sixty_four(program, name, fixed, uses, config)
        if _for_amd(program, live):
            continue
        states = {judged.get(owner, "") for owner, _ in uses}
        breaks = states & {"broken", "mixed", "narrow"} or (wide and not states) or name in checked
        if value.kind == "const" and value.num == WARP and config.wave64_targets:
            others = program.index.uses_of_width(name, path) if wide and isinstance(program.index, Index) else ()
            if (breaks or others) and not _unused(program, name, uses):
                sure = Confidence.HIGH if breaks and states else _confidence(program, others)
                yield _fixed(live[0], uses, others, Hit("warp-size-constant", live[0].span, "", name, confidence=sure), path, config)


def _unused(program: Program, name: str, uses: list[tuple[int, Use]]) -> bool:
    """True for a name that stands nowhere but where it is defined."""
    if uses or name in CONSTANT_NAMES or not isinstance(program.index, Index) or program.index.names_width(name):
        return False
    return _times(program.unit.parsed.file.data).get(name.encode()) == 1


@functools.lru_cache(maxsize=1)  # all constants of a file are asked for one after the other
def _times(data: bytes) -> Counter[bytes]:
    return Counter(re.findall(rb"\w+", data))


def _for_amd(program: Program, live: list[Definition]) -> bool:
    """True for a width that depends on the target, or that only a build for AMD defines: the project has thought of it."""
    guards = program.unit.parsed.guards
    if isinstance(guards, SourceGuards) and any(guards.nvidia_at(d.span.line) is Live.NO for d in live):
        return True
    values = [Evaluator(program.unit, program).value(d.value) for d in live]
    return any(value.kind == "hw" for value in values) or (len(values) > 1 and any(value.num == WAVE for value in values))


def _checked(program: Program) -> frozenset[str]:
    """Constants that the host compares with the device's warp size."""
    found: set[str] = set()
    for env in program.envs:
        if env.function.side != "host":
            continue
        for part in env.parts.compared:
            sides = [env.value(arg) for arg in part.args]
            if any(side.kind == "hw" and side.via == "property" for side in sides):
                found |= {symbol for side in sides for symbol in side.symbols}
    return frozenset(found)


def _local(program: Program, config: Config) -> Iterator[Hit]:
    """Constants for the width of a warp that stand inside a function of the host."""
    for env in program.envs if config.wave64_targets else ():
        for event in env.function.events:
            if event.kind == "decl" and is_width(event.name) and env.function.side == "host":
                value = env.value(event.value)
                if value.kind == "const" and value.num == WARP and not value.symbols and env.live(event.line):
                    message = f"{event.name} is 32 in host function {env.function.name}"
                    yield Hit(
                        "warp-size-constant", event.span, message, event.name, confidence=Confidence.MEDIUM, targets=config.wave64_targets
                    )


def _numbers(program: Program, definition: Definition) -> tuple[int, ...]:
    value = Evaluator(program.unit, program).value(definition.value)
    return (value.num,) if value.kind == "const" and value.num is not None else ()


def _sixty_four(program: Program, name: str, definition: Definition, uses: list[tuple[int, Use]], config: Config) -> Hit:
    """A width of 64 for all of AMD: wrong on targets of 32 lanes, and worth knowing where none is asked for.

    Where the compiler's pass for the device sets it by target, the host's arithmetic still counts in 64: the uses are listed.
    """
    path = program.unit.parsed.file.path
    narrow = tuple(target for target in config.targets if target not in config.wave64_targets)
    message = f"{name} is 64 also on {', '.join(narrow) if narrow else 'targets of 32 lanes'}"
    sure = Confidence.HIGH if narrow else Confidence.LOW
    others = program.index.uses_of_width(name, path) if isinstance(program.index, Index) else ()
    elsewhere = tuple(Related(place, line, f"uses {name}") for place, line in others[:MOST_PLACES])
    places = (*related([(use, f"{use.role} from {name}") for _, use in uses], path, definition.span.line), *elsewhere)
    return Hit("warp-size-constant-64", definition.span, message, name, confidence=sure, targets=narrow or None, related=places)


def _fixed(
    definition: Definition, uses: list[tuple[int, Use]], others: tuple[tuple[str, int], ...], hit: Hit, path: str, config: Config
) -> Hit:
    """The finding with its message and its places: the uses in this file, and those in others."""
    places = [(use, f"{use.role} from {definition.name}") for _, use in uses]
    lines = len({use.expr.line for use, _ in places})
    message = f"{definition.name} is 32" + (f", used in {lines} line{'s' if lines > 1 else ''} of this file" if lines else "")
    count, files = len(others), len({place for place, _ in others})
    message += f", in {count} line{'s' if count > 1 else ''} of {files} other file{'s' if files > 1 else ''}" if others else ""
    elsewhere = tuple(Related(place, line, f"uses {definition.name}") for place, line in others[:MOST_PLACES])
    listed = (*related(places, path, definition.span.line), *elsewhere)
    return msgspec.structs.replace(hit, message=message, targets=config.wave64_targets, related=listed)


def _confidence(program: Program, others: tuple[tuple[str, int], ...]) -> Confidence:
    """Medium where a file that uses a constant votes or asks for its lane, else low: what such files do is found there."""
    votes = isinstance(program.index, Index) and any(program.index.votes_in(place) for place in {place for place, _ in others})
    return Confidence.MEDIUM if votes else Confidence.LOW


def _users(program: Program) -> dict[str, list[tuple[int, Use]]]:
    """Warp uses by the name of the constant their width came from, with the identity of the function's uses."""
    found: dict[str, list[tuple[int, Use]]] = {}
    for uses in survey(program)[0]:
        for use in uses.of("lane", "warp", "warps", "stride", "halving", "shuffle", "tail", "shared", "mention"):
            if use.width == WARP or (use.value.kind == "const" and use.role == "halving"):
                for symbol in use.value.symbols:
                    found.setdefault(symbol, []).append((id(uses), use))
    return found


def _mentions(expr: Expr | None, names: frozenset[str] = CONSTANT_NAMES) -> Expr | None:
    """The first use of warpSize, or of a macro for it, in an expression."""
    if expr is None:
        return None
    return next((part for part in walk(expr) if part.kind == "name" and part.op in names), None)


def _other_names(program: Program) -> frozenset[str]:
    """Macros of the file and of headers that it includes which stand for warpSize on AMD."""
    if not isinstance(program.index, Index) or not program.index.warp_names:
        return frozenset()
    around = set(program.index.reach(program.unit.parsed.file.path))
    return frozenset(name for name, files in program.index.warp_names.items() if files & around)


def _not_constant(env: Env, names: frozenset[str]) -> Iterator[Hit]:
    if env.redefines("warpSize"):
        return
    host = env.function.side == "host"
    for event in env.function.events:
        place = _constant_place(event, names)
        if place:
            yield _constant_hit(env, event, place)
            continue
        for root in (event.target, event.value):
            if root is not None:
                yield from _in_expression(env, root, host, names)


def _constant_place(event: Event, names: frozenset[str] = CONSTANT_NAMES) -> str:
    """Where an event needs a constant expression and holds warpSize; empty if nowhere."""
    if any(_mentions(extent, names) is not None for extent in event.extents):
        return "an array bound"
    if event.kind in ("static_assert", "case") and _mentions(event.value, names) is not None:
        return "a static_assert" if event.kind == "static_assert" else "a case label"
    if event.kind == "decl" and "constexpr" in event.type and _mentions(event.value, names) is not None:
        return "a constexpr initialiser"
    if event.guards and event.guards[-1].constexpr and _mentions(event.guards[-1].condition, names) is not None:
        return "if constexpr" if event.guards[-1].condition.line == event.line else ""
    return ""


def _constant_hit(env: Env, event: Event, place: str) -> Hit:
    return Hit("warpsize-not-constant", event.span, f"warpSize in {place}", env.function.name, confidence=Confidence.HIGH)


def _in_expression(env: Env, root: Expr, host: bool, names: frozenset[str]) -> Iterator[Hit]:
    for part in env.walked(root):
        if any(_mentions(arg, names) is not None for arg in part.targs):
            yield Hit("warpsize-not-constant", part.span, "warpSize as a template argument", env.function.name, confidence=Confidence.HIGH)
        elif part.kind == "call" and part.op in DEDUCED and any(a.kind == "name" and a.op == "warpSize" for a in part.args):
            yield Hit("warpsize-deduced", part.span, f"warpSize passed to {part.op}", part.op, confidence=Confidence.HIGH)
        elif host and part.kind == "name" and part.op == "warpSize" and env.function.side == "host":
            message = f"warpSize in host function {env.function.name}"
            yield Hit("warpsize-on-host", part.span, message, env.function.name, confidence=Confidence.MEDIUM)


def _file_level(program: Program) -> Iterator[Hit]:
    path = program.unit.parsed.file.path
    for test in program.unit.tests:
        found = _mentions(test)
        if found is not None and found.op == "warpSize" and not program.redefines("warpSize"):
            yield Hit(
                "warpsize-in-preprocessor", found.span, "#if reads warpSize, which no macro is", "warpSize", confidence=Confidence.HIGH
            )
    for definition in program.unit.constants.get("warpSize", ()):
        if definition.kind == "macro":
            where = (Related(path, definition.span.line, "the definition"),)
            yield Hit(
                "warpsize-in-preprocessor", definition.span, "a macro takes the name of HIP's warpSize", "warpSize",
                confidence=Confidence.HIGH, related=where,
            )  # fmt: skip
    for condition in program.unit.asserts:
        found = _mentions(condition)
        if found is not None and not (found.op == "warpSize" and program.redefines("warpSize")):
            yield Hit("warpsize-not-constant", found.span, "warpSize in a static_assert", "file", confidence=Confidence.HIGH)


def _torch_width(program: Program) -> Iterator[Hit]:
    """PyTorch's C10_WARP_SIZE where the host's compiler wants a constant; an array of the host may have any length."""
    if b"C10_WARP_SIZE" not in program.unit.parsed.file.data or program.redefines("C10_WARP_SIZE"):
        return
    found: list[tuple[Span, str, str]] = []
    for definition in (one for listed in program.unit.constants.values() for one in listed):
        if definition.kind == "constant" and "constexpr" in definition.type and _mentions(definition.value, TORCH_WIDTH) is not None:
            found.append((definition.span, f"the constant {definition.name}", definition.name))
    for env in program.envs:
        name = env.function.name
        found += [(bound.span, "launch bounds", name) for bound in env.function.bounds if _mentions(bound, TORCH_WIDTH) is not None]
        for event in env.function.events if env.function.side == "host" else ():
            place = _constant_place(event, TORCH_WIDTH)
            if place and place != "an array bound":
                found.append((event.span, place, name))
            parts = [part for root in (event.target, event.value) if root is not None for part in env.walked(root)]
            given = [part for part in parts if any(_mentions(arg, TORCH_WIDTH) is not None for arg in part.targs)]
            found += [(part.span, "a template argument", name) for part in given]
    for span, place, subject in found:
        yield Hit("torch-warp-size-on-host", span, f"C10_WARP_SIZE in {place}", subject, confidence=Confidence.HIGH)
