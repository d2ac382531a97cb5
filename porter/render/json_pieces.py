"""JSON in pieces: the members of an object one after the other, long lists some hundred rows at a time, indented by two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from porter.render.neutral import json_bytes

ROWS = 500  # made and written together
_INNER = b"\n  "  # msgspec writes no raw line end into a string, so each one is the layout's


class Rows:
    """A list whose rows are made when it is read."""

    def __init__(self, make: Callable[[Any], Any], values: Sequence[Any], together: int = ROWS) -> None:
        """``make`` gives the plain form of one of ``values``, of which so many are made and written ``together``."""
        self.make, self.values, self.together = make, values, together

    def __iter__(self) -> Iterator[Any]:
        """The rows, in order."""
        return map(self.make, self.values)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.values)


def written(members: Iterable[tuple[str, Any]], clean: Callable[[Any], Any]) -> Iterator[bytes]:
    """The text of an object, with a line end behind it; ``clean`` gives a value anew in which everything can be encoded."""
    before = b"{\n  "
    for key, value in members:
        yield before + msgspec.json.encode(key) + b": "
        if isinstance(value, Rows) and len(value):
            yield from _list(value, clean)
        else:
            yield _text([] if isinstance(value, Rows) else value, clean)
        before = b",\n  "
    yield b"\n}\n"


def _list(rows: Rows, clean: Callable[[Any], Any]) -> Iterator[bytes]:
    values = iter(rows)
    before = b"["
    while some := list(islice(values, rows.together)):
        yield before + _text(some, clean).removeprefix(b"[").removesuffix(_INNER + b"]")
        before = b","
    yield _INNER + b"]"


def _text(value: Any, clean: Callable[[Any], Any]) -> bytes:
    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:  # a name with bytes that are no text
        text = msgspec.json.encode(clean(value))
    return json_bytes(text).replace(b"\n", _INNER)
