"""Bounded: runs a program with a limit on its time and on the output that is read; it and all that it started end with the limit."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path


def run(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float, limit: int, stderr: int = subprocess.DEVNULL
) -> tuple[bytes, int | None]:
    """Output, at most ``limit`` bytes and one more, and exit status; None for a status when ``timeout`` seconds were over.

    The program gets this environment alone and no input. Raises OSError when it cannot be started.
    """
    process = subprocess.Popen(
        command, cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True
    )
    late = threading.Event()

    def stop() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(timeout, stop)
    timer.start()
    try:
        with process:
            output = process.stdout.read(limit + 1) if process.stdout else b""
            if len(output) > limit:
                _kill(process)
            code = process.wait()
    finally:
        timer.cancel()
    return output, None if late.is_set() else code


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the program and everything that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (OSError, AttributeError):
        process.kill()
