"""Fixes of one line: what a rule may offer, where none is offered, and that a safe one compiles to the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from porter import pipeline, rules
from porter.config import Config
from porter.errors import RuleError
from porter.model import Fix
from porter.rules import RuleSet

RULE = "register-storage-class"


def fixes(folder: Path, ruleset: RuleSet, monkeypatch: pytest.MonkeyPatch, code: str) -> list[Fix | None]:
    monkeypatch.setattr(pipeline.rules, "load", lambda *_: ruleset)
    (folder / "k.cu").write_text(code)
    return [finding.fix for finding in pipeline.audit(folder, Config(jobs=0)).findings if finding.rule == RULE]


@pytest.mark.parametrize(
    ("line", "fixed"),
    [
        ("  register float sum = 0.0f;", "  float sum = 0.0f;"),
        ("\tfor (register int i = 0; i < 4; ++i) {}", "\tfor (int i = 0; i < 4; ++i) {}"),
        ("  /* ä漢 */ register   const int x = 1;  // register", "  /* ä漢 */ const int x = 1;  // register"),
        ("  register int x" + " " * 300 + "= 1;", None),
    ],
)
def test_a_safe_fix_is_the_whole_line(
    tmp_path: Path, ruleset: RuleSet, monkeypatch: pytest.MonkeyPatch, line: str, fixed: str | None
) -> None:
    found = fixes(tmp_path, ruleset, monkeypatch, f"__global__ void k(float* p) {{\n{line}\n}}\n")
    assert found == [Fix(fixed, True) if fixed else None]


def test_a_variable_placed_in_a_register_keeps_the_word(tmp_path: Path, ruleset: RuleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fixes(tmp_path, ruleset, monkeypatch, '__global__ void k(float* p) {\n  register int x asm("r0");\n}\n') == []


def test_a_rule_without_words_to_replace_is_refused(tmp_path: Path) -> None:
    path = next(rules.rules_folder().glob(f"*/{RULE}.toml"))
    for wrong in ("fix = { safe = true }", 'fix = { replace = "x" }', 'fix = { replace = { a = "b" }, save = true }'):
        copy = tmp_path / path.name
        copy.write_text("\n".join(wrong if row.startswith("fix = ") else row for row in path.read_text().splitlines()))
        with pytest.raises(RuleError):
            rules.load_file(copy)
