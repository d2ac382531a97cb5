"""GitHub: the comments of a pull request, its changed lines, and suggestions on them."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from porter.comment import patch
from porter.comment.values import Line, Note, Suggestion, marker_of
from porter.comment.wire import Client, Refused
from porter.errors import ConfigError

API = "https://api.github.com"
REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}\Z")


def headers(token: str) -> dict[str, str]:
    """What GitHub wants with every request."""
    return {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}


def check_repository(name: str) -> str:
    """OWNER/NAME; raises ConfigError for anything else."""
    if not REPOSITORY.match(name) or any(part in (".", "..") for part in name.split("/")):
        raise ConfigError(f"'{name[:100]}' is no repository", "--repo OWNER/NAME")
    return name


def web_of(api: str) -> str:
    """The address of the pages that belong to an API."""
    if api == API:
        return "https://github.com"
    parts = urlsplit(api)
    return f"{parts.scheme}://{parts.netloc}"


class GitHub:
    """One pull request of one repository."""

    def __init__(self, client: Client, repository: str, number: int) -> None:
        """``repository`` is OWNER/NAME."""
        self.client = client
        self.root = f"/repos/{check_repository(repository)}"
        self.number = number
        self._login: str | None = None
        self._head = ""

    @property
    def login(self) -> str:
        """Who the token is; empty for the token of a workflow, which may not ask."""
        if self._login is None:
            try:
                found = self.client.get("/user")
                self._login = str(found.get("login", "")) if isinstance(found, dict) else ""
            except Refused as error:
                if error.status not in (403, 404):
                    raise
                self._login = ""
        return self._login

    def _mine(self, entry: dict[str, Any]) -> bool:
        """Whether the owner of the token wrote it: by name, and for a token without a name any bot that starts with porter's marker."""
        user = entry.get("user") or {}
        return bool(user.get("login") == self.login if self.login else user.get("type") == "Bot")

    def notes(self) -> list[Note]:
        """All comments of the conversation that hold porter's marker."""
        entries = list(self.client.pages(f"{self.root}/issues/{self.number}/comments"))
        marked = [entry for entry in entries if marker_of(str(entry.get("body") or ""))]
        return [Note(int(entry.get("id") or 0), str(entry["body"]), self._mine(entry)) for entry in marked]

    def create(self, body: str) -> None:
        """Add a comment to the conversation."""
        self.client.send("POST", f"{self.root}/issues/{self.number}/comments", {"body": body})

    def update(self, number: int, body: str) -> None:
        """Change a comment."""
        self.client.send("PATCH", f"{self.root}/issues/comments/{number}", {"body": body})

    def delete(self, number: int) -> None:
        """Remove a comment."""
        self.client.send("DELETE", f"{self.root}/issues/comments/{number}")

    def changed(self) -> dict[str, dict[int, Line]]:
        """The lines of the new side that the pull request shows, by path and number."""
        files = self.client.pages(f"{self.root}/pulls/{self.number}/files")
        return {str(one.get("filename", "")): patch.lines(str(one.get("patch") or "")) for one in files}

    def suggested(self) -> frozenset[str]:
        """Fingerprints of the suggestions that are there already."""
        entries = self.client.pages(f"{self.root}/pulls/{self.number}/comments")
        marks = [marker_of(str(entry.get("body") or "")) for entry in entries if self._mine(entry)]
        return frozenset(mark.fix for mark in marks if mark)

    def suggest(self, suggestion: Suggestion, line: Line) -> None:
        """Add a suggestion to a line of the change."""
        if not self._head:
            self._head = self.client.text(f"{self.root}/pulls/{self.number}", "head", "sha")
        place = {"commit_id": self._head, "path": suggestion.path, "line": suggestion.line, "side": "RIGHT"}
        self.client.send("POST", f"{self.root}/pulls/{self.number}/comments", {"body": suggestion.body, **place})
