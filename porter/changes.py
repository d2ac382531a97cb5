"""Changes: which files of a checkout differ from a git revision, by their content, without running git on the work tree."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path

from porter.discover import Entry
from porter.model import Problem, Scope
from porter.regular import read_below
from porter.revision import Reader, checkout_of

MAX_COMPARED = 256 * 2**20  # bytes of a file whose content is compared; a larger one counts as changed


def since(root: Path, revision: str, git: str, entries: Iterable[Entry]) -> tuple[Scope, frozenset[str]]:
    """The paths that are new or hold other bytes than in the revision; raises InputError or ToolError when it cannot be read.

    Bytes count, so a checkout with other line ends than the object store has changed throughout.
    """
    base = root.resolve() if root.is_dir() else root.resolve().parent
    with tempfile.TemporaryDirectory(prefix="porter-changes-") as folder:
        reader = Reader(checkout_of(root), git, Path(folder))
        commit = reader.resolve(revision)
        before = reader.blobs(commit)
    entries = list(entries)
    changed = frozenset(entry.path for entry in entries if _differs(base, entry, before.get(entry.path, "")))
    return Scope(revision, commit, len(changed), len(entries) - len(changed)), changed


def _differs(base: Path, entry: Entry, blob: str) -> bool:
    data = read_below(base, entry.path, entry.size + 1) if blob and entry.size <= MAX_COMPARED else None
    if data is None:
        return True
    made = hashlib.sha1(usedforsecurity=False) if len(blob) == 40 else hashlib.sha256()
    made.update(b"blob %d\0" % len(data))
    made.update(data)
    return made.hexdigest() != blob


def note(scope: Scope) -> Problem:
    """What a report says of its scope, in one line."""
    if not scope.changed:
        return Problem("scope", "", 0, f"no file differs from {scope.revision}, so none was looked at", matters=False)
    files = "1 file that differs" if scope.changed == 1 else f"{scope.changed:,} files that differ"
    were = "was" if scope.changed == 1 else "were"
    what = f"only the {files} from {scope.revision} {were} looked at; {scope.unchanged:,} others only for context"
    return Problem("scope", "", 0, what, matters=False)
