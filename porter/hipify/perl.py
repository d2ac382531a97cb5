"""The real hipify-perl: finds it, asks its version, and runs it on a copy of one file, with limits on time and output."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import tempfile
from pathlib import Path

from porter import bounded, programs
from porter.hipify.choices import Options

PROGRAM = "hipify-perl"
_VERSION = re.compile(r"HIP version\s+([0-9][0-9.]*[0-9])")
_FIXED_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}
SPARE_OUTPUT = 1 << 20  # bytes that the output may have beyond twice the input


class PerlFailed(Exception):
    """hipify-perl gave no usable output for a file: it failed, ran too long, or wrote too much."""


def find(explicit: str, env: str, path: str, rocm_path: str, program: str = PROGRAM) -> Path | None:
    """The first hipify-perl of: ``explicit`` (--hipify), ``env`` (PORTER_HIPIFY), the folders of ``path`` (PATH), ROCm's folders.

    ``rocm_path`` is the value of ROCM_PATH. An explicit path that is no file gives None, so that the caller can say so.
    """
    for named in (explicit, env):
        if named:
            given = Path(named)
            given = given / program if given.is_dir() else given
            return given if given.is_file() else None
    for folder in (*programs.folders(path), *(root / "bin" for root in programs.rocm_roots(rocm_path))):
        candidate = folder / program
        if os.path.isfile(candidate):  # noqa: PTH113 - false, not an error, where a folder may not be looked into
            return candidate
    return None


@functools.lru_cache(maxsize=8)
def version(program: Path) -> str:
    """The HIP version that a hipify-perl says it is made for, empty when it does not say."""
    try:
        done = subprocess.run(
            [*_command(program), "-version"], capture_output=True, timeout=20, env=_FIXED_ENVIRONMENT, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = _VERSION.search((done.stderr + done.stdout).decode("utf-8", "replace"))
    return match[1] if match else ""


def flags(options: Options) -> tuple[str, ...]:
    """The options of hipify-perl that mean the same."""
    given = {"-roc": options.roc, "-miopen": options.miopen, "-experimental": options.experimental}
    return (*(flag for flag, on in given.items() if on), *(("-hip-kernel-execution-syntax",) if options.launch == "ggl" else ()))


def _command(program: Path) -> list[str]:
    return [str(program)] if os.access(program, os.X_OK) else ["perl", str(program)]


def run(program: Path, path: str, data: bytes, timeout: float, options: tuple[str, ...] = ()) -> bytes:
    """The HIP text that hipify-perl makes of ``data``; ``path`` only gives the copy its suffix.

    Warnings are off: they cost minutes, and the name table says the same. The copy lies in a scratch folder of its own; the
    program gets no environment and no input, ``timeout`` seconds, and twice the input's size for its output. Raises PerlFailed.
    """
    suffix = Path(path).suffix if re.fullmatch(r"\.[A-Za-z0-9]{1,8}", Path(path).suffix) else ".cu"
    limit = 2 * len(data) + SPARE_OUTPUT
    with tempfile.TemporaryDirectory(prefix="porter-hipify-") as scratch:
        copy = Path(scratch) / f"source{suffix}"
        copy.write_bytes(data)
        command = [*_command(program), "-quiet-warnings", *options, copy.name]
        try:
            output, code = bounded.run(command, Path(scratch), _FIXED_ENVIRONMENT, timeout, limit)
        except OSError as error:
            raise PerlFailed(f"cannot be started: {error.strerror}") from error
    if code is None:
        raise PerlFailed(f"stopped after {timeout:g} s")
    if len(output) > limit:
        raise PerlFailed(f"wrote more than {limit} bytes")
    if code != 0:
        raise PerlFailed(f"ended with status {code}")
    if data.strip() and not output:
        raise PerlFailed("wrote nothing")
    return output
