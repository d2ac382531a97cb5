"""The built-in translation from CUDA to HIP: one pass over the names of a file, never inside comments or literals."""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Callable

import msgspec

from porter.hipify import api, arguments, includes, launches, lexer, neighbours
from porter.hipify.advice import Advice, advice
from porter.hipify.choices import CAFFE2, Choice, Choices, Options, choices
from porter.hipify.difference import diff
from porter.hipify.edits import Edits
from porter.model import Span

__all__ = ["Conversion", "Left", "Options", "convert", "diff", "left_in"]

LEGACY_BLAS = "legacy cuBLAS call without a handle"  # the reason of Left that is no word of the tables
_DEVICE_CODE = re.compile(rb"\b__(?:global|shared)__\b|<<<")
_BODY = re.compile(rb"\s*(?:const\s*|noexcept\s*)*\{")
_LAUNCH = re.compile(rb"<<<")
_NEWLINE = re.compile(rb"\n")


class Left(msgspec.Struct, frozen=True, gc=False):
    """A name that stays as it is, or that converts with a catch: where, why, and what to do about it."""

    name: str
    span: Span
    reason: str
    hint: str = ""
    action: str = "edit"


class Conversion(msgspec.Struct, frozen=True):
    """The HIP text, how often each CUDA name was converted, the names left, and converted names that have a catch."""

    output: bytes
    converted: dict[str, int]
    left: tuple[Left, ...]
    remarks: tuple[Left, ...] = ()


def convert(
    data: bytes,
    options: Options = Options(),  # noqa: B008
    live: Callable[[int], bool] | None = None,
    defined: Callable[[int], bool] | None = None,
) -> Conversion:
    """Translates a file. ``live`` says of a line (from 1) whether a build for AMD compiles it; what it does not stays as it is.

    ``defined`` says of a line whether a function that has its body there exists in the build for AMD (default: all do): one that
    stands under ``__CUDA_ARCH__`` is translated all the same, but is no replacement for a name that HIP lacks.

    Raises ConfigError for an unknown ROCm version, nothing else, whatever the bytes are. Time is linear in their number.
    """
    return _Run(data, options, live, defined).convert()


def left_in(data: bytes, options: Options, defined: Callable[[int], bool]) -> tuple[tuple[Left, ...], tuple[Left, ...]]:
    """What a translation of all lines leaves, and its remarks, without the text that it would make; raises as ``convert`` does."""
    run = _Run(data, options, None, defined)
    run.plan()
    return run.all_left(), tuple(run.remarks)


@functools.lru_cache(maxsize=2)  # a file is read twice: for its findings, and as its build would
def _standing(masked: bytes, choices: Choices) -> list[tuple[int, bytes]]:
    """Every place where a name of the table stands for the CUDA thing."""
    found = ((start, word, choices.names.get(word)) for start, word in lexer.words(masked, api.names()))
    return [(start, word) for start, word, choice in found if choice is not None and _stands_for_it(masked, choice, start)]


def _stands_for_it(masked: bytes, choice: Choice, start: int) -> bool:
    """Whether a name means CUDA's: not a member, not of another namespace, not defined or pasted here."""
    end = start + len(choice.name)
    if choice.kind == "namespace":
        return neighbours.is_namespace(masked, start, end)
    if choice.kind == "function" and neighbours.is_declared(masked, start):
        return False
    return neighbours.is_free(masked, start, end, choice.kind == "macro")


@functools.lru_cache(maxsize=2)
def _line_starts(data: bytes) -> list[int]:
    return [0, *(match.end() for match in _NEWLINE.finditer(data))]


class _Run:
    """The state of one translation."""

    def __init__(self, data: bytes, options: Options, live: Callable[[int], bool] | None, defined: Callable[[int], bool] | None) -> None:
        self.data = data
        self.options = options
        self.live = live
        self.defined = defined
        self.choices: Choices = choices(options)
        self.masked = lexer.mask(data)
        self.events = includes.directives(self.masked)
        self.edits = Edits(data)
        self.brackets = lexer.Brackets(self.masked)
        self.converted: dict[str, int] = {}
        self.left: list[Left] = []
        self.remarks: list[Left] = []
        self.calls: list[tuple[arguments.Call, list[api.ArgumentEdit]]] = []  # calls whose arguments change
        self.own: set[str] = set()  # device functions that HIP lacks and the file brings along
        self.has_runtime = False
        self.wants_runtime = options.runtime_is_implicit
        self.blas_v1_only = False

    def convert(self) -> Conversion:
        self.plan()
        self._launches()
        self._arguments()
        self._add_runtime()
        output = self.edits.render() if self.edits else self.data
        return Conversion(output, dict(sorted(self.converted.items())), self.all_left(), tuple(self.remarks))

    def plan(self) -> None:
        """Finds what becomes of every include and name."""
        self._names(self._includes(), self._defined_here())

    def all_left(self) -> tuple[Left, ...]:
        """The names that stay, but for those of functions that the file brings along."""
        return tuple(left for left in self.left if left.name not in self.own)

    def _position(self, at: int) -> tuple[int, int]:
        starts = _line_starts(self.data)
        line = bisect.bisect_right(starts, at)
        return line, at - starts[line - 1] + 1

    def _is_live(self, at: int) -> bool:
        return self.live is None or self.live(self._position(at)[0])

    def _leave(self, name: str, at: int, reason: str, remark: bool = False) -> None:
        line, column = self._position(at)
        found = advice(name) if reason == "unsupported" else Advice("", "check" if remark or reason == "experimental" else "edit")
        left = Left(name, Span(line, column, line, column + len(name)), reason, found.hint, found.action)
        (self.remarks if remark else self.left).append(left)

    def _count(self, name: str) -> None:
        self.converted[name] = self.converted.get(name, 0) + 1

    def _includes(self) -> list[tuple[int, int]]:
        """Plans the includes; gives the ranges of all paths, so that no name is looked for inside them."""
        ranges: list[tuple[int, int]] = []
        headers = includes.Headers()
        seen: set[bytes] = set()
        for event in self.events:
            headers.step(event.word)
            include = includes.include_at(self.masked, event)
            if include is None:
                continue
            ranges.append((include.start, include.end))
            seen.add(include.path)
            self._include(include, headers)
        self.blas_v1_only = b"cublas.h" in seen and b"cublas_v2.h" not in seen
        return ranges

    def _include(self, include: includes.Include, headers: includes.Headers) -> None:
        choice = self.choices.headers.get(include.path)
        if choice is None and include.path.startswith(b"cub/"):
            choice = self.choices.headers.get(b"cub/cub.cuh")
        if choice is None or choice.name in self.options.keep or not self._is_live(include.start):
            headers.add(include.path)
            self.has_runtime = self.has_runtime or include.path == includes.RUNTIME
            return
        if choice.reason:
            self._leave(choice.name, include.start + 1, choice.reason)
            return
        self._count(include.path.decode("latin-1"))
        if not choice.target:
            self.wants_runtime = True
        if not choice.target or not headers.add(choice.target):
            includes.drop_line(self.data, self.masked, include, self.edits)
            return
        self.has_runtime = self.has_runtime or choice.target == includes.RUNTIME
        self.edits.replace(include.start + 1, include.start + 1 + len(include.path), choice.target)

    def _names(self, skip: list[tuple[int, int]], own: set[str]) -> None:
        """Renames every name of the table that stands for the CUDA thing, but ``own`` ones and those in the ranges to ``skip``."""
        names = self.choices.names
        caffe2 = b"caffe2" in self.data
        starts = [start for start, _ in skip]
        for start, word in _standing(self.masked, self.choices):
            choice = names[word]
            end = start + len(word)
            if choice.name in own or choice.name in self.options.keep:
                continue
            if choice.api == CAFFE2 and not caffe2:
                continue
            inside = bisect.bisect_right(starts, start) - 1
            if inside >= 0 and start < skip[inside][1]:
                continue
            if self._is_live(start):
                self._name(choice, start, end)

    def _defined_here(self) -> set[str]:
        """Functions, types and enumerators that the file defines as macros: its uses mean the macro. Macros convert with their #define."""
        found = map(self.choices.names.get, includes.defined(self.masked, self.events))
        return {choice.name for choice in found if choice is not None and choice.kind != "macro"}

    def _name(self, choice: Choice, start: int, end: int) -> None:
        if choice.v2_only and self.blas_v1_only and not choice.reason:
            self._leave(choice.name, start, LEGACY_BLAS)
        elif choice.reason:
            if choice.kind != "device-function" or self._is_call(choice, end):
                self._leave(choice.name, start, choice.reason)
        else:
            self.edits.replace(start, end, self._plan_call(choice, end) or choice.target)
            self._count(choice.name)
            if choice.remark:
                self._leave(choice.name, start, choice.remark, remark=True)

    def _is_call(self, choice: Choice, end: int) -> bool:
        """Whether a device function is called here; notes it as the file's own where its body follows."""
        call = arguments.call_at(self.masked, end, self.brackets)
        if call is None:
            return False
        if _BODY.match(self.masked, call.close + 1):
            if self.defined is None or self.defined(self._position(end)[0]):
                self.own.add(choice.name)
            return False
        return True

    def _plan_call(self, choice: Choice, end: int) -> bytes:
        """Notes a call whose arguments change; gives the name that the function has with this many arguments, if another."""
        rows = api.argument_edits().get(choice.name)
        call = arguments.call_at(self.masked, end, self.brackets) if rows else None
        if not rows or call is None:
            return b""
        wanted = [_filled(row, self.choices.hip) for row in rows if row.names == choice.names]
        self.calls.append((call, wanted))
        return arguments.overload(wanted, call)

    def _launches(self) -> None:
        if self.options.launch != "ggl":
            return
        brackets = lexer.Brackets(self.masked)
        templates: set[bytes] | None = None
        for match in _LAUNCH.finditer(self.masked):
            if not self._is_live(match.start()):
                continue
            if templates is None:
                templates = launches.template_kernels(self.masked)
            if launches.rewrite(self.masked, match.start(), brackets, templates, self.edits):
                self._count("<<<>>>")
            else:
                self._leave("<<<", match.start(), "launch not understood")

    def _arguments(self) -> None:
        """Edits argument lists: first what leaves arguments in place, then what moves them, with the first edits inside."""
        for call, rows in self.calls:
            arguments.wrap(self.masked, call, rows, self.edits)
        pending: list[arguments.Moved] = []
        inner = len(self.data)
        for call, rows in reversed(self.calls):
            if not any(row.edit in arguments.MOVES for row in rows):
                continue
            moved = arguments.reorder(call, rows, self.edits) if call.close < inner else None
            if moved is None:
                self._leave("(", call.open, "arguments not understood")
            else:
                pending.extend(moved)
                inner = call.open
        for move in pending:
            move.apply(self.edits)

    def _add_runtime(self) -> None:
        if self.has_runtime:
            return
        if not self.wants_runtime and not _DEVICE_CODE.search(self.masked):
            return
        at = lexer.outside(self.data, includes.place(self.masked, self.events))
        line = b"#include <" + includes.RUNTIME + b">" + includes.newline(self.data)
        if at and self.data[at - 1 : at] != b"\n" and self.data[:at] != includes.BOM:
            line = includes.newline(self.data) + line
        self.edits.put(at, line)


def _filled(row: api.ArgumentEdit, hip: api.Version) -> api.ArgumentEdit:
    """The edit with the HIP version put in as HIP counts it there: 7.1 is 701."""
    if row.text != "{hip}":
        return row
    return msgspec.structs.replace(row, text=f"{hip[0]}{hip[1]:02d}")
