"""What the user says of the team: experience, assistance and a rate; nothing is assumed that was not given, and what was is shown."""

from __future__ import annotations

import msgspec

from porter.config import EffortSettings
from porter.estimate import simulate
from porter.model import Assumption, Cost, EffortLine, Quantiles


def applied(line: EffortLine, given: EffortSettings) -> EffortLine:
    """A line with the user's factors: experience on all of it, assistance on fixing findings only, never on checks and tests."""
    factor, words = 1.0, ""
    if given.experience and given.experience != 1.0:
        factor *= given.experience
        words += f"; × {given.experience:g} experience"
    if given.assistance and given.assistance != 1.0 and line.kind == "finding":
        factor *= given.assistance
        words += f"; × {given.assistance:g} assistance"
    if not words:
        return line
    return msgspec.structs.replace(line, hours=line.hours.times(factor), once=line.once.times(factor), arithmetic=line.arithmetic + words)


def factor(given: EffortSettings) -> float:
    """The user's factors on the work of fixing findings; 1 where none were given."""
    return (given.experience or 1.0) * (given.assistance or 1.0)


def assumptions(given: EffortSettings) -> tuple[Assumption, ...]:
    """What the user gave, in words for the report."""
    out = []
    if given.experience:
        out.append(Assumption("experience", f"{given.experience:g}", f"all hours × {given.experience:g}"))
    if given.assistance:
        effect = f"hours of fixing findings × {given.assistance:g}, not those of plan, review and tests; an assumption, nobody measured it"
        out.append(Assumption("assistance", f"{given.assistance:g}", effect))
    if given.rate:
        out.append(Assumption("rate", f"{given.rate:g} {given.currency}".strip(), "money = hours × rate"))
    return tuple(out)


def cost(hours: Quantiles, given: EffortSettings) -> Cost | None:
    """The money of the hours, where the user gave a rate; to two significant digits, like the hours."""
    return Cost(given.currency, given.rate, simulate.times(hours, given.rate)) if given.rate else None
