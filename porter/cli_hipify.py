"""The commands `porter hipify` and `porter explain`."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

UNKNOWN = 2


@click.command()
@click.argument("name")
def explain(name: str) -> None:
    """Explain a rule, a CUDA name, a Python package or a PTX opcode."""
    from porter import explain as explaining

    text, known = explaining.explain(name)
    click.echo(text, nl=False, err=not known)
    if not known:
        raise SystemExit(UNKNOWN)


@click.command()
@click.argument("path", type=click.Path())
@click.option("--engine", type=click.Choice(("builtin", "perl", "clang")), default="builtin", show_default=True)
@click.option("--diff", "show_diff", is_flag=True, help="Print a unified diff in place of the converted source.")
@click.option("--compare", is_flag=True, help="Print how the built-in engine's output differs from hipify-perl's, file by file.")
@click.option("--in-place", is_flag=True, help="Replace the files by their translation; the text before is kept as FILE.prehip.")
@click.option("--output", default="", help="Folder for the converted tree.")
@click.option("--hipify", "hipify_path", default="", help="Path of the hipify-perl or hipify-clang to use; default: looked for.")
@click.option("--roc", is_flag=True, help="roc names for cuBLAS, cuSPARSE and their like, as hipify-perl -roc.")
@click.option("--miopen", is_flag=True, help="MIOpen for cuDNN.")
@click.option("--experimental", is_flag=True, help="Convert names whose HIP support is experimental.")
@click.option("--launch", type=click.Choice(("cuda", "ggl")), default="cuda", show_default=True, help="Keep <<<>>>, or hipLaunchKernelGGL.")
@click.option("--rocm", default="", help="ROCm version that decides which names exist.")
@click.option("--include", "-I", multiple=True, type=click.Path(), help="Folder with headers, for hipify-clang; may be repeated.")
@click.option(
    "--define",
    "-D",
    "defines",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Preprocessor macro of the build for AMD; code that it leaves out stays as it is.",
)
@click.option("--cuda-path", default="", type=click.Path(), help="Folder of the CUDA toolkit, for hipify-clang.")
@click.option("--strict", is_flag=True, help="Exit with 1 when a name could not be converted.")
def hipify(path: str, **options: Any) -> None:
    """Translate CUDA to HIP: one FILE to standard output, a folder with --output, --diff or --in-place."""
    from porter import hipify_command
    from porter.render.neutral import block, one_line

    environment = {"env": "PORTER_HIPIFY", "path_variable": "PATH", "rocm_path": "ROCM_PATH"}
    options.update({key: os.environ.get(name, "") for key, name in environment.items()})

    def write(data: bytes) -> None:
        """To a file or a pipe as it is; a terminal obeys what is in a stranger's source."""
        shown = block(data.decode("utf-8", "replace")).encode("utf-8", "replace") if sys.stdout.isatty() else data
        sys.stdout.buffer.write(shown)

    raise SystemExit(hipify_command.run(path, options, write, lambda line: click.echo(one_line(line), err=True)))
