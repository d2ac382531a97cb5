"""The main suite: every rule's examples and every marked fixture, through the real parsers and detectors."""

from __future__ import annotations

from pathlib import Path

import pytest

from porter import rules
from porter.config import Config
from porter.examine import Auditor
from porter.testing import ALL_TARGETS, check_folder, check_rule_examples, read_marks

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "rules"
RULES = rules.load()


@pytest.fixture(scope="module")
def auditor() -> Auditor:
    return Auditor(Config(targets=ALL_TARGETS), RULES)


@pytest.mark.parametrize("rule_id", sorted(RULES.rules))
def test_examples_of_a_rule(rule_id: str, auditor: Auditor) -> None:
    assert list(check_rule_examples(RULES, rule_id, auditor)) == []


@pytest.mark.parametrize("folder", sorted(p for p in FOLDER.iterdir() if p.is_dir()) if FOLDER.is_dir() else [])
def test_marked_fixture(folder: Path, auditor: Auditor) -> None:
    assert list(check_folder(folder, auditor)) == []


def test_fixture_folders_are_named_after_rules_or_cases() -> None:
    names = {p.name for p in FOLDER.iterdir() if p.is_dir()}
    assert {n for n in names if n not in RULES.rules and not n.startswith("case-")} == set()


def test_marks_are_read_and_blanked_in_every_comment_style() -> None:
    text = b"// expect: one-rule, other-rule\nx\n# ok: near\ny /* todo@-1: late */\n<!-- expect@+2: page -->\n"
    blank, marks = read_marks(text)
    assert len(blank) == len(text)
    assert b"rule" not in blank and b"near" not in blank and b"page" not in blank
    assert {(m.word, m.rule, m.line) for m in marks} == {
        ("expect", "one-rule", 2),
        ("expect", "other-rule", 2),
        ("ok", "near", 4),
        ("todo", "late", 3),
        ("expect", "page", 7),
    }
