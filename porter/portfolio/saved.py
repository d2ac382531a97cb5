"""Answers kept in a folder, so that a run that was stopped goes on where it was; what is broken there is done again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from porter.errors import OutputError
from porter.portfolio.one import Answer, Task, signature
from porter.write import write_whole


class _State(msgspec.Struct, frozen=True):
    """What stands beside a saved report: for which tree and options, its checksum, and the hashes of files with findings."""

    signature: str
    report: str
    content: dict[str, str]


def split(tasks: Sequence[Task], folder: Path | None) -> tuple[list[Answer], list[Task]]:
    """Answers that the folder has for unchanged trees, and the tasks still to do."""
    if folder is None:
        return [], list(tasks)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror or error}", "--reports takes a folder") from error
    known, missing = [], []
    for task in tasks:
        answer = _load(folder, task)
        known += [answer] if answer else []
        missing += [] if answer else [task]
    return known, missing


def keep(answers: Iterable[Answer], folder: Path | None) -> Iterable[Answer]:
    """The same answers; each one is in the folder before the next is asked for. Failed audits are not kept."""
    for answer in answers:
        if folder is not None and not answer.error:
            state = _State(answer.signature, hashlib.sha256(answer.report).hexdigest(), answer.content)
            write_whole(folder / f"{_stem(answer.name)}.json", answer.report)
            write_whole(folder / f"{_stem(answer.name)}.state", msgspec.json.encode(state))
        yield answer


def _load(folder: Path, task: Task) -> Answer | None:
    stem = _stem(task.name)
    try:
        state = msgspec.json.decode((folder / f"{stem}.state").read_bytes(), type=_State)
        report = (folder / f"{stem}.json").read_bytes()
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return None
    if state.report != hashlib.sha256(report).hexdigest() or state.signature != signature(Path(task.path), task.options):
        return None
    return Answer(task.name, report, state.content, state.signature)


def _stem(name: str) -> str:
    """A file name for a repository's name: readable, and never the same for two."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:80].strip(".-")
    return f"{plain}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
