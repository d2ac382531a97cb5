"""Command lines of vLLM and SGLang, and their Python classes, as the parsers' facts tell them: model, context, width, formats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from porter.model import Fact, SourceFile

SERVERS = ("vllm serve", "sglang serve")
MODEL_FLAGS = ("--model", "--model-path", "--model-tag")
CONTEXT_FLAGS = ("--max-model-len", "--context-length")
SEQUENCES_FLAGS = ("--max-num-seqs", "--max-running-requests")
MEMORY_FLAGS = ("--gpu-memory-utilization", "--mem-fraction-static")  # of a GPU, for weights and cache together
TENSOR_FLAGS = ("--tensor-parallel-size", "-tp", "--tp", "--tp-size")
CLASSES = frozenset({
    "vllm.LLM", "vllm.EngineArgs", "vllm.AsyncEngineArgs", "vllm.engine.arg_utils.EngineArgs", "vllm.engine.arg_utils.AsyncEngineArgs",
    "sglang.Engine",
})  # fmt: skip
WORDS = ((b"^llm(", b"vllm"), (b"engineargs(", b"vllm"), (b"^engine(", b"sglang"))
"""Calls of those classes, lower case, each with a word that its file holds too; ^ says that no letter stands in front."""
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w{0,60})(?::?-([^}]{1,120}))?\}?\Z")
_STRING = re.compile(r"[\"']([\w./:@+-]{1,200})[\"']\Z")
_FRACTION = re.compile(r"(?:\d?\.\d{1,6}|1)\Z")
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
    memory: float = 0.0  # the share of each GPU that weights and cache may take

    @property
    def reserve(self) -> float | None:
        """The share of each GPU that the command leaves for everything else; None where it is silent."""
        return round(1 - self.memory, 6) if self.memory else None


def commands(file: SourceFile, facts: list[Fact]) -> Iterator[Served]:
    """The server command lines among the facts of one file."""
    if not any(fact.kind in ("command", "command_flag") and fact.name.startswith(SERVERS) for fact in facts):
        return
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
            yield _served(model, file.path, fact.span.line, values)


def python_calls(path: str, facts: list[Fact]) -> Iterator[Served]:
    """The engines that a Python file makes with the name of a model in the call itself; arguments are read as their flags are."""
    calls = [fact for fact in facts if fact.kind == "py_call" and fact.name in CLASSES]
    for call in calls:
        values: dict[str, str] = {}
        for at, text in enumerate(call.args):
            name, equals, value = text.partition("=")
            string = _STRING.match((value if equals else text).strip())
            plain = string[1] if string else value.strip()
            if equals or (at == 0 and string):
                values["--" + name.strip().replace("_", "-") if equals else "--model"] = plain
        model = next((values[flag] for flag in MODEL_FLAGS if flag in values), "")
        if "/" in model:
            yield _served(model, path, call.span.line, values)


def _served(model: str, path: str, line: int, values: Mapping[str, str]) -> Served:
    return Served(
        model, path, line, _number(values, CONTEXT_FLAGS), _number(values, SEQUENCES_FLAGS), _number(values, TENSOR_FLAGS),
        values.get("--quantization", ""), values.get("--kv-cache-dtype", ""),
        _share(values),
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


def _number(values: Mapping[str, str], names: tuple[str, ...]) -> int:
    for name in names:
        text = values.get(name, "")
        if text.isascii() and text.isdigit() and len(text) < 9:
            return int(text)
    return 0


def _share(values: Mapping[str, str]) -> float:
    """The memory flag's value; 0 for none, and for what no server takes."""
    text = next((values[flag] for flag in MEMORY_FLAGS if values.get(flag)), "")
    match = _FRACTION.match(text)
    return float(text) if match and 0 < float(text) <= 1 else 0.0
