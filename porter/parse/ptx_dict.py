"""The PTX dictionary: rules/ptx/*.toml, one file a family of opcodes, and which family an instruction belongs to.

A pattern is dotted: its first word is the instruction's first, every further word (``a|b`` either, ``x*`` a glob) must be
among the modifiers, wherever it stands. The pattern with most words wins, then the heavier rule.
"""

from __future__ import annotations

import fnmatch
import functools
import re
import tomllib
from pathlib import Path

import msgspec

from porter.errors import RuleError
from porter.model import Source
from porter.parse.ptx_text import Instruction
from porter.rules import rules_folder

# Rules from the lightest to the heaviest: an asm statement is as heavy as its heaviest instruction.
WEIGHTS = (
    "inline-ptx-hint", "inline-ptx-simple", "inline-ptx-float", "inline-ptx-unknown", "inline-ptx-memory-order", "inline-ptx-warp",
    "inline-ptx-barrier", "inline-ptx-carry-chain", "inline-ptx-async-copy", "inline-ptx-bulk-copy", "inline-ptx-cluster",
    "inline-ptx-multimem", "inline-ptx-matrix", "inline-ptx-warpgroup-matrix",
)  # fmt: skip
UNKNOWN_RULE = "inline-ptx-unknown"


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Opcodes that one replacement serves: what they do, what stands for them in HIP, and the rule that reports them."""

    family: str
    title: str
    rule: str
    does: str
    hip: str
    source: tuple[Source, ...]
    opcodes: tuple[str, ...] = ()
    registers: tuple[str, ...] = ()
    note: str = ""
    by_target: dict[str, str] = {}

    @property
    def weight(self) -> int:
        """Place of the rule in WEIGHTS."""
        return WEIGHTS.index(self.rule)


class Dictionary:
    """All families, arranged by the first word of their opcodes and by register."""

    def __init__(self, families: tuple[Family, ...]) -> None:
        """Index the families; raises RuleError where two claim one pattern or one register."""
        self.families = {family.family: family for family in families}
        self.by_base: dict[str, list[tuple[tuple[re.Pattern[str], ...], Family]]] = {}
        self.by_register: dict[str, Family] = {}
        patterns: dict[str, str] = {}
        for family in families:
            for pattern in family.opcodes:
                if patterns.setdefault(pattern, family.family) != family.family:
                    raise RuleError(f"rules/ptx: '{pattern}' belongs to '{patterns[pattern]}' and '{family.family}'")
                base, *words = pattern.split(".")
                self.by_base.setdefault(base, []).append((tuple(map(_word, words)), family))
            for register in family.registers:
                if self.by_register.setdefault(register, family) is not family:
                    raise RuleError(f"rules/ptx: register '{register}' belongs to two families")
        self._opcode = functools.lru_cache(maxsize=50_000)(self._find)

    def opcode(self, name: str) -> Family | None:
        """The family of an opcode with its modifiers, or None."""
        return self._opcode(name.lower())

    def of(self, instruction: Instruction) -> Family | None:
        """The family of an instruction: of its special register where it reads one that is heavier or its opcode is a move."""
        family = self.opcode(instruction.opcode)
        special = [self.by_register[name] for name in instruction.registers if name in self.by_register]
        if not special:
            return family
        heaviest = max(special, key=lambda item: item.weight)
        return heaviest if family is None or instruction.base == "mov" or heaviest.weight > family.weight else family

    def _find(self, name: str) -> Family | None:
        base, *modifiers = name.split(".")
        best: tuple[int, int] | None = None
        found: Family | None = None
        for words, family in self.by_base.get(base, ()):
            if all(any(word.match(part) for part in modifiers) for word in words):
                rank = (len(words), family.weight)
                if best is None or rank > best:
                    best, found = rank, family
        return found

    def named(self, word: str) -> Family | None:
        """The family that a person means: its name, an opcode, or a register with or without %."""
        text = word.strip().lower()
        bare = text.lstrip("%")
        register = self.by_register.get(bare.split(".")[0]) if text.startswith("%") or bare in self.by_register else None
        return self.families.get(text) or register or self.opcode(text)


def _word(word: str) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(part.lower()) for part in word.split("|")))


@functools.lru_cache(maxsize=4)
def load(folder: Path | None = None) -> Dictionary:
    """The dictionary that travels with porter; raises RuleError for a file that is wrong."""
    place = folder or rules_folder() / "ptx"
    families = []
    for path in sorted(place.glob("*.toml")):
        try:
            family = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Family)
        except (OSError, ValueError, RecursionError) as error:
            raise RuleError(f"{path}: {error}") from error
        _check(path, family)
        families.append(family)
    if not families:
        raise RuleError(f"{place}: the PTX dictionary is missing", "reinstall porter")
    return Dictionary(tuple(families))


def _check(path: Path, family: Family) -> None:
    if family.rule not in WEIGHTS:
        raise RuleError(f"{path}: rule '{family.rule}' is not one of {', '.join(WEIGHTS)}")
    if not (family.opcodes or family.registers):
        raise RuleError(f"{path}: neither opcodes nor registers")
    if not (family.source and family.does.strip() and family.hip.strip()):
        raise RuleError(f"{path}: does, hip and a source are needed")


def explain(word: str) -> str | None:
    """What an opcode or register does, and what stands for it in HIP, as plain text; None for what is no PTX."""
    family = load().named(word)
    if family is None:
        return None
    members = ", ".join([*(f"%{name}" for name in family.registers), *family.opcodes])
    lines = [f"{word}: {family.title}", "", f"  PTX      {family.does}", f"  HIP      {family.hip}"]
    if family.note:
        lines.append(f"  Note     {family.note}")
    lines += [f"  {glob:8} {text}" for glob, text in family.by_target.items() if glob != "*"]
    lines += [f"  {'others' if len(family.by_target) > 1 else 'all':8} {text}" for glob, text in family.by_target.items() if glob == "*"]
    lines += [f"  Family   {family.family} ({members})", f"  Rule     {family.rule}"]
    lines += [f"  Source   {source.url} ({source.checked}): {source.says}" for source in family.source]
    return "\n".join(lines) + "\n"
