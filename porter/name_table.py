"""Name table: what all files say of a name. A dict where there is little of it; else a table of hashes, and the entries put aside.

A table is made once, then only read: in the process that made it, and in those forked from it, which share its memory.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from porter.spill import Place, Spill

PARTS = 64  # of the hashes; the entries of one are in memory together when the table is made
CHUNK = 1000  # entries of a part that wait together
CACHED = 20_000  # entries of names that were asked for
NAMES = 64  # that are put aside together: a lone name packs badly
_BITS = 64

E = TypeVar("E")
Entries = list[tuple[str, E]]  # path of the file, what it says
Named = Mapping[str, Entries[E]]


class NameTable(Mapping[str, "Entries[E]"], Generic[E]):
    """Names to entries, in the order in which they were given."""

    def __init__(self, spill: Spill, entries: Iterable[tuple[str, str, E]], kind: type[E]) -> None:
        """``entries`` are name, path and what stands there, of one Struct type."""
        pair: Any = tuple[str, kind]  # type: ignore[valid-type]
        triple: Any = tuple[str, str, kind]  # type: ignore[valid-type]
        self._spill = spill
        self._tables: Any = msgspec.msgpack.Decoder(dict[str, list[pair]])
        self._triples: Any = msgspec.msgpack.Decoder(list[triple])
        self._hashes = array("Q")
        self._groups = array("L")  # where the entries of each hash are, in ``_places``
        self._places: list[Place] = []
        self._loose: dict[str, Entries[E]] = {}  # names and entries that no encoding takes
        self._cache: dict[int, dict[str, Entries[E]]] = {}
        self._cached = 0
        parts = self._parted(entries)
        for number in range(PARTS):
            self._gather(parts[number])

    def _parted(self, entries: Iterable[tuple[str, str, E]]) -> list[list[Place]]:
        """The entries by the first bits of their names' hashes, put aside."""
        places: list[list[Place]] = [[] for _ in range(PARTS)]
        waiting: list[list[tuple[str, str, E]]] = [[] for _ in range(PARTS)]
        for entry in entries:
            held = waiting[_hash(entry[0]) * PARTS >> _BITS]
            held.append(entry)
            if len(held) >= CHUNK:
                places[_hash(entry[0]) * PARTS >> _BITS].append(self._put(held))
                held.clear()
        for number, held in enumerate(waiting):
            if held:
                places[number].append(self._put(held))
        return places

    def _put(self, entries: list[tuple[str, str, E]]) -> Place:
        try:
            return self._spill.put(msgspec.msgpack.encode(entries))
        except UnicodeEncodeError:
            good = []
            for name, path, entry in entries:
                try:
                    msgspec.msgpack.encode((name, path, entry))
                    good.append((name, path, entry))
                except UnicodeEncodeError:
                    self._loose.setdefault(name, []).append((path, entry))
            return self._spill.put(msgspec.msgpack.encode(good))

    def _gather(self, places: list[Place]) -> None:
        """Put the entries of one part aside by name, in the order of the hashes."""
        found: dict[str, Entries[E]] = defaultdict(list)
        for place in places:
            for name, path, entry in self._triples.decode(self._spill.get(place)):
                found[name].append((path, entry))
        names = sorted(found, key=_hash)
        for at in range(0, len(names), NAMES):
            some = names[at : at + NAMES]
            self._hashes.extend(map(_hash, some))
            self._groups.extend([len(self._places)] * len(some))
            self._places.append(self._spill.put(msgspec.msgpack.encode({name: found[name] for name in some})))

    def _group(self, number: int) -> dict[str, Entries[E]]:
        held = self._cache.get(number)
        if held is None:
            held = self._tables.decode(self._spill.get(self._places[number]))
            size = sum(map(len, held.values()))
            if self._cached + size > CACHED:
                self._cache.clear()
                self._cached = 0
            self._cache[number] = held
            self._cached += size
        return held

    def _find(self, name: str) -> Entries[E] | None:
        wanted = _hash(name)
        at = bisect_left(self._hashes, wanted)
        found = None
        while found is None and at < len(self._hashes) and self._hashes[at] == wanted:
            found = self._group(self._groups[at]).get(name)
            at += 1
        if name in self._loose:
            return sorted([*(found or ()), *self._loose[name]], key=lambda pair: pair[0])
        return found

    def __getitem__(self, name: str) -> Entries[E]:
        """All that is said of a name; raises KeyError for none."""
        found = self._find(name)
        if found is None:
            raise KeyError(name)
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """The same with a default."""
        found = self._find(name)
        return default if found is None else found

    def __contains__(self, name: object) -> bool:
        """Whether anything is said of a name."""
        return isinstance(name, str) and self._find(name) is not None

    def __iter__(self) -> Iterator[str]:
        """Over the names, in no order that means anything."""
        for place in self._places:
            yield from (name for name in self._tables.decode(self._spill.get(place)) if name not in self._loose)
        yield from self._loose

    def __len__(self) -> int:
        """How many names, those that cannot be encoded counted once more where both sorts say something of one."""
        return len(self._hashes) + len(self._loose)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process that was not forked gets a dict."""
        return dict, ({name: self[name] for name in self},)


def said(files: Mapping[str, Any], entries: Callable[[Any], Iterable[Any]], attribute: str = "name") -> Iterator[tuple[str, str, Any]]:
    """Name, path and entry of all that surveys tell of one sort, in their order."""
    for path, one in files.items():
        for entry in entries(one):
            yield getattr(entry, attribute), path, entry


def table(spill: Spill | None, entries: Iterable[tuple[str, str, E]], kind: type[E]) -> Mapping[str, Entries[E]]:
    """Names to entries; a dict where ``spill`` is None."""
    if spill is not None:
        return NameTable(spill, entries, kind)
    out: dict[str, Entries[E]] = defaultdict(list)
    for name, path, entry in entries:
        out[name].append((path, entry))
    return out


def _hash(name: str) -> int:
    number: int = hash(name) & (2**_BITS - 1)
    return number
