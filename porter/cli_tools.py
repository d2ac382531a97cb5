"""The commands `porter doctor`, `porter verify` and `porter shim`: what the tools of this machine say and what they are given."""

from __future__ import annotations

import os

import click


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
