"""Shell text, in a script or inside another file: commands, environment variables, and the scripts within scripts."""

from __future__ import annotations

import re

from porter.model import Live
from porter.parse import compiler_line
from porter.parse.amd_words import narrowest
from porter.parse.command_line import Invocation, read_command
from porter.parse.sheet import Sheet
from porter.parse.shell_arrays import Arrays
from porter.parse.shell_guards import lives
from porter.parse.shell_words import MAX_COMMANDS, Command, assignment, commands
from porter.parse.vendor_images import VENDOR_IMAGE

MAX_DEPTH = 4
_READ = re.compile(r"\$\{?([A-Z][A-Z0-9_]{2,60})\b")
_SETTERS = frozenset(("export", "declare", "typeset", "readonly", "local", "setenv", "ENV"))
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ash", "ssh"))


def read_script(
    sheet: Sheet,
    text: str,
    start: int,
    end: int,
    live: Live = Live.YES,
    variables: dict[str, str] | None = None,
    reads: bool = True,
) -> None:
    """Facts of shell text between two offsets of a file; ``text`` may be the file's with parts blanked, never shifted.

    With ``reads`` off, $NAME is no environment variable (in a Makefile it is the file's own).
    """
    known = dict(variables or {})
    arrays = Arrays()
    work: list[tuple[int, int, Live, int]] = [(start, end, live, 0)]
    while work:
        begin, stop, around, depth = work.pop()
        listed = commands(text, begin, stop)
        if len(listed) >= MAX_COMMANDS:
            sheet.problem(stop, f"more than {MAX_COMMANDS:,} commands; the rest was not read")
        for command, guard in zip(listed, lives(listed), strict=True):
            here = narrowest((around, guard))
            if not arrays.takes(command):
                _read(sheet, command, here, known, reads, arrays)
            if depth < MAX_DEPTH:
                work += [(a, b, here, depth + 1) for a, b in _inner(command)]


def _inner(command: Command) -> list[tuple[int, int]]:
    """Stretches of a command that are shell text themselves: substitutions, `bash -c '…'`, heredocs fed to a shell."""
    inner = list(command.nested)
    for at, word in enumerate(command.words[:200]):
        if word.text.rsplit("/", 1)[-1] not in _SHELLS:
            continue
        if at < 6:
            inner += command.bodies
        script = command.words[at + 2 : at + 3]
        if script and script[0].quoted and re.fullmatch(r"-[a-z]*c", command.words[at + 1].text):
            inner.append((script[0].start + 1, script[0].end - 1))
    return inner


def _read(sheet: Sheet, command: Command, live: Live, known: dict[str, str], reads: bool, arrays: Arrays) -> None:
    words = list(command.words)
    if not words or command.pattern or "for" in command.lead or "case" in command.lead:
        return
    setter = words[0].text in _SETTERS
    assigned = {pair[0] for word in words if (pair := assignment(word))}
    first = 0
    while first < len(words) and (setter or assignment(words[first])):
        word = words[first]
        first += 1
        pair = assignment(word)
        if pair:
            name, value = pair
            exported = setter or first < len(words)
            known[name] = value if len(value) < 400 else ""
            if name.isupper():
                sheet.add("env_var", name, word.start, word.end, live, "host", value=value, access="set" if exported else "assign")
                compiler_line.read_setting(sheet, value, word, live)
            if VENDOR_IMAGE.fullmatch(value):
                sheet.add("image", value, word.start, word.end, live, "host")
    words = words[first:]
    for word in command.words + command.redirects if reads else []:
        for match in _READ.finditer(word.text[:2_000]):
            if match[1] not in assigned and match[1] not in known:
                known[match[1]] = ""
                sheet.add("env_var", match[1], word.start, word.end, live, "host", access="read")
    words = arrays.expand(words, known)
    if words:
        read_command(sheet, Invocation(words, live, known))
