"""Running the audits: local processes, or the workers of a Dask cluster; each answer is handed on as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from porter.errors import ConfigError, ToolError
from porter.portfolio.one import Answer, Task, audit

RETRIES = 3  # a task whose worker died this often is given up; so is one that kills workers
CONNECT_SECONDS = 20


def local(tasks: Sequence[Task], jobs: int, work: Callable[[Task], Answer] = audit) -> Iterator[Answer]:
    """Answers in the order they come, ``jobs`` audits at a time, each in a process of its own."""
    pool = ThreadPoolExecutor(max(1, jobs), thread_name_prefix="porter-portfolio")
    try:
        for future in as_completed([pool.submit(work, task) for task in tasks]):
            yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def cluster(tasks: Sequence[Task], scheduler: str) -> Iterator[Answer]:
    """Answers from a Dask cluster whose workers see the same folders and have the same porter installed.

    Raises ToolError when Dask is not installed or no scheduler answers. A worker that dies costs nothing: its audits are
    done again elsewhere; a repository whose audit ends workers again and again gets an answer with an error.
    """
    client = _client(scheduler)
    from distributed import as_completed as done_in_turn

    try:
        futures = {
            client.submit(audit, task, key=f"porter-{i}-{task.name}", pure=False, retries=RETRIES): task for i, task in enumerate(tasks)
        }
        for future in done_in_turn(list(futures), loop=client.loop):
            yield _answer(futures[future], future)
            future.release()
    finally:
        client.close()


def _answer(task: Task, future: Any) -> Answer:
    error = future.exception()
    if error is None:
        answer: Answer = future.result()
        return answer
    return Answer(task.name, error=f"gave up: {type(error).__name__}: {error}".splitlines()[0])


def _client(scheduler: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise ToolError("--scheduler needs Dask", "pip install 'rocm-porter[dask]'") from error
    if "://" not in scheduler:
        raise ConfigError(f"--scheduler {scheduler}: not an address", "such as tcp://host:8786")
    try:
        return Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ToolError(f"{scheduler}: no Dask scheduler answers", "start one with: dask scheduler") from error
