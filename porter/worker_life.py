"""The life of one worker process: set up, then bundles of tasks and calls as they come, until the parent is gone."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from porter.limits import GC_THRESHOLDS

PARENT_SECONDS = 1.0  # between two looks whether the parent still lives
SEND_SECONDS = 0.2  # results are kept this long, to be sent together
MEMORY_BYTES = 6 * 2**30
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def serve(
    pipe: Connection, seat: Any, parent: int, make: Callable[..., Any], args: tuple[Any, ...], told: list[tuple[str, tuple[Any, ...]]]
) -> None:
    """The life of a worker: set up, then bundles and calls as they come, until the parent is gone."""
    _settle(parent)
    made = make(*args)
    for method, given in told:
        getattr(made, method)(*given)
    gc.freeze()  # the rules live as long as the worker
    gc.set_threshold(*GC_THRESHOLDS)
    while True:
        try:
            method, given = pipe.recv()
        except (EOFError, OSError):
            os._exit(0)
        if isinstance(given, tuple):
            getattr(made, method)(*given)
        else:
            _work(pipe, seat, getattr(made, method), given)


def _work(pipe: Connection, seat: Any, function: Callable[[Any], Any], bundle: list[Any]) -> None:
    held: list[Any] = []
    sent = time.monotonic()
    for number, task in enumerate(bundle, 1):
        seat[1] = time.monotonic()
        seat[0] = number
        held.append(function(task))
        if time.monotonic() - sent > SEND_SECONDS:
            pipe.send(held)
            held, sent = [], time.monotonic()
    if held:
        pipe.send(held)


def _settle(parent: int) -> None:
    """Ctrl-C is the parent's business, memory has a limit, and a worker ends with the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    with contextlib.suppress(ValueError, OSError):
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES if hard < 0 else min(MEMORY_BYTES, hard), hard))
    with contextlib.suppress(AttributeError, OSError):  # Linux ends a worker even in native code that lets no thread of Python run
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: int) -> None:
    """End this worker when the process that started it is gone, killed or terminated: nobody else would."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os._exit(1)
