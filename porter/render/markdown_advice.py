"""The advice in the Markdown report: strategies, where NVIDIA hardware stays, models and GPUs, and the runbook as a checklist."""

from __future__ import annotations

import re

from porter.model import Note, Report, RunbookStep, Strategy
from porter.model_report import ModelSize
from porter.render import numbers
from porter.render.markdown_text import code, prose, table, text
from porter.render.words import RUNBOOK_PHASES


def strategies(report: Report) -> list[str]:
    """The ways that fit with their hours, and the others with the reason."""
    if not report.strategies:
        return []
    best = next((way for way in report.strategies if way.recommended), None)
    out = ["## Strategies", ""]
    if best is not None:
        out += [f"**Recommended: {text(best.name, 300)}.** {text(best.reason, 1000)}", ""]
    heads = ("Way", "Fits here", "Why", "Median", "P10 to P90", "Lines added", "Upkeep a year")
    out += table(heads, [_way(way) for way in report.strategies], (3, 4, 5, 6))
    return out


def _way(way: Strategy) -> tuple[str, ...]:
    costed = way.costed and way.hours.worst > 0
    lines = numbers.count(round(way.added_lines.p50)) if costed and way.added_lines.p90 else "–"
    return (
        text(way.name), "yes" if way.fits else "no" if way.costed else "not judged", text(way.why, 600),
        numbers.hours(way.hours.likely) if costed else "–",
        numbers.spread(way.hours) if costed else "–", lines,
        numbers.hours(way.maintenance_hours.likely) if costed and way.maintenance_hours.worst else "–",
    )  # fmt: skip


def nvidia(report: Report) -> list[str]:
    """Where NVIDIA hardware stays the better choice."""
    if not report.nvidia:
        return []
    return ["## Where NVIDIA hardware stays the better choice", "", *(_note(note) for note in report.nvidia), ""]


def _note(note: Note) -> str:
    side = {"nvidia": "**NVIDIA:** ", "measure": "**To be measured:** "}.get(note.side, "")
    return f"- {side}{text(note.text, 1200)}{_link(note.source)}"


def _link(url: str) -> str:
    return f" <{url}>" if re.fullmatch(r"https://[^\s<>]+", url) else ""


def sizes(report: Report) -> list[str]:
    """Each model's memory, and the GPUs that hold it."""
    sizing = report.sizing
    if sizing is None:
        return []
    out = ["## Models and GPUs", ""]
    for model in sizing.models:
        out += _model(model)
    if sizing.more:
        out += [f"{numbers.plural(sizing.more, 'smaller model')} not shown.", ""]
    if sizing.not_sized:
        out += ["Served, of a size that porter does not know: " + ", ".join(text(name, 160) for name in sizing.not_sized[:20]) + ".", ""]
    return out


def _model(model: ModelSize) -> list[str]:
    units, measured = text(model.currency, 12), any(fit.million_tokens is not None for fit in model.fits)
    money = (f"{units} a GPU-hour", f"{units} a month", *((f"{units} a million tokens",) if measured else ())) if model.currency else ()
    rows = [
        (
            text(f"{fit.vendor} {fit.gpu}") + ("" if fit.verified else " (size unverified)"), f"{fit.memory_gb:,.0f} GB",
            numbers.count(fit.gpus) if fit.gpus else "–",
            f"tensor {fit.tensor}" + (f", pipeline {fit.pipeline}" if fit.pipeline > 1 else ""),
            numbers.count(fit.replicas) if fit.replicas else "–", f"{fit.free_gb:,.0f} GB", text(fit.runs),
            *map(_money, (fit.gpu_hour, fit.month, fit.million_tokens)[: len(money)]),
        )
        for fit in model.fits
    ]  # fmt: skip
    heads = ("GPU", "Memory", "GPUs", "Layout", "Replicas a server", "Free, with the reserve", f"{text(model.dtype)} in hardware", *money)
    return [
        f"### {text(model.name)}", "",
        f"{model.params / 1e9:,.1f} billion parameters in {text(model.dtype)}: weights {model.weights_gb:,.1f} GB, "
        f"cache {model.kv_gb:,.1f} GB ({model.context:,} tokens, "
        f"{model.concurrency:,} at once, in {text(model.kv_dtype)}), {model.total_gb:,.1f} GB in all; "
        f"{100 * model.reserve_share:g} % of each GPU is left free. Found in: {text(model.where)}.", "",
        *table(heads, rows, (1, 2, 4, 5, *range(7, len(heads)))),
        *(_note(note) for note in model.advice), "",
    ]  # fmt: skip


def _money(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:,.2f}"


def runbook(report: Report) -> list[str]:
    """The steps as a checklist with their commands."""
    out = ["## Runbook", ""] if report.runbook else []
    phase = ""
    for step in report.runbook:
        if step.phase != phase:
            phase = step.phase
            out += [f"### {RUNBOOK_PHASES.get(phase, text(phase))}", ""]
        out += _step(step)
    return out


def _step(step: RunbookStep) -> list[str]:
    out = [f"- [ ] **{text(step.title)}.** {prose(step.why, 1200)}", ""]
    if step.commands:
        out += ["  ```sh", *(f"  {command}" for command in step.commands), "  ```", ""]
    settles = f" Settles: {', '.join(code(rule, in_table=False) for rule in step.rules)}." if step.rules else ""
    sources = [f"  Evidence: {prose(source.says, 400)}{_link(source.url)}, read {text(source.checked, 20)}." for source in step.sources]
    return [*out, f"  Expected: {prose(step.expect, 600)}.{settles}", "", *(line for source in sources for line in (source, ""))]
