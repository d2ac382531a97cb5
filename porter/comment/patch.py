"""Unified diffs as the services give them: which lines of the new file a change shows."""

from __future__ import annotations

import re

from porter.comment.values import Line

HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@")


def lines(text: str) -> dict[int, Line]:
    """Added and unchanged lines by their number in the new file; what stands before the first hunk is passed over.

    A carriage return stays on its line, so no suggestion fits there: taking one would change the file's line ends.
    """
    shown: dict[int, Line] = {}
    old = new = 0
    for row in text.split("\n"):
        if found := HUNK.match(row):
            old, new = int(found[1]), int(found[2])
        elif new and row[:1] == "+":
            shown[new] = Line(row[1:])
            new += 1
        elif new and row[:1] == " ":
            shown[new] = Line(row[1:], old)
            old, new = old + 1, new + 1
        elif new and row[:1] == "-":
            old += 1
    return shown
