"""Edits: changes to a text by offset, kept apart from the text until all are known, then written out in one pass."""

from __future__ import annotations

import bisect

# What happens first of edits at one offset.
_CLOSE, _PUT, _DELETE, _OPEN, _REPLACE = range(5)


class Edits:
    """Replacements and insertions over one text. Of overlapping ranges the outer one wins."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._items: list[tuple[int, int, int, int, bytes]] = []  # start, rank, order, end, text
        self._sorted = True

    def __bool__(self) -> bool:
        return bool(self._items)

    def replace(self, start: int, end: int, text: bytes) -> None:
        """Puts ``text`` in the place of a range."""
        self._add(start, _REPLACE, -end, end, text)

    def delete(self, start: int, end: int) -> None:
        """Takes a range out, with what is wrapped round or renamed inside it; what is put in at its start stays."""
        self._add(start, _DELETE, -end, end, b"")

    def put(self, at: int, text: bytes) -> None:
        """Inserts at an offset a text that belongs to neither neighbour."""
        self._add(at, _PUT, len(self._items), at, text)

    def open(self, at: int, text: bytes) -> None:
        """Inserts before what begins at an offset; of two at one offset the earlier call stands outside."""
        self._add(at, _OPEN, len(self._items), at, text)

    def close(self, at: int, text: bytes) -> None:
        """Inserts after what ends at an offset; of two at one offset the later call stands inside."""
        self._add(at, _CLOSE, -len(self._items), at, text)

    def _add(self, start: int, rank: int, order: int, end: int, text: bytes) -> None:
        self._items.append((start, rank, order, end, text))
        self._sorted = False

    def render(self, start: int = 0, end: int | None = None) -> bytes:
        """The text from ``start`` to ``end`` with every edit that lies wholly inside."""
        if not self._sorted:
            self._items.sort()
            self._sorted = True
        stop = len(self._data) if end is None else end
        out: list[bytes] = []
        at = start
        whole = start == 0 and end is None
        first = 0 if whole else bisect.bisect_left(self._items, (start, _PUT, 0, 0, b""))
        for index in range(first, len(self._items)):
            begin, rank, _, finish, text = self._items[index]
            if begin > stop or (begin == stop and rank != _CLOSE and not whole):
                break
            if begin < at or finish > stop:
                continue
            out.append(self._data[at:begin])
            out.append(text)
            at = finish
        out.append(self._data[at:stop])
        return b"".join(out)
