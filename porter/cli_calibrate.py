"""The commands `porter calibrate` and `porter actuals`: predictions held against what ports really took."""

from __future__ import annotations

import datetime
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from porter.calibrate.actuals import Actual
    from porter.calibrate.fit import Observation

ACTUALS = "porter-actuals.jsonl"


@click.command()
@click.argument("corpus", type=click.Path())
@click.option("--pairs", required=True, type=click.Path(), help="Table (tab-separated) with name and hand_lines or substantive_lines.")
@click.option("--fit", "table", type=click.Path(), default="", help="Fit the model on these programs and write it into this table.")
@click.option("--label", default="", help="Name of the corpus in the table that --fit writes; default: the folder's name.")
@click.option("--observations", type=click.Path(), default="", help="Keep what the scans saw in this file, and read it when it is there.")
@click.option("--limit", default=0, metavar="N", help="Only the first N programs.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1, 256), help="Programs scanned at the same time.")
@click.option("--format", "form", type=click.Choice(("markdown", "json")), default="markdown", show_default=True)
def calibrate(corpus: str, pairs: str, table: str, label: str, observations: str, limit: int, jobs: int, form: str) -> None:
    """Hold predicted hand-changed lines against real ones: a folder of programs, and a table of the lines that people changed."""
    import msgspec

    from porter.calibrate import backtest, fit, written
    from porter.errors import InputError
    from porter.estimate import features
    from porter.render.neutral import json_text

    seen = _observed(Path(corpus), Path(pairs), observations, limit, jobs)
    if len(seen) < 2 * fit.FOLDS:
        raise InputError(f"{len(seen)} programs are too few to judge a model by", f"{2 * fit.FOLDS} or more are needed")
    held = [fit.cross_validated(seen, features.model(), seed) for seed in fit.SEEDS]
    results = {
        "cross_validated": backtest.averaged([backtest.measured(seen, one) for one in held]),
        "shipped": backtest.measured(seen, [one.predicted for one in seen]),
    }
    if len({one.domain for one in seen}) > 1:
        results["domain_left_out"] = backtest.measured(seen, fit.by_domain(seen, features.model()))
    if table:
        written.write(Path(table), fit.fitted(seen, features.model()), results["cross_validated"], label or Path(corpus).resolve().name)
        click.echo(f"porter: wrote {table}", err=True)
    if form == "json":
        rows = backtest.rows(seen, held[0])
        made = {name: msgspec.to_builtins(result) for name, result in results.items()} | {"programs": rows}
        click.echo(json_text(msgspec.json.encode(made)), nl=False)
        return
    known = features.model().backtest
    shipped = f"The shipped model {known['version']} (fitted on: {known['corpus']})"
    click.echo(
        backtest.page(
            results["cross_validated"],
            "Cross-validated: each program predicted by a model fitted without it",
            results.get("domain_left_out"),
        )
    )
    click.echo(backtest.page(results["shipped"], shipped), nl=False)


def _observed(corpus: Path, table: Path, kept: str, limit: int, jobs: int) -> list[Observation]:
    """The programs scanned, or read from the file that an earlier run kept."""
    from porter.calibrate import corpus as corpora
    from porter.calibrate import observations
    from porter.config import Config

    found, missing = corpora.pairs(corpus, table)
    found = found[:limit] if limit else found
    if missing:
        names = ", ".join(missing[:5])
        click.echo(
            f"porter: {len(missing)} programs of the table are not in the corpus: {names}{' …' if len(missing) > 5 else ''}", err=True
        )
    if kept and Path(kept).is_file():
        return observations.load(Path(kept), found)
    seen = corpora.observed(found, Config(jobs=0), _progress, jobs)
    if kept:
        observations.save(Path(kept), seen)
    return seen


def _progress(done: int, total: int, name: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{done}/{total} {name}", err=True, nl=False)


@click.group()
def actuals() -> None:
    """Record what a group of findings really took, and show predicted against actual."""


@actuals.command()
@click.argument("report", type=click.Path())
@click.argument("what")
@click.option("--hours", required=True, type=float, metavar="H", help="Person-hours it took.")
@click.option("--lines", type=click.IntRange(0, 10**8), default=None, metavar="N", help="Lines changed, added and removed.")
@click.option("--note", default="", help="Words for whoever reads it later.")
@click.option("--file", "path", default=ACTUALS, show_default=True, type=click.Path(), help="The local file of records.")
def record(report: str, what: str, hours: float, lines: int | None, note: str, path: str) -> None:
    """Record the hours of WHAT: a group, rule, fingerprint or project line of a JSON REPORT, or `total` for the whole port."""
    from porter.calibrate import actuals as records
    from porter.errors import ConfigError

    if not (math.isfinite(hours) and 0 <= hours <= 1e6):
        raise ConfigError(f"--hours: {hours} is no number of hours")
    root, found, expected = records.predicted(Path(report), what)
    made = records.made(root, found, hours, lines, datetime.date.today().isoformat(), note[:2000], expected)
    records.append(Path(path), made)
    click.echo(f"{_words(made)}: {hours:g} h, predicted {_hours(made.predicted.likely)} h; written to {path}")


@actuals.command()
@click.option("--file", "path", default=ACTUALS, show_default=True, type=click.Path(), help="The local file of records.")
@click.option("--format", "form", type=click.Choice(("terminal", "json")), default="terminal", show_default=True)
def show(path: str, form: str) -> None:
    """Show predicted against actual hours: each record, the sums, and the middle ratio of each rule."""
    import msgspec

    from porter.calibrate import actuals as records
    from porter.render.neutral import json_text

    found = records.load(Path(path))
    sums = records.compared(found)
    if form == "json":
        made = sums | {"actuals": [msgspec.to_builtins(one) for one in found]}
        click.echo(json_text(msgspec.json.encode(made)), nl=False)
        return
    click.echo(f"{'actual':>9} {'likely':>8} {'best':>8} {'worst':>8}  what")
    for one in found:
        hours = one.predicted
        predicted = " ".join(f"{_hours(value):>8}" for value in (hours.likely, hours.best, hours.worst))
        click.echo(f"{_hours(one.hours):>7} h {predicted}  {_words(one)}{_lines(one)}")
    inside = f"{sums['inside']} of {sums['records']} between best and worst"
    click.echo(f"{_hours(sums['actual']):>7} h {_hours(sums['predicted']):>8}  in all; {inside}")
    for name, rule in sums["rules"].items():
        if rule["ratio"] is not None:
            count = f"{rule['records']} record{'s' if rule['records'] != 1 else ''}"
            click.echo(f"{rule['ratio']:>9.2f} times the likely hours: {_plain(name)} ({count})")


def _hours(value: float) -> str:
    """Hours for a column: two digits below 10, whole hours above."""
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def _lines(one: Actual) -> str:
    """Lines beside the range that the report gave for the whole port: best and worst are its P10 and P90."""
    if not one.is_total:
        return f", {one.lines:,} lines" if one.lines is not None else ""
    known = one.predicted_lines
    if one.lines is None or known is None:
        return " (P50, P10, P90)"
    inside = "inside" if known.p10 <= one.lines <= known.p90 else "outside"
    return f" (P50, P10, P90); {one.lines:,} lines, predicted {known.p50:g} ({known.p10:g} to {known.p90:g}): {inside}"


def _words(one: Actual) -> str:
    return _plain(f"{one.root}: {one.group or one.rule or one.label}")


def _plain(text: str) -> str:
    from porter.render.neutral import one_line

    return one_line(text)
