"""Why the build for AMD does not read a line: a port shut it out, NVIDIA's macros are not defined there, nobody builds or installs it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable

import msgspec

from porter.detectors import arch_branches
from porter.detectors.arch_branches import RECENT, Group
from porter.model import Hit, Live
from porter.other_devices import device_of
from porter.parse import Parsed
from porter.parse.cuda_build import AMD, NVIDIA, Pass, ambient
from porter.parse.guards import SourceGuards, guards_of

GUARD_RULES = re.compile(r"cuda-(?:arch|guard|version)-|device-macro-on-host\Z")
NEVER = re.compile(r"\(?\s*0\s*\)?\Z")
ALWAYS = re.compile(r"\(?\s*1\s*\)?\Z")


def explained(parsed: Parsed, hits: Iterable[Hit], insights: frozenset[str] = frozenset()) -> list[Hit]:
    """The hits, with ``unread`` set on those that the AMD build leaves out although no port says so; ``insights`` are ids of rules."""
    hits = list(hits)
    device = device_of(parsed.file.path, parsed.file.kind)
    if device:
        words = f"{'Requirements' if parsed.file.kind == 'requirements' else 'File'} of another device ({device})"
        return [hit if hit.rule in insights else msgspec.structs.replace(hit, live=Live.NO, unread=words) for hit in hits]
    if "parents" in parsed.extra:  # a lock file
        hits = _locked(parsed, hits, insights)
    hits = [_not_installed(parsed, hit) if hit.live is Live.NO else hit for hit in hits]
    dead = {hit.span.line for hit in hits if hit.live is Live.NO and parsed.live(hit.span.line) is Live.NO}
    if not dead or not isinstance(parsed.guards, SourceGuards):
        return hits
    found = arch_branches.all_groups(parsed)
    guarded = {hit.span.line for hit in hits if hit.live is not Live.NO and GUARD_RULES.match(hit.rule)}
    with_nvidia = functools.cache(lambda: guards_of(parsed.file.data, parsed.file.path, RECENT))  # few lines ask for it
    reasons = {line: _words(parsed, line, found, guarded, with_nvidia) for line in dead}
    return [msgspec.structs.replace(hit, unread=reasons[hit.span.line]) if reasons.get(hit.span.line) else hit for hit in hits]


def _locked(parsed: Parsed, hits: list[Hit], insights: frozenset[str]) -> list[Hit]:
    """Pins that a lock file holds only because of packages with a finding of their own: they go when those are replaced."""
    needs = {fact.span: fact.name for fact in parsed.facts if fact.kind in ("requirement", "conda_package")}
    own = [hit for hit in hits if hit.rule not in insights and hit.live is not Live.NO and hit.span in needs]
    parents: dict[str, set[str]] = parsed.extra.get("parents", {})
    brought = _brought(frozenset(needs[hit.span] for hit in own), parents, set(needs.values()))
    out = []
    for hit in hits:
        name = needs.get(hit.span, "")
        if hit.rule not in insights and name in brought:
            words = f"Comes with {' and '.join(sorted(parents[name])[:3])}, not chosen by the project"
            hit = msgspec.structs.replace(hit, live=Live.NO, unread=words)
        out.append(hit)
    return out


def _brought(flagged: frozenset[str], parents: dict[str, set[str]], names: set[str]) -> set[str]:
    """Flagged packages to which every way from the top of the lock file leads through another flagged one."""
    children: dict[str, list[str]] = {}
    for name, above in parents.items():
        for other in above:
            children.setdefault(other, []).append(name)
    seen: list[set[str]] = []
    for stops in (flagged, frozenset[str]()):
        todo = [name for name in names if not parents.get(name)]
        reached = set(todo)
        while todo:
            at = todo.pop()
            below = [name for name in children.get(at, ()) if name not in reached] if at not in stops else []
            reached.update(below)
            todo += below
        seen.append(reached)
    return (seen[1] - seen[0]) & flagged


def _not_installed(parsed: Parsed, hit: Hit) -> Hit:
    """The hit, with the reason when the marker of a requirement keeps it from Linux."""
    for fact in parsed.facts:
        if fact.span == hit.span and fact.live is Live.NO and fact.kind == "requirement" and fact.detail.get("marker"):
            return msgspec.structs.replace(hit, unread=f"Not installed on Linux x86-64 (marker {fact.detail['marker']})")
    return hit


def _words(parsed: Parsed, line: int, found: list[Group], guarded: set[int], with_nvidia: Callable[[], SourceGuards]) -> str:
    """Why a dead line is dead, in words; empty where the project's own port shut it out, or where that cannot be told."""
    group = _shuts_out(parsed, line, found)
    if group is None:
        return ""
    if _is_off(group, line):
        return f"Switched off in the source (line {group.line})"
    if _asks_amd(group):
        return ""
    missing = sorted(name for name in group.names if _is_nvidias(name))
    given = sorted(group.names & parsed.extra.get("given", {}).keys())
    if not missing and given and with_nvidia().at(line) is not Live.NO:
        return f"Not compiled, since the build gives -D{given[0]} (condition in line {group.line})"
    if not missing and (with_nvidia().at(line) is Live.NO or not group.names & _defined(parsed)):
        return ""  # a macro of another file: why it is not defined for AMD stands there
    if not missing:
        # A macro of the file's own, defined only where one of NVIDIA's is.
        reason = f"{min(group.names, default='the condition')} is defined only where NVIDIA's macros are"
    else:
        reason = f"{' and '.join(missing[:2])} {'are' if len(missing) > 1 else 'is'} not defined there"
    where = f"; see the finding on the condition in line {group.line}" if group.line in guarded else f" (condition in line {group.line})"
    return f"Not compiled for AMD, since {reason}{where}; nobody ported it"


def _defined(parsed: Parsed) -> frozenset[str]:
    return frozenset(fact.name for fact in parsed.facts if fact.kind == "define")


def _shuts_out(parsed: Parsed, line: int, found: list[Group]) -> Group | None:
    """The outermost conditional that the AMD build reads, and not the line inside it."""
    around = [group for group in found if group.line < line < group.end and parsed.live(group.line) is not Live.NO]
    inner = [group for group in around if all(parsed.live(n) is Live.NO for n in _branch(group, line))]
    return min(inner, key=lambda group: group.line, default=None)


def _branch(group: Group, line: int) -> tuple[int, int]:
    """First and last line of the branch that a line stands in."""
    branch = next((one for one in group.branches if one.first <= line <= one.last), None)
    return (branch.first, branch.last) if branch is not None else (line, line)


def _is_off(group: Group, line: int) -> bool:
    """Whether the line stands under #if 0, or in the #else of #if 1."""
    first, text = group.branches[0], group.branches[0].directive.text.strip()
    if first.first <= line <= first.last:
        return first.directive.word == "if" and NEVER.match(text) is not None
    return first.directive.word == "if" and ALWAYS.match(text) is not None


def _asks_amd(group: Group) -> bool:
    return any(_differs(name) and not _is_nvidias(name) for name in group.names)


def _is_nvidias(name: str) -> bool:
    """Whether only NVIDIA's build defines a macro by itself."""
    return ambient(name, Pass(AMD, "device")) is None and ambient(name, Pass(NVIDIA, "device")) is not None


def _differs(name: str) -> bool:
    return ambient(name, Pass(NVIDIA, "device")) is None and ambient(name, Pass(AMD, "device")) is not None
