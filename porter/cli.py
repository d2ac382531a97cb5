"""The command line: finds the command, turns errors into one line and a status; commands are loaded when asked for.

Only this module and the ``cli_*`` modules print, read the clock or ask the environment.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Any

import click

from porter import __version__, interrupts
from porter.errors import PorterError
from porter.limits import GC_THRESHOLDS

DONE, USAGE = 0, 2
INTERRUPTED = 130

# Where each command lives, and what `porter --help` says of it without loading it.
COMMANDS = {
    "cache": ("porter.cli_cache:cache", "Say what porter remembers of files it has read, or forget it."),
    "actuals": ("porter.cli_calibrate:actuals", "Record what a group of findings really took, and show predicted against actual."),
    "calibrate": (
        "porter.cli_calibrate:calibrate",
        "Hold predicted hand-changed lines against real ones: a folder of programs, and a table of the lines that people changed.",
    ),
    "comment": (
        "porter.cli_comment:comment",
        "Comment on a pull request: new and fixed findings of a JSON report, in one comment that is kept up to date.",
    ),
    "diff": (
        "porter.cli_diff:diff",
        "Compare two JSON reports: new, fixed and unchanged findings, matched by content, and the hours before and after.",
    ),
    "doctor": ("porter.cli_tools:doctor", "Say which tools are here, what each adds to a report, and how to get the others."),
    "explain": ("porter.cli_hipify:explain", "Explain a rule, a CUDA name, a Python package or a PTX opcode."),
    "hipify": (
        "porter.cli_hipify:hipify",
        "Translate CUDA to HIP: one FILE to standard output, a folder with --output, --diff or --in-place.",
    ),
    "portfolio": (
        "porter.cli_portfolio:portfolio",
        "Audit many repositories: shared dependencies and findings counted once, ranked by value over effort.",
    ),
    "rules": ("porter.cli_rules:rules", "List, test, document and add rules."),
    "scan": ("porter.cli_scan:scan", "Scan a repository or a file, and write the report (porter-report.html when no --output is given)."),
    "shim": ("porter.cli_tools:shim", "Write a header that compiles for both vendors, with exactly the CUDA names that this code uses."),
    "size": (
        "porter.cli_size:size",
        "Size a model: a config.json, a public name, a repository that serves models, or --params and the sizes of its cache.",
    ),
    "verify": (
        "porter.cli_tools:verify",
        "Translate, and ask the compilers of this machine: how far every file comes, and which finding predicted each error.",
    ),
}


class _Group(click.Group):
    """Loads a command when it is asked for, and turns porter's own errors into one line, a hint and a status."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and name not in COMMANDS and not name.startswith("-"):
            from difflib import get_close_matches

            close = ["scan " + name] if os.path.lexists(name) else get_close_matches(name, COMMANDS, n=1)
            ctx.fail(f"No such command '{name}'." + (f" Did you mean: porter {close[0]}" if close else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        gc.set_threshold(*GC_THRESHOLDS)
        try:
            with interrupts.kept():
                return super().invoke(ctx)
        except PorterError as error:
            _fail(str(error), error.hint)
        except KeyboardInterrupt:
            click.echo("porter: interrupted; no report was written", err=True)
            sys.stderr.flush()
            os._exit(INTERRUPTED)  # the workers are dead; waiting for their threads would only add noise
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(DONE)
        except OSError as error:  # standard output on a full disk, no file handles left
            _fail(f"{error.filename or 'output'}: {error.strerror or error}")


def _fail(message: str, hint: str = "") -> None:
    from porter.render.neutral import one_line

    click.echo(f"porter: {one_line(message)}" + (f" ({one_line(hint)})" if hint else ""), err=True)
    raise SystemExit(USAGE)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="porter")
def main() -> None:
    """Audits a CUDA code base and says, line by line, what it takes to run it on AMD GPUs."""
