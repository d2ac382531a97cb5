"""Settings: porter.toml or [tool.porter] of pyproject.toml, read as a stranger's file, and put under the options of a run.

A file in the scanned folder may narrow and grade the report (and the report says that it did); it can name neither rule
folders nor outputs. Only a file that the user names with --config may bring rules.
"""

from __future__ import annotations

import datetime
import difflib
import os
import re
from pathlib import Path
from typing import Any

import msgspec

from porter import ignore
from porter.config import EffortSettings, PathRule, check_targets
from porter.errors import ConfigError
from porter.hipify import api
from porter.model import Problem, Severity
from porter.parse import toml_text
from porter.regular import read_regular

MAX_BYTES = 256 * 1024
CURRENCY = re.compile(r"(?:[A-Za-z]{1,5}|[$\u20ac\u00a3\u00a5\u20b9\u20bd\u20a9])?\Z")
NAME = "porter.toml"
PROJECT = "pyproject.toml"
HINT = "leave it out with --no-config, or name another file with --config"


class _Path(msgspec.Struct, forbid_unknown_fields=True):
    """What holds for the paths of one pattern."""

    ignore: tuple[str, ...] = ()
    severity: Severity | None = None
    reason: str = ""
    until: datetime.date | None = None


class _Effort(msgspec.Struct, forbid_unknown_fields=True):
    """What only the user knows of the team; see EffortSettings."""

    rate: float = 0.0
    currency: str = ""
    experience: float = 0.0
    assistance: float = 0.0


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """The shape of a settings file; keys may be written with - or _."""

    targets: tuple[str, ...] = ()
    rocm: str = ""
    exclude: tuple[str, ...] = ()
    include_vendored: bool = False
    define: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    require_reason: bool = False
    severities: dict[str, Severity] = {}
    per_path: dict[str, _Path | tuple[str, ...]] = {}
    effort: _Effort = msgspec.field(default_factory=_Effort)


class Settings(msgspec.Struct, frozen=True):
    """What a settings file says, checked; empty values say nothing. ``notes`` tell the reader of the report of it."""

    targets: tuple[str, ...] = ()
    rocm: str = ""
    exclude: tuple[str, ...] = ()
    include_vendored: bool = False
    defines: tuple[str, ...] = ()
    rules_dirs: tuple[str, ...] = ()
    require_reason: bool = False
    severities: tuple[tuple[str, Severity], ...] = ()
    per_path: tuple[PathRule, ...] = ()
    notes: tuple[Problem, ...] = ()
    effort: EffortSettings = EffortSettings()


def load(root: Path, named: Path | None = None, use_root: bool = True) -> Settings:
    """The settings of a run: of the file ``named`` by the user, else of the scanned folder; raises ConfigError for a bad one."""
    if named is not None:
        data = read_regular(named, MAX_BYTES + 1)
        if data is None:
            raise ConfigError(f"{named}: no such settings file", "--config takes a regular file that can be read, not a link")
        table = _table(data, str(named), named.name == PROJECT)
        if table is None:
            raise ConfigError(f"{named}: no [tool.porter] table", "settings stand in porter.toml, or in [tool.porter] of pyproject.toml")
        return _settings(table, str(named), named.resolve().parent)
    if not use_root or not root.is_dir():
        return Settings()
    base = root.resolve()  # the folder that the user named may itself be a link; nothing below it may
    for name in (NAME, PROJECT):
        data = read_regular(base / name, MAX_BYTES + 1)
        if data is None and name == NAME and os.path.lexists(base / name):
            raise ConfigError(f"{name}: is a link, no regular file, or cannot be read", HINT)
        table = _table(data, name, name == PROJECT) if data is not None else None
        if table is not None:
            return _settings(table, name, None)
    return Settings()


def _table(data: bytes, label: str, is_project: bool) -> dict[str, Any] | None:
    """The raw table of a file; None for a project file without [tool.porter], whatever else is wrong with it."""
    if is_project and b"porter" not in data:
        return None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{label}: larger than {MAX_BYTES // 1024} KiB", HINT)
    try:
        raw = toml_text.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        if is_project and b"tool.porter" not in data:
            return None
        raise ConfigError(f"{label}: {str(error)[:200] or 'nested too deep'}", HINT) from error
    if not is_project:
        return raw
    tool = raw.get("tool")
    table = tool.get("porter") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{label}: tool.porter is no table", HINT)
    return table


def _settings(raw: dict[str, Any], label: str, folder: Path | None) -> Settings:
    """The checked settings; ``folder`` is where rule folders are relative to, None for a file that may not name any."""
    table = _plain_keys(raw, label, _Table)
    paths = table.get("per_path")
    if isinstance(paths, dict):
        table["per_path"] = {
            key: _plain_keys(value, f"{label}: per-path.{key}", _Path) if isinstance(value, dict) else value for key, value in paths.items()
        }
    if isinstance(table.get("effort"), dict):
        table["effort"] = _plain_keys(table["effort"], f"{label}: effort", _Effort)
    try:
        read = msgspec.convert(table, _Table)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ConfigError(f"{label}: {str(error)[:300]}", HINT) from error
    if read.rules and folder is None:
        raise ConfigError(f"{label}: 'rules' counts only in a file that you name", f"if you trust this folder's rules: --config {label}")
    per_path = tuple(_path_rule(pattern, value, label) for pattern, value in read.per_path.items())
    _check_patterns(read.exclude, label, "exclude")
    try:
        targets = check_targets(read.targets) if read.targets else ()
        if read.rocm:
            api.hip_version(read.rocm)
    except ConfigError as error:
        raise ConfigError(f"{label}: {error.message}", error.hint) from error
    return Settings(
        targets, read.rocm, read.exclude, read.include_vendored, read.define, tuple(str((folder or Path()) / name) for name in read.rules),
        read.require_reason, tuple(read.severities.items()), per_path, _notes(label, table, folder is None), _effort(read.effort, label),
    )  # fmt: skip


def _plain_keys(raw: dict[str, Any], label: str, shape: type[msgspec.Struct]) -> dict[str, Any]:
    """The table with _ for - in its keys; raises ConfigError for a key that means nothing, and names what may have been meant."""
    known = shape.__struct_fields__
    out: dict[str, Any] = {}
    for key, value in raw.items():
        name = key.replace("-", "_")
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            shown = ", ".join(field.replace("_", "-") for field in known)
            raise ConfigError(
                f"{label}: unknown key '{key[:100]}'", f"did you mean {near[0].replace('_', '-')}?" if near else f"keys: {shown}"
            )
        if name in out:
            raise ConfigError(f"{label}: '{key}' is there twice, with - and with _")
        out[name] = value
    return out


def _path_rule(pattern: str, value: _Path | tuple[str, ...], label: str) -> PathRule:
    _check_patterns((pattern,), label, "per-path")
    if isinstance(value, tuple):
        return PathRule(pattern, value)
    until = value.until.isoformat() if value.until else ""
    return PathRule(pattern, value.ignore, value.severity, value.reason, until)


def _effort(read: _Effort, label: str) -> EffortSettings:
    """The user's rate and factors within what makes sense; raises ConfigError for others."""
    limits = (("rate", read.rate, 0.0, 100_000.0), ("experience", read.experience, 0.2, 5.0), ("assistance", read.assistance, 0.1, 1.0))
    for name, value, low, high in limits:
        if value and not low <= value <= high:
            raise ConfigError(f"{label}: effort.{name}: {value:g} is not between {low:g} and {high:g}", HINT)
    if not CURRENCY.match(read.currency):
        raise ConfigError(f"{label}: effort.currency: '{read.currency[:20]}' is no currency", "for example EUR")
    return EffortSettings(read.rate, read.currency, read.experience, read.assistance)


def _check_patterns(patterns: tuple[str, ...], label: str, key: str) -> None:
    for pattern in patterns:
        if wrong := ignore.spec_of([pattern])[1]:
            raise ConfigError(f"{label}: {key}: '{pattern[:100]}' is no usable .gitignore pattern", wrong[0])


def _notes(label: str, table: dict[str, Any], from_root: bool) -> tuple[Problem, ...]:
    """What a file of the scanned folder changed: a report must not look clean without saying who cleaned it."""
    if not from_root or not table:
        return ()
    keys = ", ".join(sorted(key.replace("_", "-") for key in table))
    return (Problem("settings", label, 0, f"settings of the scanned folder are in force: {keys} (--no-config leaves them out)", False),)
