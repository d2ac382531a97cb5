"""The command `porter hipify`: translates one file to standard output, or a folder to a diff or to a tree of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from porter.config import Config
from porter.discover import discover, read_regular
from porter.errors import InputError, OutputError, ToolError
from porter.hipify import Conversion, Left, Options, clang, convert, diff, gets_runtime_unasked, perl
from porter.hipify.live import live_lines
from porter.kinds import kind_of
from porter.parse.guards import guards_of
from porter.write import write_whole

_MOST_NAMES = 20


class _Totals:
    """What a run did, over all its files."""

    def __init__(self) -> None:
        self.files = 0
        self.changed = 0
        self.converted: Counter[str] = Counter()
        self.left: Counter[tuple[str, str]] = Counter()
        self.first: dict[tuple[str, str], tuple[str, Left]] = {}

    def add(self, path: str, done: Conversion, changed: bool) -> None:
        """Counts one file."""
        self.files += 1
        self.changed += changed
        self.converted.update(done.converted)
        for left in done.left:
            key = (left.name, left.reason)
            self.left[key] += 1
            self.first.setdefault(key, (path, left))


def run(path: str, options: Mapping[str, Any], write: Callable[[bytes], object], say: Callable[[str], object]) -> int:
    """Runs the command; the result goes to ``write``, the summary to ``say``. Gives the exit status: 1 for names left under --strict.

    Raises PorterError for a missing path or tool, an unknown ROCm version, or an output folder that cannot be used.
    """
    root = Path(path)
    made = Options(
        options.get("roc", False), options.get("miopen", False), options.get("experimental", False),
        options.get("launch", "cuda"), options.get("rocm", "") or "",
    )  # fmt: skip
    translate = _translator(options, made)
    totals = _Totals()
    if root.is_dir():
        _folder(root, options, translate, totals, write)
    else:
        _file(root, options, translate, totals, write)
    _summary(totals, say)
    return 1 if options.get("strict") and totals.left else 0


Translate = Callable[[str, bytes], tuple[bytes, Conversion]]


def _translator(options: Mapping[str, Any], made: Options) -> Translate:
    """The engine that was asked for, as one function from text to text; porter's own always says what is converted and left."""
    engine = options.get("engine", "builtin")
    program = _program(engine, options) if engine != "builtin" else None
    flags = perl.flags(made)

    def translate(path: str, data: bytes) -> tuple[bytes, Conversion]:
        implicit = msgspec.structs.replace(made, runtime_is_implicit=gets_runtime_unasked(path))
        done = convert(data, implicit, live_lines(guards_of(data, path)))
        if program is None:
            return done.output, done
        try:
            run_engine = perl.run if engine == "perl" else clang.run
            return run_engine(program, path, data, 120.0, flags), done
        except perl.PerlFailed as error:
            raise ToolError(f"{path}: hipify-{engine} {error}", "--engine builtin needs no tool") from error

    return translate


def _program(engine: str, options: Mapping[str, Any]) -> Path:
    """The real hipify that was asked for; raises ToolError when it is not on the machine."""
    search = tuple(str(options.get(key, "")) for key in ("hipify_path", "env", "path_variable", "rocm_path"))
    found = perl.find(*search) if engine == "perl" else clang.find(*search)
    if found is None:
        raise ToolError(f"hipify-{engine} is not found", "install ROCm's HIPIFY and put it on PATH, or use --engine builtin")
    return found


def _read(path: Path, limit: int) -> bytes:
    """The bytes of the file that the user names; a link is followed, because it was asked for by name."""
    try:
        if not path.is_file():
            raise InputError(f"{path}: no such file or folder" if not path.exists() else f"{path}: neither a file nor a folder")
        if path.stat().st_size > limit:
            raise InputError(f"{path}: larger than {limit >> 20} MiB")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _file(path: Path, options: Mapping[str, Any], translate: Translate, totals: _Totals, write: Callable[[bytes], object]) -> None:
    data = _read(path, 64 * Config().max_bytes)
    output, done = translate(path.name, data)
    totals.add(path.name, done, output != data)
    if options.get("show_diff"):
        write(diff(data, output, path.name).encode())
    elif options.get("output"):
        folder = Path(options["output"])
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / path.name
        if target.exists() and target.samefile(path):
            raise OutputError(f"{target}: is the input", "porter never overwrites the source; choose another folder")
        write_whole(target, output)
    else:
        write(output)


def _sources(root: Path) -> Iterator[tuple[str, bytes]]:
    """Path and bytes of every CUDA file below a folder, vendored ones too: a build needs all of them."""
    config = Config()
    for entry in discover(root, config).entries:
        if entry.kind not in ("cuda", "cxx") or entry.size > config.max_bytes:
            continue
        data = read_regular(root / entry.path, config.max_bytes)
        if data is not None and (entry.kind == "cuda" or kind_of(entry.path, data) == "cuda"):
            yield entry.path, data


def _folder(root: Path, options: Mapping[str, Any], translate: Translate, totals: _Totals, write: Callable[[bytes], object]) -> None:
    if options.get("output"):
        _tree(root, Path(options["output"]), translate, totals)
        return
    for path, data in _sources(root):
        output, done = translate(path, data)
        totals.add(path, done, output != data)
        write(diff(data, output, path).encode())


def _tree(root: Path, target: Path, translate: Translate, totals: _Totals) -> None:
    """Writes a copy of the folder with its CUDA files translated; it appears whole, by a rename, or not at all."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OutputError(f"{target}: exists and is not an empty folder", "give --output a folder that does not exist yet")
    inside = target.resolve()
    if inside == root.resolve() or root.resolve() in inside.parents:
        raise OutputError(f"{target}: lies inside the folder to translate", "porter never writes into the source")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".porter-hipify-", dir=target.parent) as scratch:
            copy = Path(scratch) / "tree"
            shutil.copytree(root, copy, symlinks=True, ignore=_only_files_and_folders)
            for path, data in _sources(root):
                output, done = translate(path, data)
                totals.add(path, done, output != data)
                if output != data:
                    write_whole(copy / path, output)
            os.replace(copy, target)  # noqa: PTH105 - atomic on one file system, which is the point
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror or error}", "nothing was written") from error


def _only_files_and_folders(folder: str, names: list[str]) -> set[str]:
    """What a copy leaves out: version control's own folder, and pipes and devices, which would block it."""
    here = Path(folder)
    return {
        name for name in names if name == ".git" or not ((here / name).is_symlink() or (here / name).is_file() or (here / name).is_dir())
    }


def _summary(totals: _Totals, say: Callable[[str], object]) -> None:
    """Tells what was converted and, by name, what was not and what takes its place."""
    count = sum(totals.converted.values())
    left = sum(totals.left.values())
    files = f"{totals.files} file{'s' * (totals.files != 1)}"
    say(f"{files}, {totals.changed} changed: {count} names converted ({len(totals.converted)} different), {left} left")
    worst = sorted(totals.left.items(), key=lambda item: (-item[1], item[0]))
    for key, times in worst[:_MOST_NAMES]:
        path, first = totals.first[key]
        say(f"  {first.name} ({times}x, first at {path}:{first.span.line}): {first.reason}{'; ' + first.hint if first.hint else ''}")
    if len(worst) > _MOST_NAMES:
        say(f"  and {len(worst) - _MOST_NAMES} more names")
