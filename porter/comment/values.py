"""What the parts of the comment pass each other: notes of a service, where code can be looked at, and what is to be said."""

from __future__ import annotations

import re
from urllib.parse import quote

import msgspec

from porter.errors import ConfigError
from porter.render.neutral import path_bytes

NAME = re.compile(r"[A-Za-z0-9._-]{1,60}\Z")
_MARK = re.compile(r"<!-- porter:v1 key=([A-Za-z0-9._-]{1,60})(?: fix=([0-9a-f]{1,64}))?(?: run=(\d{1,18}))? -->")


class Marker(msgspec.Struct, frozen=True):
    """The hidden first line by which a comment is found again; ``run`` is the number of the CI run that wrote it, 0 for none."""

    name: str = "default"
    run: int = 0
    fix: str = ""  # fingerprint of the finding, for a suggestion

    def __str__(self) -> str:
        fix = f" fix={self.fix}" if self.fix else ""
        run = f" run={self.run}" if self.run else ""
        return f"<!-- porter:v1 key={self.name}{fix}{run} -->"


def check_name(name: str) -> str:
    """The name of a bot where it can stand in a marker; raises ConfigError for any other."""
    if not NAME.match(name) or "--" in name:
        raise ConfigError(f"'{name[:60]}' is no name for a comment", "letters, digits, dot, underscore and single hyphens, 60 at most")
    return name


def marker_of(body: str) -> Marker | None:
    """The marker that a body starts with; None for text that only quotes one."""
    found = _MARK.match(body.lstrip("\ufeff \r\n"))
    return Marker(found[1], int(found[3] or 0), found[2] or "") if found else None


def same_words(one: str, other: str) -> bool:
    """Whether two bodies say the same; their markers and the service's line ends do not count."""
    return _words(one) == _words(other)


def _words(body: str) -> str:
    return _MARK.sub("", body.replace("\r\n", "\n"), count=1).strip()


class Note(msgspec.Struct, frozen=True):
    """One comment as a service gives it; ``mine`` says that the owner of the token wrote it."""

    id: int
    body: str
    mine: bool


class Place(msgspec.Struct, frozen=True):
    """Where the files of a commit can be looked at; an empty address gives no links."""

    web: str = ""  # https://github.com/O/N, without a slash at the end
    commit: str = ""
    gitlab: bool = False

    def link(self, path: str, line: int) -> str:
        """Address of a line, empty where none is known."""
        if not self.web or not self.commit:
            return ""
        blob = "/-/blob/" if self.gitlab else "/blob/"
        return f"{self.web}{blob}{quote(self.commit, safe='')}/{quote(path_bytes(path), safe='/')}#L{line}"


class Line(msgspec.Struct, frozen=True):
    """One line of a change as the service shows it: its text, and its number in the old file, 0 for an added line."""

    text: str
    old: int = 0


class Suggestion(msgspec.Struct, frozen=True):
    """A line of a file and what can take its place with one click."""

    path: str
    line: int
    before: str
    body: str
    fix: str
