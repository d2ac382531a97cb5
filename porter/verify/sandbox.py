"""Runs a compiler on hostile input: scratch folder, no environment, no network, limits on time, memory, files and output."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from porter import bounded

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
        data, code = bounded.run(wrapped, folder, settings, timeout, OUTPUT, subprocess.STDOUT)
    except OSError as error:
        return Outcome("", None, f"cannot be started: {error.strerror}")
    text = data[:OUTPUT].decode("utf-8", "replace")
    if code is None:
        return Outcome(text, None, f"stopped after {timeout:g} s")
    if len(data) > OUTPUT:
        return Outcome(text, None, f"wrote more than {OUTPUT >> 20} MiB of messages")
    return Outcome(text, code)
