"""The answer of porter size as plain values for JSON and as a page for the terminal."""

from __future__ import annotations

import io
import textwrap
from typing import Any

import msgspec

from porter.render.neutral import one_line
from porter.size.advice import Advice
from porter.size.fit import Fit, Load, Need
from porter.size.hardware import PER_SERVER
from porter.size.prices import Cost, Prices
from porter.size.shape import Shape

UNVERIFIED = "[unverified]"


class Answer(msgspec.Struct, frozen=True):
    """All that was found out about one model. ``asked_tensor`` is the width that a command in the repository asks for, 0 for none."""

    shape: Shape
    where: str
    load: Load
    sizes: Need
    fits: tuple[Fit, ...]
    advice: tuple[Advice, ...]
    costs: dict[str, Cost] = {}
    prices: Prices | None = None
    asked_tensor: int = 0


def plain(answer: Answer) -> dict[str, Any]:
    """The JSON of the contract, in its order, and more keys after it."""
    sizes, load, shape = answer.sizes, answer.load, answer.shape
    return {
        "weights_gb": round(sizes.weights_gb, 3), "kv_mb_per_token": round(sizes.kv_mb_per_token, 6), "kv_gb": round(sizes.kv_gb, 3),
        "total_gb": round(sizes.total_gb, 3), "fit": [_fit(answer, fit) for fit in answer.fits],
        "model": shape.name, "where": answer.where, "source": shape.source, "params": shape.params,
        "dtype": (load.dtype or shape.format).name, "kv_dtype": (load.kv_dtype or shape.kv_dtype).name,
        "context": load.context, "concurrency": load.concurrency, "kv_gb_windowed": round(sizes.windowed_gb, 3),
        "reserve": {"share": load.reserve_share, "gb_per_gpu": load.reserve_gb}, "gpus_per_server": PER_SERVER,
        "advice": [{"text": advice.text, "source": advice.source, "side": advice.side} for advice in answer.advice],
    }  # fmt: skip


def _fit(answer: Answer, fit: Fit) -> dict[str, Any]:
    """One row; ``gpus_needed`` is null where no number of servers that porter tries holds the model."""
    out: dict[str, Any] = {
        "gpu": fit.gpu.gpu, "gpus_needed": fit.gpus or None, "replicas_per_server": fit.replicas,
        "free_gb": round(fit.free_gb, 3) if fit.gpus else None, "vendor": fit.gpu.vendor, "memory_gb": fit.gpu.memory_gb,
        "memory_verified": fit.gpu.memory_verified, "tensor_parallel": fit.tensor, "pipeline_parallel": fit.pipeline,
        "kv_copies": fit.copies, "free_after_reserve_gb": _after_reserve(answer.load, fit),
        "dtype_in_hardware": fit.gpu.runs((answer.load.dtype or answer.shape.format).family), "status": fit.gpu.status,
        "source": fit.gpu.source[0].url, "checked": fit.gpu.source[0].checked,
    }  # fmt: skip
    cost = answer.costs.get(fit.gpu.gpu)
    if cost and answer.prices:
        out["cost"] = {
            "currency": answer.prices.currency, "gpu_hour": round(cost.gpu_hour, 4), "gb_month": round(cost.gb_month, 4),
            "deployment_month": round(cost.deployment_month, 2),
            "million_tokens": None if cost.million_tokens is None else round(cost.million_tokens, 4),
        }  # fmt: skip
    return out


def _after_reserve(load: Load, fit: Fit) -> float | None:
    return round(load.usable_gb(fit.gpu) * fit.gpus - fit.used_gb, 3) if fit.gpus else None


def page(answers: tuple[Answer, ...], unknown: tuple[str, ...], width: int, colour: bool) -> str:
    """The page for the terminal."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colour, no_color=not colour, highlight=False, markup=False, emoji=False)
    for answer in answers:
        _answer(console, answer)
    _say(console, _for_all(answers))
    for line in unknown:
        console.print(f"not sized, no numbers for it here: {one_line(line)}")
    return out.getvalue()


def _answer(console: Any, answer: Answer) -> None:
    shape, load, sizes = answer.shape, answer.load, answer.sizes
    console.print(f"{one_line(shape.name)}: {shape.params / 1e9:,.2f} billion parameters ({one_line(answer.where)})", style="bold")
    form = load.dtype or shape.format
    what = f"size of the checkpoint, mostly {form.name}" if shape.stored_bytes and not load.dtype else f"{form.name}: {form.how}"
    console.print(f"  weights   {sizes.weights_gb:>10,.2f} GB  {what}")
    if sizes.kv_mb_per_token:
        sequences = f"{load.concurrency:,} sequence{'' if load.concurrency == 1 else 's'}"
        console.print(
            f"  KV cache  {sizes.kv_gb:>10,.2f} GB  {(load.kv_dtype or shape.kv_dtype).name}: {sizes.kv_mb_per_token:.4f} MB a token x "
            f"{load.context:,} tokens x {sequences}"
        )
    console.print(f"  total     {sizes.total_gb:>10,.2f} GB  1 GB = 10^9 bytes; inference only, without the reserve")
    console.print(f"  reserve   {_reserve(load):>13}  of each GPU is left for activations and the runtime (--reserve)")
    if answer.asked_tensor:
        console.print(f"  the command asks for tensor parallel {answer.asked_tensor}")
    console.print(_table(answer))
    _below(console, answer)


def _reserve(load: Load) -> str:
    return f"{load.reserve_gb:g} GB" if load.reserve_gb else f"{100 * load.reserve_share:g} %"


def _table(answer: Answer) -> Any:
    table = _plain_table("GPU", "GB", "GPUs needed", "layout", "replicas a server", "free GB")
    form = (answer.load.dtype or answer.shape.format).name
    table.add_column(f"{form} in hardware")
    for fit in answer.fits:
        gpu = fit.gpu
        layout = f"TP {fit.tensor}" + (f" x PP {fit.pipeline}" if fit.pipeline > 1 else "") if fit.gpus else "-"
        servers = fit.gpus // PER_SERVER
        needed = "too many" if not fit.gpus else f"{fit.gpus} ({servers} servers)" if servers > 1 else f"{fit.gpus}"
        table.add_row(
            f"{gpu.vendor} {gpu.gpu}{'' if gpu.memory_verified else f' {UNVERIFIED}'}", f"{gpu.memory_gb}", needed, layout,
            f"{fit.replicas}" if fit.replicas else "-", f"{fit.free_gb:,.1f}" if fit.gpus else "-",
            gpu.runs((answer.load.dtype or answer.shape.format).family),
        )  # fmt: skip
    return table


def _cost_table(answer: Answer) -> Any:
    currency = answer.prices.currency if answer.prices else ""
    table = _plain_table(f"cost in {one_line(currency, 12)}", "GPU-hour", "GB of memory and month", "this model a month", "million tokens")
    for name, cost in answer.costs.items():
        tokens = "-" if cost.million_tokens is None else f"{cost.million_tokens:,.3f}"
        table.add_row(name, f"{cost.gpu_hour:,.2f}", f"{cost.gb_month:,.2f}", f"{cost.deployment_month:,.0f}", tokens)
    return table


def _plain_table(first: str, *others: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, no_wrap=True, min_width=24)
    for head in others:
        table.add_column(head, justify="right")
    return table


def _below(console: Any, answer: Answer) -> None:
    lines = []
    for advice in answer.advice:
        lines.append(f"{'! ' if advice.side else '- '}{one_line(advice.text)}" + (f" ({advice.source})" if advice.source else ""))
    _say(console, lines)
    if answer.costs:
        console.print(_cost_table(answer))
    console.print("")


def _for_all(answers: tuple[Answer, ...]) -> list[str]:
    """What is true of every table above, once."""
    if not answers:
        return []
    fits = answers[0].fits
    lines = ["free GB is before the reserve; a server is taken to hold eight; replicas a server = 8 / GPUs needed"]
    lines += [f"{UNVERIFIED} {fit.gpu.gpu}: {fit.gpu.status}" for fit in fits if not fit.gpu.memory_verified]
    lines += [f"{fit.gpu.gpu} is {fit.gpu.devices} devices to software; TP counts devices" for fit in fits if fit.gpu.devices > 1]
    return [*lines, "not judged here: components without a replacement on AMD (porter scan), and training that the interconnect limits"]


def _say(console: Any, lines: list[str]) -> None:
    for line in lines:
        filled = textwrap.wrap(line, console.width - 2, initial_indent="  ", subsequent_indent="    ", break_long_words=False)
        console.print("\n".join(filled), soft_wrap=True)
