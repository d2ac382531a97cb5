"""Commit: reads which commit a checkout stands on from its .git folder; never runs git, whose configuration the repository controls."""

from __future__ import annotations

import re
from pathlib import Path

from porter.regular import read_below

HASH = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
REF = re.compile(r"ref: (refs/[A-Za-z0-9_./-]+)\Z")


def commit_of(root: Path) -> str:
    """The full hash of HEAD, or an empty text when the folder is no checkout or its files are not as git writes them."""
    git = root / ".git"
    if git.is_symlink() or not git.is_dir():
        return ""
    head = _line(root, ".git/HEAD")
    if HASH.match(head):
        return head
    ref = REF.match(head)
    if not ref or ".." in ref[1]:
        return ""
    loose = _line(root, f".git/{ref[1]}")
    if HASH.match(loose):
        return loose
    packed = (read_below(root, ".git/packed-refs", 4_000_000) or b"").decode("ascii", "replace")
    found = re.search(rf"(?m)^([0-9a-f]{{40,64}}) {re.escape(ref[1])}$", packed)
    return found[1] if found else ""


def _line(root: Path, path: str) -> str:
    return (read_below(root, path, 300) or b"").decode("ascii", "replace").strip()
