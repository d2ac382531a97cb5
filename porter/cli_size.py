"""The command `porter size`: how many GPUs of each kind a model needs, and what they cost at the user's prices."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from porter.errors import ConfigError

DEFAULT_CONTEXT = 8192
_NUMBER = re.compile(r"(\d{1,18}(?:\.\d{1,9})?(?:[eE]\+?\d{1,2})?)\s*([kKmMbBgGtT]?)\Z")
_POWERS = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
_RESERVE = re.compile(r"(\d{1,4}(?:\.\d{1,4})?)\s*(%|GB|gb)?\Z")
_OPTIONS = ("layers", "heads", "kv_heads", "head_dim", "kv_latent")


@click.command()
@click.argument("path", type=click.Path(), default="", required=False)
@click.option("--params", default="", metavar="N", help="Parameters: 70e9, 70B; a plain number below 100,000 counts billions.")
@click.option("--layers", default="", metavar="N", help="Layers with a KV cache.")
@click.option("--heads", default="", metavar="N", help="Query heads; they limit the width of tensor parallelism.")
@click.option("--kv-heads", default="", metavar="N", help="Key-value heads of a layer.")
@click.option("--head-dim", default="", metavar="N", help="Size of a head.")
@click.option("--kv-latent", default="", metavar="N", help="MLA: kv_lora_rank + qk_rope_head_dim, in place of heads.")
@click.option("--dtype", default="", metavar="D", help="Format of all weights: bf16 fp16 fp8 int8 int4 gptq awq mxfp4 mxfp6 nvfp4 …")
@click.option("--kv-dtype", default="", metavar="D", help="Format of the KV cache; default: the model's own, BF16 without one.")
@click.option(
    "--context", default="", metavar="N", help=f"Tokens a sequence, 128K = 131072. Default: the command's, else {DEFAULT_CONTEXT}."
)
@click.option("--concurrency", default="1", show_default=True, metavar="N", help="Sequences at a time, each of full length.")
@click.option(
    "--reserve", default="", metavar="R", help="Of each GPU, for activations and runtime: 10% or 12GB. Default: the command's, else 10%."
)
@click.option("--prices", default="", type=click.Path(), help="TOML or CSV with monthly prices per server of eight GPUs.")
@click.option("--throughput", multiple=True, metavar="[GPU=]N", help="Tokens a second you measured for one replica; may be repeated.")
@click.option("--format", "form", type=click.Choice(("terminal", "json")), default="terminal", show_default=True)
def size(path: str, form: str, **options: Any) -> None:
    """Size a model: a config.json, a public name, a repository that serves models, or --params and the sizes of its cache."""
    import msgspec

    from porter.render.neutral import json_text
    from porter.size import answers, show

    given = _given(options)
    found, unknown = answers.find(Path(path) if path else None, given)
    made = answers.make(found, given)
    if form == "json":
        table = show.plain(made[0])
        if len(made) > 1 or unknown:
            table |= {"models": [show.plain(answer) for answer in made], "not_sized": list(unknown)}
        click.echo(json_text(msgspec.json.encode(table)), nl=False)
        return
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    width = max(100, shutil.get_terminal_size((120, 24)).columns)
    click.echo(show.page(made, unknown, width, colour), nl=False, color=colour)


def _given(options: dict[str, Any]) -> Any:
    """The options as numbers; raises ConfigError for what is none."""
    from porter.size.answers import Given
    from porter.size.dtypes import dtype_of
    from porter.size.prices import throughput_of

    sizes = {name: _count(options[name], f"--{name.replace('_', '-')}", 1_000_000) for name in _OPTIONS}
    share, gigabytes = _reserve(options["reserve"])
    return Given(
        params=_params(options["params"]), context=_tokens(options["context"]),
        concurrency=_count(options["concurrency"], "--concurrency", 10**6),
        dtype=dtype_of(options["dtype"]) if options["dtype"] else None,
        kv_dtype=dtype_of(options["kv_dtype"], "--kv-dtype") if options["kv_dtype"] else None,
        reserve_share=share, reserve_gb=gigabytes, prices=options["prices"],
        throughput=tuple(throughput_of(text) for text in options["throughput"]), default_context=DEFAULT_CONTEXT, **sizes,
    )  # fmt: skip


def _params(text: str) -> int:
    if not text:
        return 0
    match = _NUMBER.match(text.strip().replace(",", "").replace("_", ""))
    value = float(match[1]) * _POWERS[match[2].lower()] if match else 0.0
    if match and not match[2] and value < 1e5:
        value *= 1e9  # no model has 70 parameters
    if not 1e6 <= value <= 1e15:
        raise ConfigError(f"--params: '{text}' is no number of parameters", "examples: 70e9, 70B, 0.5B")
    return round(value)


def _count(text: str, option: str, most: int) -> int:
    """A whole number from 1 on; 0 where the option is left out."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise ConfigError(f"{option}: '{text}' is no whole number from 1 to {most:,}")
    return int(text)


def _tokens(text: str) -> int:
    """Tokens; K and M are powers of 1,024 as in the names of models' contexts."""
    if not text:
        return 0
    number, factor = (text[:-1].rstrip(), {"k": 1024, "m": 1024**2}[text[-1].lower()]) if text[-1] in "kKmM" else (text, 1)
    return _count(number, "--context", 10**8) * factor


def _reserve(text: str) -> tuple[float | None, float]:
    """Share and gigabytes; no share where the option is left out."""
    if not text:
        return None, 0.0
    match = _RESERVE.match(text.strip())
    if match is None:
        raise ConfigError(f"--reserve: '{text}' is neither a share nor a size", "examples: 10%, 12GB")
    value = float(match[1])
    if match[2] in ("GB", "gb"):
        return 0.0, value
    if value >= 100:
        raise ConfigError(f"--reserve: {text} leaves no memory for the model", "examples: 10%, 12GB")
    return value / 100, 0.0
