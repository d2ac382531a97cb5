"""Names that a project gives itself: its distribution, the extension modules that its setup.py builds and its CMake project are no
dependencies of it."""

from __future__ import annotations

import configparser
import contextlib
import fnmatch
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from porter import limits
from porter.model import Fact, Rule, SourceFile
from porter.parse import Parsed, python, python_strings, python_tree, toml_text
from porter.parse.cmake_words import commands
from porter.regular import read_below

PREFIX = "distribution:"
"""Stands before the names of distributions, to tell them from modules that can be imported."""
ITSELF = "itself:"
"""Stands before the distribution that the root of the repository makes: the project itself, not one of its parts or examples."""
PROJECT = "project:"
"""Stands before the names of CMake projects, in lower case."""
FILES = ("pyproject.toml", "setup.cfg", "setup.py", "CMakeLists.txt")
DEEP = ("setup.py",)
"""Files that are read in any folder, for their extension modules: a project that builds its kernels in pkg/kernels/ imports them."""
MAX_FILES = 24
MAX_BYTES = 2**18
NEEDS = ("requirement", "conda_package")
WITHIN = ("include", "cmake_package", "cmake_target")
SEPARATOR = re.compile(r"/|::")
EXTENSION = re.compile(r"(?:^|\.)(?:CUDAExtension|CppExtension|Extension)\Z")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
NAME_ARGUMENT = re.compile(r"(name\s*=\s*)?[\"']([A-Za-z_]\w*)[\"']\Z")
VARIABLE_NAME = re.compile(r"name\s*=\s*([A-Za-z_]\w*)\Z")
WORD = re.compile(r"[A-Za-z_][\w.-]{1,80}\Z")


def files(paths: Iterable[str]) -> list[str]:
    """The files that say such names: of the packages at the root or one folder below it, and what a setup.py further down builds."""
    wanted = [path for path in paths if path.rpartition("/")[2] in (FILES if path.count("/") < 2 else DEEP)]
    return sorted(wanted, key=lambda path: (path.count("/"), path))[:MAX_FILES]


def of(root: Path, path: str) -> frozenset[str]:
    """Distributions (with PREFIX) and extension modules that one file names, none where that takes too long.

    The file is parsed, so this is a worker's business.
    """
    data = read_below(root, path, MAX_BYTES) or b""
    with contextlib.suppress(limits.TooLong), limits.within(limits.seconds_for(len(data))):
        return frozenset(_projects(path, data.decode("utf-8", "replace")) if path.endswith("CMakeLists.txt") else _names(path, data))
    return frozenset()


def with_headers(names: Iterable[str], paths: Iterable[str]) -> frozenset[str]:
    """These names, without projects of CMake for which the repository has no folder of headers: <name/header.h> is not theirs."""
    names = frozenset(names)
    wanted = {f"/{name.removeprefix(PROJECT)}/" for name in names if name.startswith(PROJECT)}
    lowered = [f"/{path.lower()}" for path in paths] if wanted else []
    there = {PROJECT + one.strip("/") for one in wanted if any(one in path for path in lowered)}
    return frozenset(name for name in names if not name.startswith(PROJECT) or name in there)


def _projects(path: str, text: str) -> Iterator[str]:
    not_own = ("cuda", path.rpartition("/")[0].lower())  # a folder for the CUDA back end or with kernels for a library is neither of them
    for command in commands(text)[0]:
        name = command.arguments[0].text.lower() if command.name == "project" and command.arguments else ""
        if WORD.match(name) and name not in not_own:
            yield PROJECT + name


def _names(path: str, data: bytes) -> Iterator[str]:
    name = ""
    if path.endswith("setup.py"):
        parsed = _parsed(path, data)
        name = _named_in_setup(parsed)
        yield from filter(None, (_built(fact) for fact in parsed.facts))
    else:
        name = _declared(data.decode("utf-8", "replace"), path.endswith(".toml"))
    if WORD.match(name) and path.count("/") < 2:
        from packaging.utils import canonicalize_name  # slow to load, and most trees of CUDA name no package

        yield PREFIX + canonicalize_name(name)
        if "/" not in path:
            yield ITSELF + canonicalize_name(name)


def _parsed(path: str, data: bytes) -> Parsed:
    file = SourceFile(path, "python", data)
    try:
        return python.parse(file)
    except Exception:  # its examination says what is wrong with it; here only the project's name is lost
        return Parsed(file)


def _named_in_setup(parsed: Parsed) -> str:
    """The name that setup() is given, written there or in a variable of the module that holds one constant."""
    for fact in parsed.facts:
        if fact.kind == "py_arg" and fact.name.startswith("name=") and _is_setup(fact.detail.get("callee", "")):
            return fact.name[5:]
    setups = [fact for fact in parsed.facts if fact.kind == "py_call" and _is_setup(fact.name)]
    given = next((match[1] for fact in setups for arg in fact.args if (match := VARIABLE_NAME.match(arg))), "")
    values = _constants(parsed.extra.get("python"), given) if given else set()
    return values.pop() if len(values) == 1 else ""


def _is_setup(callee: str) -> bool:
    return callee.rpartition(".")[2] == "setup"


def _constants(source: python_tree.Source | None, name: str) -> set[str]:
    """What the top level of a module gives a variable, "" for what is computed."""
    found = set()
    for statement in python_tree.named(source.root) if source is not None else ():
        one = next(iter(python_tree.named(statement)), None) if statement.type == "expression_statement" else None
        left = python_tree.field(one, "left") if one is not None and one.type == "assignment" else None
        if source is not None and one is not None and left is not None and source.text(left) == name:
            found.add(python_strings.constant(source, python_tree.field(one, "right")) or "")
    return found


def _built(fact: Fact) -> str:
    """The module that one extension of a setup.py becomes, as far as it can be imported by one name from anywhere."""
    if fact.kind != "py_call" or not EXTENSION.search(fact.name):
        return ""
    found = ((at, NAME_ARGUMENT.match(arg)) for at, arg in enumerate(fact.args[:6]))
    return next((match[2] for at, match in found if match and (at == 0 or match[1])), "")


def _declared(text: str, toml: bool) -> str:
    try:
        if toml:
            table = toml_text.loads(text)
            for holder in (table.get("project"), (table.get("tool") or {}).get("poetry")):
                if isinstance(holder, dict) and isinstance(holder.get("name"), str):
                    return str(holder["name"])
            return ""
        parser = configparser.RawConfigParser(strict=False)
        parser.read_string(text)
        return parser.get("metadata", "name", fallback="")
    except (ValueError, AttributeError, RecursionError, configparser.Error):
        return ""


def without(facts: list[Fact], own: frozenset[str]) -> list[Fact]:
    """The facts that speak of other things than what the repository itself holds."""
    return [fact for fact in facts if not is_own(fact, own)] if own else facts


def known_by(names: frozenset[str], rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Rules of libraries that speak of the project itself: what they say takes its place on AMD is of use to whoever ports it."""
    itself = [name.removeprefix(ITSELF) for name in names if name.startswith(ITSELF)]
    found: dict[str, Rule] = {}
    for rule in rules if itself else ():
        globs = (*rule.match.get("requirement", ()), rule.id)
        if rule.category == "cuda-only-library" and not rule.is_insight and rule.replacement is not None:
            found |= {rule.id: rule} if any(fnmatch.fnmatchcase(name, glob) for name in itself for glob in globs) else {}
    return tuple(found[rule] for rule in sorted(found))


def is_own(fact: Fact, own: frozenset[str]) -> bool:
    """Whether a fact imports, names by its dotted name, or installs what the repository itself holds."""
    if fact.kind == "py_import" or (fact.kind == "py_string" and DOTTED.match(fact.name)):
        first, _, rest = fact.name.partition(".")
        return first in own or f"{first}.{rest.split('.')[0]}" in own
    if fact.kind in WITHIN:
        return bool(own) and PROJECT + SEPARATOR.split(fact.name, maxsplit=1)[0].lower() in own
    return fact.kind in NEEDS and PREFIX + fact.name in own
