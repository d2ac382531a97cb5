"""GitLab: the notes of a merge request, its changed lines, and suggestions on them."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit

from porter.comment import patch
from porter.comment.values import Line, Note, Suggestion, marker_of
from porter.comment.wire import Client
from porter.errors import ConfigError

API = "https://gitlab.com/api/v4"


def headers(token: str) -> dict[str, str]:
    """What GitLab wants with every request."""
    return {"PRIVATE-TOKEN": token}


def web_of(api: str) -> str:
    """The address of the pages that belong to an API."""
    parts = urlsplit(api)
    return f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/api/v4').rstrip('/')}"


class GitLab:
    """One merge request of one project, given by its path or its number."""

    def __init__(self, client: Client, project: str, number: int) -> None:
        """Raises ConfigError for an empty project."""
        if not project.strip("/") or any(part in ("", ".", "..") for part in project.split("/")):
            raise ConfigError(f"'{project[:100]}' is no project", "--gitlab GROUP/PROJECT, or the project's number")
        self.client = client
        self.root = f"/projects/{quote(project, safe='')}/merge_requests/{number}"
        self._user: int | None = None
        self._refs: dict[str, str] = {}
        self._old_paths: dict[str, str] = {}

    @property
    def user(self) -> int:
        """Number of the user or bot that the token belongs to."""
        if self._user is None:
            found = self.client.get("/user")
            self._user = int(found.get("id", 0)) if isinstance(found, dict) else 0
        return self._user

    def notes(self) -> list[Note]:
        """All comments that people and bots wrote and that hold porter's marker."""
        entries = list(self.client.pages(f"{self.root}/notes?order_by=created_at&sort=asc"))
        marked = [entry for entry in entries if not entry.get("system") and marker_of(str(entry.get("body") or ""))]
        return [Note(int(entry.get("id") or 0), str(entry["body"]), self._mine(entry)) for entry in marked]

    def _mine(self, entry: dict[str, Any]) -> bool:
        return bool((entry.get("author") or {}).get("id") == self.user)

    def create(self, body: str) -> None:
        """Add a note."""
        self.client.send("POST", f"{self.root}/notes", {"body": body})

    def update(self, number: int, body: str) -> None:
        """Change a note."""
        self.client.send("PUT", f"{self.root}/notes/{number}", {"body": body})

    def delete(self, number: int) -> None:
        """Remove a note."""
        self.client.send("DELETE", f"{self.root}/notes/{number}")

    def changed(self) -> dict[str, dict[int, Line]]:
        """The lines of the new side that the merge request shows, by path and number."""
        files = list(self.client.pages(f"{self.root}/diffs"))
        self._old_paths = {str(one.get("new_path", "")): str(one.get("old_path", "")) for one in files}
        return {str(one.get("new_path", "")): patch.lines(str(one.get("diff") or "")) for one in files}

    def suggested(self) -> frozenset[str]:
        """Fingerprints of the suggestions that are there already; they are notes too."""
        marks = [marker_of(note.body) for note in self.notes() if note.mine]
        return frozenset(mark.fix for mark in marks if mark and mark.fix)

    def suggest(self, suggestion: Suggestion, line: Line) -> None:
        """Start a thread with a suggestion on a line of the change."""
        if not self._refs:
            names = ("base_sha", "head_sha", "start_sha")
            self._refs = {name: self.client.text(self.root, "diff_refs", name) for name in names}
        place: dict[str, Any] = dict(self._refs)
        old_path = self._old_paths.get(suggestion.path) or suggestion.path
        place |= {"position_type": "text", "old_path": old_path, "new_path": suggestion.path, "new_line": suggestion.line}
        if line.old:
            place["old_line"] = line.old
        self.client.send("POST", f"{self.root}/discussions", {"body": suggestion.body, "position": place})
