"""Roles: what each 32, mask, shuffle, vote and width in a function is for, as a list of uses that detectors judge."""

from __future__ import annotations

from porter.flow.cub import default_width
from porter.flow.env import Env
from porter.flow.event import Event
from porter.flow.expr import Expr, walk
from porter.flow.intrinsics import BARRIERS, BIT_COUNTS, FRAGMENTS, MATRIX, SHUFFLES, VOTES, is_foreign, is_fragment
from porter.flow.members import keeps_lane
from porter.flow.names import LANE_NAME, WARP_NAME, is_width, speaks_of_width
from porter.flow.program import Program
from porter.flow.strides import loop_uses, loops_of
from porter.flow.use import Use, Uses
from porter.flow.values import HARDWARE, LANES, OTHER, UNKNOWN_WIDTH, WARP, Value

LOG_WARP = 5
INDICES = frozenset({"tid", "gid"})
COMPARISONS = frozenset({"<", "<=", "==", "!=", ">", ">="})
ARITHMETIC = frozenset({"%", "&", "/", ">>", "<<", "*", "+"})  # that makes lanes, warps and masks, or the first thread of a warp
DOUBTFUL = "grid"  # the flavour of uses that only other uses of the function explain


def uses_of(env: Env) -> Uses:
    """The uses in a function."""
    found: list[Use] = []
    calls: set[str] = set()
    for event in env.function.events:
        if event.kind == "decl" and "__shared__" in event.type:
            _shared(env, event, found)
        if env.function.owner and keeps_lane(env, event):
            calls.add(f"::{env.function.owner}")
        for root in (event.target, event.value, *event.extents):
            if root is not None and (root.kind != "name" or root.targs or speaks_of_width(root.op)):
                _scan(env, event, root, found, calls)
        if event.kind == "asm" and event.value is not None and FRAGMENTS.search(event.op):
            found.append(Use("fragment", event.value, event, Value("other"), "inline PTX"))
    for loop in loops_of(env):
        loop_uses(env, loop, found)
    if not any(use.role == "lane" and use.value.proven and use.flavour != DOUBTFUL for use in found):
        found = [use for use in found if use.flavour != DOUBTFUL]  # an index of the grid cut by 32: words and bits, as far as anyone says
    found = [use for use in found if use.flavour != DOUBTFUL or use.role == "warp"]
    if any(use.role == "shuffle" and use.value.kind == "const" and (use.value.num or 0) >= WARP for use in found):
        found = [use for use in found if use.flavour != "step"]  # its steps go on to 32: it knows of 64 lanes
    return Uses(env, tuple(_without_sources(env, found)), frozenset(calls))


def _without_sources(env: Env, found: list[Use]) -> list[Use]:
    """The uses but those of the device's lane that only say from where a shuffle within 32 lanes reads: it takes them modulo 32."""
    asked = [use for use in found if use.role == "hardware" and use.flavour == "lane"]
    if not asked:
        return found
    sources = {
        id(part)
        for use in found
        if use.role == "shuffle" and use.width == WARP
        for arg in use.expr.args[1 if use.expr.name.endswith("_sync") else 0 :][1:2]
        for part in walk(arg)
    }
    dropped = {id(use) for use in asked if id(use.expr) in sources or _only_in(env, use, sources)}
    return [use for use in found if id(use) not in dropped]


def _only_in(env: Env, use: Use, sources: set[int]) -> bool:
    """True where a lane is given a name that stands nowhere but in such sources."""
    if use.event.kind != "decl" or use.event.value is not use.expr:
        return False
    return all(id(part) in sources for part in env.places.get(use.event.name, ()))


def _scan(env: Env, event: Event, root: Expr, found: list[Use], calls: set[str]) -> None:
    stack: list[tuple[Expr, Expr | None]] = [(root, None)]
    while stack:
        expr, parent = stack.pop()
        kind = expr.kind
        for arg in expr.args[::-1]:
            if arg.kind != "num" and (arg.kind != "name" or arg.targs or speaks_of_width(arg.op)):  # two of three are no use
                stack.append((arg, expr))
        if expr.targs or kind == "call":
            _wide(env, event, expr, found)
        if kind == "name":
            _name(env, event, expr, parent, found)
        elif kind == "binary":
            _binary(env, event, expr, parent, found)
        elif kind == "call":
            if not is_foreign(expr):
                calls.add(expr.name)
            _call(env, event, env.program.builtin(expr) or expr, parent, found)
            _asks_lane(env, event, expr, parent, found)
        elif kind == "method":
            calls.add(expr.op)
            value = env.value(expr.args[0])
            if value.kind == "tile":
                found.append(Use("tile", expr, event, value, expr.op, value.width))
        elif kind == "index":
            _index(env, event, expr, found)


def _asks_lane(env: Env, event: Event, expr: Expr, parent: Expr | None, found: list[Use]) -> None:
    """A call that gives the lane within the device's wave, 0 to 63 on wide ones; one that is cut to 32 lanes at once is none."""
    value = env.value(expr)
    if value.kind not in ("lane", "warp"):
        return
    if (
        value.width == WARP
        and value.via in INDICES
        and value.symbols[:1] == (expr.name,)
        and (event.kind != "decl" or event.name in env.places)
    ):
        # a function of another file cuts the index of the thread, and what it gives is read
        found.append(Use(value.kind, expr, event, value, "", WARP, parent))
    cut = parent is not None and parent.kind == "binary" and parent.op in ("%", "&")
    if value.kind == "lane" and value.width == HARDWARE and value.via == "laneid" and value.proven and not cut:
        found.append(Use("hardware", expr, event, value, "lane", HARDWARE))


def _wide(env: Env, event: Event, expr: Expr, found: list[Use]) -> None:
    """A warp algorithm of CUB that is as wide as the hardware, by its own name or by one that the file gives it."""
    name = default_width(env, expr) or (expr.op if expr.op in env.program.wide_types else "")
    if name:
        found.append(Use("cub", expr, event, Value("other"), name, HARDWARE))


def _name(env: Env, event: Event, expr: Expr, parent: Expr | None, found: list[Use]) -> None:
    if expr.op == "warpSize":
        value = env.value(expr)
        if value.kind == "hw":
            found.append(Use("hardware", expr, event, value, parent=parent, width=HARDWARE))
    elif is_width(expr.name):
        value = env.value(expr)
        if value.kind == "const" and value.num == WARP:
            found.append(Use("mention", expr, event, value, width=WARP))


def _binary(env: Env, event: Event, expr: Expr, parent: Expr | None, found: list[Use]) -> None:
    op = expr.op
    if op in COMPARISONS:
        _comparison(env, event, expr, found)
        return
    value = env.value(expr) if op in ARITHMETIC else OTHER
    doubtful = value.via == "gid" and value.kind in ("lane", "warp") and not _meant(event, parent)
    if op in ("%", "&") and value.kind == "lane":
        found.append(Use("lane", expr, event, value, DOUBTFUL if doubtful else "", value.width, parent))
    elif op in ("/", ">>") and value.kind in ("warp", "warps"):
        found.append(Use(value.kind, expr, event, value, DOUBTFUL if doubtful else "", value.width, parent))
    elif op == "<<" and value.kind == "mask" and value.via == "lane-shift":
        found.append(Use("shift", expr, event, value, width=value.width, parent=parent))
    elif op in ("*", "<<", "+") and _spans(env, expr):
        found.append(Use("mention", expr, event, value, width=WARP, parent=parent))


def _spans(env: Env, expr: Expr) -> bool:
    """True for the first thread of a warp of 32, warp * 32 or warp << 5, and for warps counted over blocks, n / 32 * block + warp."""
    a, b = env.value(expr.args[0]), env.value(expr.args[1])
    if a.kind != "warp" and b.kind != "warp":
        return False
    if expr.op == "+":
        pairs = ((a, expr.args[1]), (b, expr.args[0]))
        return any(x.kind == "warp" and x.width == WARP and any(_by_width(env, part) for part in walk(other)) for x, other in pairs)
    if expr.op == "<<":
        return a.kind == "warp" and a.width == WARP and b.kind == "const" and b.num == LOG_WARP
    return any(x.kind == "warp" and x.width == WARP and y.kind == "const" and y.num == WARP for x, y in ((a, b), (b, a)))


def _by_width(env: Env, part: Expr) -> bool:
    """True for something divided by 32."""
    if part.kind != "binary" or part.op != "/":
        return False
    by = env.value(part.args[1])
    return by.is_width and by.as_width == WARP


def _meant(event: Event, parent: Expr | None) -> bool:
    """True where an index within the grid is cut into lanes, not into words and bits: a name says so, or a leader is chosen."""
    name = event.name or (event.target.op if event.target is not None and event.target.kind == "name" else "")
    if name and (LANE_NAME.match(name) or WARP_NAME.match(name)):
        return True
    return parent is not None and parent.op == "==" and parent.args[1].op == "0"


def _comparison(env: Env, event: Event, expr: Expr, found: list[Use]) -> None:
    a, b = env.value(expr.args[0]), env.value(expr.args[1])
    if b.kind in ("tid", "lane", "mask") and a.kind not in ("tid", "lane", "mask"):
        a, b = b, a
    if a.kind == "tid" and b.is_width and expr.op in ("<", ">=", "<=", ">"):
        found.append(Use("tail", expr, event, b, width=b.as_width))
    elif a.kind == "mask" and b.kind == "const" and b.num is not None and (b.num & 0xFFFFFFFF) == 0xFFFFFFFF and b.bits != 64:
        found.append(Use("compare", expr, event, a))
    elif a.kind in LANES and b.kind == "const" and not b.symbols and b.num in ((15, 16, 24, 31) if a.kind == "lane" else (31,)):
        found.append(Use("magic", expr, event, a.but(num=b.num), width=a.width))


def _call(env: Env, event: Event, expr: Expr, parent: Expr | None, found: list[Use]) -> None:
    name = expr.name
    if name in SHUFFLES:
        given = expr.args[1:] if name.endswith("_sync") else expr.args
        width = env.value(given[2]) if len(given) > 2 else None
        lanes = UNKNOWN_WIDTH if width is None else width.as_width if width.is_width or width.kind == "const" else UNKNOWN_WIDTH - 1
        loop = event.loops[-1] if event.loops else None
        delta = env.value(given[1]) if len(given) > 1 else Value("other")
        cut = _cut_to_32(env, given[1]) if len(given) > 1 and SHUFFLES[name] == "idx" and delta.kind in ("other", "scaled") else None
        if cut is not None:
            delta = Value("lane_ref", width=WARP, via="cut")
            found.append(Use("lane", cut, event, delta, "", WARP, expr))
        found.append(Use("shuffle", expr, event, delta, SHUFFLES[name], lanes, parent, loop))
        if delta.kind == "const" and delta.num == WARP // 2 and SHUFFLES[name] != "idx" and lanes == UNKNOWN_WIDTH:
            found.append(Use("halving", given[1], event, delta, "step", WARP, expr))
    elif name in VOTES:
        as_mask = parent is not None and parent.kind == "call" and parent.name.endswith("_sync") and parent.args[0] is expr
        found.append(Use("vote", expr, event, env.value(expr), "mask" if as_mask else VOTES[name], parent=parent))
    elif name == "__syncwarp":
        found.append(Use("syncwarp", expr, event, env.value(expr)))
    elif name in BARRIERS:
        found.append(Use("barrier", expr, event, env.value(expr)))
    elif name == "tiled_partition":
        found.append(Use("tile", expr, event, env.value(expr), name, env.value(expr).width))
    elif name in MATRIX:
        found.append(Use("matrix", expr, event, env.value(expr), name))
    elif is_fragment(expr.op):
        found.append(Use("fragment", expr, event, env.value(expr), name))
    elif name in BIT_COUNTS and expr.args:
        value = env.value(expr.args[0])
        if value.kind == "mask":
            found.append(Use("bits", expr, event, value, name))
    elif expr.args and env.value(expr.args[0]).kind == "tile":
        found.append(Use("tile", expr, event, env.value(expr.args[0]), name, env.value(expr.args[0]).width))
    elif expr.shape:
        found.append(Use("shape", expr, event, Value("other")))


def _cut_to_32(env: Env, source: Expr) -> Expr | None:
    """The place where a source lane that nothing else explains is taken modulo 32: (threadIdx.x + step) & 31."""
    decl = env.declaration(source) if source.kind == "name" else None
    source = decl.value if decl is not None and decl.value is not None else source
    if source.kind != "binary" or source.op not in ("%", "&"):
        return None
    by = env.value(source.args[1])
    return source if by.kind == "const" and by.num == (WARP if source.op == "%" else WARP - 1) else None


def _index(env: Env, event: Event, expr: Expr, found: list[Use]) -> None:
    owner = expr.args[0]
    if owner.kind != "name" or len(expr.args) < 2:
        return
    value = env.value(expr.args[1])
    if value.kind in ("lane", "warp"):
        decl = env.declaration(owner)
        if decl is not None and "__shared__" in decl.type:
            found.append(Use("shared_index", expr, event, value, decl.name, value.width))


def _shared(env: Env, event: Event, found: list[Use]) -> None:
    for extent in event.extents:
        value = env.value(extent)
        if (
            value.kind in ("hw", "hw_part", "named_width")
            or value.kind == "warps"
            or (value.kind == "const" and value.num == WARP)
            or _by_width(env, extent)
        ):
            found.append(Use("shared", extent, event, value, event.name, value.as_width))


def closure(program: Program, table: dict[str, list[Uses]], uses: Uses, depth: int = 3) -> list[Uses]:
    """A function and the functions of the file that it calls, some levels deep, each once."""
    seen = {id(uses): uses}
    level = [uses]
    for _ in range(depth):
        following = []
        for one in level:
            for name in sorted(one.calls):
                for other in table.get(name, ()):
                    if id(other) not in seen:
                        seen[id(other)] = other
                        following.append(other)
        level = following
    return list(seen.values())


def survey(program: Program) -> tuple[list[Uses], dict[str, list[Uses]]]:
    """The uses of every function of a file that can run on a device, and the same by name; kept with the parse."""
    extra = program.unit.parsed.extra
    found = extra.get("flow_uses")
    if found is None:
        listed = [uses_of(env) for env in program.envs]
        table: dict[str, list[Uses]] = {}
        for uses in listed:
            table.setdefault(uses.env.function.name, []).append(uses)
            if uses.env.function.owner:
                table.setdefault(f"::{uses.env.function.owner}", []).append(uses)
        found = (listed, table)
        extra["flow_uses"] = found
    made: tuple[list[Uses], dict[str, list[Uses]]] = found
    return made
