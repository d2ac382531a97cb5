"""Runs a compiler on hostile input: scratch folder, no environment, no network, limits on time, memory, files and output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

MEMORY = 4 << 30  # bytes of address space
FILE_SIZE = 256 << 20  # bytes that the program may write to one file
OUTPUT = 8 << 20  # bytes of messages that are read
# Runs before the program in its own process: limits, and a network of its own that leads nowhere (Linux, where it is allowed).
_LIMITS = """
import ctypes, os, resource, sys
seconds, memory, size = map(int, sys.argv[1:4])
for what, value in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, size), (resource.RLIMIT_CORE, 0)):
    try:
        resource.setrlimit(what, (value, value))
    except (ValueError, OSError):
        pass
try:
    ctypes.CDLL(None).unshare(0x10000000 | 0x40000000)
except (OSError, AttributeError):
    pass
os.execve(sys.argv[4], sys.argv[4:], dict(os.environ))
"""


class Outcome(msgspec.Struct, frozen=True):
    """What a program said, its exit status (None when it had to be stopped), and why it was stopped."""

    text: str
    code: int | None
    stopped: str = ""


def run(command: Sequence[str], folder: Path, timeout: float, environment: Mapping[str, str] | None = None) -> Outcome:
    """Runs a program, given by its full path, in ``folder`` for at most ``timeout`` seconds; never raises for what it does."""
    settings = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TMPDIR": str(folder), "HOME": str(folder), **(environment or {})}
    wrapped = [sys.executable, "-I", "-S", "-c", _LIMITS, str(int(timeout) + 1), str(MEMORY), str(FILE_SIZE), *command]
    try:
        process = subprocess.Popen(
            wrapped, cwd=folder, env=settings, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return Outcome("", None, f"cannot be started: {error.strerror}")
    late = threading.Event()

    def stop() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(timeout, stop)
    timer.start()
    try:
        with process:
            data = process.stdout.read(OUTPUT + 1) if process.stdout else b""
            if len(data) > OUTPUT:
                _kill(process)
            code = process.wait()
    finally:
        timer.cancel()
    text = data[:OUTPUT].decode("utf-8", "replace")
    if late.is_set():
        return Outcome(text, None, f"stopped after {timeout:g} s")
    if len(data) > OUTPUT:
        return Outcome(text, None, f"wrote more than {OUTPUT >> 20} MiB of messages")
    return Outcome(text, code)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the program and everything that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        process.kill()
