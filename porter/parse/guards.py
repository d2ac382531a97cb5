"""Preprocessor conditionals, evaluated line by line in three values for the AMD build and for the CUDA build."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from porter.model import Live
from porter.parse.cuda_build import ALL_PASSES, AMD, DEVICE_PASSES, NVIDIA, Pass, ambient, is_predefined
from porter.parse.cuda_expr import UNKNOWN, Value, evaluate, truth
from porter.parse.cuda_lex import Directive, directives, mask

MAX_MACRO_DEPTH = 12
MAX_CHAIN = 24  # conditions that a region names
_OPENERS = ("if", "ifdef", "ifndef")
_MIDDLES = ("elif", "elifdef", "elifndef", "else")
_DEFINE = re.compile(r"([A-Za-z_]\w*)(\()?")
_HAS = re.compile(r"__has_\w+\s*\([^)]{0,400}\)")
_OF_ROCM = re.compile(r"__has_include\s*\(\s*<(hip\w*|roc\w*|rccl)/\1\.h(?:pp)?>\s*\)")  # <rocfft/rocfft.h>: the folder's own header
_NOT_DEFINED = re.compile(r"\s*!\s*defined\s*+(?:\(\s*+)?(\w+)\s*+(?:\)\s*+)?")


@dataclass(frozen=True, slots=True)
class Region:
    """Lines from ``first`` to ``last`` under one chain of conditions, outermost first, each as written."""

    first: int
    last: int
    amd: Live
    nvidia: Live
    conditions: tuple[str, ...]


@dataclass(frozen=True)
class SourceGuards:
    """Which lines the builds for AMD and for CUDA read."""

    regions: tuple[Region, ...] = ()
    _by_line: list[Region] = field(default_factory=list, repr=False)

    def region(self, line: int) -> Region | None:
        """The region a line (from 1) stands in; None where no conditional is open."""
        if not 0 < line < len(self._by_line):
            return None
        found = self._by_line[line]
        return found if found.conditions else None

    def at(self, line: int) -> Live:
        """Whether the AMD build reads the line."""
        return self._by_line[line].amd if 0 < line < len(self._by_line) else Live.YES

    def nvidia_at(self, line: int) -> Live:
        """Whether the CUDA build reads the line."""
        return self._by_line[line].nvidia if 0 < line < len(self._by_line) else Live.YES

    def amd_only(self, line: int) -> bool:
        """True for code that only the AMD build can read: names of CUDA do not stand there."""
        return self.nvidia_at(line) is Live.NO and self.at(line) is not Live.NO

    def condition(self, line: int) -> str:
        """The conditions a line stands under, outermost first, joined by ' > '; empty where there is none."""
        found = self.region(line)
        return " > ".join(found.conditions) if found else ""


@dataclass(slots=True)
class _Macro:
    """A macro of the file: whether it is defined (None: perhaps) and its text (None: not known)."""

    defined: bool | None
    text: str | None


class Preprocessor:
    """One pass over the directives of a file: ``states`` is what holds for the lines after each of them."""

    def __init__(self, run: Pass, given: Mapping[str, str], imported: Mapping[str, tuple[str, str]]) -> None:
        self.run = run
        self.given = given
        self.macros: dict[str, _Macro] = {}
        for name, (defined, text) in imported.items():
            self.macros[name] = _Macro({"yes": True, "no": False}.get(defined), text if defined == "yes" else None)

    def state(self, name: str, fresh: bool = False, has_value: bool = False) -> Value | None:
        """Value of a name before expansion: None where undefined. ``fresh`` is true at an include guard's own test."""
        if name in self.macros:
            macro = self.macros[name]
            return UNKNOWN if macro.defined is None else (1 if macro.defined else None)
        if name in self.given:
            return 1
        if fresh and not is_predefined(name):
            # A default value of a setting whose name speaks of a vendor: the build may well have set it.
            return UNKNOWN if has_value and ambient(name, self.run) not in (UNKNOWN, None) else None
        return ambient(name, self.run)

    def defined(self, name: str) -> Value:
        """The answer to defined(name)."""
        value = self.state(name)
        return UNKNOWN if value is UNKNOWN else int(value is not None)

    def value(self, name: str, depth: int = 0) -> Value:
        """The number a name stands for in an #if; an undefined name is 0."""
        macro = self.macros.get(name)
        text = macro.text if macro is not None else self.given.get(name)
        if macro is not None and macro.defined is not True:
            return 0 if macro.defined is False else UNKNOWN
        if text is not None:
            if depth >= MAX_MACRO_DEPTH or not text:
                return UNKNOWN
            return evaluate(text, lambda inner: self.value(inner, depth + 1), self.defined)
        if macro is not None:
            return UNKNOWN
        found = ambient(name, self.run)
        return 0 if found is None else found

    def test(self, directive: Directive, guard: str | None) -> bool | None:
        """Whether a condition holds; ``guard`` is the value of the #define right after its own test, None where there is none."""
        word, text = directive.word.removeprefix("el"), directive.text
        if word in ("ifdef", "ifndef"):
            match = _DEFINE.match(text)
            if match is None:
                return None
            value = self.state(match.group(1), guard is not None, bool(guard))
            known = None if value is UNKNOWN else value is not None
            return known if word == "ifdef" or known is None else not known
        if "__has_" in text:
            text = _HAS.sub(" __has_unknown ", _OF_ROCM.sub(" 1 ", text) if self.run.vendor == AMD else text)
        return truth(evaluate(text, self.value, self.defined))

    def apply(self, directive: Directive, live: bool | None) -> None:
        """Take in a #define or #undef that stands in code of the given liveness."""
        match = _DEFINE.match(directive.text)
        if match is None:
            return
        name = match.group(1)
        if live is False:
            # The file defines this name itself, but not in this build: later tests of it are not about the outside.
            if name not in self.macros and name not in self.given and not is_predefined(name):
                self.macros[name] = _Macro(False if ambient(name, self.run) in (UNKNOWN, None) else None, None)
            return
        if directive.word == "undef":
            sure: _Macro = _Macro(False, None)
        else:
            sure = _Macro(True, None if match.group(2) else directive.text[match.end() :].strip())
        if live is None:
            settled = name in self.macros or name in self.given or is_predefined(name)
            before = self.defined(name) if settled else 0
            same = before is not UNKNOWN and bool(before) == sure.defined
            sure = _Macro(sure.defined if same else None, None)
        self.macros[name] = sure


@dataclass(slots=True)
class _Frame:
    """One open conditional: liveness around it, whether an earlier branch was taken, and liveness of this branch."""

    outer: bool | None
    taken: bool | None
    live: bool | None


def _both(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return True if a and b else None


def _not(a: bool | None) -> bool | None:
    return None if a is None else not a


def run_pass(lines: Sequence[Directive], pre: Preprocessor) -> list[bool | None]:
    """Liveness of the code that follows each directive."""
    stack: list[_Frame] = []
    out: list[bool | None] = []
    for position, directive in enumerate(lines):
        live = stack[-1].live if stack else True
        word = directive.word
        if word in _OPENERS:
            test = pre.test(directive, guard_value(lines, position))
            stack.append(_Frame(live, test, _both(live, test)))
        elif word in _MIDDLES and stack:
            frame = stack[-1]
            test = True if word == "else" else pre.test(directive, None)
            frame.live = _both(frame.outer, _both(_not(frame.taken), test))
            frame.taken = True if frame.taken or test else (None if frame.taken is None or test is None else False)
        elif word == "endif" and stack:
            stack.pop()
        elif word in ("define", "undef"):
            pre.apply(directive, live)
        out.append(stack[-1].live if stack else True)
    return out


def guard_value(lines: Sequence[Directive], position: int) -> str | None:
    """The value in `#ifndef X` followed at once by `#define X value`: empty for an include guard, None for all else."""
    test, after = lines[position], lines[position + 1] if position + 1 < len(lines) else None
    name = _NOT_DEFINED.fullmatch(test.text) if test.word == "if" else re.match(r"(\w+)", test.text)
    if after is None or name is None or test.word == "ifdef" or after.word != "define":
        return None
    defined = _DEFINE.match(after.text)
    return after.text[defined.end() :].strip() if defined is not None and defined.group(1) == name.group(1) else None


def _join(states: list[bool | None]) -> Live:
    if any(state for state in states):
        return Live.YES
    return Live.UNKNOWN if any(state is None for state in states) else Live.NO


def _chains(lines: Sequence[Directive]) -> list[tuple[str, ...]]:
    """The conditions, as written, that the code after each directive stands under."""
    stack: list[list[str]] = []
    out: list[tuple[str, ...]] = []
    for directive in lines:
        text = f"#{directive.word} {directive.text}".strip()[:200]
        if directive.word in _OPENERS:
            stack.append([text, text])
        elif directive.word in _MIDDLES and stack:
            first = stack[-1][0]
            stack[-1][1] = f"#else of {first}" if directive.word == "else" else f"{text} after {first}"
        elif directive.word == "endif" and stack:
            stack.pop()
        out.append(tuple(frame[1] for frame in stack[:MAX_CHAIN]))
    return out


def passes_of(path: str) -> tuple[Pass, ...]:
    """The compiler runs that may read a file: a .cu never meets a plain C++ compiler."""
    return DEVICE_PASSES if path.endswith((".cu", ".hip")) else ALL_PASSES


def guards_of(
    data: bytes,
    path: str = "",
    given: Mapping[str, str] | None = None,
    imported: Mapping[str, Mapping[str, tuple[str, str]]] | None = None,
    masked: bytes | None = None,
    sure: Mapping[str, str] | None = None,
    some: Mapping[str, str] | None = None,
) -> SourceGuards:
    """The guards of a text. ``given`` are -D macros of both builds; ``imported`` are macros of included files, by vendor,
    as name -> (yes, no or unknown; text). ``sure`` are -D macros of every build for AMD, ``some`` of one of its targets."""
    lines = directives(mask(data) if masked is None else masked)
    if not any(directive.word in _OPENERS for directive in lines):
        return SourceGuards()
    always, around = given or {}, imported or {}
    passes = passes_of(path)
    states = []
    for run in passes:
        known = {**(sure or {}), **always} if run.vendor == AMD else always
        states.append(run_pass(lines, Preprocessor(run, known, around.get(run.vendor, {}))))
    for run in passes if some else ():
        if run.vendor == AMD:  # the target with the macros: a line is dead only where it is dead without them too
            passes = (*passes, run)
            others = {name: found for name, found in around.get(AMD, {}).items() if name not in (some or {})}
            states.append(run_pass(lines, Preprocessor(run, {**(some or {}), **(sure or {}), **always}, others)))
    return _regions(lines, passes, states, data.count(b"\n") + 1)


def _regions(lines: Sequence[Directive], passes: tuple[Pass, ...], states: list[list[bool | None]], count: int) -> SourceGuards:
    chains = _chains(lines)
    by_line: list[Region] = []
    regions: list[Region] = []
    current = Region(1, 1, Live.YES, Live.YES, ())
    start = 1
    by_line.append(current)
    marks = [*((d.end, i) for i, d in enumerate(lines)), (count, -1)]
    for last, position in marks:
        if position >= 0 and chains[position] == current.conditions and position + 1 < len(lines):
            continue
        region = Region(start, last, current.amd, current.nvidia, current.conditions)
        if last >= start:
            regions.append(region)
            by_line.extend([region] * (last - start + 1))
            start = last + 1
        if position >= 0:
            amd = _join([s[position] for s, run in zip(states, passes, strict=True) if run.vendor == AMD])
            nvidia = _join([s[position] for s, run in zip(states, passes, strict=True) if run.vendor == NVIDIA])
            current = Region(start, start, amd, nvidia, chains[position])
    return SourceGuards(tuple(r for r in regions if r.conditions), by_line)
