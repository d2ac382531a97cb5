"""Bazel: rules for CUDA, labels of CUDA repositories, flags and libraries."""

from __future__ import annotations

import re

from porter.model import Live, SourceFile
from porter.parse import Parsed, compiler_line
from porter.parse.call_tokens import tokens
from porter.parse.command_line import read_flags
from porter.parse.sheet import Sheet
from porter.parse.shell_words import Word, commands, names

_LABEL = re.compile(r"(@@?[\w.+~-]+)?(//[\w./+=-]*)?(:[\w./+=-]+)?")
_FLAG_LISTS = names("copts cuda_copts nvcc_copts linkopts host_copts ptxas_opts ptxasopts defines local_defines cxxopts user_link_flags")
_EXTERNAL = names("http_archive git_repository bazel_dep new_git_repository new_local_repository local_repository use_repo use_extension")


def parse(file: SourceFile) -> Parsed:
    """Facts of BUILD, WORKSPACE, MODULE.bazel and .bzl files."""
    sheet = Sheet(file, "bazel")
    if file.path.endswith(".bazelrc"):
        _settings(sheet)
        return sheet.parsed
    for token in tokens(sheet.text):
        if token.kind == "call":
            sheet.add("build_symbol", token.text, token.start, token.end)
            continue
        text = token.text
        if text.startswith(("@", "//")) and _LABEL.fullmatch(text):
            repository = text.partition("//")[0]
            if repository:
                sheet.add("build_symbol", "@" + repository.lstrip("@"), token.start, token.end, label=text)
        elif token.callee in _EXTERNAL and token.keyword in ("name", ""):
            sheet.add("build_symbol", f"@{text.lstrip('@')}", token.start, token.end, declared_by=token.callee)
        elif token.callee == "load" and token.position > 0:
            sheet.add("build_symbol", text, token.start, token.end)
        elif {"defines", "local_defines"} & set(token.lists):
            sheet.add("compile_flag", f"-D{text}", token.start, token.end)
        elif text.startswith("-") and len(text) > 1:
            everything = bool(_FLAG_LISTS & set(token.lists))
            words = [Word(part, token.start, token.end) for part in text.split()[:50]]
            compiler_line.read_flags(sheet, words, Live.YES, everything=everything)
    return sheet.parsed


def _settings(sheet: Sheet) -> None:
    """A .bazelrc: each line is a command, perhaps with a configuration's name, and its flags."""
    for command in commands(sheet.text):
        if command.words and command.words[0].text[:1].isalpha():
            name, _, configuration = command.words[0].text.partition(":")
            if configuration:
                sheet.add("command_flag", f"bazel {name} --config={configuration}", command.words[0].start, command.words[0].end)
            read_flags(sheet, f"bazel {name}", command.words[1:], Live.YES)
