"""Workers: a task that dies, hangs or throws costs itself, and is named; every other task's value arrives."""

from __future__ import annotations

import os
import signal

import pytest

from porter import workers


class Clerk:
    """Squares a number; 7 kills its process, 8 hangs."""

    def square(self, number: int) -> int:
        if number == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 8:
            signal.pause()
        return number * number


def size(number: int) -> int:
    return number


def test_a_death_costs_one_task() -> None:
    outcomes = {o.task: o for o in workers.run(Clerk, (), "square", [n for n in range(40) if n != 8], size, 2)}
    assert outcomes[7].death == "the process that read it died"
    assert {task: o.value for task, o in outcomes.items() if task != 7} == {n: n * n for n in range(40) if n not in (7, 8)}


def test_a_hang_costs_one_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "SILENCE_SECONDS", 1.0)
    monkeypatch.setattr(workers, "ALONE_SECONDS", 1.0)
    outcomes = {o.task: o for o in workers.run(Clerk, (), "square", [1, 2, 8, 9], size, 2)}
    assert "took more than" in outcomes[8].death
    assert [outcomes[n].value for n in (1, 2, 9)] == [1, 4, 81]


def test_without_processes_and_without_tasks() -> None:
    assert [o.value for o in workers.run(Clerk, (), "square", [2, 3], size, 0)] == [4, 9]
    assert list(workers.run(Clerk, (), "square", [], size, 2)) == []


def test_chunks_hold_every_task_once_the_large_ones_first() -> None:
    chunks = workers.chunks([10, 900_000, 20, 30], size)
    assert sorted(t for c in chunks for t in c) == [10, 20, 30, 900_000]
    assert chunks[0] == [900_000]
