"""Renderers, one module a format; each turns a Report into text and looks at nothing else."""

from __future__ import annotations

import importlib

from porter.errors import ConfigError
from porter.model import Report

FORMATS = {"html": "html", "json": "json", "markdown": "markdown", "terminal": "terminal"}
ENDINGS = {".html": "html", ".htm": "html", ".json": "json", ".md": "markdown", ".markdown": "markdown", ".txt": "terminal"}


def format_of(name: str) -> str:
    """The format that follows from a file's ending; raises ConfigError for one that none has."""
    lower = name.lower()
    for ending, form in ENDINGS.items():
        if lower.endswith(ending):
            return form
    raise ConfigError(f"no report format has the ending of '{name}'", f"give --format, one of {', '.join(FORMATS)}")


def render(report: Report, form: str) -> str:
    """The report in one of FORMATS; the terminal format comes without colour, 80 columns wide."""
    module = importlib.import_module(f"porter.render.{FORMATS[form]}")
    text: str = module.render(report)
    return text
