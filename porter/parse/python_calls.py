"""What a Python call says beyond its name: modules loaded, environment variables, commands with their flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from porter.parse.python_imports import imported_by_call, is_forgiven, manner
from porter.parse.python_strings import constant, string_value, words_of_command
from porter.parse.python_tree import Source, field, named

if TYPE_CHECKING:
    from tree_sitter import Node

Emit = Callable[..., None]
ENV_CALLS = ("os.environ.get", "os.getenv", "os.environ.setdefault", "os.environ.pop", "os.putenv", "os.unsetenv", "getenv", "environ.get")
ENV_METHODS = ("monkeypatch.setenv", "monkeypatch.delenv")
SHELLS = (
    "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output", "subprocess.Popen", "subprocess.getoutput",
    "subprocess.getstatusoutput", "os.system", "os.popen", "commands.getoutput", "asyncio.create_subprocess_exec",
    "asyncio.create_subprocess_shell", "shutil.which", "distutils.spawn.find_executable", "pexpect.spawn", "sh",
)  # fmt: skip
WITH_SUBCOMMAND = frozenset((
    "nsys", "ncu", "docker", "podman", "vllm", "pip", "pip3", "conda", "nvidia-smi", "dcgmi", "kubectl", "helm", "python", "python3", "uv",
    "deepspeed", "torchrun", "apt-get", "apt", "sglang", "trtllm-serve", "accelerate",
))  # fmt: skip
FORGIVABLE = ("pynvml.", "py3nvml.", "nvidia_smi.", "ctypes.")
SPLIT_ARGUMENTS = ("asyncio.create_subprocess_exec",)


def call_facts(source: Source, node: Node, name: str, path: list[Node], emit: Emit) -> None:
    """Everything a call tells: emit(kind, name, node, detail=…, args=…) is called for each fact."""
    arguments = field(node, "arguments")
    items = named(arguments) if arguments is not None and arguments.type == "argument_list" else []
    detail = {"forgiven": "1"} if name.startswith(FORGIVABLE) and is_forgiven(source, [*path, node]) else {}
    emit("py_call", name, field(node, "function") or node, args=tuple(source.text(item)[:240] for item in items[:40]), detail=detail)
    loaded = imported_by_call(source, name, items)
    if loaded is not None:
        detail = manner(source, path)
        if loaded[2]:
            detail["optional"] = "1"
        detail["by_call"] = name
        emit("py_import", loaded[0], loaded[1], detail=detail)
    if (name in ENV_CALLS or name.endswith(ENV_METHODS)) and items:
        _env_call(source, items, name, emit)
    if name in SHELLS and items:
        words = (
            [w for item in items for w in words_of_command(source, item)] if name in SPLIT_ARGUMENTS else words_of_command(source, items[0])
        )
        command_facts(words, items[0], emit, probe=name in ("shutil.which", "distutils.spawn.find_executable"))
    for item in items:
        if item.type == "keyword_argument":
            _keyword(source, item, name, emit)


def _env_call(source: Source, items: list[Node], name: str, emit: Emit) -> None:
    key = string_value(source, items[0])
    if not key:
        return
    written = name.endswith(("setdefault", "putenv", "setenv"))
    value = constant(source, items[1]) if len(items) > 1 and written else None
    detail = {"access": "write" if written else "read", "value": value or ""}
    emit("env_var", key, items[0], detail={k: v for k, v in detail.items() if v})


def _keyword(source: Source, item: Node, callee: str, emit: Emit) -> None:
    key, value = field(item, "name"), field(item, "value")
    if key is None or value is None:
        return
    text = constant(source, value)
    if text is not None and len(text) <= 200:
        emit("py_arg", f"{source.text(key)}={text}", item, detail={"callee": callee})
    elif source.text(key) in ("env", "environment", "env_vars") and value.type == "dictionary":
        for pair in named(value):
            name = field(pair, "key") if pair.type == "pair" else None
            word = string_value(source, name) if name is not None else None
            if name is not None and word:
                given = constant(source, field(pair, "value"))
                emit("env_var", word, name, detail={"access": "write", **({"value": given} if given else {})})


def command_facts(words: list[str], node: Node, emit: Emit, probe: bool = False) -> None:
    """The command and each of its flags, from its leading constant words ("…" is a word that is computed)."""
    while words and "=" in words[0] and not words[0].startswith("-"):
        words = words[1:]
    words = words[1:] if words[:1] == ["sudo"] else words
    if not words or words[0] == "…" or words[0].startswith("-"):
        return
    head = words[0].rsplit("/", 1)[-1]
    if not head.strip():
        return
    rest = words[1:]
    name = head
    if head in WITH_SUBCOMMAND and rest and rest[0][:1].isalpha():
        name = f"{head} {rest[0]}"
    emit("command", name, node, args=tuple(words[:60]), detail={"probe": "1"} if probe else {})
    for at, word in enumerate(rest[:60]):
        if word.startswith("-") and len(word) > 1:
            following = rest[at + 1] if at + 1 < len(rest) else ""
            bare, _, value = word.partition("=")
            value = value or ("" if not following or following[:1] in "-…" else following)
            emit("command_flag", f"{name} {bare}", node)
            if value:
                emit("command_flag", f"{name} {bare}={value}", node)
