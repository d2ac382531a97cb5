"""The commands `porter doctor`, `porter verify` and `porter shim`: what the tools of this machine say and what they are given."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from porter.config import DEFAULT_TARGETS

MOST_NAMED = 20  # files that were not read
OLDER_TARGET = "gfx90a"  # every compiler for HIP knows it, and its wavefront is as wide as that of the defaults


@click.command()
@click.option("--format", "form", type=click.Choice(("terminal", "json")), default="terminal", show_default=True)
@click.option(
    "--hip-include", default="", type=click.Path(), help="Folder with HIP's headers; default: PORTER_HIP_INCLUDE, ROCm, /usr/include."
)
@click.option("--hipify", "hipify_path", default="", help="Path of hipify-perl; default: PORTER_HIPIFY, PATH, ROCm.")
def doctor(form: str, hip_include: str, hipify_path: str) -> None:
    """Say which tools are here, what each adds to a report, and how to get the others."""
    from porter import doctor as examination

    tools = examination.examine(os.environ, hip_include, hipify_path)
    click.echo(examination.as_json(tools) if form == "json" else examination.report(tools), nl=False)


@click.command()
@click.argument("path", type=click.Path())
@click.option(
    "--target", default="", show_default=f"{','.join(DEFAULT_TARGETS)}; {OLDER_TARGET} for what no compiler here knows",
    help="GPU targets, separated by commas.",
)  # fmt: skip
@click.option("--rocm", default="", help="ROCm version to translate for; default: the one that the headers are of.")
@click.option(
    "--hip-include", default="", type=click.Path(), help="Folder with HIP's headers; default: PORTER_HIP_INCLUDE, ROCm, /usr/include."
)
@click.option(
    "--include",
    "-I",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    help="Folder with third-party headers; may be repeated.",
)
@click.option("--define", "-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Preprocessor macro of the build for AMD.")
@click.option("--timeout", default=60.0, show_default=True, help="Seconds for one compiler run.")
@click.option("--jobs", type=click.IntRange(1, 256), default=None, help="Compilers at a time; default: one a processor.")
@click.option("--format", "form", type=click.Choice(("terminal", "json")), default="terminal", show_default=True)
@click.option("--strict", is_flag=True, help="Exit with 1 when a file does not compile or is left out, or an error was not predicted.")
def verify(path: str, form: str, target: str, rocm: str, include: tuple[str, ...], jobs: int | None, strict: bool, **options: Any) -> None:
    """Translate, and ask the compilers of this machine: how far every file comes, and which finding predicted each error."""
    from porter.config import Config, check_targets
    from porter.hipify import api
    from porter.verify import project, render

    config = Config(
        targets=check_targets(tuple(target.split(","))) if target else DEFAULT_TARGETS, rocm=rocm or list(api.rocm_versions())[-1],
        defines=options["defines"], jobs=jobs or os.cpu_count() or 2,
    )  # fmt: skip
    folders = tuple(str(Path(folder).resolve()) for folder in include)
    instead = "" if target else OLDER_TARGET
    done = project.verify(Path(path), config, os.environ, options["hip_include"], folders, rocm, options["timeout"], _progress(), instead)
    click.echo(render.as_json(done) if form == "json" else render.as_text(done), nl=False)
    if strict and (
        done.problems
        or done.predicted < len(done.errors)
        or any(file.unit and file.rung not in ("compiles", "links") for file in done.files)
    ):
        raise SystemExit(1)


def _progress() -> Callable[[int, int], None]:
    """A count on standard error when that is a terminal; else nothing."""
    if not sys.stderr.isatty():
        return lambda *_: None
    return lambda done, total: click.echo(f"\rcompiled {done} of {total}" + ("\r\033[K" if done == total else ""), nl=False, err=True)


@click.command()
@click.argument("path", type=click.Path())
@click.option("--output", default="-", help="File to write; - for standard output.")
@click.option("--rocm", default="", help="ROCm version that decides which names exist.")
def shim(path: str, output: str, rocm: str) -> None:
    """Write a header that compiles for both vendors, with exactly the CUDA names that this code uses."""
    from porter import __version__
    from porter.render.neutral import one_line
    from porter.shim import make
    from porter.write import write_whole

    made = make(Path(path), rocm, __version__)
    if output == "-":
        click.echo(made.text, nl=False)
    else:
        write_whole(Path(output), made.text)
    click.echo(f"{made.names} names; {len(made.left)} left, listed at the end of the header", err=True)
    for name in made.passed_over[:MOST_NAMED]:
        click.echo(f"not read, too large or not readable: {one_line(name)}", err=True)
    if len(made.passed_over) > MOST_NAMED:
        click.echo(f"not read either: {len(made.passed_over) - MOST_NAMED:,} more", err=True)
