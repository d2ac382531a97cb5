"""Held: the parts of a value that were put aside, in their places: they are read each time that somebody looks at them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast, overload

import msgspec

from porter.spill import Place, Spill

T = TypeVar("T")
_LAST: dict[type[Any], tuple[Place, tuple[Any, ...]]] = {}  # of each type, the values that were read last


class Listed(Sequence[T]):
    """A sequence that says what stands at a number; a slice is the tuple of those."""

    __slots__ = ()

    @abstractmethod
    def one(self, at: int) -> T:
        """The value at a number; raises IndexError."""

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        """One value, or some."""
        return tuple(map(self.one, range(*at.indices(len(self))))) if isinstance(at, slice) else self.one(at)


class Held(Listed[T]):
    """A tuple of values that was put aside."""

    __slots__ = ("_count", "_kind", "_place", "_spill")

    def __init__(self, spill: Spill, values: Sequence[T], kind: type[T]) -> None:
        """Put values of one Struct type aside; raises UnicodeEncodeError where a text cannot be encoded."""
        self._place: Place = spill.put(msgspec.msgpack.encode(values))
        self._spill, self._count, self._kind = spill, len(values), kind

    def all(self) -> tuple[T, ...]:
        """The values; those that were read last are still there."""
        last = _LAST.get(self._kind)
        if last is not None and last[0] is self._place:
            return last[1]
        values: tuple[T, ...] = _decoder(cast(Hashable, self._kind)).decode(self._spill.get(self._place))
        _LAST[self._kind] = (self._place, values)
        return values

    def __iter__(self) -> Iterator[T]:
        """Over the values, read now."""
        return iter(self.all())

    def __len__(self) -> int:
        """How many, without reading them."""
        return self._count

    def one(self, at: int) -> T:
        """One of them."""
        return self.all()[at]

    def __eq__(self, other: object) -> bool:
        """As the tuple would."""
        return isinstance(other, tuple | Held) and self.all() == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Another process gets the values."""
        return tuple, (self.all(),)


class HeldLines(Mapping[int, str]):
    """Lines by number that were put aside."""

    __slots__ = ("_count", "_place", "_spill")

    def __init__(self, spill: Spill, lines: Mapping[int, str]) -> None:
        """Put lines aside; raises UnicodeEncodeError where a text cannot be encoded."""
        self._place: Place = spill.put(msgspec.msgpack.encode(lines))
        self._spill, self._count = spill, len(lines)

    def all(self) -> dict[int, str]:
        """The lines."""
        return msgspec.msgpack.decode(self._spill.get(self._place), type=dict[int, str])

    def __iter__(self) -> Iterator[int]:
        """Over the numbers."""
        return iter(self.all())

    def __len__(self) -> int:
        """How many."""
        return self._count

    def __getitem__(self, number: int) -> str:
        """One line; for many of them ask ``all``."""
        return self.all()[number]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Another process gets the lines."""
        return dict, (self.all(),)


class HeldBytes:
    """Bytes that were put aside: ``bytes(held)`` gives them."""

    __slots__ = ("_count", "_place", "_spill")

    def __init__(self, spill: Spill, data: bytes) -> None:
        """Put bytes aside."""
        self._place: Place = spill.put(data)
        self._spill, self._count = spill, len(data)

    def __bytes__(self) -> bytes:
        """The bytes."""
        return self._spill.get(self._place)

    def __len__(self) -> int:
        """How many."""
        return self._count

    def __eq__(self, other: object) -> bool:
        """As the bytes would."""
        return isinstance(other, bytes | HeldBytes) and bytes(self) == bytes(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Another process gets the bytes."""
        return bytes, (bytes(self),)


def as_plain(value: Any) -> Any:
    """What msgspec asks for a value that it does not know: the values themselves where they were put aside; raises NotImplementedError."""
    if isinstance(value, HeldBytes):
        return bytes(value)
    if isinstance(value, HeldLines):
        return value.all()
    if isinstance(value, Sequence):
        return tuple(value)
    raise NotImplementedError(type(value).__name__)


@cache
def _decoder(kind: Hashable) -> Any:
    values: Any = tuple[kind, ...]  # type: ignore[valid-type]
    return msgspec.msgpack.Decoder(values)
