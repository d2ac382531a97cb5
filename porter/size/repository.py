"""Which models a repository serves: its config.json files, and the command lines of vLLM and SGLang that its files hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from porter.config import Config
from porter.discover import Entry, discover
from porter.errors import ConfigError, InputError
from porter.kinds import decode
from porter.model import Fact, Origin, SourceFile
from porter.parse import parser_of
from porter.regular import read_below
from porter.size import config_json, known
from porter.size.dtypes import DTYPES, DType, dtype_of
from porter.size.served import Served, commands, python_calls
from porter.size.shape import Shape

KINDS = frozenset({"shell", "docker", "yaml", "make", "jenkins", "python", "notebook"})
MAX_FILES = 5_000
MAX_BYTES = 1024 * 1024
SIGNS = (b"vllm", b"sglang")


class Found(msgspec.Struct, frozen=True):
    """A model of the repository: its shape, where it was found, and what the command that serves it asks for."""

    shape: Shape
    where: str
    served: Served | None = None

    @property
    def context(self) -> int:
        """Tokens a sequence that the command allows; 0 where nothing says."""
        return self.served.context if self.served else 0


class Look(msgspec.Struct, frozen=True):
    """All models that were found, and the names of those whose sizes nobody here knows."""

    found: tuple[Found, ...]
    unknown: tuple[str, ...] = ()


def look(root: Path) -> Look:
    """The models of a config.json, of a model's folder, or of a repository, which may have none.

    Raises InputError when there is nothing at that path, or when the config.json it names is none of a model.
    """
    if root.is_file() and root.suffix == ".json":
        return Look((Found(config_json.read(root), str(root)),))
    if root.is_dir() and (root / "config.json").is_file():
        own = root / "config.json"
        if "num_hidden_layers" in config_json.load(own) or "text_config" in config_json.load(own):
            return Look((Found(config_json.read(own), str(own)),))
    entries = [entry for entry in discover(root, Config()).entries if entry.origin is not Origin.VENDORED]
    base = root if root.is_dir() else root.parent
    return of(base, (entry.path for entry in entries[:MAX_FILES] if is_config(entry.path)), _commands(base, entries))


def is_config(path: str) -> bool:
    """Whether a file has the name of a model's description."""
    return path.rsplit("/", 1)[-1] == "config.json"


def of(base: Path, configs: Iterable[str], commands: Iterable[Served]) -> Look:
    """The models of config.json files below a folder and of serving commands."""
    local = dict(_configs(base, configs))
    found = [Found(shape, path) for path, shape in local.items()]
    unknown: list[str] = []
    by_name = known.models()
    for served in commands:
        shape = by_name.get(served.model.lower()) or _local(served.model, local) or known.find(served.model, by_name)
        if shape is None:
            unknown.append(f"{served.path}:{served.line}: {served.model}")
        else:
            found.append(Found(shape, f"{served.path}:{served.line}", served))
    return Look(tuple(found), tuple(sorted(set(unknown))))


def asked(served: Served | None) -> tuple[DType | None, DType | None]:
    """Formats of weights and cache that a command asks for; None for what it leaves to the checkpoint or porter does not know."""
    if served is None:
        return None, None
    return _format(served.dtype), _format(served.kv_dtype)


def _format(text: str) -> DType | None:
    if not text or text == "auto":
        return None
    try:
        return dtype_of(text)
    except ConfigError:
        return DTYPES["fp8"] if text.startswith("fp8") else None


def _configs(root: Path, paths: Iterable[str]) -> Iterator[tuple[str, Shape]]:
    for path in paths:
        data = read_below(root, path, config_json.MAX_BYTES)
        if data and b"num_hidden_layers" in data:
            try:
                yield path, config_json.read(root / path)
            except InputError:
                continue  # another sort of config.json, or a model without a cache


def _local(model: str, local: dict[str, Shape]) -> Shape | None:
    """The model's folder in this very repository."""
    folder = model.strip("./")
    return next((shape for path, shape in local.items() if path.rpartition("/")[0].endswith(folder) and folder), None)


def _commands(root: Path, entries: list[Entry]) -> Iterator[Served]:
    for entry in [entry for entry in entries if entry.kind in KINDS][:MAX_FILES]:
        data = read_below(root, entry.path, MAX_BYTES)
        parse = parser_of(entry.kind)
        if data is not None and parse is not None and any(sign in data for sign in SIGNS):
            file = SourceFile(entry.path, entry.kind, decode(data))
            yield from served_by(file, parse(file).facts)


def served_by(file: SourceFile, facts: list[Fact]) -> tuple[Served, ...]:
    """The serving commands and engine calls among the facts of one file."""
    if file.kind not in KINDS or not any(sign in file.data for sign in SIGNS):
        return ()
    return (*commands(file, facts), *python_calls(file.path, facts))
