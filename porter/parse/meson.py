"""Meson: the CUDA language, dependencies, libraries and flags."""

from __future__ import annotations

from porter.model import Live, SourceFile
from porter.parse import Parsed, compiler_line
from porter.parse.call_tokens import tokens
from porter.parse.sheet import Sheet
from porter.parse.shell_words import Word


def parse(file: SourceFile) -> Parsed:
    """Facts of a meson.build file."""
    sheet = Sheet(file, "meson")
    for token in tokens(sheet.text):
        if token.kind == "call":
            continue
        text, callee = token.text, token.callee.rsplit(".", 1)[-1]
        if callee == "dependency" and token.position == 0 and not token.keyword:
            sheet.add("cmake_package", text, token.start, token.end)
        elif callee == "dependency" and token.keyword == "modules":
            sheet.add("link_library", text, token.start, token.end)
        elif callee in ("project", "add_languages") and text.lower() == "cuda":
            sheet.add("build_symbol", f"{callee}:cuda", token.start, token.end)
        elif callee in ("import", "find_program", "get_compiler") and not token.keyword:
            sheet.add("build_symbol", f"{callee}:{text}", token.start, token.end)
        elif callee == "find_library" and token.position == 0 and not token.keyword:
            sheet.add("link_library", text.removeprefix("lib"), token.start, token.end)
        elif text.startswith("-") and len(text) > 1:
            cuda = any("cuda" in name or "nvcc" in name for name in token.lists)
            compiler_line.read_flags(sheet, [Word(text, token.start, token.end)], Live.YES, everything=cuda or text.startswith("-D"))
    return sheet.parsed
