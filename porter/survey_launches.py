"""Launches as one file tells them to the others: <<< >>>, and the runtime's calls that start a kernel."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator

import msgspec

from porter.model import Fact, Live
from porter.parse import Parsed
from porter.parse.cuda_facts import Captured, plain_name
from porter.parse.cuda_fields import ARGUMENT, DECLARATOR, LEFT, RIGHT, VALUE
from porter.parse.cuda_query import kinds

LAUNCHERS = {  # place of the kernel, of the grid and of the block among the arguments
    "cudaLaunchKernel": (0, 1, 2), "cudaLaunchCooperativeKernel": (0, 1, 2), "hipLaunchKernelGGL": (0, 1, 2), "hipLaunchKernel": (0, 1, 2),
    "cudaLaunchKernelEx": (1, -1, -1), "cudaLaunchKernelExC": (1, -1, -1), "hipLaunchCooperativeKernel": (0, 1, 2),
}  # fmt: skip
_WRAPPER = re.compile(r"(?i)\A(?!cuda|hip|cu[A-Z])(?:\w+::)*\w*launch\w*\Z")
_KERNEL = re.compile(r"&?\s*([A-Za-z_][\w:]*)\s*(<[^;{}]*>)?\Z")
MAX_PLACES = 4  # arguments of such a function among which the kernel stands
MAX_NODES = 4_000  # of a function's tree
_ASSIGNMENT = kinds("assignment_expression")
_NAME = re.compile(r"[A-Za-z_][\w:]*")
_CAST = re.compile(r"^\(?\s*\(\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*\)|^(?:reinterpret|static)_cast\s*<[^>]*>")


class Launch(msgspec.Struct, frozen=True, gc=False):
    """A launch: the kernel's name as written and the texts of its configuration, empty where left out."""

    kernel: str
    line: int
    grid: str = ""
    block: str = ""
    shared: str = ""
    stream: str = ""
    live: Live = Live.YES


def launched(found: Captured, parsed: Parsed) -> Iterator[Launch]:
    """The launches of a file; a local name of a kernel is replaced by the kernel's own."""
    variables: dict[str, str] | None = None
    declared = functools.cache(lambda: _declared(found))  # few files ask, and those for many calls
    assigned = functools.cache(lambda line: _assigned(found, line))
    for fact in parsed.facts:
        if fact.kind not in ("call", "launch"):
            continue
        made = _launch(fact)
        if made is None and not _is_wrapper(fact.name):
            continue
        variables = _variables(found) if variables is None else variables
        if made is None:
            yield from _handed_over(fact, variables, declared, assigned)
            continue
        yield msgspec.structs.replace(made, kernel=variables.get(made.kernel, made.kernel))


@functools.lru_cache(maxsize=20_000)
def _is_wrapper(name: str) -> bool:
    return "launch" in name.lower() and _WRAPPER.search(name) is not None


def _launch(fact: Fact) -> Launch | None:
    places = LAUNCHERS.get(fact.name) if fact.kind == "call" else None
    if places is None and fact.kind != "launch":
        return None
    args = (*fact.args, "", "", "", "", "")
    if places is None:
        return Launch(fact.name, fact.span.line, args[0], args[1], args[2], args[3], fact.live)
    kernel, grid, block = (args[place] if place >= 0 else "" for place in places)
    names = [name for name in _NAME.findall(_CAST.sub("", kernel)) if name.strip("_")]  # a type among arguments may be blanked
    return Launch(names[0], fact.span.line, grid, block, live=fact.live) if names else None


def _handed_over(
    fact: Fact, known: dict[str, str], declared: Callable[[], set[str]], assigned: Callable[[int], dict[str, list[str]]]
) -> Iterator[Launch]:
    """Launches by a function of the project that is given the kernel: launch_attention(ctx, out, attention<64>, warps)."""
    for arg in dict.fromkeys(fact.args[:MAX_PLACES]):
        match = _KERNEL.match(arg)
        if match is None:
            continue
        name = match[1]
        if match[2] is None and name not in known and name in declared():
            for target in dict.fromkeys(assigned(fact.span.line).get(name, ())):
                yield Launch(target, fact.span.line, live=fact.live)
            continue
        yield Launch(known.get(name, name) if match[2] is None else name, fact.span.line, live=fact.live)


def _declared(found: Captured) -> set[str]:
    """Names of variables and parameters of a file."""
    return {names[-1] for node in found.all("declared") if (names := _NAME.findall(found.slice(node).decode("utf-8", "replace")))}


def _assigned(found: Captured, line: int) -> dict[str, list[str]]:
    """What local pointers to kernels are given by assignments of the function around a line: `kernel = soft ? a<1> : a<2>;`."""
    around = [node for node in found.all("function") if node.start_point[0] < line <= node.end_point[0] + 1]
    pending, out = around[-1:], dict[str, list[str]]()
    for _ in range(MAX_NODES):
        if not pending:
            break
        node = pending.pop()
        pending += node.named_children
        left = node.child_by_field_id(LEFT) if node.kind_id in _ASSIGNMENT else None
        right = node.child_by_field_id(RIGHT) if left is not None else None
        if right is not None and right.type in ("identifier", "template_function", "qualified_identifier"):
            out.setdefault(found.slice(left).decode("utf-8", "replace"), []).append(plain_name(found.slice(right)))
    return out


def _variables(found: Captured) -> dict[str, str]:
    """Local names of kernels: `auto kernel = &real_kernel<T>;` gives kernel -> real_kernel."""
    out: dict[str, str] = {}
    for node in found.all("initialised"):
        name, value = node.child_by_field_id(DECLARATOR), node.child_by_field_id(VALUE)
        if name is None or value is None or value.end_byte - value.start_byte > 400:
            continue
        inner = value.child_by_field_id(ARGUMENT) if value.type == "pointer_expression" else value
        if inner is not None and inner.type in ("identifier", "template_function", "qualified_identifier"):
            target = plain_name(found.slice(inner))
            names = _NAME.findall(found.slice(name).decode("utf-8", "replace"))
            if names and target not in (names[-1], "nullptr"):
                out.setdefault(names[-1], target)
    return out
