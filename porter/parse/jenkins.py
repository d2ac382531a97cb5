"""Jenkinsfiles: shell steps, agent images and labels."""

from __future__ import annotations

import re

from porter.model import SourceFile
from porter.parse import Parsed
from porter.parse.sheet import Sheet
from porter.parse.shell_script import read_script

MAX_STRINGS = 5_000
_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<triple>'''|\"\"\")"
    r"|(?P<string>'(?:[^'\\\n]|\\.)*+(?:'|(?=\n)|\\?\Z)|\"(?:[^\"\\\n]|\\.)*+(?:\"|(?=\n)|\\?\Z))",
    re.DOTALL,
)


def parse(file: SourceFile) -> Parsed:
    """Facts of a Jenkinsfile: strings behind `sh`, `image`, `label` and in `environment`."""
    sheet = Sheet(file, "jenkins")
    text, at, name = sheet.text, 0, ""
    for _ in range(MAX_STRINGS * 20):
        match = _TOKEN.search(text, at)
        if match is None:
            break
        at = match.end()
        if match["name"]:
            name = match["name"]
            continue
        if match["triple"]:
            stop = text.find(match["triple"], at)
            start, end = at, stop if stop >= 0 else len(text)
            at = end + 3
        elif match["string"]:
            start, end = match.start() + 1, match.end() - 1
        else:
            continue
        if name in ("sh", "script"):
            read_script(sheet, text, start, end)
        elif name == "image":
            sheet.add("image", text[start:end], start, end)
        elif name == "label":
            sheet.add("manifest_key", f"agent.label={text[start:end]}", start, end)
        elif name.isupper():
            sheet.add("env_var", name, start, end, context="host", value=text[start:end], access="set")
    else:
        sheet.problem(at, "too many words in a Jenkinsfile; the rest was not read")
    return sheet.parsed
