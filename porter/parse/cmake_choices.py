"""Choices of a back end in CMake whose other half stands in another file: AMReX_CUDA in a list, AMReX_HIP in the options it includes.

A file that never speaks of AMD may still be the list of a build for AMD. Where every choice of CUDA that it makes has a twin for HIP or
ROCm in a file of the same build, its conditions are read as those of a file that knows AMD. A file with one choice that has none is left.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from porter.model import Live
from porter.origin import VENDOR_FOLDERS
from porter.parse import cmake_includes
from porter.parse.amd_words import says_amd, says_nvidia, words_in_order
from porter.parse.cmake_guards import COMPARISONS, knows_amd
from porter.parse.cmake_words import Command

MAX_CHOICES = 500  # a file
_AMD = frozenset(("hip", "rocm"))
_CUDA = frozenset(("cuda", "nvidia"))
# with these a name says what a machine has, or where, and both may be there at once: CUDA_FOUND, HIP_PATH
_OF_THE_MACHINE = frozenset(
    (
        "found", "path", "home", "root", "dir", "version", "compiler", "toolkit", "language",
        "arch", "archs", "architectures", "flags", "cmake", "env",
    )
)  # fmt: skip
_CHOICES = ("if", "elseif", "option", "cmake_dependent_option")


class Choices(msgspec.Struct, frozen=True):
    """What one file tests: ``amd`` and ``cuda`` in one spelling, and where it leads if its choices of CUDA are off for AMD."""

    amd: tuple[str, ...] = ()
    cuda: tuple[str, ...] = ()
    includes: tuple[tuple[str, Live], ...] = ()


def of(commands: list[Command], path: str) -> Choices:
    """The choices of one file; ``cuda`` is empty where the file itself knows AMD, or makes a choice that can have no twin."""
    amd: set[str] = set()
    cuda: set[str] = set()
    for command in commands:
        if command.name in _CHOICES and len(amd) + len(cuda) < MAX_CHOICES:
            for text in _terms(command):
                if says_nvidia(text):
                    cuda.add("" if says_amd(text) else _spelling(text, _CUDA))
                elif says_amd(text):
                    amd.add(_spelling(text, _AMD))
    alone = bool(cuda) and "" not in cuda and not knows_amd(commands)
    includes = cmake_includes.of(commands, path, twinned=True) if alone else ()
    return Choices(tuple(sorted(amd - {""})), tuple(sorted(cuda)) if alone else (), includes)


def _terms(command: Command) -> Iterable[str]:
    """Names that are tested; of a comparison, what is compared and with what."""
    texts = command.texts()[:1] if command.name not in ("if", "elseif") else command.texts()
    at = 0
    while at < len(texts):
        if at + 2 < len(texts) and texts[at + 1] in COMPARISONS:
            yield f"{texts[at]}={texts[at + 2]}"
            at += 3
        else:
            yield texts[at]
            at += 1


def _spelling(text: str, vendor: frozenset[str]) -> str:
    """A choice without its vendor, AMReX_CUDA and AMReX_HIP alike; empty where it is none of the project's own."""
    words = words_in_order(text)
    rest = [word for word in words if word not in vendor]
    if len(rest) != len(words) - 1 or not rest or not _OF_THE_MACHINE.isdisjoint(rest):
        return ""
    return ("=" if "=" in text else "") + "/".join("*" if word in vendor else word for word in words)


def twinned(files: Mapping[str, Choices], includes: Mapping[str, tuple[cmake_includes.Include, ...]]) -> frozenset[str]:
    """Files all of whose choices of CUDA have a twin for AMD in the same build: in files that lead to each other."""
    asking = [path for path, one in files.items() if one.cuda]
    if not asking:
        return frozenset()
    build = _builds(includes)
    known: dict[str, set[str]] = defaultdict(set)
    for path, one in files.items():
        if VENDOR_FOLDERS.isdisjoint(path.lower().split("/")):
            known[build[path]].update(one.amd)
    return frozenset(path for path in asking if known[build[path]].issuperset(files[path].cuda))


def _builds(includes: Mapping[str, tuple[cmake_includes.Include, ...]]) -> dict[str, str]:
    """For every file one that stands for its build: all that include each other are one."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in includes:
        by_name[posixpath.basename(path)].append(path)
    beside: dict[str, list[str]] = defaultdict(list)
    for path, entries in includes.items():
        for name, _ in entries:
            found = by_name.get(posixpath.basename(name), []) if name.startswith("*/") else [name]
            if len(found) == 1 and found[0] in includes:  # a module's name that two folders hold says nothing
                beside[path].append(found[0])
                beside[found[0]].append(path)
    out: dict[str, str] = {}
    for path in sorted(includes):
        work = [path] if path not in out else []
        while work:
            one = work.pop()
            if one not in out:
                out[one] = path
                work += beside[one]
    return out
