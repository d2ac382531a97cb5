"""Renderers, one module a format; each turns a Report into text and looks at nothing else."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from porter.errors import ConfigError
from porter.model import Report

if TYPE_CHECKING:
    from porter.render.look import Look

FORMATS = ("terminal", "html", "json", "sarif", "markdown", "csv", "gitlab", "junit", "xlsx")
DRESSED = ("html", "xlsx")  # the formats that have a title, a logo or a language
ENDINGS = {
    ".html": "html", ".htm": "html", ".gitlab.json": "gitlab", ".sarif.json": "sarif", ".json": "json", ".sarif": "sarif",
    ".md": "markdown",    ".markdown": "markdown", ".csv": "csv", ".xml": "junit", ".txt": "terminal", ".xlsx": "xlsx",
}  # fmt: skip


def format_of(name: str) -> str:
    """The format that follows from a file's ending; raises ConfigError for one that none has."""
    lower = name.lower()
    for ending, form in ENDINGS.items():
        if lower.endswith(ending):
            return form
    raise ConfigError(f"no report format has the ending of '{name}'", f"give --format, one of {', '.join(FORMATS)}")


def render(report: Report, form: str, look: Look | None = None) -> str | bytes:
    """The report in one of FORMATS (bytes for xlsx); the terminal format comes without colour, 80 columns wide."""
    module = importlib.import_module(f"porter.render.{form}")
    out: str | bytes = module.render(report, look) if look is not None and form in DRESSED else module.render(report)
    return out


def pieces(report: Report, form: str, look: Look | None = None) -> Iterator[bytes]:
    """The same as bytes, in pieces where the format can be written so."""
    module = importlib.import_module(f"porter.render.{form}")
    if hasattr(module, "pieces"):
        yield from module.pieces(report, look) if look is not None and form in DRESSED else module.pieces(report)
    else:
        out = render(report, form, look)
        yield out.encode("utf-8", "replace") if isinstance(out, str) else out
