"""Runs a verification: translates into a scratch folder, asks the compilers, climbs the ladder, and ties errors to findings."""

from __future__ import annotations

import posixpath
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from porter.model import Finding
from porter.source_tree import SourceTree
from porter.verify import build, compilers, fallback, sandbox
from porter.verify.compilers import Compiler
from porter.verify.messages import Raw, Said
from porter.verify.predict import Predictor
from porter.verify.sources import Sources, gather, units, write
from porter.verify.unit import DEVICE, Room, Run, compile_unit
from porter.verify.values import RUNGS, CompilerError, FileResult, Verification

_NOBODY = "no compiler for HIP on this machine; files can reach the rung parses at most"
_PROBE = b'#include "hip/hip_runtime.h"\n__global__ void probe(int* p) { *p = 1; }\n'


class Request(msgspec.Struct, frozen=True):
    """What is asked for. ``flags`` are -D texts of build files, ``include`` folders of the user's own that may be read.

    ``only`` names the one unit to compile, empty for all; ``translate`` off compiles the CUDA text as it is, to measure what
    the translation is worth. ``instead`` is a target that takes the place of those that no compiler here knows, where the
    user asked for none of them by name; empty for no such target.
    """

    root: Path
    targets: tuple[str, ...]
    rocm: str = ""
    include: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    timeout: float = 60.0
    jobs: int = 2
    translate: bool = True
    only: str = ""
    instead: str = ""


def verify(
    request: Request,
    found: list[Compiler],
    findings: Callable[[str, tuple[str, ...]], Iterable[Finding]],
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Verification:
    """The verification of a folder. ``findings`` gives those of a scan for a ROCm version and targets; ``found`` are the compilers."""
    with tempfile.TemporaryDirectory(prefix="porter-verify-") as scratch:
        chosen, notes = _choose(request.targets, found, Path(scratch))
        request, chosen, notes = _instead(request, chosen, notes, found, Path(scratch))
        headers = next((one.headers for one in chosen.values()), None)
        rocm = request.rocm or (compilers.rocm_of(headers.version) if headers else "")
        sources = gather(request.root, rocm, request.translate, request.only)
        folder = Path(scratch) / "source"
        folder.mkdir()
        write(sources, folder)
        tree = SourceTree(sources.after)
        runs = _compile_all(request, chosen, sources, tree, Path(scratch), progress)
        notes += ["files that read others with #embed: no message is shown"] if sources.embeds else []
        if headers and headers.version and not request.rocm:
            notes.append(f"translated for ROCm {rocm}, whose HIP {headers.version} the headers are of")
    predictor = Predictor(findings(rocm, request.targets), sources.before)
    errors = _errors(runs, sources, predictor)
    return Verification(
        request.root.resolve().name, request.targets, rocm,
        {target: _words(chosen.get(target)) for target in request.targets},
        tuple(_files(request, runs, sources, tree)), tuple(errors), tuple(notes), tuple(sorted(sources.problems)),
    )  # fmt: skip


def _words(compiler: Compiler | None) -> str:
    if compiler is None:
        return "none; libclang with porter's own stub headers"
    library = "with ROCm's device library" if compiler.kind == "rocm" else "without a device library"
    library += " and HIP's runtime library" if compiler.can_link else "" if compiler.kind == "rocm" else ", so that nothing links"
    return f"{compiler.name}, HIP {compiler.headers.version} headers, {library}"


def _choose(targets: tuple[str, ...], found: list[Compiler], scratch: Path) -> tuple[dict[str, Compiler], list[str]]:
    """For every target the first compiler that makes device code of an empty kernel for it; and why others do not."""
    chosen: dict[str, Compiler] = {}
    notes: list[str] = []
    (scratch / "probe.hip").write_bytes(_PROBE)
    for target in targets:
        for compiler in found:
            outcome = sandbox.run([*compiler.command(target, "probe.out"), "probe.hip"], scratch, 60.0, DEVICE)
            if outcome.code == 0:
                chosen[target] = compiler
                break
            reason = outcome.stopped or next((line for line in outcome.text.splitlines() if "error:" in line), "no reason given")
            said = reason.replace(str(scratch) + "/", "")[:160]
            notes.append(f"{target}: {compiler.name} of HIP {compiler.headers.version} cannot compile for it: {said}")
        if target not in chosen:
            notes.append(f"{target}: {_NOBODY}")
    return chosen, notes


def _instead(
    request: Request, chosen: dict[str, Compiler], notes: list[str], found: list[Compiler], scratch: Path
) -> tuple[Request, dict[str, Compiler], list[str]]:
    """With the other target in place of those that no compiler knows; as it was where nothing is left out or that one is unknown too."""
    unknown = [target for target in request.targets if target not in chosen]
    other, _ = _choose((request.instead,), found, scratch) if request.instead and unknown else ({}, [])
    if not other:
        return request, chosen, notes
    targets = (*(target for target in request.targets if target in chosen), request.instead)
    why = f"{request.instead} takes the place of {', '.join(unknown)}, for which no compiler is here; --target asks for it all the same"
    return msgspec.structs.replace(request, targets=targets), chosen | other, [*(note for note in notes if not note.endswith(_NOBODY)), why]


def _compile_all(
    request: Request,
    chosen: Mapping[str, Compiler],
    sources: Sources,
    tree: SourceTree,
    scratch: Path,
    progress: Callable[[int, int], None],
) -> list[Run]:
    known = build.database(request.root)
    room = Room(scratch, request.include, request.timeout, sources)
    tasks = [(unit, target) for unit in _units(request, sources, tree) for target in request.targets]
    done = 0

    def one(task: tuple[str, str]) -> Run:
        unit, target = task
        compiler = chosen.get(target)
        if compiler is None:
            return Run(unit, target, _without(sources, unit), Said((), frozenset(), False))
        settings = known.get(unit) or _guessed(unit, tree, request.flags)
        return compile_unit(unit, target, compiler, settings, room)

    out: list[Run] = []
    with ThreadPoolExecutor(max(1, request.jobs)) as pool:
        for run in pool.map(one, tasks):
            out.append(run)
            done += 1
            progress(done, len(tasks))
    return out


def _units(request: Request, sources: Sources, tree: SourceTree) -> list[str]:
    return [request.only] if request.only in sources.before else [] if request.only else units(sources, tree)


def _guessed(unit: str, tree: SourceTree, flags: tuple[str, ...]) -> build.Settings:
    return msgspec.structs.replace(build.guess(unit, tree), defines=build.flags(flags, unit, tree))


def _without(sources: Sources, unit: str) -> str:
    """The rung of a file that no compiler for HIP looks at."""
    if unit in sources.left:
        return "seen"
    return "parses" if fallback.parses(sources.after[unit]) else "converted"


def _errors(runs: list[Run], sources: Sources, predictor: Predictor) -> list[CompilerError]:
    """Every error once, at its CUDA line, in order; a missing include is none, unless a finding spoke of it."""
    maps: dict[str, list[int]] = {}
    units: dict[tuple[str, int, int, str, str], set[str]] = defaultdict(set)
    targets: dict[tuple[str, int, int, str, str], set[str]] = defaultdict(set)
    places: dict[tuple[str, int, int, str, str], tuple[tuple[str, int], ...]] = {}
    for run in runs:
        for raw in run.said.errors:
            path, line = _own_place(raw)
            cuda = (path, _line(path, line, sources, maps))
            if raw.header and not _is_written(raw.header, cuda, sources):
                continue  # a ROCm library's header that the translation asks for
            key = (cuda[0], cuda[1], raw.column if raw.path == path else 0, raw.kind, raw.text)
            units[key].add(run.unit)
            targets[key].add(run.target)
            places[key] = tuple((p, _line(p, n, sources, maps)) for p, n in raw.places)
    made = {CompilerError(*key, tuple(sorted(units[key])), tuple(sorted(targets[key]))): places[key] for key in sorted(units)}
    named = predictor.apply(made, made)
    return [error for error in named if error.rule or error.kind != "include"]


def _own_place(raw: Raw) -> tuple[str, int]:
    """The place of an error in the repository: its own, or the nearest that the compiler names where it is in a system header."""
    if raw.path and not posixpath.isabs(raw.path):
        return raw.path, raw.line
    return raw.places[0] if raw.places else ("", 0)


def _is_written(header: str, place: tuple[str, int], sources: Sources) -> bool:
    """Whether the CUDA line itself names a header."""
    lines = sources.before.get(place[0], b"").split(b"\n")
    return 0 < place[1] <= len(lines) and header.encode() in lines[place[1] - 1]


def _line(path: str, line: int, sources: Sources, maps: dict[str, list[int]]) -> int:
    if path not in sources.before:
        return line
    if path not in maps:
        maps[path] = sources.lines(path)
    return maps[path][line] if 0 < line < len(maps[path]) else line


def _files(request: Request, runs: list[Run], sources: Sources, tree: SourceTree) -> Iterable[FileResult]:
    """A result for every unit, and for every other translated file: the rung of the best unit that includes it."""
    by_unit: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_unit[run.unit].append(run)
    users: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for path in run.said.read or tree.reach(run.unit):
            users[path][run.target].append(run.rung)
    for path in sorted(sources.before):
        if path in by_unit:
            of = {run.target: run.rung for run in by_unit[path]}
            missing = tuple(dict.fromkeys(name for run in by_unit[path] for name in run.missing))
            note = next((run.note for run in by_unit[path] if run.note), "")
            yield FileResult(path, _lowest(of), of, True, missing, note)
        elif not request.only and sources.after[path] != sources.before[path]:
            start = "seen" if path in sources.left else "converted"
            of = {target: max([start, *users[path][target]], key=RUNGS.index) for target in request.targets}
            note = "" if users[path] else "no unit includes it"
            yield FileResult(path, _lowest(of), of, False, (), note)


def _lowest(of: Mapping[str, str]) -> str:
    return min(of.values(), key=RUNGS.index)
