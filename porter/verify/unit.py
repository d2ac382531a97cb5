"""One unit under a compiler: the run, the rung that it proves, the link behind it, and errors that are the machine's own."""

from __future__ import annotations

import posixpath
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from porter.verify import build, sandbox
from porter.verify.build_macros import given_by_build
from porter.verify.compilers import Compiler
from porter.verify.messages import Raw, Said, understand
from porter.verify.sources import Sources

SYSTEM = ("/usr/include/", "/usr/lib/", "/usr/local/include/", "/usr/local/lib/", "/opt/rocm")
DEVICE = {"HIP_PLATFORM": "amd"}
_INCLUDE = re.compile(rb"\s*#\s*include(?:_next)?\s*(<[^<>\n]+>|\"[^\"\n]+\")")
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`']?(\w+)")
# HIP's runtime; the libraries above it begin with hip and a word in small letters, as in hipblasCreate.
_OF_THE_RUNTIME = re.compile(r"_{0,2}hip[A-Z]\w*\Z")
_ACROSS = "calls device code of another file, which needs -fgpu-rdc and is linked with it only"
# hipcc hands its arguments to a shell. It quotes them, but a name or macro of a hostile project is not what to try that with.
_SHELL = re.compile(r"[`$;&|<>\\\n\r!*?~#(){}\[\]']")
_SCRIPT = "not given to hipcc, which calls a shell: its name or its options hold signs that a shell reads"
_MAX_PROBES = 8  # headers of one unit that are tried on their own


class Run(msgspec.Struct, frozen=True):
    """What one compiler run of one unit came to."""

    unit: str
    target: str
    rung: str
    said: Said
    missing: tuple[str, ...] = ()
    note: str = ""


class Room(msgspec.Struct, frozen=True):
    """Where units are compiled: the scratch folder with the sources in its folder ``source``, the user's own include folders,
    seconds for one run, and the texts."""

    scratch: Path
    include: tuple[str, ...]
    timeout: float
    sources: Sources

    @property
    def folder(self) -> Path:
        """The folder that holds the translated sources."""
        return self.scratch / "source"


def compile_unit(unit: str, target: str, compiler: Compiler, settings: build.Settings, room: Room) -> Run:
    """Compiles a unit for a target; where that succeeds and the machine has the libraries, links it too."""
    options = [*settings.options(), *_including(room)]
    if compiler.is_script and any(_SHELL.search(word) for word in (*options, unit)):
        return Run(unit, target, _base(unit, room.sources), Said((), frozenset(), False), (), _SCRIPT)
    with tempfile.TemporaryDirectory(dir=room.scratch) as made:
        environment = {**DEVICE, "TMPDIR": made}
        command = [*compiler.command(target, f"{made}/out"), *options, "./" + unit]
        outcome, said = _attempt(command, compiler, room, environment)
        across = outcome.code != 0 and bool(said.errors) and all(error.kind == "link" for error in said.errors)
        if across:  # device code of another file: what nvcc's -rdc=true is, and every rung but the last can be shown
            outcome, said = _attempt([*command[:-1], "-fgpu-rdc", command[-1]], compiler, room, environment)
        said, broken = _without_broken(said, target, compiler, settings, room, Path(made))
        said, macros = given_by_build(said, room.sources)
        rung, note = _rung(unit, outcome.code, said, room.sources, bool(broken or macros)), _note(outcome, said, broken, macros)
        note = _ACROSS if across and not note else note
        if outcome.code == 0 and not note and compiler.can_link:
            rung, note, undefined = _link([*compiler.link(target, f"{made}/out"), *options, "./" + unit], room, environment)
            said = msgspec.structs.replace(said, errors=undefined)
    missing = tuple(dict.fromkeys((*(error.header for error in said.errors if error.header), *_tops(said.foreign))))
    return Run(unit, target, rung, said, missing, note)


def _attempt(command: list[str], compiler: Compiler, room: Room, environment: dict[str, str]) -> tuple[sandbox.Outcome, Said]:
    """One run in the folder of the sources, and what it said."""
    outcome = sandbox.run(command, room.folder, room.timeout, environment)
    said = understand(outcome.text, str(room.folder), _allowed(compiler, room), compiler.headers.folder)
    # With #embed a message can quote a file that no list of files read names.
    return outcome, Said((), said.read, True) if room.sources.embeds else said


def _including(room: Room) -> list[str]:
    return [word for include in room.include for word in ("-isystem", include)]


def _allowed(compiler: Compiler, room: Room) -> tuple[str, ...]:
    return (*SYSTEM, compiler.headers.folder.rstrip("/") + "/", *(include.rstrip("/") + "/" for include in room.include))


def _note(outcome: sandbox.Outcome, said: Said, broken: Sequence[str], macros: Sequence[str]) -> str:
    if said.outside:
        return "reads files outside the repository; what the compiler says of it is not shown"
    if broken:
        return f"{', '.join(broken)} does not compile on its own here"
    if macros:
        return f"the build gives {', '.join(macros)}, which nothing here defines; --define does"
    if said.foreign and outcome.code == 0:
        return "compiled with headers of another HIP among those given"
    return outcome.stopped or ("" if outcome.code == 0 or said.errors else f"the compiler ended with status {outcome.code}")


def _tops(headers: Iterable[str]) -> list[str]:
    """The headers that programs name, without those of the implementation behind them."""
    return [header for header in headers if "/" not in header.removeprefix("hip/")]


def _base(unit: str, sources: Sources) -> str:
    """The rung of a unit of which no compiler has said anything."""
    return "seen" if unit in sources.left else "converted"


def _rung(unit: str, code: int | None, said: Said, sources: Sources, broken: bool) -> str:
    """The rung that a run proves: the errors that stop a file say how far it came."""
    if code == 0:
        return "compiles"
    base = _base(unit, sources)
    kinds = {error.kind for error in said.errors}
    if not kinds or said.outside or said.foreign or broken or kinds & {"syntax", "include"}:
        return base
    if "type" in kinds:
        return "parses"
    return "type-checks" if "backend" in kinds else "compiles"


def _link(command: list[str], room: Room, environment: dict[str, str]) -> tuple[str, str, tuple[Raw, ...]]:
    """The rung after a link, a note where it failed, and names of HIP's runtime that the library does not have."""
    outcome = sandbox.run(command, room.folder, room.timeout, environment)
    if outcome.code != 0:
        return "compiles", outcome.stopped or "host and device code do not link", ()
    undefined = dict.fromkeys(name for name in _UNDEFINED.findall(outcome.text) if _OF_THE_RUNTIME.match(name))
    errors = tuple(Raw("", 0, 0, "link", f"undefined symbol: '{name}'") for name in undefined)
    return "compiles" if errors else "links", "", errors


def _without_broken(
    said: Said, target: str, compiler: Compiler, settings: build.Settings, room: Room, made: Path
) -> tuple[Said, tuple[str, ...]]:
    """Leaves out errors in system headers that the header has on its own: they tell of this machine, not of the project."""
    suspects: dict[str, list[Raw]] = {}
    for error in said.errors:
        if posixpath.isabs(error.path) and not error.asked and not error.header:
            suspects.setdefault(_included_at(error, room.sources), []).append(error)
    suspects.pop("", None)
    broken: dict[str, set[tuple[str, int, str]]] = {}
    for header in list(suspects)[:_MAX_PROBES]:
        (made / "probe.hip").write_text(f'#include "hip/hip_runtime.h"\n#include {header}\n', encoding="utf-8")
        options = [settings.standard, *(f"-D{define}" for define in settings.defines), *_including(room)]
        outcome = sandbox.run(
            [*compiler.command(target, f"{made}/out"), *options, "./probe.hip"], made, room.timeout, {**DEVICE, "TMPDIR": str(made)}
        )  # fmt: skip
        alone = understand(outcome.text, str(made), _allowed(compiler, room), compiler.headers.folder)
        broken[header] = {(error.path, error.line, error.text) for error in alone.errors}
    found = {header: own for header, own in broken.items() if any(_key(error) in own for error in suspects[header])}
    own = set().union(*found.values())
    return msgspec.structs.replace(said, errors=tuple(error for error in said.errors if _key(error) not in own)), tuple(found)


def _key(error: Raw) -> tuple[str, int, str]:
    return error.path, error.line, error.text


def _included_at(error: Raw, sources: Sources) -> str:
    """The header, with its brackets, that the nearest line of the project in an error's chain includes; empty for none."""
    path, line = error.places[0] if error.places else ("", 0)
    lines = sources.after.get(path, b"").split(b"\n")
    match = _INCLUDE.match(lines[line - 1]) if 0 < line <= len(lines) else None
    return match[1].decode("utf-8", "replace") if match else ""
