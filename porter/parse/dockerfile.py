"""Dockerfiles: base images with their build arguments put in, environment, and the shell text of RUN, CMD and ENTRYPOINT."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from porter.model import Live, SourceFile
from porter.parse import Parsed, compiler_line
from porter.parse.command_line import Invocation, command_name, read_command, read_flags, server_of
from porter.parse.docker_lines import MAX_INSTRUCTIONS, Instruction, instructions
from porter.parse.sheet import Sheet
from porter.parse.shell_script import read_script
from porter.parse.shell_words import Word, assignment, commands

_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?[-+]([^{}]*))?\}|(\w+))")
_FLAG = re.compile(r"--[a-z]+(?:=\S+)?\s+")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*+)(?:"|(?=\n)|\\?\Z)')
_FROM_IMAGE = re.compile(r"--from=(\S+)")


@dataclass
class _State:
    """What earlier instructions of a Dockerfile say about later ones."""

    variables: dict[str, str] = field(default_factory=dict)
    stages: set[str] = field(default_factory=set)
    images: dict[str, str] = field(default_factory=dict)
    image: str = ""
    entrypoint: list[Word] = field(default_factory=list)


def parse(file: SourceFile) -> Parsed:
    """Facts of a Dockerfile; a file without any FROM is noted as a problem that loses nothing."""
    sheet = Sheet(file, "dockerfile")
    text, listed = instructions(sheet.text)
    if len(listed) >= MAX_INSTRUCTIONS:
        sheet.problem(listed[-1].start, f"more than {MAX_INSTRUCTIONS:,} instructions; the rest was not read")
    state = _State()
    for instruction in listed:
        _READERS.get(instruction.name, _nothing)(sheet, text, instruction, state)
    if listed and not any(instruction.name == "FROM" for instruction in listed):
        sheet.problem(0, "no FROM instruction: not a Dockerfile as Docker reads it", matters=False)
    return sheet.parsed


def expand(text: str, variables: dict[str, str]) -> str:
    """The text with known build arguments put in, defaults used, nested values followed a few levels."""
    for _ in range(4):
        if "$" not in text or len(text) > 4_000:
            break
        text = _VARIABLE.sub(lambda match: variables.get(match[1] or match[3] or "") or match[2] or match[0], text)
    return text[:4_000]


def _nothing(sheet: Sheet, text: str, instruction: Instruction, state: _State) -> None:
    """LABEL, EXPOSE, WORKDIR and the like hold nothing of interest."""


def _words(text: str, start: int, end: int) -> list[Word]:
    return [word for command in commands(text, start, end) for word in command.words]


def _joined(text: str, words: list[Word]) -> list[Word]:
    """Words with those put together again that only a semicolon parts: in ENV and ARG it is a plain character."""
    out: list[Word] = []
    for word in words:
        if out and text[out[-1].end : word.start] == ";":
            out[-1] = Word(f"{out[-1].text};{word.text}", out[-1].start, word.end, out[-1].quoted)
        else:
            out.append(word)
    return out


def _from(sheet: Sheet, text: str, instruction: Instruction, state: _State) -> None:
    words = [word for word in _words(text, instruction.start, instruction.end) if not word.text.startswith("--")]
    if not words:
        return
    image = expand(words[0].text, state.variables)
    alias = words[2].text.lower() if len(words) >= 3 and words[1].text.lower() == "as" else ""
    if image.lower() in state.stages:
        state.image = state.images.get(image.lower(), "")
    else:
        state.image = image
        if image != "scratch":
            sheet.add("image", image, words[0].start, words[0].end, stage=alias, written=words[0].text)
    state.entrypoint = []
    if alias:
        state.stages.add(alias)
        state.images[alias] = state.image


def _settings(sheet: Sheet, text: str, instruction: Instruction, state: _State) -> None:
    """ARG and ENV: pairs, or the old form of one name and the rest of the line."""
    words = _joined(text, _words(text, instruction.start, instruction.end))
    if instruction.name == "ENV" and words and assignment(words[0]) is None:
        value = text[words[0].end : instruction.end].strip()
        state.variables[words[0].text] = expand(value, state.variables)
        sheet.add("env_var", words[0].text, words[0].start, words[-1].end, value=state.variables[words[0].text], access="set")
        return
    for word in words:
        name, value = assignment(word) or (word.text, "")
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            continue
        full = expand(value, state.variables)
        if full or instruction.name == "ENV":
            state.variables[name] = full
        sheet.add("env_var", name, word.start, word.end, value=full, access="set" if instruction.name == "ENV" else "arg")
        compiler_line.read_setting(sheet, full, word, Live.YES)


def _run(sheet: Sheet, text: str, instruction: Instruction, state: _State) -> None:
    start = instruction.start
    while match := _FLAG.match(text, start, instruction.end):
        start = match.end()
    if instruction.bodies and text.startswith("<<", start):
        for begin, stop in instruction.bodies:
            read_script(sheet, sheet.text, begin, stop, variables=state.variables)
        return
    if text.startswith("[", start):
        listed = _exec_form(text, start, instruction.end)
        if listed:
            _start(sheet, text, listed, state)
            return
    read_script(sheet, text, start, instruction.end, variables=state.variables)


def _entrypoint(sheet: Sheet, text: str, instruction: Instruction, state: _State) -> None:
    listed = _exec_form(text, instruction.start, instruction.end)
    if listed:
        state.entrypoint = listed
        _start(sheet, text, listed, state)
    else:
        read_script(sheet, text, instruction.start, instruction.end, variables=state.variables)


def _cmd(sheet: Sheet, text: str, instruction: Instruction, state: _State) -> None:
    listed = _exec_form(text, instruction.start, instruction.end)
    if not listed or not listed[0].text.startswith("-"):
        _run(sheet, text, instruction, state)
        return
    server = command_name(Invocation(state.entrypoint))[0] if state.entrypoint else server_of(state.image)
    if server:
        read_flags(sheet, server, listed, Live.YES)


def _start(sheet: Sheet, text: str, words: list[Word], state: _State) -> None:
    """A list of words as Docker starts it; the text behind `sh -c` is a script."""
    if len(words) >= 3 and words[0].text.rsplit("/", 1)[-1] in ("sh", "bash") and re.fullmatch(r"-[a-z]*c", words[1].text):
        read_script(sheet, text, words[2].start + 1, words[2].end - 1, variables=state.variables)
        return
    read_command(sheet, Invocation(words, Live.YES, state.variables))


def _exec_form(text: str, start: int, end: int) -> list[Word]:
    """Words of `["a", "b"]`; empty for the shell form."""
    if not text.startswith("[", start):
        return []
    found = _STRING.finditer(text, start, end)
    return [Word(match[1].replace('\\"', '"'), match.start(), match.end(), True) for match in found]


def _copy(sheet: Sheet, text: str, instruction: Instruction, state: _State) -> None:
    for match in _FROM_IMAGE.finditer(text, instruction.start, instruction.end):
        image = expand(match[1], state.variables)
        if image.lower() not in state.stages and not image.isdigit() and ("/" in image or ":" in image):
            sheet.add("image", image, match.start(1), match.end(1), written=match[1])


_READERS = {
    "FROM": _from,
    "ARG": _settings,
    "ENV": _settings,
    "RUN": _run,
    "CMD": _cmd,
    "ENTRYPOINT": _entrypoint,
    "COPY": _copy,
    "ADD": _copy,
}
