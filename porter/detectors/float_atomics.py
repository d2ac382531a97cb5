"""Floating-point atomicAdd: types that HIP has none for; on MI200 a slow loop, and lost sums in managed memory where it is unsafe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from porter.config import Config
from porter.detectors import places
from porter.model import Confidence, Fact, Hit, Live, Related
from porter.parse import Parsed
from porter.survey_sums import ADDS, FLOAT, UNSAFE

if TYPE_CHECKING:
    from porter.link import Index

KINDS = ("cuda", "cxx")
UNSAFE_FLAG = "-munsafe-fp-atomics"
MANAGED = frozenset(("cudaMallocManaged", "hipMallocManaged"))
NARROW = re.compile(r"\b(?P<type>(?:__)?half2?|(?:__)?nv_bfloat162?|float[24])\b(?=[\w\s]*\*)")
CAST = re.compile(r"\(*\s*(?:reinterpret_cast\s*<\s*|\(\s*)(?P<type>(?:__)?half2?|(?:__)?nv_bfloat162?|float[24])\s*\*")
PART = re.compile(r"[\s(]*&[\s(]*(?:\w+<[\w\s*]*>)?\w+(?:(?:\.|->)\w+)*(?:\.|->)[xyzw][\s)]*\Z")
"""The address of one part of a vector, brackets taken out: &p_.x. In p + threadIdx.x nothing is taken apart."""
BRACKETS = re.compile(r"\[[^\[\]()]*\]|\([^\[\]()]*\)")
DEEPEST = 6
MAX_NODES = 50_000  # of a function's tree
NAME = re.compile(r"[A-Za-z_]\w*")


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """Hits of narrow-float-atomic, of unsafe-atomic-on-managed-memory, and of float-atomic-on-mi200, one a file."""
    if parsed.tree is None or not any(word in parsed.file.data for word in (b"tomicAdd", b"MallocManaged")):
        return []
    is_unsafe = bool(getattr(index, "flags", {}).get(UNSAFE_FLAG))
    sums = list(_sums(parsed))
    narrow = list(_narrow(parsed, index))
    found = list(_on_managed_memory(parsed, _summed(parsed, index, sums, is_unsafe)))
    safe = [one for one in sums if one[0].name != UNSAFE]
    if is_unsafe or not safe:
        return [*narrow, *found]
    fact, name, _ = safe[0]
    more = f", and {len(safe) - 1} more in this file" if len(safe) > 1 else ""
    return [
        *narrow,
        *found,
        Hit("float-atomic-on-mi200", fact.span, f"atomicAdd on {name}, floating point in global memory{more}", "atomicAdd"),
    ]


def _sums(parsed: Parsed) -> Iterator[tuple[Fact, str, Any]]:
    """Each atomicAdd on a float or double that a pointer parameter leads to: the call, the parameter, the function."""
    for fact in parsed.facts:
        if fact.kind != "call" or fact.name.rpartition("::")[2] not in ADDS or not fact.args or fact.live is Live.NO:
            continue
        names = NAME.findall(fact.args[0])
        function = places.function_at(parsed, fact.span) if names else None
        if function is None:
            continue
        text = dict(_listed(parsed, function)).get(names[0], "")
        if "*" in text and FLOAT.search(text):
            yield fact, names[0], function


def _narrow(parsed: Parsed, index: Any) -> Iterator[Hit]:
    """Each atomicAdd on a type that HIP has no overload for, and the project neither."""
    known: dict[int, dict[str, str]] = {}
    for fact in parsed.facts:
        if fact.kind != "call" or fact.name.rpartition("::")[2] != "atomicAdd" or not fact.args or fact.live is Live.NO:
            continue
        cast = CAST.match(fact.args[0])
        names = NAME.findall(fact.args[0])
        function = places.function_at(parsed, fact.span) if names and cast is None else None
        if function is not None and function.id not in known:
            known[function.id] = {**_local(parsed, function), **dict(_listed(parsed, function))}
        text = known[function.id].get(names[0], "") if function is not None else ""
        found = cast or (NARROW.search(text) if "*" in text else None)
        if found is not None and found["type"].startswith("float") and _is_part(fact.args[0][:400]):
            continue  # a part of a float4 is a float; a part of a half2 is still a half
        if found is not None and not _has_overload(found["type"], index):
            sure = Confidence.MEDIUM if "bf" in found["type"] else Confidence.HIGH
            yield Hit("narrow-float-atomic", fact.span, f"atomicAdd on {found['type']}", found["type"], confidence=sure)


def _is_part(address: str) -> bool:
    """Whether an address is that of one part of a vector."""
    for _ in range(DEEPEST):
        if PART.match(address):
            return True
        address = BRACKETS.sub("_", address)
    return False


def _local(parsed: Parsed, function: Any) -> dict[str, str]:
    """What is declared within a function, by name: `half2* out = …`, or half2* for `auto* out = reinterpret_cast<half2*>(…)`."""
    found: dict[str, str] = {}
    pending = [function.child_by_field_name("body")]
    for _ in range(MAX_NODES):
        node = pending.pop() if pending else None
        if node is None:
            break
        if node.type == "declaration":
            head, _, value = places.text(parsed, node).decode("utf-8", "replace")[:400].partition("=")
            names = NAME.findall(head.partition("[")[0])
            if names:
                cast = CAST.match(value.strip()) if "auto" in names else None
                found.setdefault(names[-1], f"{cast['type']}*" if cast else head)
        pending += node.named_children if node.type not in ("expression_statement", "return_statement") else ()
    return found


def _has_overload(name: str, index: Any) -> bool:
    """Whether the project defines an atomicAdd for a type itself."""
    own = getattr(index, "functions", {}).get("atomicAdd", ())
    return any(any(re.search(rf"\b{re.escape(name)}\b", p.text) for p in one.params) for _, one in own)


def _listed(parsed: Parsed, function: Any) -> list[tuple[str, str]]:
    """Name and text of each parameter of a function, in order."""
    node = function.child_by_field_name("declarator")
    for _ in range(8):
        if node is None or node.type == "function_declarator":
            break
        node = node.child_by_field_name("declarator")
    listed = node.child_by_field_name("parameters") if node is not None else None
    out = []
    for child in listed.named_children if listed is not None else ():
        text = places.text(parsed, child).decode("utf-8", "replace")
        names = NAME.findall(text.partition("=")[0])
        out.append((names[-1] if names else "", text))
    return out


def _summed(parsed: Parsed, index: Any, sums: list[tuple[Fact, str, Any]], is_unsafe: bool) -> dict[tuple[str, int], tuple[str, int]]:
    """Where kernels add to a parameter by one instruction, by kernel and place: those of the file, else those of included ones."""
    path = parsed.file.path
    around = index.reach(path) if hasattr(index, "reach") else ()
    found = {
        (added.kernel, added.place): (place, added.line)
        for kernel in {fact.name.rpartition("::")[2] for fact in parsed.facts if fact.kind == "launch"}
        for place, added in getattr(index, "sums", {}).get(kernel, ())
        if (is_unsafe or added.unsafe) and place != path and (place in around or _is_only(index, kernel))
    }
    own = [one for one in sums if is_unsafe or one[0].name == UNSAFE]
    return found | {
        (places.name_of(parsed, function), _place(parsed, function, name)): (path, fact.span.line) for fact, name, function in own
    }


def _is_only(index: Any, kernel: str) -> bool:
    """Whether the repository has one kernel of that name: a launch then means it, whatever header declares it."""
    found = [one for _, one in getattr(index, "functions", {}).get(kernel, ()) if one.side == "kernel" and one.live is not Live.NO]
    return len(found) == 1


def _on_managed_memory(parsed: Parsed, summed: dict[tuple[str, int], tuple[str, int]]) -> Iterator[Hit]:
    """Managed pointers that a launch hands to a kernel which sums into them, and that nothing makes coarse-grained."""
    if not summed:
        return
    advised = {name for fact in parsed.facts if fact.kind == "call" and fact.name.endswith("MemAdvise") for name in fact.args[:1]}
    launches = [fact for fact in parsed.facts if fact.kind == "launch" and fact.live is not Live.NO]
    for fact in parsed.facts:
        if fact.kind != "call" or fact.name.rpartition("::")[2] not in MANAGED or not fact.args:
            continue
        names = NAME.findall(re.sub(r"\([^()]*\*\s*\)", "", fact.args[0]))
        for launch in launches if names and names[-1] not in advised else ():
            handed = [part.strip() for part in launch.detail.get("arguments", "").split(",")]
            for place, argument in enumerate(handed):
                add = summed.get((launch.name.rpartition("::")[2], place))
                if argument == names[-1] and add is not None:
                    related = (Related(*add, "the atomicAdd"),)
                    message = f"{names[-1]} is managed memory, and {launch.name} adds to it with atomicAdd"
                    yield Hit("unsafe-atomic-on-managed-memory", fact.span, message, names[-1], confidence=Confidence.HIGH, related=related)


def _place(parsed: Parsed, function: Any, name: str) -> int:
    return next((place for place, (own, _) in enumerate(_listed(parsed, function)) if own == name), -1)
