"""Writing translated sources: a tree of its own, one file elsewhere, or in place with the CUDA text kept beside it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from porter.errors import OutputError
from porter.write import write_whole

BACKUP = ".prehip"  # the ending that HIPIFY's own in-place scripts give the CUDA text
Change = tuple[Path, bytes, bytes]  # a file, its text before, its text after


def in_place(changes: Iterable[Change]) -> int:
    """Replaces files by their translation, each whole; the text before is kept as FILE.prehip unless an older one is there.

    When one cannot be written, those written so far get their old text back, and OutputError is raised. Gives their number.
    """
    done: list[Change] = []
    try:
        for change in changes:
            path, before, after = change
            backup = path.with_name(path.name + BACKUP)
            if backup.is_symlink() or (backup.exists() and not backup.is_file()):
                raise OutputError(f"{backup}: is in the way of the backup", "move it away")
            if not backup.exists():
                write_whole(backup, before)
                backup.chmod(path.stat().st_mode & 0o777)
            write_whole(path, after)
            done.append(change)
    except (OSError, OutputError) as error:
        for path, before, _ in done:
            write_whole(path, before)
        words = error.message if isinstance(error, OutputError) else f"{error.filename}: cannot be written: {error.strerror}"
        raise OutputError(words, "every file has its old text") from error
    return len(done)


def one_file(source: Path, folder: Path, output: bytes) -> None:
    """Writes the translation of a file into a folder under the same name; raises OutputError where that is the file itself."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made: {error.strerror}", "nothing was written") from error
    target = folder / source.name
    if target.exists() and target.samefile(source):
        raise OutputError(f"{target}: is the input", "choose another folder, or --in-place, which keeps a backup")
    write_whole(target, output)


def check_tree(root: Path, target: Path) -> None:
    """Raises OutputError where a translated tree may not go: over something, or inside what is translated."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OutputError(f"{target}: exists and is not an empty folder", "give --output a folder that does not exist yet")
    if target.resolve() == root.resolve() or root.resolve() in target.resolve().parents:
        raise OutputError(f"{target}: lies inside the folder to translate", "porter never writes into the source")


def tree(root: Path, target: Path, translated: Iterable[tuple[str, bytes, bytes]]) -> None:
    """Writes a copy of a folder with some files translated (path, text before, text after); it appears whole or not at all."""
    check_tree(root, target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".porter-hipify-", dir=target.parent) as scratch:
            copy = Path(scratch) / "tree"
            shutil.copytree(root, copy, symlinks=True, ignore=_only_files_and_folders)
            for path, before, after in translated:
                if before != after:
                    write_whole(copy / path, after)
            os.replace(copy, target)  # noqa: PTH105 - atomic on one file system, which is the point
    except OSError as error:
        raise OutputError(f"{target}: cannot be written: {error.strerror or error}", "nothing was written") from error


def _only_files_and_folders(folder: str, names: list[str]) -> set[str]:
    """What a copy leaves out: version control's own folder, and pipes and devices, which would block it."""
    here = Path(folder)
    return {
        name for name in names if name == ".git" or not ((here / name).is_symlink() or (here / name).is_file() or (here / name).is_dir())
    }
