"""Names that a project gives itself: its distribution, the extension modules that its setup.py builds and its CMake project are no
dependencies of it."""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from porter.discover import read_below
from porter.model import Fact, SourceFile
from porter.parse import python
from porter.parse.cmake_words import commands

PREFIX = "distribution:"
"""Stands before the names of distributions, to tell them from modules that can be imported."""
PROJECT = "project:"
"""Stands before the names of CMake projects, in lower case."""
FILES = ("pyproject.toml", "setup.cfg", "setup.py", "CMakeLists.txt")
MAX_FILES = 24
MAX_BYTES = 2**18
NEEDS = ("requirement", "conda_package")
WITHIN = ("include", "cmake_package", "cmake_target")
SEPARATOR = re.compile(r"/|::")
EXTENSION = re.compile(r"(?:^|\.)(?:CUDAExtension|CppExtension|Extension)\Z")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
NAME_ARGUMENT = re.compile(r"(name\s*=\s*)?[\"']([A-Za-z_]\w*)[\"']\Z")
WORD = re.compile(r"[A-Za-z_][\w.-]{1,80}\Z")


def of(root: Path, paths: Iterable[str]) -> frozenset[str]:
    """Distributions (with PREFIX) and extension modules of the packages at the root or one folder below it."""
    found: set[str] = set()
    paths = tuple(paths)
    wanted = [path for path in paths if path.count("/") < 2 and path.rpartition("/")[2] in FILES]
    for path in sorted(wanted, key=lambda path: (path.count("/"), path))[:MAX_FILES]:
        data = read_below(root, path, MAX_BYTES)
        if data and path.endswith("CMakeLists.txt"):
            found.update(_projects(data.decode("utf-8", "replace"), paths))
        elif data:
            found.update(_names(path, data))
    return frozenset(found)


def _projects(text: str, paths: Iterable[str]) -> Iterator[str]:
    """The names of a CMake project of which the repository holds the folder of headers, so that <name/header.h> is its own."""
    for command in commands(text)[0]:
        name = command.arguments[0].text.lower() if command.name == "project" and command.arguments else ""
        if WORD.match(name) and any(f"/{name}/" in f"/{path.lower()}" for path in paths):
            yield PROJECT + name


def _names(path: str, data: bytes) -> Iterator[str]:
    name = ""
    if path.endswith("setup.py"):
        facts = _facts(path, data)
        name = next((f.name[5:] for f in facts if f.kind == "py_arg" and f.name.startswith("name=") and _is_setup(f)), "")
        yield from filter(None, (_built(fact) for fact in facts))
    else:
        name = _declared(data.decode("utf-8", "replace"), path.endswith(".toml"))
    if WORD.match(name):
        yield PREFIX + canonicalize_name(name)


def _facts(path: str, data: bytes) -> list[Fact]:
    try:
        return python.parse(SourceFile(path, "python", data)).facts
    except Exception:  # its examination says what is wrong with it; here only the project's name is lost
        return []


def _is_setup(fact: Fact) -> bool:
    return fact.detail.get("callee", "").rpartition(".")[2] == "setup"


def _built(fact: Fact) -> str:
    """The module that one extension of a setup.py becomes, as far as it can be imported by one name from anywhere."""
    if fact.kind != "py_call" or not EXTENSION.search(fact.name):
        return ""
    found = ((at, NAME_ARGUMENT.match(arg)) for at, arg in enumerate(fact.args[:6]))
    return next((match[2] for at, match in found if match and (at == 0 or match[1])), "")


def _declared(text: str, toml: bool) -> str:
    try:
        if toml:
            table = tomllib.loads(text)
            for holder in (table.get("project"), (table.get("tool") or {}).get("poetry")):
                if isinstance(holder, dict) and isinstance(holder.get("name"), str):
                    return str(holder["name"])
            return ""
        parser = configparser.RawConfigParser(strict=False)
        parser.read_string(text)
        return parser.get("metadata", "name", fallback="")
    except (ValueError, AttributeError, RecursionError, configparser.Error):
        return ""


def is_own(fact: Fact, own: frozenset[str]) -> bool:
    """Whether a fact imports, names by its dotted name, or installs what the repository itself holds."""
    if fact.kind == "py_import" or (fact.kind == "py_string" and DOTTED.match(fact.name)):
        return fact.name.split(".")[0] in own
    if fact.kind in WITHIN:
        return bool(own) and PROJECT + SEPARATOR.split(fact.name, maxsplit=1)[0].lower() in own
    return fact.kind in NEEDS and PREFIX + fact.name in own
