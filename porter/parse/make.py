"""Makefiles: variables, compiler flags and libraries, recipes as shell, ifeq and ifdef with three truth values."""

from __future__ import annotations

import re

from porter.model import Live, SourceFile
from porter.parse import Parsed, compiler_line
from porter.parse.amd_words import Nest, Truth, says_amd, says_nvidia
from porter.parse.sheet import Sheet
from porter.parse.shell_script import read_script
from porter.parse.shell_words import commands

_ASSIGN = re.compile(r"\s*(?:export\s+|override\s+)*([A-Za-z_][\w.-]*)\s*(?::::|::|:|\?|\+|!)?=(.*)", re.DOTALL)
_TEST = re.compile(r"\s*(else\s+)?(ifeq|ifneq|ifdef|ifndef|else|endif)\b(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$[({]([A-Za-z_]\w*)[)}]")
_OF_INTEREST = re.compile(r"\w*(?:CUDA|NVCC|NCCL|CUDNN|TENSORRT|CUBLAS|GENCODE|SM_?ARCH)\w*")
_TEST_TARGET = re.compile(r"(?<!\S)(test|tests|check)(?!\S)")
_NO_TARGET = frozenset("=$\"'(")  # in front of the colon: an assignment or a name that only make knows
_EXPORTED = re.compile(r"\s*(?:override\s+)?export\s")
_TOOLKIT = re.compile(r"(?:CUDA|CUDNN|NVCC)\w*(?:HOME|PATH|ROOT|DIR|FLAGS)\w*|NVCC")
_NVCC = re.compile(r"(?:^|[\s/(=])nvcc(?:$|[\s)])")
_SHELL = re.compile(r"\$\(shell\b")
_TOP = frozenset(("Makefile", "makefile", "GNUmakefile"))
_OTHER_FLAGS = re.compile(r"\w*(?:CXX|NV|CUDA|HIP|CPP)\w*FLAGS\w*")


def parse(file: SourceFile) -> Parsed:
    """Facts of a Makefile or .mk file."""
    sheet = Sheet(file, "make")
    text, lines = _lines(sheet.text)
    ported = any(says_amd(line) for _, line in lines if _TEST.match(line) or _ASSIGN.match(line))
    nvcc = any(_NVCC.search(line) for _, line in lines)
    nest = Nest()
    known: dict[str, str] = {}
    whole: set[int] = set()
    for start, line in lines:
        test = _TEST.match(line) if not line.startswith("\t") else None
        if test:
            _branch(nest, test, ported)
            continue
        live = nest.live
        if line.startswith("\t"):
            _recipe(sheet, text, start, start + len(line), live, known)
            continue
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        target = _test_target(line) if file.path in _TOP else None
        if target:
            sheet.add("test_runner", f"make {target[1]}", start + target.start(1), start + target.end(1), live)
        match = _ASSIGN.match(line) or (_ASSIGN.match(line, line.index(":") + 1) if ":" in line else None)
        if match:
            if match[1] == "CFLAGS" and match.pos == 0:
                whole.update(range(sheet.line(start), sheet.line(start + len(line)) + 1))
            _variable(sheet, text, start, match, live, nvcc)
            if live is not Live.NO and len(match[2]) < 400:
                known[match[1]] = match[2].split("#")[0].strip()
        elif ";" in line and ":" in line:
            _recipe(sheet, text, start + line.index(";") + 1, start + len(line), live, known)
    if file.path in _TOP and not any(_OTHER_FLAGS.fullmatch(name) for name in known):
        sheet.parsed.extra["whole_build_lines"] = frozenset(whole)
    return sheet.parsed


def _test_target(line: str) -> re.Match[str] | None:
    """The target of a rule that runs tests, by its usual names."""
    names, colon, behind = line.partition(":")
    plain = colon and not behind.lstrip(":").startswith("=") and _NO_TARGET.isdisjoint(names)
    return _TEST_TARGET.search(names) if plain else None


def _lines(text: str) -> tuple[str, list[tuple[int, str]]]:
    """The text as a shell reads it, and its logical lines with their offsets.

    Everything keeps its place: continuations become blanks, $(NAME) becomes ${NAME}, $(shell x) a substitution, $$ a dollar.
    """
    blanked = text.replace("\\\r\n", "   ").replace("\\\n", "  ").replace("$$", " $")
    blanked = _SHELL.sub("$(     ", _VARIABLE.sub(lambda match: "${" + match[1] + "}", blanked))
    out: list[tuple[int, str]] = []
    offset = 0
    for line in blanked.split("\n"):
        out.append((offset, line))
        offset += len(line) + 1
    return blanked, out


def _branch(nest: Nest, test: re.Match[str], ported: bool) -> None:
    word, rest = test[2], test[3].split("#")[0]
    if word == "endif":
        nest.close()
    elif word == "else":
        nest.branch(True)
    elif test[1]:
        nest.branch(_truth(word, rest, ported))
    else:
        nest.open(_truth(word, rest, ported))


def _truth(word: str, rest: str, ported: bool) -> Truth:
    """Whether an ifeq or ifdef holds in a build for AMD; CUDA tests are false only in a file that has an AMD side."""
    amd, nvidia = says_amd(rest), says_nvidia(rest)
    if amd == nvidia or (nvidia and not ported):
        return None
    empty = re.search(r",\s*\)|,\s*$|\(\s*,|['\"]{2}|\b(?:0|no|off|OFF|false)\b", rest) is not None and word in ("ifeq", "ifneq")
    positive = (word in ("ifeq", "ifdef")) != empty
    return positive if amd else not positive


def _variable(sheet: Sheet, text: str, start: int, match: re.Match[str], live: Live, nvcc: bool) -> None:
    name, value = match[1], match[2]
    begin = start + match.start(1)
    if _OF_INTEREST.fullmatch(name) or _NVCC.search(value):
        sheet.add("build_symbol", name, begin, start + match.end(1), live, value=value.strip())
    if _EXPORTED.match(match[0]) and not _TOOLKIT.fullmatch(name):
        sheet.add("env_var", name, begin, start + match.end(1), live, value=value.split("#")[0].strip(), access="set")
    cuda = (nvcc and "FLAGS" in name) or "NV" in name or "CUDA" in name or "GENCODE" in name or "ARCH" in name or "nvcc" in value
    for command in commands(text, start + match.start(2), start + match.end(2)):
        words = [word for word in command.words if word.text]
        if words and compiler_line.is_nvcc(words[0].text):
            sheet.add("command", "nvcc", words[0].start, words[0].end, live)
            words, cuda = words[1:], True
        compiler_line.read_flags(sheet, words, live, everything=cuda)


def _recipe(sheet: Sheet, text: str, start: int, end: int, live: Live, known: dict[str, str]) -> None:
    """A recipe line: shell, after the @, - and + that make takes for itself."""
    while start < end and text[start] in "\t @-+":
        start += 1
    read_script(sheet, text, start, end, live, known, reads=False)
