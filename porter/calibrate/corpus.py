"""A corpus: folders of programs, and a table of the lines that people really changed in each."""

from __future__ import annotations

import csv
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import msgspec

from porter import pipeline, rules
from porter.calibrate.fit import Observation
from porter.config import Config
from porter.errors import InputError
from porter.estimate import features
from porter.model import Report

REAL = ("hand_lines", "substantive_lines")  # columns that hold the real lines, the first that is there
PLACES = ("{name}", "{name}-cuda", "src/{name}-cuda", "src/{name}")
MOST_BYTES = 32 * 1024 * 1024
HINT = "a tab-separated table with the columns name and hand_lines (or substantive_lines)"


class Pair(msgspec.Struct, frozen=True):
    """One program: its name, its folder, and the lines that people changed."""

    name: str
    folder: Path
    real: float
    loc: int = 0  # lines of CUDA code as the table counts them; 0: as porter counts them
    domain: str = ""  # column ``domain``: what the program is about


def pairs(corpus: Path, table: Path) -> tuple[list[Pair], list[str]]:
    """The programs of the table that are in the corpus, and the names of those that are not; raises InputError for a bad table.

    Rows that say ``files_paired`` 0 compare nothing and are left out. A column ``path`` names the folder below the corpus.
    """
    if not corpus.is_dir():
        raise InputError(f"{corpus}: no such folder", "porter calibrate takes the folder that holds the programs")
    rows = list(_rows(table))
    column = next((name for name in REAL if rows and name in rows[0]), "")
    if not column or "name" not in rows[0]:
        raise InputError(f"{table}: no usable table", HINT)
    found, missing = [], []
    for row in rows:
        if row.get("files_paired") == "0":
            continue
        folder = _folder(corpus, row["name"] or "", row.get("path") or "")
        if folder is None:
            missing.append(row["name"])
            continue
        try:
            real = float(row[column])
        except (TypeError, ValueError):
            raise InputError(f"{table}: {row['name']}: '{row[column]}' is no number of lines", HINT) from None
        if not 0 <= real < 1e9:
            raise InputError(f"{table}: {row['name']}: '{row[column]}' is no number of lines", HINT)
        loc = row.get("cuda_loc") or ""
        found.append(Pair(row["name"], folder, real, int(loc) if loc.isascii() and loc.isdigit() else 0, row.get("domain") or ""))
    return found, missing


def _rows(table: Path) -> Iterator[dict[str, str]]:
    try:
        if table.stat().st_size > MOST_BYTES:
            raise InputError(f"{table}: larger than {MOST_BYTES // 1024**2} MiB", HINT)
        text = table.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{table}: is no UTF-8 text", HINT) from error
    except OSError as error:
        raise InputError(f"{table}: cannot be read: {error.strerror or error}", HINT) from error
    yield from csv.DictReader(text.splitlines(), delimiter="\t")


def _folder(corpus: Path, name: str, path: str) -> Path | None:
    """The program's folder; None when it is not there or leads out of the corpus."""
    tries = (path,) if path else tuple(place.format(name=name) for place in PLACES)
    base = corpus.resolve()
    for one in tries:
        folder = (base / one).resolve()
        if name and folder.is_dir() and folder != base and folder.is_relative_to(base):
            return folder
    return None


def observed(found: Sequence[Pair], config: Config, progress: Callable[[int, int, str], None], workers: int = 1) -> list[Observation]:
    """Each program scanned, in the order of ``found``: its features, and what the shipped model predicts; ``workers`` processes at most."""
    out: list[Observation] = []
    if workers <= 1:
        ruleset = rules.load(config.rules_dirs)
        for pair in found:
            progress(len(out), len(found), pair.name)
            out.append(observation(pair, pipeline.audit(pair.folder, config, ruleset=ruleset)))
        return out
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(found) or 1), context, _start, (config,)) as pool:
        for pair, one in zip(found, pool.map(_observe, found, chunksize=4), strict=True):
            progress(len(out), len(found), pair.name)
            out.append(one)
    return out


_given: list[tuple[Config, rules.RuleSet]] = []  # in a worker process: what all its programs are scanned with


def _start(config: Config) -> None:
    _given.append((config, rules.load(config.rules_dirs)))


def _observe(pair: Pair) -> Observation:
    config, ruleset = _given[-1]
    return observation(pair, pipeline.audit(pair.folder, config, ruleset=ruleset))


def observation(pair: Pair, report: Report) -> Observation:
    """What a report says of one program, beside what people really changed."""
    counted = features.counts(report.findings, report.files, features.model().feature)
    return Observation(pair.name, pair.real, pair.loc or report.cuda_lines, counted, report.estimate.hand_lines, pair.domain)
