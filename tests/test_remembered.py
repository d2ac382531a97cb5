"""The whole report of an unchanged tree, and the rules, from the cache: the same to the byte, and never of another tree."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from porter import cache, cache_keys, passes, pipeline, remembered, rules
from porter.config import Config
from porter.discover import Entry
from porter.errors import RuleError
from porter.model import Report

KERNEL = "__global__ void f(int* p) { p[threadIdx.x] = __shfl_sync(0xffffffff, p[0], 1); }\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.cu").write_text(KERNEL)
    (folder / "requirements.txt").write_text("cupy-cuda12x==13.0\n")
    return folder


def scan(tree: Path, config: Config) -> Report:
    return pipeline.audit(tree, config, command="porter scan project")


def config_of(tmp_path: Path, **more: object) -> Config:
    return msgspec.structs.replace(Config(jobs=0, cache_dir=str(tmp_path / "cache")), **more)


def test_an_unchanged_tree_gives_the_same_report_without_any_pass(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(tmp_path)
    first = scan(tree, config)
    assert first.findings
    monkeypatch.setattr(passes.Passes, "survey", lambda *_: pytest.fail("a pass was made"))
    again = scan(tree, config)
    assert msgspec.json.encode(again) == msgspec.json.encode(first) and again == first


def test_a_changed_file_setting_or_name_makes_a_new_report(tree: Path, tmp_path: Path) -> None:
    config = config_of(tmp_path)
    first = scan(tree, config)
    assert scan(tree, msgspec.structs.replace(config, exclude=("a.cu",))).cuda_files == 0
    (tree / "a.cu").write_text(KERNEL.replace("1)", "2)") * 2)
    assert len(scan(tree, config).kernels) == 2
    (tree / "a.cu").write_text(KERNEL)
    assert scan(tree, config) == first
    (tree / "b.cu").write_text(KERNEL)
    assert scan(tree, config).cuda_files == 2
    assert pipeline.audit(tree, config, command="porter scan other").command == "porter scan other"


def test_a_damaged_report_is_made_again(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(tmp_path)
    first = scan(tree, config)
    monkeypatch.setattr(cache.Store, "get", lambda _, keys: dict.fromkeys(keys, b"\x81\xa1a\x01"))
    assert scan(tree, config) == first


def test_a_tree_with_a_models_config_is_never_kept_whole(tree: Path, tmp_path: Path) -> None:
    (tree / "config.json").write_text("{}")
    assert remembered.depends_on_more(config_of(tmp_path), [Entry("config.json", "json", 2)])
    assert not remembered.depends_on_more(config_of(tmp_path), [Entry("a.cu", "cuda", 2)])
    assert remembered.depends_on_more(config_of(tmp_path, changed_since="HEAD"), [])


def test_a_file_that_changes_under_the_scan_keeps_no_report(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(tmp_path)
    survey = passes.Passes.survey

    def then_change(self: passes.Passes, entries: object) -> object:
        found = survey(self, entries)  # type: ignore[arg-type]
        (tree / "a.cu").write_text(KERNEL + "// more\n")
        return found

    monkeypatch.setattr(passes.Passes, "survey", then_change)
    scan(tree, config)
    monkeypatch.undo()
    kept: list[bytes] = []
    monkeypatch.setattr(remembered, "keep", lambda *_: kept.append(b""))
    assert scan(tree, config).findings
    assert kept, "the report of the earlier scan was taken"


def test_the_rules_come_from_the_cache_as_they_were_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(tmp_path)
    loaded = remembered.ruleset(config)
    assert loaded == rules.load()
    monkeypatch.setattr(rules, "load", lambda *_: pytest.fail("the rules were read again"))
    again = remembered.ruleset(config)
    assert again == loaded and list(again.rules) == list(loaded.rules)


def test_the_same_tree_in_another_place_has_the_same_report(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = scan(tree, config_of(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    moved = tree.rename(tmp_path / "elsewhere" / tree.name)
    monkeypatch.setattr(passes.Passes, "survey", lambda *_: pytest.fail("a pass was made"))
    assert scan(moved, config_of(tmp_path)) == first


@pytest.mark.parametrize("wrong", ["gone", "folder", "pipe"])
def test_rules_that_cannot_be_read_are_refused_although_their_folder_is_remembered(tmp_path: Path, wrong: str) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    config = config_of(tmp_path, rules_dirs=(str(mine),))
    remembered.ruleset(config)
    if wrong == "gone":
        mine.rmdir()
    elif wrong == "folder":
        (mine / "a.toml").mkdir()
    else:
        os.mkfifo(mine / "a.toml")
    with pytest.raises(RuleError, match="no such rules folder" if wrong == "gone" else "no regular file"):
        remembered.ruleset(config)


def test_a_changed_table_or_another_parser_is_another_porter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "api").mkdir()
    table = tmp_path / "api" / "runtime.tsv"
    table.write_text("cudaMalloc\thipMalloc\n")
    monkeypatch.setattr(rules, "rules_folder", lambda: tmp_path)
    program = cache_keys.of_program.__wrapped__
    first = program()
    assert program() == first
    table.write_text("cudaMalloc\thipMallocAsync\n")
    second = program()
    assert second != first
    monkeypatch.setattr("importlib.metadata.version", lambda _: "99")
    assert program() != second


def test_the_first_scan_of_all_hashes_no_file_beforehand(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "content_of", lambda *_: pytest.fail("hashed for a cache that holds the rules alone"))
    first = scan(tree, config_of(tmp_path))
    monkeypatch.undo()
    monkeypatch.setattr(passes.Passes, "survey", lambda *_: pytest.fail("a pass was made"))
    assert scan(tree, config_of(tmp_path)) == first
