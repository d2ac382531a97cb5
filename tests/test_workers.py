"""Workers: a task that dies, hangs or throws costs itself, and is named; every other task's value arrives, whatever the order."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from porter import limits, rehearsal, rules, workers
from porter.config import Config
from porter.detectors import unsupported_api
from porter.examine import Auditor
from porter.hipify import api, choices
from porter.kinds import kind_of
from porter.parse import cuda_query


class Clerk:
    """Squares a number; 7 kills its process, 8 hangs, 5 kills its process the first time it is seen."""

    def __init__(self, folder: str = "") -> None:
        self.folder = folder
        self.known = 0
        self.done: list[int] = []

    def learn(self, number: int) -> None:
        self.known = number

    def square(self, number: int) -> int:
        if number == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 8:
            signal.pause()
        if number == 5 and self.folder and not (Path(self.folder) / "5").exists():
            (Path(self.folder) / "5").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number + self.known

    def where(self, number: int) -> tuple[int, int]:
        time.sleep(0.01)
        return number, os.getpid()


def size(number: int) -> int:
    return number


def test_a_death_costs_one_task() -> None:
    outcomes = {o.task: o for o in workers.run(Clerk, (), "square", [n for n in range(40) if n != 8], size, 2)}
    assert outcomes[7].death == "the process that read it died"
    assert {task: o.value for task, o in outcomes.items() if task != 7} == {n: n * n for n in range(40) if n not in (7, 8)}


def test_a_worker_that_has_read_much_is_replaced_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "CHUNK_FILES", 1)
    tasks = list(range(1, 13))
    living = dict(o.value for o in workers.run(Clerk, (), "where", tasks, lambda _: 10, 1))
    assert len(set(living.values())) == 1
    monkeypatch.setattr(workers, "LIFE_BYTES", 30)
    replaced = dict(o.value for o in workers.run(Clerk, (), "where", tasks, lambda _: 10, 1))
    assert sorted(replaced) == tasks
    assert len(set(replaced.values())) == 3  # four tasks each


def test_a_worker_killed_from_outside_costs_nothing(tmp_path: Path) -> None:
    outcomes = {o.task: o.value for o in workers.run(Clerk, (str(tmp_path),), "square", [1, 2, 3, 4, 5, 6], size, 2)}
    assert outcomes == {n: n * n for n in range(1, 7)}
    assert (tmp_path / "5").exists()


def test_a_hang_costs_one_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LEAST_PATIENCE", 0.5)
    monkeypatch.setattr(limits, "SECONDS", 0.2)
    started = time.monotonic()
    outcomes = {o.task: o for o in workers.run(Clerk, (), "square", [1, 2, 8, 9], size, 2)}
    assert "took more than" in outcomes[8].death
    assert [outcomes[n].value for n in (1, 2, 9)] == [1, 4, 81]
    assert time.monotonic() - started < 15


def test_what_is_told_reaches_workers_that_start_later() -> None:
    with contextlib.closing(workers.Pool(Clerk, (), 2)) as pool:
        assert sorted(o.value for o in pool.run("square", [1, 2], size)) == [1, 4]
        pool.tell("learn", 100)
        outcomes = {o.task: o.value for o in pool.run("square", [1, 2, 7], size)}
    assert outcomes == {1: 101, 2: 104, 7: None}


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="workers are not forked here")
def test_workers_begin_with_what_was_prepared() -> None:
    with contextlib.closing(workers.Pool(Clerk, (), 2)) as pool:
        pool.prepare(Clerk.learn, 100)
        assert sorted(o.value for o in pool.run("square", [1, 2], size)) == [101, 104]
        pool.prepare(Clerk.learn, 200)  # too late for those that run
        assert {o.task: o.value for o in pool.run("square", [1, 2, 7], size)} == {1: 101, 2: 104, 7: None}
    with contextlib.closing(workers.Pool(Clerk, (), 0)) as pool:
        pool.prepare(Clerk.learn, 100)
        assert [o.value for o in pool.run("square", [1], size)] == [1]


def test_what_is_taught_stands_above_what_was_told_before() -> None:
    pool = workers.Pool(Clerk, (), 1)
    with contextlib.closing(pool):
        pool.tell("learn", 1)
        assert [outcome.value for outcome in pool.run("square", [2], size)] == [5]
        pool.teach("learn", 100)
        assert [outcome.value for outcome in pool.run("square", [2], size)] == [104]


def test_a_rehearsal_reads_its_pieces_and_leaves_nothing_to_be_made() -> None:
    auditor = Auditor(Config(), rules.load())
    for kind, (name, text) in rehearsal.PIECES.items():
        assert kind_of(name) == kind
        assert auditor.rule_lines_of({name: text})[name], name  # raises where something fails
    rehearsal.rehearse(auditor, rehearsal.PIECES)
    once = (api._unread, api.names, choices._choices, unsupported_api._other_rules, cuda_query.query)
    made = [one.cache_info().misses for one in once]
    assert 0 not in made
    auditor.rule_lines_of({"other.cu": rehearsal.PIECES["cuda"][1] + b"int other;\n"})
    assert made == [one.cache_info().misses for one in once]


def test_a_worker_gets_the_tasks_again_that_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "CHUNK_FILES", 1)
    with contextlib.closing(workers.Pool(Clerk, (), 2)) as pool:
        first = {o.task: o.value[1] for o in pool.run("where", range(30), size)}
        second = {o.task: o.value[1] for o in pool.run("where", range(30), size)}
    assert len(set(first.values())) == 2
    assert sum(first[n] == second[n] for n in range(30)) > 20


def test_processor_time_has_a_limit_without_workers() -> None:
    with pytest.raises(limits.TooLong), limits.within(0.1):
        while True:
            pass
    with limits.within(0.05):
        pass
    end = time.process_time() + 0.15
    while time.process_time() < end:  # the alarm is off
        pass


def test_without_processes_and_without_tasks() -> None:
    assert [o.value for o in workers.run(Clerk, (), "square", [2, 3], size, 0)] == [4, 9]
    assert list(workers.run(Clerk, (), "square", [], size, 2)) == []


def test_chunks_hold_every_task_once_the_large_ones_first() -> None:
    chunks = workers.chunks([10, 900_000, 20, 30], size)
    assert sorted(t for c in chunks for t in c) == [10, 20, 30, 900_000]
    assert chunks[0] == [900_000]
