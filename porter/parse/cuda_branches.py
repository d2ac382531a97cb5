"""Conditionals that cut through a statement, an argument list or a block: one branch is kept, so that the rest can be parsed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from porter.model import Live
from porter.parse.cuda_lex import Directive
from porter.parse.cuda_repair import Blanked
from porter.parse.guards import SourceGuards

_OPENERS = ("if", "ifdef", "ifndef")
_MIDDLES = ("elif", "elifdef", "elifndef", "else")
_PAIRS = ((b"{", b"}"), (b"(", b")"))
_MARGIN = 4000  # bytes looked at before and after a conditional


@dataclass(slots=True)
class Group:
    """The directives of one conditional, #if to #endif."""

    parts: list[Directive] = field(default_factory=list)


def groups(lines: Sequence[Directive]) -> list[Group]:
    """All closed conditionals, outer ones first."""
    stack: list[Group] = []
    out: list[Group] = []
    for directive in lines:
        if directive.word in _OPENERS:
            stack.append(Group([directive]))
        elif stack and directive.word in (*_MIDDLES, "endif"):
            stack[-1].parts.append(directive)
            if directive.word == "endif":
                out.append(stack.pop())
    return sorted(out, key=lambda group: group.parts[0].start_byte)


def cuts(masked: bytes, lines: Sequence[Directive], guards: SourceGuards) -> list[Blanked]:
    """What to blank: the directives of conditionals that the grammar could not place, and all their branches but one."""
    found: list[Blanked] = []
    bare = _without_directives(masked, lines)
    dropped_to = -1
    for group in groups(lines):
        if group.parts[0].start_byte < dropped_to:
            continue  # inside a branch that is gone
        branches = [(a.end_byte, b.start_byte) for a, b in zip(group.parts, group.parts[1:], strict=False)]
        if not _cuts_through(bare, group, branches):
            continue
        found.extend(Blanked(d.start_byte, d.end_byte) for d in group.parts)
        kept = _kept(group, guards, len(branches))
        for number, (start, end) in enumerate(branches):
            if number != kept and bare[start:end].strip():
                found.append(Blanked(start, end, code=True))
    return sorted(found, key=lambda b: (b.start, -b.end))


def _without_directives(masked: bytes, lines: Sequence[Directive]) -> bytes:
    out = bytearray(masked)
    for line in lines:
        out[line.start_byte : line.end_byte] = b" " * (line.end_byte - line.start_byte)
    return bytes(out)


def _cuts_through(bare: bytes, group: Group, branches: list[tuple[int, int]]) -> bool:
    texts = [bare[start:end].strip() for start, end in branches]
    if any(text.count(a) != text.count(b) for text in texts for a, b in _PAIRS):
        return True
    start, end = group.parts[0].start_byte, group.parts[-1].end_byte
    if not any(texts):
        return False
    before = bare[max(0, start - _MARGIN) : start].rstrip()
    after = bare[end : end + _MARGIN].lstrip()[:1]
    if before and before[-1:] not in b";{}:)":
        return True
    if before.endswith(b"{") and before[:-1].rstrip().endswith(b"="):
        return True
    closes = before.endswith(b")")
    for text in texts:
        if closes and text[:1] in (b":", b",", b"{", b"."):
            return True
        if text and text[-1:] not in (b";", b"}", b"{", b":", b")"):
            return True
        if text[-1:] == b")" and after in (b"{", b":", b")", b",") and after:
            return True
    return False


def _kept(group: Group, guards: SourceGuards, count: int) -> int:
    """The branch that stays: the one the CUDA build surely reads, else the first it may read."""
    lives = [guards.nvidia_at(directive.end + 1) for directive in group.parts[:-1]]
    for wanted in (Live.YES, Live.UNKNOWN):
        if wanted in lives:
            return lives.index(wanted)
    return 0 if count == 1 else -1
