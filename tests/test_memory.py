"""What is put aside when a tree is very large: reports stay the same, the file has no name, a full disk loses nothing."""

from __future__ import annotations

import errno
import os
import pickle
import stat
import subprocess
import sys
import tempfile
import tracemalloc
from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from report_factory import large_report
from test_repos import REPOS

from porter import advise, aside, link, name_table, pages, passes, pipeline, render, spill, workers
from porter.config import Config
from porter.errors import ToolError
from porter.examine import Surveyed
from porter.held import Held, HeldBytes, HeldLines
from porter.model import Finding, Kernel, Report
from porter.pages import Filling, Pages
from porter.render import csv, gitlab, island
from porter.spill import Spill
from porter.survey import FunctionDef, Macro, Survey

TREES = ("hpc-cmake", "half-ported")


@pytest.fixture
def everything_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for nothing: all goes to the file, on small pages."""
    for module, name, value in (
        (aside, "PLAIN", 0), (aside, "TEXT", 0), (aside, "LEAST", 1), (aside, "LEAST_TEXT", 1), (pages, "PLAIN", 0), (pages, "PAGE", 3),
        (spill, "IN_MEMORY", 0), (name_table, "WAITING", 5), (name_table, "PART", 3), (name_table, "CACHED", 3), (name_table, "NAMES", 2),
        (island, "ROWS", 2), (csv, "ROWS", 2), (gitlab, "ROWS", 2),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)


def scan(tree: str, jobs: int = 0) -> Report:
    return pipeline.audit(REPOS / tree, Config(jobs=jobs, today="2026-12-02"))


def texts(report: Report) -> dict[str, bytes]:
    """The report in every format whose bytes do not depend on the clock."""
    return {form: b"".join(render.pieces(report, form)) for form in render.FORMATS if form != "xlsx"}


@pytest.mark.parametrize(("tree", "jobs"), [(TREES[0], 1), (TREES[1], 0)])
def test_reports_are_the_same_when_everything_is_put_aside(
    tree: str, jobs: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = scan(tree, jobs)
    assert isinstance(plain.findings, tuple)
    before = texts(plain)
    request.getfixturevalue("everything_aside")
    light = scan(tree, jobs)
    assert isinstance(light.findings, Pages)
    assert light.findings.spill.size > 0
    assert texts(light) == before


def peak(work: Callable[[], object]) -> int:
    """Bytes that some work takes at most beyond what was there before; what it loads and remembers was loaded by a first run."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("what", "count"), [("advice", 1000), ("csv", 1000), ("json", 3000)])  # JSON makes 500 rows together
def test_findings_that_were_put_aside_are_never_all_in_memory(what: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((pages, "PAGE"), (csv, "ROWS")):
        monkeypatch.setattr(module, name, 50)
    made = large_report(count)
    filling = Filling(Finding, Spill(), 0)
    filling.extend(made.findings)
    light = msgspec.structs.replace(made, findings=filling.done())

    def work() -> None:
        if what == "advice":
            advise.advised(light)
        else:
            deque(render.pieces(light, what), maxlen=0)

    assert isinstance(light.findings, Pages)
    assert peak(work) < 0.8 * peak(lambda: tuple(light.findings))


def test_parses_are_not_kept_where_few_of_them_could_be(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, tuple[object, ...]]] = []
    really = workers.Pool.tell

    def tell(pool: workers.Pool, method: str, *args: object) -> None:
        told.append((method, args))
        really(pool, method, *args)

    monkeypatch.setattr(workers.Pool, "tell", tell)
    before = texts(scan(TREES[0]))
    assert ("keep", (0,)) not in told
    monkeypatch.setattr(passes, "KEPT_BYTES", 1)
    assert texts(scan(TREES[0])) == before
    assert ("keep", (0,)) in told


def test_a_page_gives_its_values_by_place_by_slice_and_to_another_process(everything_aside: None) -> None:
    made = [Kernel(f"k{number}", "a.cu", number, 1) for number in range(10)]
    filling = Filling(Kernel, Spill())
    filling.extend(made)
    long = filling.done()
    assert isinstance(long, Pages)
    assert (len(long), long[0], long[9], long[-1]) == (10, made[0], made[9], made[9])
    assert long[2:5] == tuple(made[2:5])
    assert long == tuple(made)
    assert long != tuple(made[:9])
    with pytest.raises(IndexError):
        long[10]
    held = Held(Spill(), made, Kernel)
    assert pickle.loads(pickle.dumps(held)) == tuple(made)
    assert pickle.loads(pickle.dumps(HeldBytes(Spill(), b"ab"))) == b"ab"
    assert pickle.loads(pickle.dumps(HeldLines(Spill(), {3: "x"}))) == {3: "x"}


def test_a_name_that_is_no_text_is_kept_as_it_is(everything_aside: None) -> None:
    filling = Filling(Kernel, Spill())
    made = [Kernel("k", "bad\udcff.cu", 1, 1)] * 4
    filling.extend(made)
    assert filling.done() == tuple(made)
    tree = aside.Aside()
    survey = Survey("a.cu", "cuda", macros=(Macro("A", "\udcff", 1), Macro("B", "2", 2)))
    light = tree.surveyed(Surveyed("a.cu", survey))
    assert light.survey is not None
    assert tuple(light.survey.macros) == survey.macros
    index = link.link([survey], (), Spill())
    assert index.macros["A"] == [("a.cu", survey.macros[0])]
    assert index.constant("B", "a.cu") == 2


def test_an_index_that_is_put_aside_answers_as_one_in_memory(everything_aside: None) -> None:
    def function(name: str, line: int) -> FunctionDef:
        return FunctionDef(name, line, line + 1, "kernel" if line % 2 else "device", features=("warp votes",))

    surveys = [
        Survey(
            f"f{number}.cu", "cuda", (f"f{number + 1}.cu",), (Macro("WIDTH", str(number), 1), Macro(f"M{number}", "WIDTH * 2", 2)),
            functions=(function("main", 1), function(f"only{number}", 2)),
        )
        for number in range(9)
    ]  # fmt: skip
    here, there = link.link(surveys), link.link(surveys, (), Spill())
    assert isinstance(there.functions, name_table.NameTable)
    for name in ("main", "only3", "WIDTH", "M4", "nothing"):
        assert there.functions.get(name, ()) == here.functions.get(name, ())
        assert (name in there.macros) == (name in here.macros)
        for path in ("f0.cu", "f8.cu"):
            assert there.constant(name, path) == here.constant(name, path)
            assert there.placed(name, path) == here.placed(name, path)
    assert set(there.functions) == set(here.functions)
    assert len(there.functions) == len(here.functions)
    assert there.collectives == here.collectives
    with pytest.raises(KeyError):
        there.functions["nothing"]
    assert pickle.loads(pickle.dumps(there.macros)) == dict(here.macros)


def test_what_is_remembered_of_values_and_includes_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    surveys = [Survey(f"f{n}.cu", "cuda", tuple(f"f{m}.cu" for m in range(50)), (Macro(f"M{n}", str(n), 1),)) for n in range(50)]
    monkeypatch.setattr(link, "MAX_REMEMBERED", 100)
    index = link.link(surveys)
    for number in range(50):
        assert len(index.reach(f"f{number}.cu")) == 50
        assert index.constant(f"M{number}", "f1.cu") == number
    assert len(index._reach) <= 4
    assert len(index._values) <= 101


def test_the_file_has_no_name_and_is_nobody_elses(everything_aside: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    held = Spill()
    place = held.put(b"secret" * 100)
    assert isinstance(place, tuple)
    assert list(tmp_path.iterdir()) == []
    state = os.fstat(held._file.fileno())
    assert (state.st_nlink, stat.S_IMODE(state.st_mode)) == (0, 0o600)
    assert not os.get_inheritable(held._file.fileno())
    assert held.get(place) == b"secret" * 100


def test_nothing_is_left_behind_by_a_process_that_is_killed(tmp_path: Path) -> None:
    code = "import os; from porter import spill; spill.IN_MEMORY = 0; s = spill.Spill(); s.put(b'x' * 99); os.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)}, check=False)
    assert done.returncode == -9
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("failing", ["write", "folder"])
def test_a_full_disk_or_no_folder_at_all_loses_nothing(failing: str, everything_aside: None, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = 0
    real = os.pwrite

    def pwrite(handle: int, data: bytes, at: int) -> int:
        nonlocal writes
        writes += 1
        if writes > 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, bytes(data)[:7], at)  # and no more at once than that

    def nameless() -> None:
        raise OSError(errno.EACCES, "Permission denied")

    before = texts(scan(TREES[0]))
    if failing == "write":
        monkeypatch.setattr(os, "pwrite", pwrite)
    else:
        monkeypatch.setattr(spill, "_nameless", nameless)
    report = scan(TREES[0])
    assert isinstance(report.findings, Pages)
    assert texts(report) == before
    assert writes == (6 if failing == "write" else 0)


def test_a_file_that_no_longer_gives_what_it_took_is_an_error_and_no_shorter_report(everything_aside: None) -> None:
    held = Spill()
    place = held.put(b"x" * 1000)
    os.ftruncate(held._file.fileno(), held.size - 3)
    with pytest.raises(ToolError, match="temporary file"):
        held.get(place)
    os.ftruncate(held._file.fileno(), 0)
    os.pwrite(held._file.fileno(), b"\0" * held.size, 0)
    with pytest.raises(ToolError):
        held.get(place)


def test_a_forked_process_reads_the_file_and_never_writes_it(everything_aside: None) -> None:
    held = Spill()
    place = held.put(b"mine")
    child = os.fork()
    if child == 0:
        ok = held.get(place) == b"mine" and isinstance(held.put(b"theirs"), bytes)
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    again = held.put(b"more")
    assert (held.get(place), held.get(again)) == (b"mine", b"more")
