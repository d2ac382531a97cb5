"""Hand lines: how many source lines people will have to change, from the findings' actions; a range, like the hours.

The lines a place are a judgement informed by public ports (HeCBench: a program with warp-size code has a median of 13 hand-changed
lines, one with mild inline PTX 8); a check seldom changes a line, a redesign changes many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from porter.estimate import simulate
from porter.model import Action, Finding, Hours, Quantiles

LINES_A_PLACE = {
    Action.NONE: Hours(0, 0, 0),
    Action.AUTOMATIC: Hours(0, 0, 0.2),
    Action.CHECK: Hours(0, 0.2, 2),
    Action.SWAP: Hours(0.5, 1, 3),
    Action.EDIT: Hours(0.7, 1.2, 4),
    Action.REDESIGN: Hours(3, 10, 40),
}


def hand_lines(findings: Iterable[Finding], seed: int) -> Quantiles:
    """P10 to P90 of the lines, in whole lines; one line of source counts once, however many findings stand on it."""
    groups: dict[str, Hours] = defaultdict(Hours)
    worst: dict[tuple[str, int], Finding] = {}
    for finding in findings:
        key = (finding.path, finding.line)
        if key not in worst or LINES_A_PLACE[worst[key].action].likely < LINES_A_PLACE[finding.action].likely:
            worst[key] = finding
    for finding in worst.values():
        groups[finding.group] = groups[finding.group] + LINES_A_PLACE[finding.action]
    result = simulate.quantiles(list(groups.values()), seed)
    return Quantiles(*(float(round(value)) for value in (result.p10, result.p50, result.p80, result.p90)))
