"""The command `porter portfolio`: many repositories, what they share counted once, one page and one workbook."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from porter.errors import ConfigError

INCOMPLETE = 3
DEFAULT_OUTPUTS = ("porter-portfolio.html", "porter-portfolio.xlsx")
SHOWN = 10
# What an audit may see of this environment: where programs, temporary files and its cache are, and the words it is written in.
PASSED_ON = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "XDG_CACHE_HOME", "ROCM_PATH", "PORTER_HIPIFY", "SYSTEMROOT", "PORTER_CACHE")


@click.command()
@click.argument("source", metavar="LIST|DIR", type=click.Path())
@click.option("--output", "outputs", multiple=True, metavar="FILE", help="An .html, .xlsx or .json file; may be repeated.")
@click.option("--reports", default="", metavar="DIR", help="Keep each repository's JSON report here, and go on from there next time.")
@click.option("--scheduler", default="", metavar="ADDRESS", help="A Dask scheduler, tcp://host:8786; default: processes of this machine.")
@click.option("--target", default="", help="GPU targets, separated by commas, for all repositories.")
@click.option("--rocm", default="", help="ROCm version to port to, for all repositories.")
@click.option("--jobs", type=click.IntRange(1, 256), default=None, help="Repositories at a time on this machine.")
@click.option("--timeout", type=click.FloatRange(1, 1e6), default=3600.0, show_default=True, help="Seconds that one repository may take.")
@click.option("--strict", is_flag=True, help="Exit with 3 when a repository could not be audited in full.")
@click.option("--quiet", "-q", is_flag=True, help="No progress and no summary on the terminal.")
def portfolio(source: str, outputs: tuple[str, ...], quiet: bool, strict: bool, **options: Any) -> None:
    """Audit many repositories: shared dependencies and findings counted once, ranked by value over effort."""
    from porter.portfolio import listing, merge, run, saved
    from porter.write import write_whole

    renderers = [(Path(file), _renderer(file)) for file in outputs or DEFAULT_OUTPUTS]
    repositories = listing.repositories(Path(source))
    tasks = _tasks(repositories, options)
    folder = Path(options["reports"]) if options["reports"] else None
    known, missing = saved.split(tasks, folder)
    jobs = options["jobs"] or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
    fresh = run.cluster(missing, options["scheduler"]) if options["scheduler"] and missing else run.local(missing, jobs)
    answers = [*known, *_counted(saved.keep(fresh, folder), len(missing), len(known), quiet)]
    whole = merge.portfolio(repositories, answers)
    for path, render in renderers:
        write_whole(path, render(whole))
    if not quiet:
        click.echo(_summary(whole, [str(path) for path, _ in renderers]), nl=False)
    if strict and not whole.complete:
        raise SystemExit(INCOMPLETE)


def _renderer(file: str) -> Any:
    from porter.portfolio import book, page

    known = {".html": page.render, ".htm": page.render, ".xlsx": book.render, ".json": page.as_json}
    ending = Path(file).suffix.lower()
    if ending not in known:
        raise ConfigError(f"{file}: a portfolio is an .html, .xlsx or .json file")
    return known[ending]


def _tasks(repositories: Iterable[Any], options: dict[str, Any]) -> list[Any]:
    """The audits in the order of the names; wrong options are refused before the first one runs."""
    from porter.config import check_targets
    from porter.hipify import api
    from porter.portfolio.one import Task

    if options["target"]:
        check_targets(tuple(options["target"].split(",")))
    rocm = options["rocm"] or list(api.rocm_versions())[-1]
    api.hip_version(rocm)
    words = ("--jobs", "1", "--rocm", rocm, *(("--target", options["target"]) if options["target"] else ()))
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return [Task(one.name, one.path, words, options["timeout"], environment) for one in repositories]


def _counted(answers: Iterable[Any], total: int, known: int, quiet: bool) -> Iterable[Any]:
    """The answers, each with a line on standard error when that is a terminal."""
    from porter.render.neutral import one_line

    show = not quiet and sys.stderr is not None and sys.stderr.isatty()
    if show and known:
        click.echo(f"{known} taken from --reports", err=True)
    for done, answer in enumerate(answers, 1):
        if show:
            click.echo(f"{done}/{total} {one_line(answer.name)}" + (f": {one_line(answer.error)}" if answer.error else ""), err=True)
        yield answer


def _summary(whole: Any, files: list[str]) -> str:
    """The first repositories of the ranking, the sum, and what failed."""
    from porter.render.neutral import one_line

    lines = [f"{'P50 h':>8}  {'lines':>9}  repository"]
    good = [row for row in whole.rows if not row.error]
    lines += [f"{row.hours.p50:8,.10g}  {row.cuda_lines:9,}  {one_line(row.name)}" for row in good[:SHOWN]]
    if len(good) > SHOWN:
        lines.append(f"  … {len(good) - SHOWN} more")
    lines.append(f"Total P50 {whole.hours.p50:,.10g} h (P10 {whole.hours.p10:,.10g}, P90 {whole.hours.p90:,.10g}); sharing saves ")
    lines[-1] += f"{whole.apart.likely - whole.together.likely:,.0f} of {whole.apart.likely:,.0f} likely hours"
    lines += [f"Not audited: {one_line(row.name)}: {one_line(row.error)}" for row in whole.rows if row.error]
    return "\n".join([*lines, "Written: " + ", ".join(map(one_line, files))]) + "\n"
