"""What `porter scan` does with a finished report: dress it, redact it, write it, show it; and the progress before that."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from porter.errors import ConfigError, OutputError

LANGUAGES = ("en", "ru", "zh")
LOGO_LIMIT = 4 * 1024 * 1024  # bytes read at most; the renderer's own limit is lower


class Delivery(msgspec.Struct, frozen=True):
    """How reports are to be handed out."""

    title: str = ""
    logo: str = ""
    lang: str = "en"
    redact: bool = False
    quiet: bool = False
    verbose: bool = False


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a Delivery, for a command."""
    decorators = (
        click.option("--title", default="", help="Title of the HTML report; default: the project's name."),
        click.option("--logo", default="", metavar="FILE", help="PNG, JPEG or plain SVG for the head of the HTML report."),
        click.option("--lang", type=click.Choice(LANGUAGES), default="en", help="Language of the HTML report's and the workbook's frame."),
        click.option("--redact", is_flag=True, help="Hash names of files and kernels, leave out all code, in every format."),
        click.option("--verbose", "-v", is_flag=True, help="List every finding on the terminal."),
        click.option("--quiet", "-q", is_flag=True, help="No progress and no summary on the terminal."),
    )
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def look_of(delivery: Delivery) -> Any:
    """Title, logo and language, checked before the scan begins; raises ConfigError."""
    from porter.render import look

    image = ""
    if delivery.logo:
        path = Path(delivery.logo)
        try:
            with path.open("rb") as stream:
                image = look.logo(stream.read(LOGO_LIMIT), path.name)
        except OSError as error:
            raise ConfigError(f"{delivery.logo}: the logo cannot be read: {error.strerror or error}") from error
    return look.Look(delivery.title, image, delivery.lang)


def deliver(report: Any, wanted: list[tuple[str, str]], delivery: Delivery, look: Any) -> None:
    """Every report that was asked for, as (format, file); and the summary, unless a report went to standard output."""
    from porter.render import pieces
    from porter.write import write_whole

    if delivery.redact:
        from porter.redact import redact

        report = redact(report, os.environ.get("PORTER_REDACT_KEY", "").encode("utf-8", "surrogateescape"))
    written = []
    for name, file in wanted:
        if file == "-":
            _to_stdout(name, report, delivery, look)
        else:
            write_whole(Path(file), pieces(report, name, look))
            written.append(file)
    if not delivery.quiet and all(file != "-" for _, file in wanted):
        click.echo(_terminal(report, written, delivery), nl=False, color=_colour())


def _to_stdout(name: str, report: Any, delivery: Delivery, look: Any) -> None:
    from porter.render import pieces

    if sys.stdout is None:
        raise OutputError("standard output is closed", "name a file with --output")
    if name == "terminal":
        click.echo(_terminal(report, [], delivery), nl=False, color=_colour())
        return
    end = b""
    for part in pieces(report, name, look):
        click.echo(part, nl=False)
        end = part[-1:] or end
    click.echo(b"" if end == b"\n" or name == "xlsx" else b"\n", nl=False)


def _colour() -> bool:
    return sys.stdout is not None and sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _terminal(report: Any, written: list[str], delivery: Delivery) -> str:
    from porter.render import terminal

    width = shutil.get_terminal_size((100, 24)).columns
    page = next((file for file in written if file.endswith((".html", ".htm"))), "")
    return terminal.render(report, width=width, colour=_colour(), html_path=page, verbose=delivery.verbose)


def progress(quiet: bool) -> tuple[Callable[[str, int, int], None], Callable[[], None]]:
    """A progress bar on standard error, with rate and time left, when that is a terminal; else nothing."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        return (lambda *_: None), (lambda: None)
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    bar = Progress(
        TextColumn("{task.description:10}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip
    tasks: dict[str, Any] = {}
    names = {"survey": "surveying", "examine": "examining"}

    def show(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bar.add_task(names.get(stage, stage), total=total)
        bar.update(tasks[stage], completed=done, total=total)

    bar.start()
    return show, bar.stop
