"""Advice that follows from a report: the ways to port this repository, each costed, and the checklist that validates the result."""

from __future__ import annotations

import msgspec

from porter.advise import runbook, stays, strategies
from porter.model import Report


def advised(report: Report) -> Report:
    """The report with its strategies, its runbook and where NVIDIA hardware stays; nothing else changes."""
    chosen = msgspec.structs.replace(report, strategies=strategies.strategies(report))  # the runbook's commands follow from the way
    return msgspec.structs.replace(chosen, runbook=runbook.steps(chosen), nvidia=stays.stays(chosen))
