"""Rules as files: every one of porter's is complete, and every kind of mistake in a user's is refused with its file named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from porter import catalog, ready_rules, rules
from porter.config import Config
from porter.detect import Matcher, load_detectors
from porter.errors import RuleError
from porter.model import CATEGORIES, INSIGHT_CATEGORIES
from porter.testing import check_rule_examples

GOOD = catalog.skeleton("a-library").replace("category = ", "category = ")


def written(folder: Path, text: str, name: str = "a-library") -> Path:
    path = folder / "area" / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_skeleton_is_a_rule_whose_example_passes(tmp_path: Path) -> None:
    written(tmp_path, GOOD)
    loaded = rules.load((str(tmp_path),))
    assert loaded.rules["a-library"].effort.once.likely == 4.0
    assert loaded.rules["a-library"].sources[0].checked == "2026-12-01"
    assert list(check_rule_examples(loaded, "a-library")) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('id = "a-library"', 'id = "A Library"', "not a slug"),
        ('severity = "major"', 'severity = "awful"', "severity"),
        ('category = "cuda-only-library"', 'category = "misc"', "category 'misc'"),
        ("checked = 2026-12-01", 'checked = "some day"', "a source needs"),
        ('["1h", "4h", "2d"]', '["4h", "1h", "2d"]', "do not grow"),
        ('["1h", "4h", "2d"]', '["1 hour", "4h", "2d"]', "not a duration"),
        ("[match]", "[matches]", "matches"),
        ('include = ["name.h"]', 'inclusion = ["name.h"]', "unknown fact kind"),
        ('include = ["name.h"]', "include = []", "no pattern"),
        ('action = "swap"', 'action = "none"', "severity 'info'"),
        ('status = "replacement-with-changes"', 'status = "fine"', "replacement status"),
        ("[[source]]", "[source]", "source"),
        ('title = "What', 'title = "' + "x" * 91, "title"),
        ('id = "a-library"', 'id = "another"', "must be named another.toml"),
    ],
)
def test_a_broken_rule_is_refused_with_its_file_and_reason(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in GOOD
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(RuleError) as caught:
        rules.load((str(tmp_path),))
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_broken_toml_and_missing_folder_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "id = [unclosed")
    with pytest.raises(RuleError, match=str(path)):
        rules.load((str(tmp_path),))
    path.write_text("a." * 5000 + "b = 1")
    with pytest.raises(RuleError, match="a key of more than 60 parts"):
        rules.load((str(tmp_path),))
    with pytest.raises(RuleError, match="no such rules folder"):
        rules.load((str(tmp_path / "absent"),))


def test_an_id_of_porters_own_cannot_be_taken(tmp_path: Path, ruleset: rules.RuleSet) -> None:
    taken = next(iter(ruleset.rules))
    written(tmp_path, GOOD.replace("a-library", taken), taken)
    with pytest.raises(RuleError, match="exists already"):
        rules.load((str(tmp_path),))


def test_at_least_eighty_rules_over_all_categories(ruleset: rules.RuleSet) -> None:
    found = {rule.category for rule in ruleset.rules.values()}
    assert len(ruleset.rules) >= 80
    assert set(CATEGORIES) - found == set()
    assert found & set(INSIGHT_CATEGORIES)


def test_titles_are_unique_and_detectors_exist(ruleset: rules.RuleSet) -> None:
    titles = [rule.title for rule in ruleset.rules.values()]
    assert len(set(titles)) == len(titles)
    names = {d.name for d in load_detectors(ruleset)}
    assert names == set(ruleset.detectors)


def test_matcher_knows_names_globs_and_modules_inside_modules(tmp_path: Path) -> None:
    written(tmp_path, GOOD.replace('include = ["name.h"]', 'py_import = ["pkgx"]\ncall = ["nvx_*"]'))
    matcher = Matcher(rules.load((str(tmp_path),)))
    assert "a-library" in matcher.rules_of("py_import", "pkgx")
    assert "a-library" in matcher.rules_of("py_import", "pkgx.sub.module")
    assert "a-library" not in matcher.rules_of("py_import", "pkgxtra")
    assert "a-library" in matcher.rules_of("call", "nvx_put")
    assert "a-library" not in matcher.rules_of("call", "my_nvx_put")


def test_targets_limit_a_rule() -> None:
    rule = next(iter(rules.load().rules.values()))
    import msgspec

    narrow = msgspec.structs.replace(rule, targets=("gfx94*",))
    assert rules.applies(narrow, ("gfx90a", "gfx942", "gfx1100")) == ("gfx942",)
    assert rules.applies(msgspec.structs.replace(rule, targets=()), Config().targets) == Config().targets


@pytest.mark.parametrize(("text", "hours"), [("30m", 0.5), ("2h", 2.0), ("1.5d", 12.0), ("1w", 40.0), ("0", 0.0)])
def test_durations(text: str, hours: float) -> None:
    assert rules.parse_duration(text) == pytest.approx(hours)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for a table of ready rules of a test's own."""
    monkeypatch.setattr(ready_rules, "FILE", tmp_path / "ready.json")
    for name in ready_rules.SHAPED_BY:
        (tmp_path / name).write_bytes((Path(rules.__file__).parent / name).read_bytes())
    ready_rules._table.cache_clear()
    yield tmp_path / "ready.json"
    ready_rules._table.cache_clear()


def test_a_ready_rule_is_what_its_file_says() -> None:
    held = ready_rules._table()
    assert all(held.get(key, rule) == rule for key, rule in rules.ready())


def test_a_rule_is_read_again_when_anything_of_it_has_changed(table: Path) -> None:
    found = dict(rules.ready())
    table.write_text(ready_rules.text(found.items()))
    assert ready_rules._table() == found
    path = rules.rules_folder() / "feature" / "async-copy-api.toml"
    data = path.read_bytes()
    assert ready_rules.find("feature", path.name, data) == rules.load_file(path, "feature")
    assert ready_rules.find("other", path.name, data) is None
    assert ready_rules.find("feature", "async-copy.toml", data) is None
    assert ready_rules.find("feature", path.name, data + b"\n") is None


@pytest.mark.parametrize("harm", ["", '{"shape": "other", "rules": {}}', "{}", None])
def test_a_table_of_another_porter_counts_for_nothing(table: Path, harm: str | None) -> None:
    if harm is None:  # the code that shaped it has changed
        table.write_text(ready_rules.text(rules.ready()))
        (table.parent / "rules.py").write_text("")
    else:
        table.write_text(harm)
    assert ready_rules._table() == {}
    assert rules.load().rules
