"""The audit in a sentence or two, in the language of the report."""

from __future__ import annotations

from porter.model import Report, Severity
from porter.render import numbers, summary
from porter.render.neutral import one_line
from porter.render.tongue import ENGLISH, Tongue
from porter.render.words import CATEGORY_NAMES

MOST = 0.7  # of the hours: what has more of them is named alone


def project_name(report: Report) -> str:
    """The last folder of the root; empty where there is none."""
    return one_line(report.root.rstrip("/").rsplit("/", 1)[-1], 60)


def targets_text(report: Report, words: Tongue = ENGLISH) -> str:
    """The targets as words: gfx942 and gfx950."""
    names = list(report.targets)
    if len(names) < 2:
        return "".join(names) or words.text("AMD GPUs")
    return words.say("{first} and {last}", first=", ".join(names[:-1]), last=names[-1])


def verdict(report: Report, words: Tongue = ENGLISH) -> str:
    """The audit in one sentence, or two where the audit is incomplete."""
    parts = [sentence(report, words)]
    if not report.complete:
        one, many = "The audit is incomplete: {n} problem may hide findings.", "The audit is incomplete: {n} problems may hide findings."
        parts.append(words.plural(one, many, summary.matters(report)))
    return " ".join(parts)


def sentence(report: Report, words: Tongue = ENGLISH) -> str:
    """What the port asks for, in one sentence."""
    name = project_name(report) or words.text("This project")
    if not report.findings:
        return _nothing(report, name, words)
    effort = report.estimate.hours
    values = {"name": name, "where": targets_text(report, words), "hours": numbers.long_hours(effort.p50, words),
              "band": numbers.band(effort, words), "mainly": _mainly(report, words)}  # fmt: skip
    if effort.p50 <= 0:
        one, many = (
            "{name}: no hand work for {where} was found beyond {n} place to check.",
            "{name}: no hand work for {where} was found beyond {n} places to check.",
        )
        return words.plural(one, many, len(report.findings), **values)
    if report.already_ported:
        return words.say(
            "{name} already builds for AMD GPUs, as its own code shows; what was found still asks for about {hours} of work to run on "
            "{where} ({band} in a simulation over judged hours), {mainly}.", **values,
        )  # fmt: skip
    return words.say("{name}: about {hours} of work to run on {where} ({band} in a simulation over judged hours), {mainly}.", **values)


def _nothing(report: Report, name: str, words: Tongue) -> str:
    values = {"name": name, "where": targets_text(report, words)}
    if report.scope is not None:  # of the rest nothing is said
        values["revision"] = one_line(report.scope.revision, 60)
        if not report.scope.changed:
            return words.say("No file of {name} differs from {revision}, so nothing was looked at.", **values)
        return words.say("What differs from {revision} in {name} holds nothing that needs work for {where}.", **values)
    if not report.cuda_files and not report.insights:
        one, many = (
            "{name} holds nothing that ties it to NVIDIA GPUs, as far as {n} scanned file can tell.",
            "{name} holds nothing that ties it to NVIDIA GPUs, as far as {n} scanned files can tell.",
        )
        return words.plural(one, many, len(report.files), **values)
    if report.already_ported:
        return words.say("{name} already builds for AMD GPUs, and nothing was found that needs work for {where}.", **values)
    return words.say("Nothing in {name} was found that needs work for {where}.", **values)


def _mainly(report: Report, words: Tongue) -> str:
    stops = [g for g in summary.by_rule(report, report.findings) if g.severity is Severity.BLOCKER]
    if stops:
        titles = ", ".join(one_line(g.rule.title, 70) for g in stops[:2])
        if len(stops) > 2:
            titles = words.plural("{titles} and {n} more kind", "{titles} and {n} more kinds", len(stops) - 2, titles=titles)
        one, many = "with {n} blocking place: {titles}", "with {n} blocking places: {titles}"
        return words.plural(one, many, summary.blockers(report), titles=titles)
    rows = sorted((row for row in summary.by_category(report) if row.hours.likely > 0), key=lambda row: -row.hours.likely)
    most = 1 if rows and rows[0].hours.likely > MOST * sum(row.hours.likely for row in rows) else 2
    names = [_in_prose(words.text(CATEGORY_NAMES.get(row.name, row.name)), words) for row in rows[:most]]
    if not names:
        return words.text("with no blocker")
    mainly = names[0] if len(names) == 1 else words.say("{first} and {last}", first=names[0], last=names[1])
    return words.say("with no blocker; most of it is {mainly}", mainly=mainly)


def _in_prose(name: str, words: Tongue) -> str:
    """A category's name inside a sentence; names of products keep their capital."""
    return name if name.startswith(("CUDA", "Python", "Triton", "PTX", "API")) or words.code == "zh" else name[:1].lower() + name[1:]
