"""Ctrl-C: an interrupt that Python drops, because it arrived inside a ``__del__``, is raised at the next look."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_seen = threading.Event()


def _note(number: int, frame: FrameType | None) -> None:
    _seen.set()
    signal.default_int_handler(number, frame)


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Within, interrupts are remembered; where somebody else handles SIGINT, or in another thread, nothing changes."""
    _seen.clear()
    own = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not own:
        yield
        return
    signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def look() -> None:
    """Raise KeyboardInterrupt where one has been asked for."""
    if _seen.is_set():
        raise KeyboardInterrupt
