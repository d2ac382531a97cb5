"""Source tree: what the files of a repository include of one another, from their directives alone, without a parse."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Mapping

import msgspec

from porter.hipify import includes, lexer


class Included(msgspec.Struct, frozen=True, gc=False):
    """One #include: the path as written and its line, from 1."""

    path: str
    line: int


class SourceTree:
    """The files of a repository by their path relative to its root, with their text."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        """Takes the texts; includes are read when first asked for."""
        self.files = files
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in sorted(files):
            self._by_name[posixpath.basename(path)].append(path)
        self._includes: dict[str, tuple[Included, ...]] = {}

    def includes(self, path: str) -> tuple[Included, ...]:
        """The #include lines of a file in order; ``#include MACRO`` is not among them."""
        if path not in self._includes:
            masked = lexer.mask(self.files[path])
            found: list[Included] = []
            line, at = 1, 0
            for event in includes.directives(masked):
                include = includes.include_at(masked, event)
                if include is not None:
                    line += masked.count(b"\n", at, include.start)
                    at = include.start
                    found.append(Included(include.path.decode("utf-8", "replace"), line))
            self._includes[path] = tuple(found)
        return self._includes[path]

    def resolve(self, include: str, from_path: str) -> str | None:
        """The repository's file that an include means: beside the including file, else by the longest shared path."""
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(from_path), include))
        if beside in self.files:
            return beside
        tail = posixpath.normpath(include).lstrip("./")
        near = [p for p in self._by_name.get(posixpath.basename(include), ()) if p == tail or p.endswith("/" + tail)]
        return max(near, key=lambda p: (len(posixpath.commonprefix([p, from_path])), -len(p), p)) if near else None

    def reach(self, path: str) -> tuple[str, ...]:
        """The file and all that it includes within the repository, nearest first."""
        seen = {path: None}
        queue = [path]
        for one in queue:
            for include in self.includes(one):
                target = self.resolve(include.path, one)
                if target is not None and target not in seen:
                    seen[target] = None
                    queue.append(target)
        return tuple(seen)
