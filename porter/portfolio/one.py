"""One repository: audited by a porter of its own, whose death or delay costs this repository alone and is told."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

import porter
from porter import bounded
from porter.discover import MAX_DEPTH
from porter.regular import read_below

OUTPUT_LIMIT = 20_000  # bytes of messages that are read
FILE_LIMIT = 16_000_000  # bytes; a longer file is not compared with others


class Task(msgspec.Struct, frozen=True):
    """A repository to audit: its folder, the options of `porter scan`, a limit in seconds and the environment for the process."""

    name: str
    path: str
    options: tuple[str, ...]
    timeout: float
    environment: dict[str, str]


class Answer(msgspec.Struct, frozen=True):
    """A repository's JSON report, hashes of the files with findings, and the signature of its tree; or what went wrong."""

    name: str
    report: bytes = b""
    content: dict[str, str] = {}
    signature: str = ""
    error: str = ""


class _Place(msgspec.Struct):
    path: str


class _Places(msgspec.Struct):
    findings: list[_Place]


def audit(task: Task) -> Answer:
    """The answer for one repository; never raises for what the repository or its audit does."""
    root = Path(task.path)
    before = signature(root, task.options)
    try:
        with tempfile.TemporaryDirectory(prefix="porter-portfolio-") as scratch:
            data, error = _scan(task, Path(scratch))
        if error:
            return Answer(task.name, error=error)
        return Answer(task.name, data, dict(_hashes(root, msgspec.json.decode(data, type=_Places))), before)
    except (OSError, msgspec.MsgspecError) as error:
        return Answer(task.name, error=f"could not be audited: {error}")


def _scan(task: Task, scratch: Path) -> tuple[bytes, str]:
    """The report's bytes, or why there is none."""
    out = scratch / "report.json"
    command = [sys.executable, "-P", "-m", "porter", "scan", task.path, "--format", "json", "--output", str(out), "--quiet", *task.options]
    environment = task.environment | {"PYTHONPATH": str(Path(porter.__file__).parent.parent)}  # the porter that asks, and no other
    said, code = bounded.run(command, scratch, environment, task.timeout, OUTPUT_LIMIT, subprocess.STDOUT)
    if code == 0:
        return out.read_bytes(), ""
    if code is None:
        return b"", f"not done in {task.timeout:g} s"
    words = said.decode("utf-8", "replace").strip().splitlines()
    return b"", (words[-1].removeprefix("porter: ") if words else "ended without a word") + ("" if code == 2 else f" (status {code})")


def _hashes(root: Path, report: _Places) -> Iterator[tuple[str, str]]:
    """Content of the files with findings, so that a copy in another repository is known; links are not followed."""
    for path in sorted({place.path for place in report.findings}):
        data = read_below(root, path, FILE_LIMIT + 1)
        if data and len(data) <= FILE_LIMIT:
            yield path, hashlib.sha256(data).hexdigest()


def signature(root: Path, options: tuple[str, ...]) -> str:
    """A word that changes when a file of the tree does (name, size or time), or an option."""
    digest = hashlib.sha256(repr(options).encode())
    top = len(root.parts)
    for folder, folders, files in os.walk(root):
        deep = len(Path(folder).parts) - top >= MAX_DEPTH  # what a scan leaves out; and a walk in Python is as deep as its stack
        folders[:] = [] if deep else sorted(name for name in folders if name != ".git")
        for name in sorted(files):
            path = os.path.join(folder, name)  # noqa: PTH118 - a name may be no Unicode
            try:
                about = os.lstat(path)
            except OSError:
                continue
            digest.update(os.fsencode(os.path.relpath(path, root)) + f"\0{about.st_size} {about.st_mtime_ns}\n".encode())
    digest.update(read_below(root, ".git/HEAD", 200) or b"")
    return digest.hexdigest()
