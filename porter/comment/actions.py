"""What a GitHub workflow is told beside the comment: annotations within its limits, and the step summary."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path

from porter.comment.choose import Chosen, Row
from porter.errors import OutputError
from porter.model import Finding, Severity
from porter.render.neutral import block, one_line

EACH = 10  # annotations of one kind that a step may show
SUMMARY_LIMIT = 1024 * 1024  # bytes that a step's summary may have
KINDS = {Severity.BLOCKER: "error", Severity.MAJOR: "warning", Severity.MINOR: "notice", Severity.INFO: "notice"}


def commands(chosen: Chosen) -> list[str]:
    """Workflow commands for the worst new findings, ten of a kind at most."""
    left: dict[str, int] = defaultdict(lambda: EACH)
    out = []
    for finding in sorted(chosen.new, key=lambda finding: Row((finding,)).rank):
        kind = KINDS[finding.severity]
        if left[kind]:
            left[kind] -= 1
            out.append(_command(kind, finding))
    return out


def _command(kind: str, finding: Finding) -> str:
    place = {
        "file": one_line(finding.path),
        "line": finding.line,
        "endLine": max(finding.line, finding.end_line),
        "title": f"porter: {finding.rule}",
    }
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in place.items())
    return f"::{kind} {properties}::{_data(one_line(finding.message, 1000))}"


def _data(words: str) -> str:
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(words: str) -> str:
    return _data(words).replace(":", "%3A").replace(",", "%2C")


def quoted(words: str) -> str:
    """Text for the log of a workflow that obeys none of its lines: commands are off until a word that the text cannot hold."""
    text = block(words)
    word = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return f"::stop-commands::{word}\n{text}\n::{word}::"


def add_summary(path: Path, body: str) -> bool:
    """Append to the step's summary; False where it would be over its limit, which would lose all of it."""
    data = body.encode("utf-8", "replace") + b"\n"
    try:
        size = path.stat().st_size if path.exists() else 0
        if size + len(data) > SUMMARY_LIMIT:
            return False
        with path.open("ab") as stream:
            stream.write(data)
    except OSError as error:
        raise OutputError(f"{path}: the step summary cannot be written: {error.strerror or error}") from error
    return True
