"""Workers: runs methods of one object over many files in processes whose death costs one file, never the audit.

A pool lives for several passes: what a worker made of a file in the first pass may serve it in the second, so each worker
gets the files again that it had. A worker notes which task it is busy with and since when, in memory that it shares with
the parent: the file that kills or hangs it is known, tried once more, and then named.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from multiprocessing.connection import wait
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

from porter.limits import patience_for
from porter.worker_life import serve

CHUNK_BYTES = 400_000
CHUNK_FILES = 64
LOOK_SECONDS = 0.5  # between two looks whether a worker hangs
TRIES = 2
# Bytes of tasks after which another process takes a worker's place: libraries leak (tree-sitter 0.26 each text it reads).
LIFE_BYTES = 64 * 2**20


class Outcome(NamedTuple):
    """One task's value, or the words that say how its worker died."""

    task: Any
    value: Any
    death: str = ""


def chunks(tasks: Iterable[Any], size: Callable[[Any], int]) -> list[list[Any]]:
    """Tasks in bundles of about CHUNK_BYTES, the largest first, so that no worker is left with a giant at the end."""
    ordered = sorted(tasks, key=size, reverse=True)
    out: list[list[Any]] = []
    held: list[Any] = []
    weight = 0
    for task in ordered:
        held.append(task)
        weight += size(task) + 2000
        if weight >= CHUNK_BYTES or len(held) >= CHUNK_FILES:
            out.append(held)
            held, weight = [], 0
    return [*out, held] if held else out


def run(
    make: Callable[..., Any], args: tuple[Any, ...], method: str, tasks: Iterable[Any], size: Callable[[Any], int], jobs: int
) -> Generator[Outcome, None, None]:
    """Outcome of every task, as they come, from a pool of its own. With jobs 0 all runs in this process."""
    pool = Pool(make, args, jobs)
    with contextlib.closing(pool):
        yield from pool.run(method, tasks, size)


class Pool:
    """Processes that each hold ``make(*args)`` and work its methods off; started when first needed."""

    def __init__(self, make: Callable[..., Any], args: tuple[Any, ...], jobs: int) -> None:
        """Nothing is started yet; with jobs 0 nothing ever is."""
        self.make, self.args, self.jobs = make, args, jobs
        self._told: list[tuple[str, tuple[Any, ...]]] = []
        self._workers: list[_Worker | None] = [None] * jobs
        self._here: Any = None
        self._model: Any = None  # what forked workers begin with
        self._home: dict[Any, int] = {}  # which worker had a task in the pass before

    def tell(self, method: str, *args: Any) -> None:
        """Call a method on every worker's object, now and whenever a worker is started later."""
        self._told.append((method, args))
        if self._here is not None:
            getattr(self._here, method)(*args)
        if not any(self._workers):
            return
        message = bytes(ForkingPickler.dumps((method, args)))  # once for all
        for number, worker in enumerate(self._workers):
            if worker is not None and not worker.send(message):
                self._replace(number)

    def prepare(self, function: Callable[..., Any], *args: Any) -> None:
        """Call a function with the object that forked workers begin with, before there are any; nothing where none is forked."""
        if self.jobs and self._model is None and _context().get_start_method() == "fork":
            self._model = self.make(*self.args)
            function(self._model, *args)

    def teach(self, method: str, *args: Any) -> None:
        """The same for arguments that are large: workers end, and those that are forked next have what was told here in shared memory."""
        self.close()
        if self._model is None:
            self.tell(method, *args)
        else:
            self._told = [said for said in self._told if said[0] != method]  # else what was told before would come after it
            getattr(self._model, method)(*args)

    def close(self) -> None:
        """End all workers at once."""
        for number in range(len(self._workers)):
            self._replace(number)

    def _replace(self, number: int) -> None:
        worker = self._workers[number]
        if worker is not None:
            worker.end()
        self._workers[number] = None

    def run(self, method: str, tasks: Iterable[Any], size: Callable[[Any], int]) -> Generator[Outcome, None, None]:
        """Outcome of every task, as they come."""
        tasks = list(tasks)
        if self.jobs == 0:
            yield from self._run_here(method, tasks)
            return
        queue = _Queue(tasks, size, self._home)
        tries: dict[Any, int] = {}
        left = len(tasks)
        try:
            while left:
                self._hand_out(method, queue, size)
                for outcome, number in self._gather(queue, tries, size):
                    left -= 1
                    self._home[outcome.task] = number
                    yield outcome
        except BaseException:  # also when the user interrupts: nobody waits for what is still queued
            self.close()
            raise

    def _run_here(self, method: str, tasks: list[Any]) -> Generator[Outcome, None, None]:
        if tasks and self._here is None:
            self._here = self.make(*self.args)
            for name, args in self._told:
                getattr(self._here, name)(*args)
        for task in tasks:
            yield Outcome(task, getattr(self._here, method)(task))

    def _hand_out(self, method: str, queue: _Queue, size: Callable[[Any], int]) -> None:
        """Give idle workers their next bundle; Ctrl-C waits until they have been started, lest it hit one that does not ignore it yet."""
        for number in range(self.jobs):
            worker = self._workers[number]
            if worker is not None and worker.bundle:
                continue
            if worker is not None and worker.read > LIFE_BYTES:
                self._replace(number)
                worker = None
            bundle = queue.next(number)
            if not bundle:
                continue
            if worker is None:
                worker = self._workers[number] = _Worker(*self._making(), self._told)
            worker.read += sum(map(size, bundle))
            if not worker.give(method, bundle):
                queue.back(bundle)
                self._replace(number)

    def _making(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """How a worker comes by its object: a forked one has the one that was made here, once for all of them."""
        if _context().get_start_method() != "fork":
            return self.make, self.args
        if self._model is None:
            self._model = self.make(*self.args)
        return _itself, (self._model,)

    def _gather(self, queue: _Queue, tries: dict[Any, int], size: Callable[[Any], int]) -> list[tuple[Outcome, int]]:
        """What the workers have sent, and a word on those that died or hang."""
        busy = {worker.pipe: number for number, worker in enumerate(self._workers) if worker is not None and worker.bundle}
        out: list[tuple[Outcome, int]] = []
        for pipe in wait(list(busy), timeout=LOOK_SECONDS):
            number = busy[pipe]
            worker = self._workers[number]
            assert worker is not None
            values = worker.receive()
            if values is not None:
                out += [(outcome, number) for outcome in values]
            else:
                out += [(outcome, number) for outcome in self._lost(number, queue, tries, "the process that read it died")]
        for number in busy.values():
            worker = self._workers[number]
            if worker is not None and worker.bundle and worker.busy_for() > patience_for(size(worker.current())):
                what = f"reading it took more than {patience_for(size(worker.current())):.0f} s"
                tries[worker.current()] = TRIES
                out += [(outcome, number) for outcome in self._lost(number, queue, tries, what)]
        return out

    def _lost(self, number: int, queue: _Queue, tries: dict[Any, int], what: str) -> list[Outcome]:
        """A worker is gone: its task is tried once more, alone, and the rest of its bundle goes back."""
        worker = self._workers[number]
        assert worker is not None
        culprit = worker.current()
        rest = [task for task in worker.bundle if task is not culprit]
        self._replace(number)
        queue.back(rest)
        tries[culprit] = tries.get(culprit, 0) + 1
        if tries[culprit] < TRIES:
            queue.alone(culprit)
            return []
        return [Outcome(culprit, None, what)]


def _itself(made: Any) -> Any:
    return made


class _Queue:
    """Bundles still to do: those that belong to one worker, those for all, and suspects that run alone."""

    def __init__(self, tasks: list[Any], size: Callable[[Any], int], home: dict[Any, int]) -> None:
        mine: dict[int, list[Any]] = {}
        for task in tasks:
            mine.setdefault(home.get(task, -1), []).append(task)
        self._mine = {number: deque(chunks(some, size)) for number, some in mine.items()}

    def next(self, number: int) -> list[Any]:
        """The next bundle for a worker: its own, one for all, or one of the worker that has most left."""
        for key in (number, -1):
            if self._mine.get(key):
                return self._mine[key].popleft()
        longest = max(self._mine, key=lambda key: len(self._mine[key]), default=None)
        return self._mine[longest].pop() if longest is not None and self._mine[longest] else []

    def back(self, tasks: list[Any]) -> None:
        """Tasks that a lost worker did not finish."""
        if tasks:
            self._mine.setdefault(-1, deque()).append(tasks)

    def alone(self, task: Any) -> None:
        """A task that is tried again, in a bundle of its own."""
        self._mine.setdefault(-1, deque()).append([task])


class _Worker:
    """One process with its pipe; ``bundle`` holds the tasks that it was given and has not answered, in order."""

    def __init__(self, make: Callable[..., Any], args: tuple[Any, ...], told: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
        context = _context()
        self.pipe, theirs = context.Pipe()
        self.bundle: list[Any] = []
        self.read = 0  # bytes of the tasks that it was given
        self._given = time.monotonic()
        self._seat = context.RawArray("d", [0.0, 0.0])  # answers and tasks begun, and when the last was begun
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            arguments = (theirs, self._seat, os.getpid(), make, args, list(told))
            self.process = context.Process(target=serve, args=arguments, daemon=True)
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        theirs.close()
        self._answered = 0

    def send(self, message: bytes) -> bool:
        """Whether a pickled message went out; not to a dead worker."""
        try:
            self.pipe.send_bytes(message)
        except (OSError, ValueError):
            return False
        return True

    def give(self, method: str, bundle: list[Any]) -> bool:
        """Hand a bundle over."""
        self.bundle, self._answered, self._given = list(bundle), 0, time.monotonic()
        self._seat[0], self._seat[1] = 0.0, self._given
        return self.send(bytes(ForkingPickler.dumps((method, bundle))))

    def receive(self) -> list[Outcome] | None:
        """The next answers; None when the worker is gone."""
        try:
            values = self.pipe.recv()
        except (EOFError, OSError, MemoryError):
            return None
        done, self.bundle = self.bundle[: len(values)], self.bundle[len(values) :]
        self._answered += len(values)
        return [Outcome(task, value) for task, value in zip(done, values, strict=True)]

    def current(self) -> Any:
        """The task that the worker is at; those before it whose answers are still on the way are not it."""
        return self.bundle[min(max(int(self._seat[0]) - 1 - self._answered, 0), len(self.bundle) - 1)]

    def busy_for(self) -> float:
        """Wall seconds that the worker has been at its task."""
        return time.monotonic() - max(float(self._seat[1]), self._given)

    def end(self) -> None:
        """Kill the process and close the pipe."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _context() -> Any:
    """Fork where it exists: workers then share the rules' memory; spawn elsewhere."""
    methods = multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("fork" if "fork" in methods else "spawn")
