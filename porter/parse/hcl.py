"""HCL: Terraform resources (machine and accelerator types) and the image sources of docker-bake files."""

from __future__ import annotations

import re

from porter.model import SourceFile
from porter.parse import Parsed
from porter.parse.sheet import Sheet

MAX_TOKENS = 200_000
MAX_DEPTH = 60
_TOKEN = re.compile(
    r"[ \t\r\f\v]+|#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z)|<<-?(?P<heredoc>\w+)[^\n]*\n|(?P<string>\"(?:[^\"\\\n]|\\.)*\")"
    r"|(?P<word>[A-Za-z_][\w-]*)|(?P<mark>[]={},\n[])|.",
    re.DOTALL,
)
_IMAGE = "docker-image://"


def parse(file: SourceFile) -> Parsed:
    """A fact for each attribute whose value is a string or a list of strings: the dotted path of blocks and labels, and the value."""
    sheet = Sheet(file, "hcl")
    text, at, count = sheet.text, 0, 0
    stack: list[str] = []
    words: list[str] = []  # of the statement: a block's type and labels, or an attribute's name
    attribute, attribute_at = "", 0
    while at < len(text) and count < MAX_TOKENS:
        match = _TOKEN.match(text, at)
        if match is None:
            break
        at, count = match.end(), count + 1
        mark, string = match["mark"], match["string"]
        if match["heredoc"]:
            at = _after_heredoc(text, at, match["heredoc"])
        elif mark == "{":
            if len(stack) >= MAX_DEPTH:
                sheet.problem(match.start(), f"more than {MAX_DEPTH} levels deep; what follows was not read")
                break
            stack.append(attribute or ".".join(words))
            words, attribute = [], ""
        elif mark == "}":
            words, attribute = [], ""
            if stack:
                stack.pop()
        elif mark == "=" and words and not attribute:
            attribute, words = words[-1], []
        elif mark in ("\n", ",") and not _list_is_open(text, attribute_at, match.start(), attribute):
            words, attribute = [], ""
        elif string and attribute:
            _value(sheet, stack, attribute, string[1:-1], attribute_at, match)
        elif (string or match["word"]) and not attribute:
            attribute_at = match.start() if not words else attribute_at
            words.append(string[1:-1] if string else match["word"])
    if count >= MAX_TOKENS:
        sheet.problem(at, f"more than {MAX_TOKENS:,} words; the rest was not read")
    return sheet.parsed


def _value(sheet: Sheet, stack: list[str], attribute: str, value: str, start: int, match: re.Match[str]) -> None:
    start = start if sheet.line(start) == sheet.line(match.start()) else match.start()
    if value.startswith(_IMAGE):
        sheet.add("image", value.removeprefix(_IMAGE), match.start(), match.end())
    path = ".".join([*stack, attribute])
    sheet.add("manifest_key", f"{path}={value}", start, match.end(), context="host", value=value)


def _list_is_open(text: str, start: int, end: int, attribute: str) -> bool:
    """Whether an attribute's list goes on after this line: more brackets opened than closed since its name."""
    if not attribute or end - start > 20_000:
        return False
    return text.count("[", start, end) > text.count("]", start, end)


def _after_heredoc(text: str, at: int, word: str) -> int:
    """The offset behind the line that closes a here-document, or the end of the text."""
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if text[at:end].strip() == word:
            return end
        at = end + 1
    return len(text)
