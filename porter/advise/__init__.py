"""Advice that follows from a report: the ways to port this repository, each costed, and the checklist that validates the result."""

from __future__ import annotations

import msgspec

from porter.advise import runbook, stays, strategies
from porter.model import Report, Rule


def advised(report: Report, itself: tuple[Rule, ...] = ()) -> Report:
    """The report with its strategies, its runbook and where NVIDIA hardware stays; nothing else changes.

    ``itself`` are the rules that speak of the very project.
    """
    chosen = msgspec.structs.replace(report, strategies=strategies.strategies(report, itself))  # the runbook's commands follow from the way
    return msgspec.structs.replace(chosen, runbook=runbook.steps(chosen), nvidia=stays.stays(chosen))
