"""Model configurations of Triton Inference Server (config.pbtxt, protobuf text format): platform, back end and accelerators."""

from __future__ import annotations

import re

from porter.model import SourceFile
from porter.parse import Parsed
from porter.parse.sheet import Sheet

MAX_TOKENS = 100_000
MAX_DEPTH = 60
_KEYS = ("platform", "backend", "accelerator", "instance_group", "default_model_filename")
_TOKEN = re.compile(r"\s+|#[^\n]*|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|(?P<word>[\w.+-]+)|(?P<mark>[][{}<>:,;])")


def parse(file: SourceFile) -> Parsed:
    """A fact for each scalar that says what runs the model and where: the dotted path of its fields, and its value."""
    sheet = Sheet(file, "pbtxt")
    text, at, count = sheet.text, 0, 0
    stack: list[tuple[str, str]] = []  # path, the mark that closes it
    name, name_at = "", 0
    while at < len(text) and count < MAX_TOKENS:
        match = _TOKEN.match(text, at)
        if match is None:
            sheet.problem(at, "no protobuf text here; what follows was not read")
            return sheet.parsed
        at, count = match.end(), count + 1
        path = stack[-1][0] if stack else ""
        if match["mark"] in ("{", "<", "["):
            if len(stack) >= MAX_DEPTH:
                sheet.problem(match.start(), f"more than {MAX_DEPTH} levels deep; what follows was not read")
                return sheet.parsed
            stack.append((f"{path}.{name}".strip(".") if name else path, match["mark"]))
            name = ""
        elif match["mark"] in ("}", ">", "]"):
            name = ""
            if stack:
                stack.pop()
        elif match["string"] or match["word"]:
            value = match["string"][1:-1] if match["string"] else match["word"]
            in_list = bool(stack) and stack[-1][1] == "["
            if name or in_list:
                key = path if in_list else f"{path}.{name}".strip(".")
                if any(part in key for part in _KEYS):
                    start = match.start() if in_list else name_at
                    sheet.add("model_key", f"{key}={value}", start, match.end(), context="host", value=value)
                name = name if in_list else ""
            else:
                name, name_at = value, match.start()
    if count >= MAX_TOKENS:
        sheet.problem(at, f"more than {MAX_TOKENS:,} words; the rest was not read")
    return sheet.parsed
