"""The command `porter hipify`: translates one file to standard output, or a folder to a diff, to a tree of its own, or in place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from porter import hipify_write
from porter.config import Config
from porter.discover import discover
from porter.errors import ConfigError, InputError, ToolError
from porter.hipify import Conversion, Left, Options, clang, convert, diff, gets_runtime_unasked, perl, torch_build
from porter.hipify.choices import choices
from porter.hipify.live import live_lines
from porter.kinds import kind_of
from porter.parse.guards import guards_of
from porter.regular import read_below
from porter.source_tree import SourceTree

_MOST_NAMES = 20
_TIMEOUT = 120.0  # seconds that a real hipify may take for one file


class _Totals:
    """What a run did, over all its files."""

    def __init__(self) -> None:
        self.files = 0
        self.changed = 0
        self.converted: Counter[str] = Counter()
        self.left: Counter[tuple[str, str]] = Counter()
        self.first: dict[tuple[str, str], tuple[str, Left]] = {}
        self.passed_over: list[str] = []

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
    """Runs the command; the result goes to ``write``, the summary to ``say``. Exit status 1 under --strict for names or files left.

    Raises PorterError for a missing path or tool, an unknown ROCm version, or an output folder that cannot be used.
    """
    root = Path(path)
    made = Options(
        options.get("roc", False), options.get("miopen", False), options.get("experimental", False),
        options.get("launch", "cuda"), options.get("rocm", "") or "",
    )  # fmt: skip
    chosen = [name for name in ("output", "in_place", "compare", "show_diff") if options.get(name)]
    if len(chosen) > 1:
        words = " and ".join("--" + name.replace("show_", "").replace("_", "-") for name in chosen)
        raise ConfigError(f"{words} exclude each other")
    totals = _Totals()
    translated = _translated(root, _translator(options, made, root), totals)
    if options.get("compare"):
        _compare(translated, made, options, write, say)
    elif options.get("in_place"):
        held = list(translated)  # an engine that fails in the middle leaves everything as it was
        hipify_write.in_place((_place(root, name), before, after) for name, before, after in held if before != after)
    elif options.get("output") and root.is_dir():
        hipify_write.tree(root, Path(options["output"]), translated)
    elif options.get("output"):
        for _, _, after in translated:
            hipify_write.one_file(root, Path(options["output"]), after)
    else:
        as_diff = root.is_dir() or options.get("show_diff")
        for name, before, after in translated:
            write(diff(before, after, name).encode() if as_diff else after)
    _summary(totals, choices(made).names, say)
    if root.is_dir():
        _say_torch(root, say)
    elif builder := torch_build.builder_of(root):
        say(f"{builder}: on ROCm, PyTorch's build (torch.utils.hipify) translates this file by itself")
    return 1 if options.get("strict") and (totals.left or totals.passed_over) else 0


Translate = Callable[[str, bytes], tuple[bytes, Conversion]]


def _translator(options: Mapping[str, Any], made: Options, root: Path) -> Translate:
    """The engine that was asked for, as one function from text to text; porter's own always says what is converted and left."""
    engine = "builtin" if options.get("compare") else options.get("engine", "builtin")
    program = _program(engine, options) if engine != "builtin" else None
    flags = perl.flags(made)
    given = dict(text.partition("=")[::2] if "=" in text else (text, "1") for text in options.get("defines", ()))

    def translate(path: str, data: bytes) -> tuple[bytes, Conversion]:
        implicit = msgspec.structs.replace(made, runtime_is_implicit=gets_runtime_unasked(path))
        done = convert(data, implicit, live_lines(guards_of(data, path, sure=given), given))
        if program is None:
            return done.output, done
        try:
            if engine == "perl":
                return perl.run(program, path, data, _TIMEOUT, flags), done
            return clang.run(program, path, data, _TIMEOUT, _words(options, flags, root, path)), done
        except perl.PerlFailed as error:
            raise ToolError(f"{path}: hipify-{engine} {error}", "--engine builtin needs no tool") from error

    return translate


def _words(options: Mapping[str, Any], flags: tuple[str, ...], root: Path, path: str) -> list[str]:
    """The options of hipify-clang for one file: its own folder, the project's, and those that were given."""
    base = root if root.is_dir() else root.resolve().parent
    folders = dict.fromkeys(((base / path).parent, base, *map(Path, options.get("include", ()))))
    return clang.arguments(flags, tuple(folders), tuple(options.get("defines", ())), str(options.get("cuda_path", "")))


def _program(engine: str, options: Mapping[str, Any]) -> Path:
    """The real hipify that was asked for; raises ToolError when it is not on the machine."""
    search = tuple(str(options.get(key, "")) for key in ("hipify_path", "env", "path_variable", "rocm_path"))
    found = perl.find(*search) if engine == "perl" else clang.find(*search)
    if found is None:
        hint = "install ROCm's amdrocm-hipify (hipify-clang before 7.14), or give --hipify PATH; --engine builtin needs no tool"
        raise ToolError(f"hipify-{engine} is not found", hint)
    return found


def _translated(root: Path, translate: Translate, totals: _Totals) -> Iterator[tuple[str, bytes, bytes]]:
    """Path, text before and text after of every CUDA file; the path is relative to a folder, or the name of the one file."""
    for path, data in cuda_sources(root, totals.passed_over) if root.is_dir() else [(root.name, _read(root, 64 * Config().max_bytes))]:
        output, done = translate(path, data)
        totals.add(path, done, output != data)
        yield path, data, output


def _place(root: Path, name: str) -> Path:
    return root / name if root.is_dir() else root.resolve()


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


def cuda_sources(root: Path, passed_over: list[str]) -> Iterator[tuple[str, bytes]]:
    """Path and bytes of every CUDA file below a folder, vendored ones too: a build needs all of them.

    ``passed_over`` gets the paths of those that are too large or cannot be read.
    """
    config = Config()
    for entry in discover(root, config).entries:
        if entry.kind not in ("cuda", "cxx"):
            continue
        data = read_below(root, entry.path, config.max_bytes + 1)
        if entry.kind != "cuda" and kind_of(entry.path, data) != "cuda":
            continue
        if data is None or len(data) > config.max_bytes:
            passed_over.append(entry.path)
        else:
            yield entry.path, data


def _compare(
    translated: Iterator[tuple[str, bytes, bytes]], made: Options, options: Mapping[str, Any], write: Callable[[bytes], object],
    say: Callable[[str], object],
) -> None:  # fmt: skip
    """Writes, file by file, what changes from hipify-perl's output to the built-in engine's."""
    program = _program("perl", options)
    same = differ = 0
    for path, before, ours in translated:
        try:
            theirs = perl.run(program, path, before, _TIMEOUT, perl.flags(made))
        except perl.PerlFailed as error:
            say(f"{path}: hipify-perl {error}")
            differ += 1
            continue
        words = diff(theirs, ours, path)
        same, differ = same + (not words), differ + bool(words)
        lines = words.splitlines()[2:]
        if words:
            gone, come = (sum(line.startswith(sign) for line in lines) for sign in "-+")
            say(f"{path}: {gone} lines only from hipify-perl, {come} only from the built-in engine")
            write(words.replace("--- a/", "--- hipify-perl/", 1).replace("+++ b/", "+++ builtin/", 1).encode())
    version = perl.version(program)
    say(f"{same} files the same, {differ} different; hipify-perl{f' of HIP {version}' if version else ''} is {program}")


def _say_torch(root: Path, say: Callable[[str], object]) -> None:
    """Tells which files PyTorch's own build translates, where one of the project's Python files builds CUDA extensions."""
    config = Config()
    builders: dict[str, bytes] = {}
    sources: dict[str, bytes] = {}
    for entry in discover(root, config).entries:
        if entry.kind in ("python", "cuda", "cxx") and entry.size <= config.max_bytes:
            data = read_below(root, entry.path, config.max_bytes)
            if data is not None and (entry.kind != "python" or torch_build.listed_sources(data)):
                (builders if entry.kind == "python" else sources)[entry.path] = data
    found = torch_build.translated_by_torch(builders, SourceTree(sources)) if builders else ()
    if found:
        say(f"{', '.join(builders)}: on ROCm, PyTorch's build (torch.utils.hipify) translates {len(found)} files by itself:")
        for path in found[:_MOST_NAMES]:
            say(f"  {path}")
        if len(found) > _MOST_NAMES:
            say(f"  and {len(found) - _MOST_NAMES} more files")


def _summary(totals: _Totals, names: Mapping[bytes, Any], say: Callable[[str], object]) -> None:
    """Tells by name what was converted to what, and what was not and what takes its place."""
    count = sum(totals.converted.values())
    left = sum(totals.left.values())
    files = f"{totals.files} file{'s' * (totals.files != 1)}"
    say(f"{files}, {totals.changed} changed: {count} names converted ({len(totals.converted)} different), {left} left")
    if totals.passed_over:
        names_of = ", ".join(totals.passed_over[:_MOST_NAMES]) + (", …" if len(totals.passed_over) > _MOST_NAMES else "")
        say(f"not translated, larger than {Config().max_bytes >> 20} MiB or cannot be read: {names_of}")
    often = sorted(((name, times) for name, times in totals.converted.items() if name.encode() in names), key=lambda one: (-one[1], one[0]))
    for name, times in often[:_MOST_NAMES]:
        say(f"  {name} => {names[name.encode()].target.decode()}: {times}")
    if len(often) > _MOST_NAMES:
        say(f"  and {len(often) - _MOST_NAMES} more names converted")
    worst = sorted(totals.left.items(), key=lambda item: (-item[1], item[0]))
    for key, times in worst[:_MOST_NAMES]:
        path, first = totals.first[key]
        say(f"  {first.name} ({times}x, first at {path}:{first.span.line}): {first.reason}{'; ' + first.hint if first.hint else ''}")
    if len(worst) > _MOST_NAMES:
        say(f"  and {len(worst) - _MOST_NAMES} more names left")
