"""Members of classes: what a lane, a warp or a width that an object keeps is, from all places of the file that set it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.flow.values import OTHER, Value

if TYPE_CHECKING:
    from porter.flow.env import Env
    from porter.flow.event import Event
    from porter.flow.program import Program

KEPT = frozenset({"lane", "warp", "tid", "warps", "mask", "hw", "named_width", "tile", "const"})


class Members:
    """Answers for the members of the classes of one file; computed when asked for."""

    def __init__(self, program: Program) -> None:
        """The members of a program's classes."""
        self.program = program
        self._methods: dict[str, list[Env]] = {}
        self._known: dict[tuple[str, str], Value] = {}
        for env in program.envs:
            if env.function.owner:
                self._methods.setdefault(env.function.owner, []).append(env)

    def value(self, owner: str, name: str, depth: int = 0) -> Value:
        """What a member of a class is, where all that sets it agrees."""
        key = (owner, name)
        known = self._known.get(key)
        if known is None:
            self._known[key] = OTHER  # a member that is made of itself ends here
            known = self._worked_out(owner, name, depth)
            self._known[key] = known
        return known

    def _worked_out(self, owner: str, name: str, depth: int) -> Value:
        fields = [field for field in self.program.unit.fields.get(owner, ()) if field.name == name]
        outside = self.program.outside
        found = [outside.value(field.value, depth + 1) for field in fields if field.value is not None]
        for env in self._methods.get(owner, ()):
            found += [env.value(event.value, depth + 1) for event in _sets(env, name) if env.live(event.line)]
        if not found or any(value.kind not in KEPT for value in found):
            return OTHER
        first = found[0]
        if any((value.kind, value.width, value.num) != (first.kind, first.width, first.num) for value in found):
            return OTHER
        if first.kind == "const" and not any("const" in field.type for field in fields):
            return OTHER  # an object may be given another number later
        bits = self.program.bits(fields[0].type) if fields else 0
        return first.but(bits=bits) if bits else first


def _sets(env: Env, name: str) -> list[Event]:
    """The plain assignments of a method to a member, initialisers of a constructor included."""
    found = [event for event in env.assigns.get(name, ()) if event.op == "="] if name not in env.decls and name not in env.params else []
    this = [
        event
        for event in env.function.events
        if event.kind == "assign" and event.op == "=" and event.target is not None and event.target.kind == "field"
        and event.target.op == name and event.target.args[0].op == "this"
    ]  # fmt: skip
    return [*found, *env.initial.get(name, ()), *this]


def keeps_lane(env: Env, event: Event) -> bool:
    """True where a method puts a lane or the index of a warp into a member, for all methods of the object to use."""
    target = event.target
    if target is None or event.kind not in ("initialiser", "assign"):
        return False
    own = event.kind == "initialiser" or (target.kind == "field" and target.args[0].op == "this")
    if not own and (target.kind != "name" or target.op in env.decls or target.op in env.params):
        return False
    return env.value(event.value).kind in ("lane", "warp")
