"""Pages: a long list of values that is read a page at a time, and the filling of one."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Generic, TypeVar

from porter.held import Held, Listed
from porter.many import Many
from porter.spill import Spill

PLAIN = 20_000  # values of a list that are kept as they are; what comes after them is put aside
PAGE = 500

T = TypeVar("T")


class Pages(Listed[T]):
    """Values in order, on pages of PAGE each but for the last, most of them put aside."""

    def __init__(self, pages: list[Sequence[T]], spill: Spill) -> None:
        """``spill`` is where they are, for lists that are made of this one."""
        self._pages, self.spill = pages, spill
        self._count = sum(map(len, pages))
        self._last: tuple[int, Sequence[T]] = (-1, ())
        self._groups: dict[str, dict[str, Many[T]]] = {}

    def grouped(self, attribute: str, kind: type[T]) -> dict[str, Many[T]]:
        """The values by one of their texts, in order; made once."""
        if attribute not in self._groups:
            self._groups[attribute] = split(self, operator.attrgetter(attribute), kind)
        return self._groups[attribute]

    def __iter__(self) -> Iterator[T]:
        """Over all values; one page is in memory."""
        for page in self._pages:
            yield from page

    def __len__(self) -> int:
        """How many, without reading them."""
        return self._count

    def one(self, at: int) -> T:
        """One value; its page stays in memory until another is asked for."""
        if not -self._count <= at < self._count:
            raise IndexError(at)
        number, place = divmod(at % self._count, PAGE)
        if self._last[0] != number:
            self._last = number, tuple(self._pages[number])
        return self._last[1][place]

    def __eq__(self, other: object) -> bool:
        """As the tuple would."""
        if not isinstance(other, tuple | Pages):
            return False
        return len(self) == len(other) and all(ours == theirs for ours, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


class Filling(Generic[T]):
    """A list on its way: values are added, and ``done`` gives a tuple of few, Pages of many."""

    def __init__(self, kind: type[T], spill: Spill, plain: int | None = None) -> None:
        """``kind`` is the Struct type of the values, ``plain`` how many are kept as they are (default PLAIN)."""
        self._kind, self._spill, self._plain = kind, spill, PLAIN if plain is None else plain
        self._pages: list[Sequence[T]] = []
        self._open: list[T] = []

    def add(self, value: T) -> None:
        """Take one more."""
        self._open.append(value)
        if len(self._open) >= PAGE:
            self._close(tuple(self._open))
            self._open.clear()

    def extend(self, values: Iterable[T]) -> None:
        """Take more."""
        for value in values:
            self.add(value)

    def _close(self, page: Sequence[T]) -> None:
        """Keep a full page: in memory while there is room, else aside."""
        if len(self._pages) * PAGE >= self._plain:
            with contextlib.suppress(UnicodeEncodeError):  # a name with bytes that are no text: such a page stays as it is
                page = Held(self._spill, page, self._kind)
        self._pages.append(page)

    def done(self) -> Many[T]:
        """What was added."""
        if not self._pages or len(self._pages) * PAGE + len(self._open) < self._plain:
            return tuple(chain(*self._pages, self._open))
        return Pages([*self._pages, tuple(self._open)] if self._open else self._pages, self._spill)


def split(values: Iterable[T], key: Callable[[T], str], kind: type[T]) -> dict[str, Many[T]]:
    """Values by what ``key`` says of them, in order; the parts of Pages are put aside too."""
    spill, plain = spill_of(values), PAGE if isinstance(values, Pages) else None
    parts: dict[str, Filling[T]] = {}
    for value in values:
        name = key(value)
        if name not in parts:
            parts[name] = Filling(kind, spill, plain)
        parts[name].add(value)
    return {name: part.done() for name, part in parts.items()}


def spill_of(values: Iterable[object]) -> Spill:
    """Where a list of values is put aside, or a new place for one that is not."""
    return values.spill if isinstance(values, Pages) else Spill()
