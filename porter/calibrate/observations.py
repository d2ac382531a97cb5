"""Observations on disk: what the scans of a corpus saw, so that fits can be repeated without scanning again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from porter.calibrate.corpus import Pair
from porter.calibrate.fit import Observation
from porter.errors import InputError


def save(path: Path, seen: Sequence[Observation]) -> None:
    """One JSON line a program; raises OSError when it cannot be written."""
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in seen))


def load(path: Path, wanted: Sequence[Pair]) -> list[Observation]:
    """The observations of the wanted programs, with the real lines of the table; raises InputError for one that is not in the file."""
    try:
        lines = path.read_bytes().splitlines()
        by_name = {one.name: one for one in (msgspec.json.decode(line, type=Observation) for line in lines if line.strip())}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: holds no observations: {str(error)[:200]}", "remove it, and the corpus is scanned again") from error
    out = []
    for pair in wanted:
        if pair.name not in by_name:
            raise InputError(f"{path}: has nothing of '{pair.name}'", "remove it, and the corpus is scanned again")
        one = by_name[pair.name]
        out.append(msgspec.structs.replace(one, real=pair.real, loc=pair.loc or one.loc, domain=pair.domain or one.domain))
    return out
