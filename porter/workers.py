"""Workers: runs a function over many files in processes whose death costs one file, never the audit."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

CHUNK_BYTES = 400_000
CHUNK_FILES = 64
SILENCE_SECONDS = 120.0  # no chunk finished for so long: a worker hangs
ALONE_SECONDS = 60.0
PARENT_SECONDS = 1.0  # between two looks whether the parent still lives
GC_THRESHOLDS = (200_000, 20, 20)
MEMORY_BYTES = 6 * 2**30
WINDOW = 3  # bundles a worker that are handed out ahead; what a broken pool held is run again, file by file


class Outcome(NamedTuple):
    """One task's value, or the words that say how its worker died."""

    task: Any
    value: Any
    death: str = ""


_STATE: dict[str, Any] = {}


def _start(parent: int, make: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Set a worker up: Ctrl-C is the parent's business, memory has a limit, and the shared state is made once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    with contextlib.suppress(ValueError, OSError):
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES if hard < 0 else min(MEMORY_BYTES, hard), hard))
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    _STATE["object"] = make(*args)
    gc.freeze()  # the rules live as long as the worker; what a file leaves behind is seldom a cycle
    gc.set_threshold(*GC_THRESHOLDS)


def _leave_with(parent: int) -> None:
    """End this worker when the process that started it is gone, killed or terminated: nobody else would."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os._exit(1)


def _work(method: str, tasks: Sequence[Any]) -> list[Any]:
    function = getattr(_STATE["object"], method)
    return [function(task) for task in tasks]


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
    """Outcome of every task, as they come. ``make(*args)`` gives each worker the object whose ``method`` takes a task.

    With jobs 0 all runs in this process. A worker that dies or hangs has its chunk's tasks run again, each alone.
    """
    tasks = list(tasks)
    if jobs == 0 or not tasks:
        made = make(*args) if tasks else None
        for task in tasks:
            yield Outcome(task, getattr(made, method)(task))
        return
    suspects: list[Any] = []
    left = chunks(tasks, size)[::-1]
    while left:  # a pool that breaks is replaced, and only what it was busy with is suspect
        yield from _drain(_pool(make, args, jobs), method, left, suspects, WINDOW * jobs)
    for task in suspects:
        yield _alone(make, args, method, task)


def _drain(pool: ProcessPoolExecutor, method: str, left: list[list[Any]], suspects: list[Any], window: int) -> Iterator[Outcome]:
    """Work bundles off, the last of ``left`` first, until none is left or the pool breaks; few are handed out at a time."""
    pending: dict[Future[list[Any]], list[Any]] = {}
    before = len(suspects)
    try:
        while pending or (left and len(suspects) == before):
            if len(suspects) == before:
                _submit(pool, method, left, pending, window, suspects)
            done, _ = wait(pending, timeout=SILENCE_SECONDS, return_when=FIRST_COMPLETED)
            if not done:
                _kill(pool)
                done = set(pending)
            for future in done:
                yield from _collect(future, pending.pop(future), suspects)
    finally:  # also when the user interrupts: nobody waits for what is still queued
        _kill(pool)
        pool.shutdown(wait=False, cancel_futures=True)


def _submit(
    pool: ProcessPoolExecutor, method: str, left: list[list[Any]], pending: dict[Future[list[Any]], list[Any]], window: int, lost: list[Any]
) -> None:
    """Hand bundles out; Ctrl-C waits until the workers have been started, lest it hit one that does not ignore it yet."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        while left and len(pending) < window:
            bundle = left.pop()
            try:
                pending[pool.submit(_work, method, bundle)] = bundle
            except BrokenProcessPool:
                lost += bundle
                return
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _collect(future: Future[list[Any]], chunk: list[Any], suspects: list[Any]) -> Iterator[Outcome]:
    try:
        values = future.result(timeout=5)
    except (BrokenProcessPool, TimeoutError, MemoryError, OSError):
        suspects += chunk
        return
    yield from (Outcome(task, value) for task, value in zip(chunk, values, strict=True))


def _pool(make: Callable[..., Any], args: tuple[Any, ...], jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(max_workers=jobs, mp_context=_context(), initializer=_start, initargs=(os.getpid(), make, args))


def _context() -> Any:
    """Fork where it exists: workers then share the rules' memory; spawn elsewhere."""
    methods = multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("fork" if "fork" in methods else "spawn")


def _kill(pool: ProcessPoolExecutor) -> None:
    for process in list((pool._processes or {}).values()):
        process.kill()


def _alone(make: Callable[..., Any], args: tuple[Any, ...], method: str, task: Any) -> Outcome:
    """One task in a process of its own, with a time limit."""
    pool = _pool(make, args, 1)
    future = pool.submit(_work, method, [task])
    try:
        return Outcome(task, future.result(timeout=ALONE_SECONDS)[0])
    except BrokenProcessPool:
        return Outcome(task, None, "the process that read it died")
    except TimeoutError:
        return Outcome(task, None, f"reading it took more than {ALONE_SECONDS:.0f} s")
    except MemoryError:
        return Outcome(task, None, "reading it took too much memory")
    finally:
        _kill(pool)
        pool.shutdown(wait=False, cancel_futures=True)
