"""Guards of CUDA in the strings of a program whose options define macros: options=("-DWIDE=0",) beside a RawKernel."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from porter.model import Live
from porter.parse import Guards, Parsed
from porter.parse.guards import guards_of

DEFINE = re.compile(r"-D\s*([A-Za-z_]\w*)(?:=(.{0,80}))?")


class OptionGuards:
    """Dead where the strings are dead with the options and without them; a kernel of the file may not get what another gets."""

    def __init__(self, around: Guards, ways: tuple[Guards, ...]) -> None:
        """``around`` is what is known without the options, ``ways`` the guards with them and with the names undefined."""
        self._around, self._ways = around, ways

    def at(self, line: int) -> Live:
        """Whether the line (from 1) of the file is part of the build for AMD."""
        if self._around.at(line) is Live.NO:
            return Live.NO
        found = {way.at(line) for way in self._ways}
        return Live.YES if Live.YES in found else Live.UNKNOWN if Live.UNKNOWN in found else Live.NO


def set_in_options(parsed: Parsed) -> None:
    """Let the -D of a file's options decide conditions in its strings, where a name has one value in the whole file."""
    values: dict[str, set[str]] = {}
    for fact in parsed.facts:
        match = DEFINE.fullmatch(fact.name.strip()) if fact.kind in ("py_string", "compile_flag") else None
        if match is not None:
            values.setdefault(match[1], set()).add(match[2] or "1")
    given = {name: next(iter(texts)) for name, texts in values.items() if len(texts) == 1}
    for inner in parsed.embedded if given else ():
        tested = {fact.name for fact in inner.facts if fact.kind == "macro_test"} - {f.name for f in inner.facts if f.kind == "define"}
        known = {name: value for name, value in given.items() if name in tested}
        if not known or inner.guards is None:
            continue
        without: Mapping[str, tuple[str, str]] = dict.fromkeys(known, ("no", ""))
        data, path = inner.file.data, inner.file.path
        ways = (guards_of(data, path, known), guards_of(data, path, imported={"amd": without, "nvidia": without}))
        inner.guards = OptionGuards(inner.guards, ways)
        inner.facts = [msgspec.structs.replace(fact, live=inner.guards.at(fact.span.line)) for fact in inner.facts]
