"""Macros that build files give with -D, as the guards of the repository's own files may rely on them.

One target's define says only that some build has the macro: code that it turns on is read, code that it turns off is left
undecided. A define of the whole build (``everywhere``) decides both ways. So does a macro of NVIDIA's compiler, CUDA_VERSION
above all, that a list of flags gives beside __HIP_PLATFORM_AMD__: whoever ported the build answers the guards by it.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from porter.model import Live
from porter.parse.cuda_build import ALL_PASSES, AMD, NVIDIAS, ambient, is_predefined
from porter.parse.cuda_expr import UNKNOWN
from porter.survey import Flag, Survey

KINDS = frozenset(("cmake", "make", "python"))
ROOTS = frozenset(("CMakeLists.txt", "Makefile", "makefile", "GNUmakefile", "setup.py", "meson.build"))
_VARYING = frozenset(("NDEBUG", "DEBUG", "_DEBUG"))  # a build type, not a property of the project
_VALUE = re.compile(r"\w+\Z")  # of a variable's reference nothing is known but that the macro is defined
_PLATFORM = frozenset(("__HIP_PLATFORM_AMD__", "__HIP_PLATFORM_HCC__"))
_MAKERS = 64  # places that may give one name


class Given(msgspec.Struct, frozen=True, gc=False):
    """One -D: its text (empty where unknown), the folder whose files it can reach, whether the whole build has it."""

    text: str
    folder: str
    everywhere: bool


class BuildDefines:
    """The defines of a repository's build files, by name."""

    def __init__(self, files: Mapping[str, Survey], dead: Collection[str], defined: Collection[str]) -> None:
        """``dead`` are build files that an AMD build skips, ``defined`` the macros that source files define themselves."""
        texts: dict[str, set[str]] = defaultdict(set)
        for one in files.values():
            for flag in one.flags:
                texts[flag.name].add(flag.text)
        self.by_name: dict[str, list[Given]] = defaultdict(list)
        for path, one in files.items():
            if one.kind in KINDS and path not in dead:
                alone = not (ROOTS & files.keys()) - {path}
                for name, given in _given(one, alone):
                    if len(texts[name]) == 1 and f"-U{name}" not in texts and _is_projects(name) and len(self.by_name[name]) < _MAKERS:
                        sure = given.everywhere and name not in defined
                        self.by_name[name].append(msgspec.structs.replace(given, everywhere=sure))
        self.answered: frozenset[str] = frozenset()
        self._answers(one for path, one in files.items() if one.kind in KINDS and path not in dead)

    def _answers(self, files: Iterable[Survey]) -> None:
        """NVIDIA's own macros, as the flags of builds for AMD give them: one text each, or nothing is known."""
        found: dict[str, list[Given]] = defaultdict(list)
        for one in files:
            for flag in _beside_platform(one.flags):
                if flag.name in NVIDIAS and len(found[flag.name]) < _MAKERS:
                    found[flag.name].append(Given(flag.text if _VALUE.match(flag.text) else "", _folder(one.path), True))
        for name, listed in found.items():
            if len({given.text for given in listed}) == 1:
                self.by_name[name] = listed
                self.answered |= {name}

    def seen_from(self, path: str, names: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Of ``names``, those that every AMD build of a file has and those that some build of it has, with their texts."""
        sure: dict[str, str] = {}
        some: dict[str, str] = {}
        for name in names:
            near = [one for one in self.by_name.get(name, ()) if not one.folder or path.startswith(one.folder + "/")]
            if near:
                (sure if any(one.everywhere for one in near) else some)[name] = near[0].text
        return sure, some


def _given(one: Survey, alone: bool) -> Iterator[tuple[str, Given]]:
    """The -D flags that an AMD build surely passes; ``alone``: no other build file stands at the repository's root."""
    folder = _folder(one.path)
    for flag in one.flags:
        if flag.live is Live.YES and not flag.name.startswith("-"):
            yield flag.name, Given(flag.text if _VALUE.match(flag.text) else "", folder, flag.everywhere and alone)


def _folder(path: str) -> str:
    """The folder whose files a build file's flags can reach, empty for all."""
    return posixpath.dirname(path) if posixpath.basename(path) in ROOTS else ""


def _beside_platform(flags: Iterable[Flag]) -> Iterator[Flag]:
    """The flags in lists, of line after line, that name AMD's platform."""
    listed: list[Flag] = []
    for flag in (*sorted((flag for flag in flags if flag.live is not Live.NO), key=lambda flag: flag.line), None):
        if listed and (flag is None or flag.line > listed[-1].line + 1):
            if any(one.name in _PLATFORM for one in listed):
                yield from listed
            listed = []
        if flag is not None:
            listed.append(flag)


def _is_projects(name: str) -> bool:
    """Whether a macro is the project's own: neither a compiler's, nor a vendor's, nor a build type's."""
    if name in _VARYING or is_predefined(name):
        return False
    return all(ambient(name, run) is UNKNOWN for run in ALL_PASSES if run.vendor == AMD)
