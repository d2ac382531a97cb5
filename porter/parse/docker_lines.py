"""Lines of a Dockerfile: instructions with continuations joined, comments between them dropped, heredocs set apart."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_INSTRUCTIONS = 20_000
_KEYWORD = re.compile(r"\s*(?:ONBUILD\s+|HEALTHCHECK\s+(?:--\S+\s+)*)?([A-Za-z]+)\s+", re.IGNORECASE)
_HEREDOC = re.compile(r"(?<!<)<<-?(['\"]?)([A-Za-z_]\w*)\1")
_ESCAPE = re.compile(r"#\s*escape\s*=\s*(\S)\s*$", re.IGNORECASE)


@dataclass
class Instruction:
    """One instruction: upper-case name, the range of what follows it, and the ranges of its heredocs' bodies."""

    name: str
    start: int
    end: int
    bodies: list[tuple[int, int]] = field(default_factory=list)


def instructions(text: str) -> tuple[str, list[Instruction]]:
    """The text with continuations and the comments between them blanked at equal length, and its instructions."""
    lines = text.split("\n")
    escape = _escape(lines)
    pieces: list[str] = []
    found: list[Instruction] = []
    offset, row = 0, 0
    while row < len(lines) and len(found) < MAX_INSTRUCTIONS:
        line = lines[row]
        if not line.strip() or line.lstrip().startswith("#"):
            pieces.append(line + "\n")
            offset, row = offset + len(line) + 1, row + 1
            continue
        blanked, used = _logical(lines, row, escape)
        pieces.append(blanked + "\n")
        match = _KEYWORD.match(blanked)
        after, row = offset + len(blanked) + 1, row + used
        if match:
            instruction = Instruction(match[1].upper(), offset + match.end(), offset + len(blanked))
            found.append(instruction)
            if instruction.name in ("RUN", "COPY", "ADD"):
                after, row = _heredocs(lines, row, after, blanked, instruction, pieces)
        offset = after
    pieces.append("\n".join(lines[row:]))
    return "".join(pieces)[: len(text)], found


def _escape(lines: list[str]) -> str:
    for line in lines[:5]:
        match = _ESCAPE.match(line.strip())
        if match:
            return match[1]
    return "\\"


def _logical(lines: list[str], row: int, escape: str) -> tuple[str, int]:
    """One instruction's lines as one, at equal length, and how many lines they are."""
    parts: list[str] = []
    used = 0
    open_line = True
    while open_line and row + used < len(lines):
        line = lines[row + used]
        bare = line.rstrip()
        used += 1
        if used > 1 and (not bare or bare.lstrip().startswith("#")):
            parts.append(" " * len(line))
            continue
        open_line = bare.endswith(escape)
        parts.append(bare[:-1] + " " * (len(line) - len(bare) + 1) if open_line else line)
    return " ".join(parts), used


def _heredocs(lines: list[str], row: int, offset: int, blanked: str, instruction: Instruction, pieces: list[str]) -> tuple[int, int]:
    """Take the bodies of an instruction's heredocs; the offset and row behind them."""
    for match in _HEREDOC.finditer(blanked):
        start = offset
        while row < len(lines):
            line = lines[row]
            begin, offset, row = offset, offset + len(line) + 1, row + 1
            pieces.append(line + "\n")
            if line.strip() == match[2]:
                instruction.bodies.append((start, begin))
                break
        else:
            instruction.bodies.append((start, offset))
        instruction.end = max(instruction.end, offset - 1)
    return offset, row
