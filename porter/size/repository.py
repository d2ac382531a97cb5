"""Which models a repository serves: its config.json files, and the command lines of vLLM and SGLang that its files hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from porter.config import Config
from porter.discover import Entry, discover, read_below
from porter.errors import ConfigError, InputError
from porter.kinds import decode
from porter.model import Fact, Origin, SourceFile
from porter.parse import parser_of
from porter.size import config_json, known
from porter.size.dtypes import DTYPES, DType, dtype_of
from porter.size.shape import Shape

KINDS = frozenset({"shell", "docker", "yaml", "make", "jenkins"})
MAX_FILES = 5_000
MAX_BYTES = 1024 * 1024
SERVERS = ("vllm serve", "sglang serve")
SIGNS = (b"vllm", b"sglang")
MODEL_FLAGS = ("--model", "--model-path", "--model-tag")
CONTEXT_FLAGS = ("--max-model-len", "--context-length")
SEQUENCES_FLAGS = ("--max-num-seqs", "--max-running-requests")
TENSOR_FLAGS = ("--tensor-parallel-size", "-tp", "--tp", "--tp-size")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w{0,60})(?::?-([^}]{1,120}))?\}?\Z")
_SEPARATORS = " \t\"',[]\\"


class Served(msgspec.Struct, frozen=True):
    """A server's command line: the model it names and what it asks for; numbers are 0 where the command is silent."""

    model: str
    path: str
    line: int
    context: int = 0
    sequences: int = 0
    tensor: int = 0
    dtype: str = ""
    kv_dtype: str = ""


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
    """The models of a config.json, of a model's folder, or of a repository; raises InputError when there is none to be found."""
    if root.is_file() and root.suffix == ".json":
        return Look((Found(config_json.read(root), str(root)),))
    if root.is_dir() and (root / "config.json").is_file():
        own = root / "config.json"
        if "num_hidden_layers" in config_json.load(own) or "text_config" in config_json.load(own):
            return Look((Found(config_json.read(own), str(own)),))
    entries = [entry for entry in discover(root, Config()).entries if entry.origin is not Origin.VENDORED]
    base = root if root.is_dir() else root.parent
    local = dict(_configs(base, entries))
    found = [Found(shape, path) for path, shape in local.items()]
    unknown: list[str] = []
    by_name = known.models()
    for served in _commands(base, entries):
        shape = by_name.get(served.model.lower()) or _local(served.model, local)
        if shape is None:
            unknown.append(f"{served.path}:{served.line}: {served.model}")
        else:
            found.append(Found(shape, f"{served.path}:{served.line}", served))
    if not found:
        named = f"; its commands name {unknown[0]}, whose sizes porter does not know" if unknown else ""
        raise InputError(f"{root}: no config.json of a model and no server's command that names a known one{named}", "give --params")
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


def _configs(root: Path, entries: list[Entry]) -> Iterator[tuple[str, Shape]]:
    for entry in entries[:MAX_FILES]:
        if entry.path.rsplit("/", 1)[-1] == "config.json":
            data = read_below(root, entry.path, config_json.MAX_BYTES)
            if data and b"num_hidden_layers" in data:
                try:
                    yield entry.path, config_json.read(root / entry.path)
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
        if data is None or parse is None or not any(sign in data for sign in SIGNS):
            continue
        file = SourceFile(entry.path, entry.kind, decode(data))
        yield from commands(file, parse(file).facts)


def commands(file: SourceFile, facts: list[Fact]) -> Iterator[Served]:
    """The server command lines among the facts of one file."""
    variables = {fact.name: fact.detail.get("value", "") for fact in facts if fact.kind == "env_var"}
    lines = file.text.splitlines()
    groups: list[tuple[Fact, dict[str, str]]] = []
    for fact in sorted(facts, key=lambda fact: (fact.span.line, fact.span.column, fact.kind, fact.name)):
        if fact.kind == "command" and fact.name in SERVERS:
            model = _positional(lines, fact)
            groups.append((fact, {"--model": model} if model else {}))
        elif fact.kind == "command_flag" and fact.name.startswith(SERVERS) and "=" not in fact.name:
            flag = fact.name.rsplit(" ", 1)[-1]
            if not groups or (flag in MODEL_FLAGS and any(name in groups[-1][1] for name in MODEL_FLAGS)):
                groups.append((fact, {}))
            groups[-1][1].setdefault(flag, fact.detail.get("value", ""))
    for fact, flags in groups:
        values = {flag: _expanded(value, variables) for flag, value in flags.items()}
        model = next((values[flag] for flag in MODEL_FLAGS if values.get(flag)), "")
        if model and not model.startswith("$"):
            yield Served(
                model, file.path, fact.span.line, _number(values, CONTEXT_FLAGS), _number(values, SEQUENCES_FLAGS),
                _number(values, TENSOR_FLAGS), values.get("--quantization", ""), values.get("--kv-cache-dtype", ""),
            )  # fmt: skip


def _positional(lines: list[str], fact: Fact) -> str:
    """The word behind `vllm serve`, on its line or, in a YAML list, on the next one; empty for a flag or nothing."""
    if fact.name != "vllm serve" or fact.span.end_line > len(lines):
        return ""
    line = lines[fact.span.end_line - 1].encode()[fact.span.end_column - 1 :].decode("utf-8", "replace")
    rest = line.strip(_SEPARATORS)
    if not rest and fact.span.end_line < len(lines):
        rest = lines[fact.span.end_line].strip(_SEPARATORS).removeprefix("- ").strip(_SEPARATORS)
    word = re.split(r"[\s\"',\]]", rest, maxsplit=1)[0]
    return "" if word.startswith(("-", "#", "&", "|", ";", ">")) else word[:200]


def _expanded(value: str, variables: dict[str, str]) -> str:
    match = _VARIABLE.match(value)
    if match is None:
        return value
    return variables.get(match[1]) or match[2] or value


def _number(values: dict[str, str], names: tuple[str, ...]) -> int:
    for name in names:
        text = values.get(name, "")
        if text.isascii() and text.isdigit() and len(text) < 9:
            return int(text)
    return 0
