"""Linking: surveys of all files -> Index, which answers what a name is worth and who launches a kernel, across the repository."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from porter import answers, built
from porter.build_defines import BuildDefines
from porter.macro_states import specifies, state
from porter.model import Kernel, Live
from porter.name_table import Named, said, table
from porter.parse import Parsed, cmake, cmake_choices, cmake_includes, ptx
from porter.parse.cuda_expr import UNKNOWN, Value, evaluate
from porter.parse.guards import SourceGuards, guards_of
from porter.parse.option_guards import set_in_options
from porter.parse.ptx_asm import is_spelling
from porter.parse.specifiers import side_of
from porter.parse.string_guards import put_within
from porter.parse.type_names import TypeName
from porter.spill import Spill
from porter.survey import Constant, FunctionDef, Macro, Survey, survey
from porter.survey_launches import Launch
from porter.survey_sums import Sum

__all__ = ["Constant", "FunctionDef", "Index", "Launch", "Macro", "Survey", "link", "survey"]

MAX_REACH = 2000  # files that one file's includes are followed to
COLLECTIVE = frozenset({"warp shuffles", "warp votes"})  # features of functions that speak to other lanes
MAX_REMEMBERED = 300_000  # places that files reach, and values of names, before what is remembered of them is forgotten
MAX_DEPTH = 16  # names that a constant's value is followed through


class Index:
    """Answers about the whole repository; plain data, so that workers can be given it."""

    def __init__(self, surveys: Iterable[Survey] = (), defines: Iterable[str] = (), spill: Spill | None = None) -> None:
        """``defines`` are NAME or NAME=VALUE of the AMD build; names of very many surveys go to ``spill``."""
        self.files = {one.path: one for one in sorted(surveys, key=lambda s: s.path)}
        self.given = {name: value or "1" for name, _, value in (d.removeprefix("-D").partition("=") for d in defines)}
        self.macros: Named[Macro] = table(spill, said(self.files, lambda one: one.macros), Macro)
        self.constants: Named[Constant] = table(spill, said(self.files, lambda one: one.constants), Constant)
        self.types: Named[TypeName] = table(spill, said(self.files, lambda one: one.types), TypeName)
        launches = ((kernel.rpartition("::")[2], *rest) for kernel, *rest in said(self.files, lambda one: one.launches, "kernel"))
        self._launches: Named[Launch] = table(spill, launches, Launch)
        self.sums: Named[Sum] = table(spill, said(self.files, lambda one: one.sums, "kernel"), Sum)
        self.flags: dict[str, list[str]] = defaultdict(list)
        self._by_base: dict[str, list[str]] = defaultdict(list)
        self._gather()
        self.specifiers = {name: text for name, found in self.macros.items() if (text := specifies(found))}
        placed = ((name, path, self._placed(function)) for name, path, function in said(self.files, lambda one: one.functions))
        self.functions: Named[FunctionDef] = table(spill, placed, FunctionDef)
        self.wrappers = {name for name, found in self.functions.items() if any(function.wraps for _, function in found)}
        self.collectives = {
            name
            for name, found in self.functions.items()
            if any(f.side in ("device", "both") and not COLLECTIVE.isdisjoint(f.features) and f.live is not Live.NO for _, f in found)
        }
        self.asm_words = {name for name, found in self.macros.items() if any(m.params is None and is_spelling(m.text) for _, m in found)}
        self._widths: dict[str, list[tuple[str, int]]] | None = None
        self._reach: dict[str, dict[str, int]] = {}
        self._reached = 0
        self._values: dict[tuple[str, str], Value] = {}
        lists = {path: one for path, one in self.files.items() if one.kind == "cmake"}
        asked = {path: one.cmake_includes for path, one in lists.items()}
        self.twinned = cmake_choices.twinned({path: one.cmake_choices for path, one in lists.items()}, asked)
        leads = [(path, one.cmake_choices.includes if path in self.twinned else one.cmake_includes) for path, one in lists.items()]
        self.dead_cmake = cmake_includes.dead(leads)
        self.dead_cmake_functions = cmake_includes.dead_functions(leads, self.dead_cmake)
        self.build_defines = BuildDefines(self.files, self.dead_cmake, self.macros.keys())
        self.shims = answers.macros_for_amd(self.macros)
        self.warp_names = answers.named_warp_size(self.macros)
        self.backends = answers.backends(self.files.values())
        self.own_builtins = answers.device_functions(self.functions)
        self.unbuilt = built.unbuilt(self.files, self.dead_cmake, self.resolve)

    def _gather(self) -> None:
        """Sort files by their own names, and -D flags by theirs."""
        for path, one in self.files.items():
            self._by_base[posixpath.basename(path)].append(path)
            for flag in one.flags:
                if flag.live is not Live.NO:
                    self.flags[flag.name].append(flag.text)

    def _placed(self, function: FunctionDef) -> FunctionDef:
        """A function on the side that the macros before its name put it on: RAFT_KERNEL, DI and the like."""
        texts = [text for mark in function.marks if (text := self.specifiers.get(mark, ""))] if function.side == "host" else []
        return msgspec.structs.replace(function, side=side_of(" ".join(texts).encode())) if texts else function

    def resolve(self, include: str, from_path: str) -> str | None:
        """The repository's file that an #include means: beside the including file, else by the longest shared path."""
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(from_path), include))
        if beside in self.files:
            return beside
        tail = posixpath.normpath(include).lstrip("./")
        near = [p for p in self._by_base.get(posixpath.basename(include), ()) if p == tail or p.endswith("/" + tail)]
        return max(near, key=lambda p: (len(posixpath.commonprefix([p, from_path])), -len(p), p)) if near else None

    def reach(self, path: str) -> tuple[str, ...]:
        """The file and all it includes within the repository, nearest first."""
        return tuple(self._ranks(path))

    def _ranks(self, path: str) -> dict[str, int]:
        """What a file reaches, with the place in that order."""
        if path not in self._reach:
            if self._reached > MAX_REMEMBERED:
                self._reach.clear()
                self._reached = 0
            seen = self._reach[path] = {path: 0}
            queue = [path]
            for one in queue:
                held = self.files.get(one)
                for include in held.includes if held else ():
                    target = self.resolve(include, one)
                    if target is not None and target not in seen and len(seen) < MAX_REACH:
                        seen[target] = len(seen)
                        queue.append(target)
            self._reached += len(seen)
        return self._reach[path]

    def macro(self, name: str, from_path: str) -> Macro | None:
        """The object-like macro a file means by a name: its own, an included one, or the repository's only one."""
        found = [(path, m) for path, m in self.macros.get(name, ()) if m.params is None and m.live is not Live.NO]
        for place in self._nearest([path for path, _ in found], from_path):
            return next(m for path, m in found if path == place)
        return found[0][1] if found and len({m.text for _, m in found}) == 1 else None

    def constant(self, name: str, from_path: str) -> int | None:
        """The integer a name stands for in a file: constant, enumerator, macro or -D flag; None where it is not one number."""
        self._forget()
        return _number(self._value(name, from_path, 0))

    def fold(self, text: str, from_path: str) -> int | None:
        """The integer an expression comes to, with the names of the file and its includes; None where it is not constant."""
        self._forget()
        return _number(self._fold(text, from_path, 0))

    def _forget(self) -> None:
        """Keep what is remembered of values within its limit."""
        if len(self._values) > MAX_REMEMBERED:
            self._values.clear()

    def _fold(self, text: str, from_path: str, depth: int) -> Value:
        return evaluate(text, lambda name: self._value(name, from_path, depth + 1))

    def _value(self, name: str, from_path: str, depth: int) -> Value:
        key = (name, from_path)
        if key not in self._values:
            if depth > MAX_DEPTH:
                return UNKNOWN
            self._values[key] = UNKNOWN  # a name that means itself ends here
            self._values[key] = self._worked_out(name, from_path, depth)
        return self._values[key]

    def _worked_out(self, name: str, from_path: str, depth: int) -> Value:
        if name in self.given:
            return self._fold(self.given[name], from_path, depth)
        last = name.rpartition("::")[2]
        found = [(path, c.text) for path, c in self.constants.get(last, ()) if c.live is not Live.NO]
        found += [(p, m.text) for p, m in self.macros.get(name, ()) if m.params is None and m.live is not Live.NO]
        near = self._nearest([path for path, _ in found], from_path)
        texts = {text for path, text in found if path == near[0]} if near else {text for _, text in found}
        texts = texts or set(self.flags.get(name, ()))
        values = {self._fold(text, near[0] if near else from_path, depth) for text in texts if text}
        return values.pop() if len(values) == 1 else UNKNOWN

    def _nearest(self, paths: list[str], from_path: str) -> list[str]:
        """The paths within a file's reach, nearest first."""
        ranks = self._ranks(from_path) if paths else {}
        return sorted(ranks.keys() & set(paths), key=ranks.__getitem__)

    def function(self, name: str, from_path: str) -> FunctionDef | None:
        """The function a file means by a name: its own, an included one, or the repository's only one."""
        held = self.placed(name, from_path)
        return held[1] if held is not None else None

    def placed(self, name: str, from_path: str) -> tuple[str, FunctionDef] | None:
        """The same with the path of the file that it stands in."""
        found = [(path, f) for path, f in self.functions.get(name.rpartition("::")[2], []) if f.live is not Live.NO]
        for place in self._nearest([path for path, _ in found], from_path):
            return next((path, f) for path, f in found if path == place)
        return found[0] if len(found) == 1 else None

    def is_collective(self, name: str, from_path: str) -> bool:
        """True where a file means by a name a device function of another file that shuffles or votes, itself or by what it calls."""
        held = self.function(name, from_path) if name in self.collectives else None
        return held is not None and not COLLECTIVE.isdisjoint(held.features)

    def uses_of_width(self, name: str, path: str) -> tuple[tuple[str, int], ...]:
        """Path and line of what other files make of a constant for the width of a warp that this one defines."""
        if self._widths is None:
            self._widths = defaultdict(list)
            for one in self.files.values():
                for width, line in one.widths:
                    self._widths[width].append((one.path, line))
        return tuple(place for place in self._widths.get(name, ()) if place[0] != path and path in self.reach(place[0]))

    def names_width(self, name: str) -> bool:
        """Whether any file has a line that uses a name for the width of a warp."""
        self.uses_of_width(name, "")
        return bool(self._widths and self._widths.get(name))

    def votes_in(self, path: str) -> bool:
        """True for a file that votes or asks for its lane on the device, by a builtin or by a wrapper of the project."""
        held = self.files.get(path)
        return held is not None and any(name.startswith("__") or name in self.wrappers for name in held.votes)

    def type_texts(self, name: str, from_path: str) -> list[str]:
        """What a file means by the name of a plain type: the nearest typedefs that an AMD build reads, else the repository's."""
        found = [(path, kind.text) for path, kind in self.types.get(name, ()) if kind.live is not Live.NO]
        near = self._nearest([path for path, _ in found], from_path)
        return [text for path, text in found if not near or path == near[0]]

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All __global__ functions, by path and line."""
        return tuple(kernel for path in self.files for kernel in self.kernels_of(path))

    def kernels_of(self, path: str) -> tuple[Kernel, ...]:
        """The __global__ functions of one file, with the number of launches that name them."""
        held = self.files.get(path)
        listed = [f for f in map(self._placed, held.functions if held else ()) if f.side == "kernel" and f.live is not Live.NO]
        return tuple(Kernel(f.name, path, f.line, f.end_line - f.line + 1, (), len(self.launches_of(f.name))) for f in listed)

    def launches_of(self, kernel: str | Kernel) -> tuple[tuple[str, Launch], ...]:
        """The launches of a kernel, each with its path, in order."""
        name = kernel if isinstance(kernel, str) else kernel.name
        return tuple(self._launches.get(name.rpartition("::")[2], ()))

    def imported(self, names: Iterable[str], path: str) -> dict[str, dict[str, tuple[str, str]]]:
        """Macros of included files among ``names``, by vendor, as the guards take them."""
        out: dict[str, dict[str, tuple[str, str]]] = {"amd": {}, "nvidia": {}}
        around = set(self.reach(path)[1:])
        for name in names:
            found = [macro for place, macro in self.macros.get(name, ()) if place in around]
            if found:
                out["amd"][name] = state([(macro.live, macro) for macro in found])
                out["nvidia"][name] = state([(macro.nvidia, macro) for macro in found])
            if name in self.backends and out["amd"].get(name, ("",))[0] != "yes":
                out["amd"][name] = self.backends[name]
        return out

    def shimmed(self, path: str) -> frozenset[str]:
        """CUDA names that a header of the project's own redefines for AMD, or its build, as one file sees it."""
        return answers.shimmed(self, path)

    def enrich(self, parsed: Parsed) -> None:
        """Let a file's facts know what other files say: guards, skipped CMake files and functions, names shimmed for AMD."""
        self._enrich_guards(parsed)
        if parsed.file.kind in ("python", "notebook") and parsed.embedded:
            set_in_options(parsed)
        if parsed.file.kind in ("cuda", "cxx") and parsed.file.path in self.files:
            ptx.enrich(parsed, (self.files[path] for path in self.reach(parsed.file.path)[1:]), self.asm_words)
        if parsed.file.kind in ("cuda", "cxx"):
            answers.enrich(parsed, self)

    def _enrich_guards(self, parsed: Parsed) -> None:
        """Evaluate a file's conditionals again where included files, or the user's -D, say what its own text does not."""
        if parsed.file.path in self.twinned:
            parsed.facts = cmake.parse(parsed.file, twinned=True).facts
        if parsed.file.path in self.dead_cmake:
            parsed.facts = [msgspec.structs.replace(fact, live=Live.NO) for fact in parsed.facts]
        for name, first, last in parsed.extra.get("cmake_functions", ()):
            if name in self.dead_cmake_functions:
                parsed.facts = [
                    msgspec.structs.replace(fact, live=Live.NO) if first <= fact.span.line <= last else fact for fact in parsed.facts
                ]
        if not isinstance(parsed.guards, SourceGuards) or not parsed.guards.regions:
            return
        own = {fact.name for fact in parsed.facts if fact.kind == "define"}
        tested = {fact.name for fact in parsed.facts if fact.kind == "macro_test"}
        imported = self.imported(tested - own, parsed.file.path)
        given = {name: value for name, value in self.given.items() if name in tested}
        sure, some = self.build_defines.seen_from(parsed.file.path, tested - given.keys())
        if not (given or sure or some or any(imported.values())):
            return
        guards = guards_of(parsed.file.data, parsed.file.path, given, imported, sure=sure, some=some)
        parsed.extra["given"] = {**sure, **given}
        parsed.extra["imported"] = imported
        parsed.extra["backends"] = frozenset(tested & self.backends.keys())
        parsed.guards = guards
        parsed.facts = [msgspec.structs.replace(fact, live=guards.at(fact.span.line)) for fact in parsed.facts]
        for inner in parsed.embedded:
            put_within(inner, guards)


def _number(value: Value) -> int | None:
    return value if isinstance(value, int) else None


def link(surveys: Iterable[Survey], defines: Iterable[str] = (), spill: Spill | None = None) -> Index:
    """The index of a repository; ``spill`` is where a very large one is put aside."""
    return Index(surveys, defines, spill)
