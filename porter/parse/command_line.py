"""One command line: its name, its flags, and what installers, compilers and container runners are asked for.

Names follow one form wherever the line stands: `python -m vllm.entrypoints…` is `vllm serve`, `python -m sglang.launch_server`
is `sglang serve`, and a flag is noted twice at one place, as `docker run --gpus` and as `docker run --gpus=all`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from porter.model import Live
from porter.parse import compiler_line, install_line
from porter.parse.json_leaves import keys_of, leaves
from porter.parse.sheet import Sheet
from porter.parse.shell_words import Word, assignment, names

MAX_FLAGS = 300
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9_-]{1,24}")
_OPERATOR = re.compile(r"\$\{\w+[^}\w]")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_WITH_SUBCOMMAND = names(
    "docker podman nerdctl nvidia-smi nsys ncu vllm sglang helm kubectl oc dcgmi git amd-smi rocm-smi nvidia-ctk ray trtllm-serve "
    "trtllm-bench singularity apptainer accelerate deepspeed bazel bazelisk cargo minikube kind terraform module modprobe"
)
_WRAPPERS = {
    "sudo": ("-u", "-g", "-C"), "env": ("-u", "-C", "-S"), "exec": (), "nohup": (), "nice": ("-n",), "time": ("-o", "-f"),
    "stdbuf": ("-o", "-e", "-i"), "command": (), "builtin": (), "eval": (), "xargs": ("-n", "-P", "-I", "-d"), "ionice": ("-c", "-n"),
    "timeout": ("-s", "-k"), "numactl": ("-N", "-m", "-C"), "taskset": ("-c",), "tini": ("-p", "-e"), "dumb-init": (),
    "mpirun": None, "srun": None, "torchrun": None,
}  # fmt: skip
_MODULES = (("vllm.entrypoints.", "vllm serve"), ("sglang.launch_server", "sglang serve"), ("sglang.bench", "sglang bench"))
_MODULE_LOADS = frozenset(("module load", "module add", "module swap", "module switch"))
_CHARTS = frozenset(("helm install", "helm upgrade", "helm template", "helm pull"))
_CHART = re.compile(r"[a-z][\w-]*/[a-z][\w-]*")
_PATCHES = frozenset(("kubectl patch", "kubectl run", "kubectl create", "oc patch"))
_SCOPES = frozenset(("-n", "--namespace", "--context", "--kubeconfig", "--kube-context", "--cluster", "--user", "-s", "--server"))
_MAX_PATCH = 20_000
_SERVICES = frozenset(("systemctl", "service"))
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*(?:w|\.exe)?|\$\{?PYTHON\w*\}?", re.IGNORECASE)
_QUIET = names("[ [[ test echo printf cd pwd set unset shift return exit true false : read trap mkdir rm cp mv ln chmod chown cat ls")
_SHORT = re.compile(r"-[itdPq]+")
_PROGRAM = re.compile(r"[A-Za-z_$][\w.+${}()@:-]{0,80}")
_SHELLS = names("bash sh zsh dash ash")
_NUMBER = re.compile(r"\d+(?:\.\d+)?[smhd]?")


@dataclass
class Invocation:
    """Words of one command after its assignments, whether it runs for AMD, and variables known so far."""

    words: list[Word]
    live: Live = Live.YES
    variables: dict[str, str] = field(default_factory=dict)

    def expand(self, text: str) -> str:
        """The text with the variables whose values are known put in, one level deep."""
        if "$" not in text:
            return text
        return _VARIABLE.sub(lambda match: self._value(match[1]) or match[0], text)[:2_000]

    def _value(self, name: str) -> str:
        """A variable's value where it is plain text: what a command or an operator computes says less than the variable's name."""
        value = self.variables.get(name, "")
        return "" if "$(" in value or "`" in value or _OPERATOR.search(value) else value


Reader = Callable[[Sheet, Invocation], None]


def read_command(sheet: Sheet, line: Invocation) -> None:
    """Facts of a command line, wrappers such as sudo, env and timeout looked through."""
    words = _unwrapped(sheet, line)
    if not words:
        return
    inner = Invocation(words, line.live, line.variables)
    name, rest = command_name(inner)
    if name in ("echo", "printf"):
        install_line.read_source_list(sheet, rest, line.live, inner.expand)
    if not name or name in _QUIET:
        return
    if compiler_line.is_nvcc(words[0].text):
        name = "nvcc"
    last = words[len(words) - len(rest) - 1]
    sheet.add("command", name, words[0].start, last.end, line.live, "host")
    program = name.split()[0]
    if compiler_line.is_compiler(program, words[0].text):
        compiler_line.read(sheet, program, rest, line.live)
        return
    installs = install_line.reader_of(name, rest)
    if installs is not None:
        installs(sheet, rest, line.live, inner.expand)
        return
    if program in _SHELLS:
        return
    at = _image_at(name, rest)
    if name not in _SERVICES:
        read_flags(sheet, name, rest[:at] if at >= 0 else rest, line.live)
    _read_words(sheet, name, rest[:MAX_FLAGS], inner)
    if at >= 0:
        _inside_container(sheet, name, rest[at:], inner)


def _read_words(sheet: Sheet, name: str, words: list[Word], line: Invocation) -> None:
    """Words that are no flags and yet name something: modules, services, charts, the model that is served, addresses."""
    if name == "vllm serve" and words and not words[0].text.startswith("-"):
        model = line.expand(words[0].text)
        sheet.add("command_flag", f"vllm serve --model={model}", words[0].start, words[0].end, line.live, "host", value=model)
    if name.split()[0] in ("helm", "kubectl"):
        install_line.read_addresses(sheet, words, line.live, line.expand)
    if name in _PATCHES:
        _read_patch(sheet, words, line)
    prefix = "module load" if name in _MODULE_LOADS else name if name in _SERVICES else "helm chart" if name in _CHARTS else ""
    for word in words if prefix else ():
        if name not in _CHARTS or _CHART.fullmatch(word.text):
            sheet.add("command_flag", f"{prefix} {word.text}", word.start, word.end, line.live, "host")


def _read_patch(sheet: Sheet, words: list[Word], line: Invocation) -> None:
    """What a JSON or merge patch in an argument sets, as a manifest would."""
    for word in words:
        text = word.text.partition("=")[2] if word.text.startswith("--") else word.text
        if text[:1] not in "[{" or len(text) > _MAX_PATCH:
            continue
        for leaf in leaves(text)[0][:MAX_FLAGS]:
            pointer = keys_of(leaf.value) if leaf.path == "path" else ""
            key = f"{pointer}=…" if pointer else f"{leaf.path}={leaf.value}"
            sheet.add("manifest_key", key, word.start, word.end, line.live, "host", value="" if pointer else leaf.value)


def command_name(line: Invocation) -> tuple[str, list[Word]]:
    """The command's name in its one form, and the words after it."""
    words = line.words
    program = line.expand(words[0].text).rstrip("/").rsplit("/", 1)[-1]
    if _PYTHON.fullmatch(program) or _PYTHON.fullmatch(words[0].text):
        return _python_name(words)
    if program in _WITH_SUBCOMMAND:
        at = 1
        while at < len(words) and words[at].text.startswith("-") and program in ("docker", "podman", "bazel", "kubectl", "oc", "helm"):
            at += 2 if program in ("kubectl", "oc", "helm") and words[at].text in _SCOPES else 1
        if at < len(words) and _SUBCOMMAND.fullmatch(words[at].text):
            if words[at].text in ("container", "compose") and at + 1 < len(words) and program in ("docker", "podman"):
                return f"{program} {words[at + 1].text}", words[at + 2 :]
            return f"{program} {words[at].text}", words[at + 1 :]
    return program if _PROGRAM.fullmatch(program) else "", words[1:]


def _python_name(words: list[Word]) -> tuple[str, list[Word]]:
    for at, word in enumerate(words[1:8], start=1):
        if word.text == "-m" and at + 1 < len(words):
            module = words[at + 1].text
            for prefix, name in _MODULES:
                if module.startswith(prefix):
                    return name, words[at + 2 :]
            if module in ("pip", "uv"):
                return module, words[at + 2 :]
            return f"python -m {module}", words[at + 2 :]
        if not word.text.startswith("-"):
            return "python", words[1:]
    return "python", words[1:]


def _unwrapped(sheet: Sheet, line: Invocation) -> list[Word]:
    words = list(line.words)
    for _ in range(8):
        if not words:
            return []
        program = words[0].text.rsplit("/", 1)[-1]
        if program not in _WRAPPERS:
            return words
        if program == "command" and len(words) > 1 and words[1].text in ("-v", "-V"):
            return []  # asks whether a program is there, does not run it
        options = _WRAPPERS[program]
        if options is None:
            sheet.add("command", program, words[0].start, words[0].end, line.live, "host")
            read_flags(sheet, program, words[1:], line.live)
            _container_image(sheet, words[1:], line)
            return _program_in(words[1:])
        at = 1
        while at < len(words) and (words[at].text.startswith("-") or assignment(words[at]) or _NUMBER.fullmatch(words[at].text)):
            word = words[at]
            pair = assignment(word)
            if pair and not word.text.startswith("-"):
                sheet.add("env_var", pair[0], word.start, word.end, line.live, "host", value=pair[1], access="set")
            at += 2 if word.text in options else 1
        words = words[at:]
    return words


def _container_image(sheet: Sheet, words: list[Word], line: Invocation) -> None:
    """The image that Slurm's pyxis runs: `srun --container-image=nvcr.io#nvidia/pytorch:25.01-py3`."""
    for word in words[:MAX_FLAGS]:
        flag, _, image = word.text.partition("=")
        if flag == "--container-image" and image:
            name = line.expand(image).removeprefix("docker://").replace("#", "/", 1)
            sheet.add("image", name, word.start, word.end, line.live, "host")


def _program_in(words: list[Word]) -> list[Word]:
    """The command a launcher such as srun or mpirun starts, found by its well-known name."""
    for at, word in enumerate(words[:60]):
        program = word.text.rsplit("/", 1)[-1]
        if program in _WITH_SUBCOMMAND or _PYTHON.fullmatch(program) or program == "bash":
            return words[at:]
    return []


def read_flags(sheet: Sheet, name: str, words: list[Word], live: Live) -> None:
    """Flags of a command, each as `command --flag` and, with a value, `command --flag=value`."""
    for at, word in enumerate(words[:MAX_FLAGS]):
        text = word.text
        if text == "--":
            return
        if not text.startswith("-") or len(text) < 2 or text[1].isdigit():
            continue
        flag, _, value = text.partition("=")
        end = word.end
        if not value and at + 1 < len(words) and not words[at + 1].text.startswith("-"):
            value, end = words[at + 1].text, words[at + 1].end
        sheet.add("command_flag", f"{name} {flag}", word.start, end, live, "host", value=value)
        if value:
            sheet.add("command_flag", f"{name} {flag}={value}", word.start, end, live, "host", value=value)
        if flag in ("-e", "--env", "-x") and "=" in value and name.split()[0] in ("docker", "podman", "nerdctl", "mpirun"):
            variable, _, setting = value.partition("=")
            sheet.add("env_var", variable, word.start, end, live, "host", value=setting, access="set")


_BOOLEAN = names(
    "-d -i -t -it -ti --rm --privileged --init --read-only --detach --interactive --tty -P --nv --nvccli --rocm --no-healthcheck"
)


def _image_at(name: str, words: list[Word]) -> int:
    """Where the image stands among the words of `docker run` and `docker pull`; -1 for other commands and for none."""
    if name not in ("docker run", "podman run", "nerdctl run", "docker create", "docker pull", "podman pull"):
        return -1
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        text = words[at].text
        at += 1 if "=" in text or text in _BOOLEAN or _SHORT.fullmatch(text) else 2
    return at if at < len(words) else -1


def _inside_container(sheet: Sheet, name: str, words: list[Word], line: Invocation) -> None:
    """The image, and the command line behind it; flags alone belong to the server that the image is known to start."""
    image = line.expand(words[0].text)
    sheet.add("image", image, words[0].start, words[0].end, line.live, "host")
    rest = words[1:]
    if not rest or name.endswith("pull"):
        return
    if not rest[0].text.startswith("-"):
        read_command(sheet, Invocation(rest, line.live, line.variables))
    elif server_of(image):
        read_flags(sheet, server_of(image), rest, line.live)


def server_of(image: str) -> str:
    """The command that an image runs when it is given flags only; empty for images that porter does not know."""
    for part, command in (
        ("vllm-openai", "vllm serve"),
        ("sglang", "sglang serve"),
        ("text-generation-inference", "text-generation-launcher"),
    ):
        if part in image:
            return command
    return ""
