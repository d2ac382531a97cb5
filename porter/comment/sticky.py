"""One comment in its place: made once, changed in place, never doubled, and quiet when there is nothing new to say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from porter.comment.values import Marker, Note, marker_of, same_words
from porter.comment.wire import Refused
from porter.errors import ToolError

GONE = frozenset({404, 410})
ROUNDS = 5


class Service(Protocol):
    """What a code host can do with the comments of one pull request."""

    def notes(self) -> list[Note]:
        """All comments, in the order of their ids."""
        ...

    def create(self, body: str) -> None:
        """Add a comment."""
        ...

    def update(self, number: int, body: str) -> None:
        """Change a comment."""
        ...

    def delete(self, number: int) -> None:
        """Remove a comment."""
        ...


def place(service: Service, marker: Marker, body: str, wanted: bool) -> str:
    """Make the pull request show ``body`` in one comment; the answer says what was done: created, updated, unchanged, silent, stale.

    ``wanted`` is false for a body that says that there is nothing: it changes a comment that is there, and makes none.
    """
    for _ in range(ROUNDS):
        there = _ours(service.notes(), marker)
        if not there:
            if not wanted:
                return "silent"
            service.create(body)
            _remove(service, _ours(service.notes(), marker)[1:])
            return "created"
        _remove(service, there[1:])
        if _run(there[0]) > marker.run > 0:
            return "stale"
        try:
            return "updated" if _write(service, there[0], body) else "unchanged"
        except Refused as error:  # another run may have removed it
            if error.status not in GONE:
                raise
    raise ToolError(
        "other runs change the same comment all the time", "give every bot its own --name, and the workflow a concurrency group"
    )


def _ours(notes: Iterable[Note], marker: Marker) -> list[Note]:
    """This bot's comments, the one of the newest run first.

    Runs at the same time may each make one. Whoever sees several removes all but the first of this order, so the first is never
    removed, and whoever made the last one sees them all: one stays, with the newest words.
    """
    found = [note for note in notes if note.mine and (mark := marker_of(note.body)) and mark.name == marker.name and not mark.fix]
    return sorted(found, key=lambda note: (_run(note), note.id), reverse=True)


def _run(note: Note) -> int:
    mark = marker_of(note.body)
    return mark.run if mark else 0


def _write(service: Service, note: Note, body: str) -> bool:
    """Change the comment if it says something else."""
    if same_words(note.body, body):
        return False
    service.update(note.id, body)
    return True


def _remove(service: Service, notes: Iterable[Note]) -> None:
    for note in notes:
        try:
            service.delete(note.id)
        except Refused as error:
            if error.status not in GONE:
                raise
