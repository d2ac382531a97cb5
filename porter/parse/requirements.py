"""pip requirements and constraints files: requirements, index URLs, and who pulled a compiled pin in."""

from __future__ import annotations

import re

from porter.model import SourceFile
from porter.parse import Parsed
from porter.parse.requirement_line import add_requirement
from porter.parse.sheet import Sheet

_COMMENT = re.compile(r"(?:^|\s)#.*")
_INDEX = ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--pypi-url")
_VIA = re.compile(r"#\s*(?:via\b)?\s*(.*)")


def parse(file: SourceFile) -> Parsed:
    """Facts of a requirements file; a line that can't be read is one problem and the rest goes on."""
    sheet = Sheet(file, "requirements")
    lines = _logical_lines(sheet.text)
    section = ""
    for number, (start, text) in enumerate(lines):
        bare = _COMMENT.sub("", text).strip().lstrip("\ufeff")
        if bare.startswith("[") and bare.endswith("]"):  # requires.txt of an egg: [extra:marker]
            section = bare[1:-1].partition(":")[2]
            continue
        if not bare or bare.startswith("#"):
            continue
        if section and ";" not in bare:
            bare = f"{bare} ; {section}"
        begin = start + len(text) - len(text.lstrip("\ufeff \t"))
        end = begin + len(_COMMENT.sub("", text).strip().split("\n")[0].rstrip("\\ \t\r"))
        _read_line(sheet, bare, begin, end, _pinned_by(lines, number))
    return sheet.parsed


def _read_line(sheet: Sheet, bare: str, begin: int, end: int, pinned_by: str) -> None:
    if bare.startswith("-"):
        _read_option(sheet, bare, begin, end)
        return
    add_requirement(sheet, bare, begin, end, pinned_by=pinned_by)


def _read_option(sheet: Sheet, bare: str, begin: int, end: int) -> None:
    option, _, value = bare.replace("=", " ", 1).partition(" ") if not bare.startswith(("-e", "-c", "-r")) else bare.partition(" ")
    value = value.strip().strip("'\"")
    if option in _INDEX and value:
        sheet.add("index_url", value.split()[0], begin, end, option=option)
    elif option in ("-e", "--editable") and "://" in value:
        _read_line(sheet, value, begin, end, "")


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Offsets and texts of lines, with backslash continuations joined."""
    out: list[tuple[int, str]] = []
    start, held, begin = 0, "", 0
    for line in text.split("\n"):
        stripped = line.rstrip("\r \t")
        if not held:
            begin = start
        if stripped.endswith("\\") and not stripped.lstrip().startswith("#") and len(held) < 20_000:
            held += line[: len(stripped) - 1] + "\n"
        else:
            out.append((begin, held + line))
            held = ""
        start += len(line) + 1
    if held:
        out.append((begin, held))
    return out


def _pinned_by(lines: list[tuple[int, str]], number: int) -> str:
    """Names after `# via` below (or behind) a compiled pin; empty for a direct requirement or none said."""
    names: list[str] = []
    text = lines[number][1]
    comment = _COMMENT.search(text)
    if comment and "via" in comment[0]:
        names += _via_names(comment[0])
    for _, following in lines[number + 1 : number + 40]:
        stripped = following.strip()
        if not stripped.startswith("#") or following[:1] not in (" ", "\t"):
            break
        if not names and "via" not in stripped and not stripped.strip("# "):
            continue
        names += _via_names(stripped)
    if any(name.startswith("-r") or "(" in name for name in names):
        return ""
    return ",".join([name for name in names if not name.startswith("-")][:8])


def _via_names(comment: str) -> list[str]:
    match = _VIA.search(comment)
    rest = match[1].strip() if match else ""
    return [part.strip() for part in rest.split(",") if part.strip()]
