"""Ctrl-C: an interrupt that Python drops, because it arrived inside a ``__del__`` or a weak reference's callback, comes once more."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

AGAIN_SECONDS = 0.02  # by then the object that was taken apart is gone


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Within, an interrupt that would be printed and forgotten is sent again, and nothing is printed."""
    before = sys.unraisablehook

    def again(dropped: Any) -> None:
        if dropped.exc_type is not KeyboardInterrupt:
            before(dropped)
            return
        timer = threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), signal.SIGINT))
        timer.daemon = True
        timer.start()

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before
