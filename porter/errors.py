"""Errors that mean the run did not happen; cli.py prints one line and the hint. What goes wrong in a file is a Problem."""

from __future__ import annotations


class PorterError(Exception):
    """Base of all; ``hint`` says what the user can do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class ConfigError(PorterError):
    """An option or a configuration file is wrong."""


class RuleError(PorterError):
    """A rule file is wrong."""


class InputError(PorterError):
    """The thing to scan is missing or of the wrong sort."""


class ToolError(PorterError):
    """A tool the user asked for by name is missing or broken."""


class OutputError(PorterError):
    """A report could not be written."""
