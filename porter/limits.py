"""Limits: how long one file may take, in CPU seconds, how that is enforced where it is read, and how often cycles are looked for."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

SECONDS = 6.0  # CPU seconds for any file
SECONDS_A_MEGABYTE = 12.0  # more for each MiB of it
PATIENCE = 3.0  # a worker that is this many times over, by the wall clock, is killed: it hangs in code that sees no signal
LEAST_PATIENCE = 20.0  # wall seconds; a busy machine is no hanging file
GC_THRESHOLDS = (200_000, 20, 20)  # what a file leaves behind is seldom a cycle; to look for one costs a walk over all trees


class TooLong(BaseException):
    """The time of one file is over; no ``except Exception`` on the way may swallow it."""


def seconds_for(size: int) -> float:
    """CPU seconds that a file of so many bytes may take."""
    return SECONDS + SECONDS_A_MEGABYTE * size / 2**20


def patience_for(size: int) -> float:
    """Wall seconds after which a worker is taken for hanging."""
    return max(LEAST_PATIENCE, PATIENCE * seconds_for(size))


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TooLong in the block when it has taken so many CPU seconds; no limit off the main thread or where timers are missing."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def interrupted_at_once(wanted: bool) -> Iterator[None]:
    """Ctrl-C ends the process in the block without a word: Python's own handler waits for native code, which may never return."""
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _ring(number: int, frame: Any) -> None:
    raise TooLong
