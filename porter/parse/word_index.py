"""Finds any of many words in a text in time that does not grow with their number: an index on three bytes, and memory of tokens."""

from __future__ import annotations

import functools
import re

GRAM = 3
MAX_REMEMBERED = 200_000  # tokens
MAX_TOKEN = 200  # bytes; longer ones are data and not remembered
TOKEN = re.compile(rb"[a-z0-9_.+-]{3,}")
_PLAIN = re.compile(rb"[a-z0-9_.+-]{3,}\Z")


class WordIndex:
    """Words (lower case) to look for; a word that is no part of a token, or shorter than three bytes, is searched for by itself."""

    def __init__(self, words: frozenset[bytes]) -> None:
        """Index the words."""
        self._by_gram: dict[bytes, list[bytes]] = {}
        self._others: list[bytes] = []
        self._known: dict[bytes, tuple[int, ...]] = {}
        for word in sorted(words):
            if _PLAIN.match(word):
                self._by_gram.setdefault(word[:GRAM], []).append(word)
            else:
                self._others.append(word)

    def holds(self, lower: bytes) -> bool:
        """Whether a text in lower case holds one of the words."""
        return any(self._in_token(token) for token in set(TOKEN.findall(lower))) or any(word in lower for word in self._others)

    def offsets(self, lower: bytes) -> set[int]:
        """Where the words start in a text in lower case."""
        found: set[int] = set()
        for match in TOKEN.finditer(lower):
            places = self._in_token(match[0])
            if places:
                start = match.start()
                found.update(start + place for place in places)
        for word in self._others:
            at = lower.find(word)
            while at >= 0:
                found.add(at)
                at = lower.find(word, at + 1)
        return found

    def _in_token(self, token: bytes) -> tuple[int, ...]:
        known = self._known.get(token)
        if known is not None:
            return known
        places = tuple(
            at
            for at in range(len(token) - GRAM + 1)
            if (words := self._by_gram.get(token[at : at + GRAM])) and any(token.startswith(word, at) for word in words)
        )
        if len(token) <= MAX_TOKEN and len(self._known) < MAX_REMEMBERED:
            self._known[token] = places
        return places


@functools.lru_cache(maxsize=8)
def index_of(words: frozenset[bytes]) -> WordIndex:
    """The index of a set of words, made once."""
    return WordIndex(words)
