"""Every file under fixtures/parse is read, and its facts compared with the list that stands beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from porter.model import SourceFile
from porter.parse import Parsed, parser_of

ROOT = Path(__file__).parent.parent / "fixtures" / "parse"
KINDS = {
    "setup.cfg": "setup-cfg",
    "Pipfile": "pipfile",
    "Pipfile.lock": "python-lock",
    "uv.lock": "python-lock",
    "poetry.lock": "python-lock",
}
FORMATS = (
    "requirements", "pyproject", "conda", "cmake", "make", "bazel", "meson", "docker", "yaml", "json", "toml", "shell",
    "jenkins", "pbtxt", "hcl",
)  # fmt: skip
FILES = [path for name in FORMATS for path in sorted((ROOT / name).iterdir()) if path.suffix != ".facts"]


def parsed(path: Path) -> Parsed:
    kind = KINDS.get(path.name, path.parent.name)
    parse = parser_of(kind)
    assert parse is not None
    return parse(SourceFile(path.relative_to(ROOT).as_posix(), kind, path.read_bytes()))


def listing(result: Parsed) -> str:
    """One line a fact, in the order of the text: place, kind, name, liveness, what the parser adds."""
    lines = []
    for fact in sorted(result.facts, key=lambda fact: (fact.span, fact.kind, fact.name)):
        detail = " ".join(f"{key}={value}" for key, value in sorted(fact.detail.items()))
        lines.append(f"{fact.span.line}:{fact.span.column} {fact.kind} {fact.name} {fact.live} {detail}".rstrip())
    lines += [f"{problem.line}: PROBLEM {problem.what}" for problem in result.problems]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_facts_are_the_listed_ones(path: Path) -> None:
    expected = path.with_name(path.name + ".facts").read_text(encoding="utf-8")
    assert listing(parsed(path)) == expected


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_spans_hold_the_name_or_lie_inside_the_file(path: Path) -> None:
    lines = path.read_bytes().split(b"\n")
    for fact in parsed(path).facts:
        span = fact.span
        assert 1 <= span.line <= span.end_line <= len(lines)
        assert 1 <= span.column <= len(lines[span.line - 1]) + 1
        assert (span.end_line, span.end_column) >= (span.line, span.column)
