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

PART = 1000  # names whose entries are in memory together when the table is made
WAITING = 50_000  # entries that wait to be put aside, of all parts together
CACHED = 20_000  # entries of names that were asked for
NAMES = 64  # that are put aside together: a lone name packs badly, and who asks for one asks for its neighbours

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
        self._places: list[Place] = []
        self._loose: dict[str, Entries[E]] = {}  # names and entries that no encoding takes
        self._cache: dict[int, dict[str, Entries[E]]] = {}
        self._cached = 0
        found: list[tuple[int, int]] = []
        for places in self._parted(entries):
            found += self._gather(places)
        found.sort()
        self._hashes = array("Q", (one for one, _ in found))
        self._groups = array("L", (group for _, group in found))  # where the entries of each hash are, in ``_places``

    def _parted(self, entries: Iterable[tuple[str, str, E]]) -> list[list[Place]]:
        """The entries put aside, those of one name and of the names first said near it together."""
        part_of: dict[int, int] = {}
        places: list[list[Place]] = []
        waiting: dict[int, list[tuple[str, str, E]]] = defaultdict(list)
        count = 0
        for entry in entries:
            number = part_of.setdefault(_hash(entry[0]), len(part_of) // PART)
            waiting[number].append(entry)
            count += 1
            if count >= WAITING:
                self._put_all(waiting, places)
                count = 0
        self._put_all(waiting, places)
        return places

    def _put_all(self, waiting: dict[int, list[tuple[str, str, E]]], places: list[list[Place]]) -> None:
        """Put what waits aside, by part."""
        for number in sorted(waiting):
            places.extend([] for _ in range(len(places), number + 1))
            places[number].append(self._put(waiting[number]))
        waiting.clear()

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

    def _gather(self, places: list[Place]) -> list[tuple[int, int]]:
        """Put the entries of one part aside by name, in the order in which the names were first said; the hashes and their groups."""
        found: dict[str, Entries[E]] = defaultdict(list)
        for place in places:
            for name, path, entry in self._triples.decode(self._spill.get(place)):
                found[name].append((path, entry))
        names = list(found)
        out = []
        for at in range(0, len(names), NAMES):
            some = names[at : at + NAMES]
            out += [(_hash(name), len(self._places)) for name in some]
            self._places.append(self._spill.put(msgspec.msgpack.encode({name: found[name] for name in some})))
        return out

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
        """Over the names, in the order in which they were first said but for those that cannot be encoded."""
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
    return hash(name) & 0xFFFF_FFFF_FFFF_FFFF
