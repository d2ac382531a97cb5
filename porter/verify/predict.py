"""Prediction: which finding of a scan said beforehand what a compiler complains about."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from porter.model import Finding
from porter.verify.values import CompilerError

_QUOTED = re.compile(r"'([^']+)'")
_UNKNOWN = re.compile(r"(?:use of undeclared identifier|unknown type name|unknown template name) '(\w+)'")
_NAME = re.compile(r"[A-Za-z_]\w{3,}")
_TELLING = re.compile(r"[_\d]|[a-z][A-Z]")  # what sets the name of a thing apart from a word of prose
# Words of messages and of prose that name nothing in particular.
_EVERYDAY = frozenset((
    "void", "const", "unsigned", "signed", "float", "double", "long", "short", "char", "bool", "auto", "class", "struct", "template",
    "typename", "static", "inline", "this", "type", "value", "__device__", "__host__", "__global__", "int32_t", "uint32_t", "int64_t",
    "uint64_t", "size_t", "call", "calls", "code", "uses", "name", "with", "from", "that",
))  # fmt: skip


class Predictor:
    """The findings by place and by the names that they speak of."""

    def __init__(self, findings: Iterable[Finding], texts: Mapping[str, bytes]) -> None:
        """``texts`` are the CUDA sources, from which the lines of earlier errors are read."""
        self._at: dict[tuple[str, int], Finding] = {}
        self._related: dict[tuple[str, int], Finding] = {}
        self._named: dict[str, Finding] = {}
        self._texts = texts
        self._lines: dict[str, list[bytes]] = {}
        for finding in findings:
            for line in range(finding.line, min(finding.end_line, finding.line + 400) + 1):
                self._at.setdefault((finding.path, line), finding)
            for place in finding.related:
                self._related.setdefault((place.path, place.line), finding)
            for name in _names(finding.message):
                if _TELLING.search(name):
                    self._named.setdefault(name, finding)

    def apply(self, errors: Iterable[CompilerError], places: Mapping[CompilerError, tuple[tuple[str, int], ...]]) -> list[CompilerError]:
        """The errors, each with the finding that predicted it; ``places`` are other lines that the compiler named with an error."""
        out: list[CompilerError] = []
        broken: dict[str, dict[str, CompilerError]] = defaultdict(dict)  # names on the lines of predicted errors, by unit
        for error in errors:
            done = self._told(error, places.get(error, ()))
            if not done.rule:
                done = self._follows(done, broken)
            if done.rule and done.path:
                names = _names(self._line(done.path, done.line).decode("utf-8", "replace"))
                for unit in done.units:
                    for name in names:
                        broken[unit].setdefault(name, done)
            out.append(done)
        return out

    def _told(self, error: CompilerError, places: tuple[tuple[str, int], ...]) -> CompilerError:
        for how, table in (("line", self._at), ("related", self._related)):
            for place in ((error.path, error.line), *places):
                if place in table:
                    return _with(error, table[place], how)
        for quoted in _QUOTED.findall(error.message):
            for name in _names(quoted):
                if name in self._named:
                    return _with(error, self._named[name], "name")
        return error

    def _follows(self, error: CompilerError, broken: Mapping[str, Mapping[str, CompilerError]]) -> CompilerError:
        """An error about a name whose own line has a predicted error comes of that one."""
        match = _UNKNOWN.search(error.message)
        for unit in error.units if match else ():
            first = broken.get(unit, {}).get(match[1]) if match else None
            if first is not None:
                return msgspec.structs.replace(error, rule=first.rule, finding=first.finding, how="follows")
        return error

    def _line(self, path: str, line: int) -> bytes:
        if path not in self._lines:
            self._lines[path] = self._texts.get(path, b"").split(b"\n")
        lines = self._lines[path]
        return lines[line - 1] if 0 < line <= len(lines) else b""


def _with(error: CompilerError, finding: Finding, how: str) -> CompilerError:
    return msgspec.structs.replace(error, rule=finding.rule, finding=f"{finding.path}:{finding.line}", how=how)


def _names(text: str) -> list[str]:
    return [name for name in _NAME.findall(text) if name not in _EVERYDAY]
