"""Actuals: what a group of findings really took, in a local file of JSON lines, held against what the report had predicted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from porter.calibrate.statistics import quantile
from porter.errors import InputError
from porter.model import Hours, Quantiles

MOST_BYTES = 64 * 1024 * 1024
HINT = "porter scan --output report.json writes one"
TOTAL = "total"  # what names the whole port: its hours against P10, P50 and P90, its lines against the hand lines


class Actual(msgspec.Struct, frozen=True):
    """One record: the group and what the report said of it, the hours it took, and lines changed where they were counted."""

    root: str
    rule: str
    group: str
    label: str
    hours: float
    predicted: Hours
    findings: int = 0
    files: int = 0
    lines: int | None = None
    date: str = ""
    note: str = ""
    predicted_lines: Quantiles | None = None  # of the whole port only: no group has lines of its own

    @property
    def is_total(self) -> bool:
        """Whether it is a record of the whole port."""
        return self.label == TOTAL and not self.rule


class _Line(msgspec.Struct):
    """What is read of a line of the report's sum."""

    label: str
    hours: Hours
    rule: str = ""
    group: str = ""
    findings: int = 0
    files: int = 0


class _Place(msgspec.Struct):
    """What is read of a finding."""

    rule: str
    group: str = ""
    fingerprint: str = ""


class _Summary(msgspec.Struct, frozen=True):
    """What is read of a report's summary."""

    effort_hours: Quantiles = Quantiles()
    hand_lines: Quantiles = Quantiles()


class _Report(msgspec.Struct):
    """What is read of a report."""

    root: str
    effort: tuple[_Line, ...]
    findings: tuple[_Place, ...] = ()
    summary: _Summary = _Summary()


def predicted(report: Path, what: str) -> tuple[str, list[_Line], Quantiles | None]:
    """The report's root, and the lines that ``what`` names: a group, a rule, a finding's fingerprint, a project line's label, or TOTAL.

    TOTAL is one line, the whole port, and has the predicted hand lines beside it.

    Raises InputError for no report, and for a name that is not in it.
    """
    try:
        if report.stat().st_size > MOST_BYTES:
            raise InputError(f"{report}: larger than {MOST_BYTES // 1024**2} MiB", HINT)
        read = msgspec.json.decode(report.read_bytes(), type=_Report)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{report}: is no report of porter's: {str(error)[:200]}", HINT) from error
    if what == TOTAL:
        hours = read.summary.effort_hours
        return read.root, [_Line(TOTAL, Hours(hours.p10, hours.p50, hours.p90), findings=len(read.findings))], read.summary.hand_lines
    group = next((one.group for one in read.findings if one.fingerprint == what), what)
    lines = [one for one in read.effort if one.group == group and group] or [one for one in read.effort if what in (one.rule, one.label)]
    if not lines:
        known = ", ".join(sorted({one.group or one.label for one in read.effort})[:8])
        raise InputError(
            f"{report}: nothing in its sum is called '{what}'", f"total, a group, rule, fingerprint or label; for example {known}"
        )
    return read.root, lines, None


def made(
    root: str, lines: Sequence[_Line], hours: float, changed: int | None, date: str, note: str, expected: Quantiles | None = None
) -> Actual:
    """The record of what these lines took together."""
    total = Hours()
    for line in lines:
        total = total + line.hours
    first = lines[0]
    group = first.group if len(lines) == 1 else ""
    count, files = sum(line.findings for line in lines), max(line.files for line in lines)
    return Actual(root, first.rule, group, first.label, hours, total, count, files, changed, date, note, expected)


def append(path: Path, record: Actual) -> None:
    """The record as one more line of the file; raises OSError when it cannot be written."""
    with path.open("ab") as file:
        file.write(msgspec.json.encode(record) + b"\n")


def load(path: Path) -> list[Actual]:
    """All records of the file in order; raises InputError for a missing file and for a line that is none."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: larger than {MOST_BYTES // 1024**2} MiB")
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"{path}: no records yet", "porter actuals record REPORT.json GROUP --hours H writes the first") from error
    out = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                out.append(msgspec.json.decode(line, type=Actual))
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise InputError(f"{path}: line {number}: {str(error)[:200]}", "each line is one record; remove the broken one") from error
    return out


def compared(records: Sequence[Actual]) -> dict[str, Any]:
    """Predicted against actual of what is no whole port: sums, the share inside best to worst, the middle ratio of each rule."""
    by_rule: dict[str, list[Actual]] = {}
    records = [record for record in records if not record.is_total]  # the whole holds its parts: it is not summed with them
    for record in records:
        by_rule.setdefault(record.rule or record.label, []).append(record)
    inside = sum(1 for record in records if record.predicted.best <= record.hours <= record.predicted.worst)
    return {
        "records": len(records),
        "predicted": sum(record.predicted.likely for record in records),
        "actual": sum(record.hours for record in records),
        "inside": inside,
        "rules": {name: {"records": len(members), "ratio": _ratio(members)} for name, members in sorted(by_rule.items())},
    }


def _ratio(members: Sequence[Actual]) -> float | None:
    ratios = [record.hours / record.predicted.likely for record in members if record.predicted.likely]
    return round(quantile(ratios, 0.5), 2) if ratios else None
