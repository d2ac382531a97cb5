"""The cache: a rescan touches no parser, damage of any byte costs time only, and what changes is read again."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from porter import cache, cache_keys, examine, passes, remembered, rules, workers
from porter.cache import NAME, Store
from porter.cli import main
from porter.config import Config, EffortSettings
from porter.model import Report
from porter.pipeline import audit
from porter.render import json as as_json
from porter.rules import RuleSet

KERNEL = '#include "width.h"\n#include <nvshmem.h>\n__global__ void k(int* p) { p[0] = __shfl_down_sync(0xffffffffu, p[0], WIDTH); }\n'
FILES = {
    "a.cu": KERNEL, "width.h": "#define WIDTH 16\n", "b.py": "import cupy\nimport torch\ntorch.cuda.synchronize()\n",
    "requirements.txt": "cupy-cuda12x\n", "setup.py": "from setuptools import setup\nsetup(install_requires=['cupy'])\n",
    "Dockerfile": "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n", "k.py": 'import cupy\nk = cupy.RawKernel("__global__ void f() {}", "f")\n',
}  # fmt: skip


@pytest.fixture(autouse=True)
def rules_once(ruleset: RuleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading the rules again for each of the many scans would cost most of the time of these tests."""
    monkeypatch.setattr(rules, "load", lambda extra=(): ruleset)
    program = cache_keys.of_program()
    monkeypatch.setattr(cache_keys, "of_program", lambda: program)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    for name, text in FILES.items():
        (root / name).write_text(text)
    return root


def scan(root: Path, folder: Path, **settings: object) -> tuple[str, int]:
    """The report as JSON, and how many files went to a parser."""
    counted = 0
    real = passes.Passes.close

    def close(self: passes.Passes) -> None:
        nonlocal counted
        counted = self.parsed
        real(self)

    passes.Passes.close = close  # type: ignore[method-assign]
    try:
        report: Report = audit(root, Config(jobs=0, cache_dir=str(folder), **settings))  # type: ignore[arg-type]
    finally:
        passes.Passes.close = real  # type: ignore[method-assign]
    return as_json.render(report), counted


def test_a_rescan_touches_no_parser(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, parsed = scan(tree, tmp_path / "cache")
    assert parsed > len(FILES)
    monkeypatch.setattr(examine, "parser_of", lambda kind: pytest.fail("a parser was asked for"))
    monkeypatch.setattr(workers.Pool, "_run_here", lambda self, method, tasks: pytest.fail("a worker ran") if tasks else iter(()))
    assert scan(tree, tmp_path / "cache") == (first, 0)
    moved = tmp_path / "elsewhere" / "repo"
    shutil.copytree(tree, moved)
    assert scan(moved, tmp_path / "cache") == (first, 0)


def test_what_changes_is_read_again(tree: Path, tmp_path: Path) -> None:
    scan(tree, tmp_path / "cache")
    (tree / "b.py").write_text("import cupy\n")
    assert scan(tree, tmp_path / "cache") == (scan(tree, tmp_path / "other")[0], 1)
    (tree / "width.h").write_text("#define WIDTH 32\n")  # another file's kernel now shuffles over 32 lanes
    text, parsed = scan(tree, tmp_path / "cache")
    assert text == scan(tree, tmp_path / "third")[0] and parsed > 1


@pytest.mark.parametrize(
    "settings", [{"targets": ("gfx1100",)}, {"rocm": "6.4"}, {"defines": ("WIDTH=32",)}, {"include_vendored": True}, {"max_bytes": 10}]
)
def test_settings_that_matter_are_part_of_the_key(tree: Path, tmp_path: Path, settings: dict[str, object]) -> None:
    scan(tree, tmp_path / "cache")
    assert scan(tree, tmp_path / "cache", **settings)[0] == scan(tree, tmp_path / "other", **settings)[0]


def test_every_setting_is_in_the_key_or_said_to_be_elsewhere() -> None:
    config, base = Config(), cache_keys.of_settings(Config(), "r")
    assert cache_keys.of_settings(config, "other rules") != base
    for name in Config.__struct_fields__:
        value = getattr(config, name)
        plain = "x" if isinstance(value, str) else ("x",) if isinstance(value, tuple) else 77
        other = EffortSettings(rate=1.0) if name == "effort" else plain
        if name != "hipify_perl":
            changed = cache_keys.of_settings(msgspec.structs.replace(config, **{name: other}), "r") != base
            assert changed is (name not in cache_keys.ELSEWHERE), name
            whole = remembered.key_of_report(base, msgspec.structs.replace(config, **{name: other}), (), ())
            assert (whole == remembered.key_of_report(base, config, (), ())) is (name in remembered.HOW_ONLY), name


def test_damage_of_any_byte_costs_time_only(tree: Path, tmp_path: Path) -> None:
    first, _ = scan(tree, tmp_path / "cache")
    whole = (tmp_path / "cache" / NAME).read_bytes()
    chance = random.Random(8)
    places = [*range(0, 110, 11), *(chance.randrange(len(whole)) for _ in range(12))]
    for at in places:
        broken = bytearray(whole)
        broken[at] ^= chance.randrange(1, 256)
        (tmp_path / "cache" / NAME).write_bytes(broken)
        assert scan(tree, tmp_path / "cache")[0] == first, at
    for length in (0, 99, len(whole) // 2):
        (tmp_path / "cache" / NAME).write_bytes(whole[:length])
        assert scan(tree, tmp_path / "cache")[0] == first, length


def test_values_are_checked_byte_by_byte(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put([(b"key", b"value of some length")])
    store.close()
    base = sqlite3.connect(tmp_path / NAME)
    (stored,) = base.execute("SELECT value FROM entries").fetchone()
    for at in range(len(stored)):
        broken = bytearray(stored)
        broken[at] ^= 1
        base.execute("UPDATE entries SET value = ?", (bytes(broken),))
        base.commit()
        again = Store(tmp_path)
        assert again.get([b"key"]) == {}
        again.close()
    base.execute("UPDATE entries SET value = ?", (stored,))
    base.commit()
    base.close()
    assert Store(tmp_path).get([b"key", b"other"]) == {b"key": b"value of some length"}


def test_a_value_of_another_file_counts_for_nothing(tree: Path, tmp_path: Path) -> None:
    """A cache whose sums are right but whose values were moved between keys (a forged one) must not move findings between files."""
    first, _ = scan(tree, tmp_path / "cache")
    base = sqlite3.connect(tmp_path / "cache" / NAME)
    rows = base.execute("SELECT key, value FROM entries").fetchall()
    values = [value[cache.SUM_BYTES :] for _, value in rows]
    for (key, _), value in zip(rows, [*values[1:], values[0]], strict=True):
        base.execute("UPDATE entries SET value = ? WHERE key = ?", (cache._sum(key, value) + value, key))
    base.commit()
    base.close()
    assert scan(tree, tmp_path / "cache")[0] == first


def test_the_size_has_a_limit_and_the_oldest_go(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=11_000, now=0)
    store.put([(b"old", b"x" * 4000)])
    store.close()
    store = Store(tmp_path, limit=11_000, now=10 * cache.DAY)
    store.put([(b"mid", b"y" * 4000)])
    store.get([b"old"])  # used again, on a later day
    store.close()
    store = Store(tmp_path, limit=11_000, now=20 * cache.DAY)
    store.get([b"old"])
    store.put([(b"new", b"z" * 4000)])
    assert set(store.get([b"old", b"mid", b"new"])) == {b"old", b"new"}


def test_a_row_without_a_size_stops_no_scan(tmp_path: Path) -> None:
    base = sqlite3.connect(tmp_path / NAME)
    base.execute("CREATE TABLE entries (key BLOB PRIMARY KEY, used INTEGER NOT NULL, size INTEGER, value BLOB NOT NULL)")
    base.execute("INSERT INTO entries VALUES (x'00', 0, NULL, x'00')")
    base.commit()
    base.close()
    Store(tmp_path, limit=10).put([(b"key", b"x" * 40)])


def test_a_clock_that_jumps_changes_nothing(tmp_path: Path) -> None:
    for now in (0.0, 4e9, -1e9, 1e18):
        store = Store(tmp_path, now=now)
        store.put([(b"%f" % now, b"v")])
        assert store.get([b"%f" % now]) == {b"%f" % now: b"v"}
        store.close()


def test_a_folder_that_cannot_be_written_is_no_error(tree: Path, tmp_path: Path) -> None:
    first, _ = scan(tree, tmp_path / "cache")
    (tmp_path / "file").write_text("")
    assert scan(tree, tmp_path / "file" / "below")[0] == first
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / NAME).symlink_to(tmp_path / "file")
    assert scan(tree, tmp_path / "link")[0] == first
    assert (tmp_path / "file").read_text() == ""


def test_a_read_only_cache_is_read(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = scan(tree, tmp_path / "cache")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # root may write what nobody may
    before = (tmp_path / "cache" / NAME).read_bytes()
    assert scan(tree, tmp_path / "cache") == (first, 0)
    (tree / "b.py").write_text("import torch\n")
    scan(tree, tmp_path / "cache")
    assert (tmp_path / "cache" / NAME).read_bytes() == before


def test_a_full_disk_loses_the_cache_and_nothing_else(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = cache._connect

    def small(address: str) -> sqlite3.Connection:
        base = real(address)
        base.execute("PRAGMA max_page_count = 3")  # "database or disk is full", as on a full disk
        return base

    monkeypatch.setattr(cache, "_connect", small)
    first, _ = scan(tree, tmp_path / "cache")
    monkeypatch.undo()
    assert scan(tree, tmp_path / "other")[0] == first


def test_many_scans_at_once_and_killed_ones_share_a_cache(tree: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "porter", "scan", str(tree), "-q", "--jobs", "0", "--cache-dir", str(tmp_path / "cache"), "--output"]
    runs = [subprocess.Popen([*words, str(tmp_path / f"{n}.json")]) for n in range(3)]
    killed = subprocess.Popen([*words, str(tmp_path / "killed.json")])
    try:
        killed.wait(timeout=0.9)
    except subprocess.TimeoutExpired:
        killed.kill()
        killed.wait()
    assert [run.wait(timeout=60) for run in runs] == [0, 0, 0]
    texts = {(tmp_path / f"{n}.json").read_text() for n in range(3)}
    assert len(texts) == 1
    assert not (tmp_path / "killed.json").exists() or (tmp_path / "killed.json").read_text() in texts
    assert sqlite3.connect(tmp_path / "cache" / NAME).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_info_and_clean(tree: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    scan(tree, folder)
    (folder / "mine.txt").write_text("kept")
    shown = CliRunner().invoke(main, ["cache", "info", "--cache-dir", str(folder)])
    assert shown.exit_code == 0 and "entries" in shown.output and " 0 entries" not in shown.output
    assert CliRunner().invoke(main, ["cache", "clean", "--cache-dir", str(folder)]).exit_code == 0
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
    assert cache.info(folder).entries == 0
    assert cache.info(tmp_path / "nowhere").size == 0 and not (tmp_path / "nowhere").exists()


def test_the_users_folder() -> None:
    home = Path("/home/u")
    assert cache.folder_of({}, home) == home / ".cache" / "porter"
    assert cache.folder_of({"XDG_CACHE_HOME": "/x"}, home) == Path("/x/porter")
    assert cache.folder_of({"XDG_CACHE_HOME": "relative"}, home) == home / ".cache" / "porter"
    assert cache.folder_of({"PORTER_CACHE": "/y", "XDG_CACHE_HOME": "/x"}, home) == Path("/y")
