"""Differences: a unified diff in linear time, for texts that agree line by line but for small changes."""

from __future__ import annotations

_CONTEXT = 3
_LOOK_AHEAD = 12
_MAX_LINE = 400
# Nearest first; of equally near places the one where as many lines went as came, which is the usual case.
_STEPS = tuple(
    sorted(
        ((down, right) for down in range(_LOOK_AHEAD) for right in range(_LOOK_AHEAD) if down + right),
        key=lambda s: (sum(s), abs(s[0] - s[1])),
    )
)


def diff(before: bytes, after: bytes, path: str, max_lines: int = 2000) -> str:
    """A unified diff of two texts, empty when they are equal; it ends with a note when it has more than ``max_lines`` lines."""
    if before == after:
        return ""
    old, new = before.splitlines(), after.splitlines()
    out = [f"--- {quoted('a/' + path)}", f"+++ {quoted('b/' + path)}"]
    for hunk in _hunks(_changes(old, new)):
        out += _lines(hunk, old, new)
        if len(out) > max_lines:
            rest = len(out) - max_lines
            return "\n".join(out[:max_lines]) + f"\n... {rest} or more lines of the difference are not shown\n"
    return "\n".join(out) + "\n"


def quoted(path: str) -> str:
    """A file's name as git writes it into a patch: one with line ends or quotes in C's way, so that no name is a line of its own."""
    if path.isprintable() and '"' not in path and "\\" not in path:
        return path
    plain = (
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\{byte:03o}" for byte in path.encode("utf-8", "surrogateescape")
    )
    return f'"{"".join(plain)}"'


def _changes(old: list[bytes], new: list[bytes]) -> list[tuple[int, int, int, int]]:
    """Ranges (old start, old end, new start, new end) that differ; found greedily, looking a few lines ahead."""
    changes: list[tuple[int, int, int, int]] = []
    a = b = 0
    while a < len(old) and b < len(new):
        if old[a] == new[b]:
            a += 1
            b += 1
            continue
        down, right = _meet(old, new, a, b)
        if changes and changes[-1][1] == a and changes[-1][3] == b:
            first = changes.pop()
            changes.append((first[0], a + down, first[2], b + right))
        else:
            changes.append((a, a + down, b, b + right))
        a += down
        b += right
    if a < len(old) or b < len(new):
        changes.append((a, len(old), b, len(new)))
    return changes


def _meet(old: list[bytes], new: list[bytes], a: int, b: int) -> tuple[int, int]:
    """How far to go in both texts until they agree again; one line in both where they do not within a few lines."""
    for down, right in _STEPS:
        x, y = a + down, b + right
        if x < len(old) and y < len(new) and old[x] == new[y] and (down == right or old[x].strip()):
            return down, right
    return min(1, len(old) - a), min(1, len(new) - b)


def _hunks(changes: list[tuple[int, int, int, int]]) -> list[list[tuple[int, int, int, int]]]:
    hunks: list[list[tuple[int, int, int, int]]] = []
    for change in changes:
        if hunks and change[0] - hunks[-1][-1][1] <= 2 * _CONTEXT:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    return hunks


def _lines(hunk: list[tuple[int, int, int, int]], old: list[bytes], new: list[bytes]) -> list[str]:
    first, last = hunk[0], hunk[-1]
    lead = min(_CONTEXT, first[0], first[2])
    tail = min(_CONTEXT, len(old) - last[1], len(new) - last[3])
    old_start, new_start = first[0] - lead, first[2] - lead
    old_count, new_count = last[1] + tail - old_start, last[3] + tail - new_start
    out = [f"@@ -{old_start + (old_count > 0)},{old_count} +{new_start + (new_count > 0)},{new_count} @@"]
    at = old_start
    for a, a_end, b, b_end in hunk:
        out += [" " + _text(line) for line in old[at:a]]
        out += ["-" + _text(line) for line in old[a:a_end]]
        out += ["+" + _text(line) for line in new[b:b_end]]
        at = a_end
    return out + [" " + _text(line) for line in old[at : at + tail]]


def _text(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return text if len(text) <= _MAX_LINE else text[:_MAX_LINE] + " ..."


def line_map(before: bytes, after: bytes) -> list[int]:
    """For every line of ``after`` the line of ``before`` that it comes from, both counted from 1; index 0 is not used."""
    old, new = before.split(b"\n"), after.split(b"\n")
    out = [0] * (len(new) + 1)
    a = b = 0
    for first, last, start, end in [*_changes(old, new), (len(old), len(old), len(new), len(new))]:
        for step in range(start - b):
            out[b + step + 1] = a + step + 1
        for step in range(end - start):
            out[start + step + 1] = min(first + step, max(first, last - 1), len(old) - 1) + 1
        a, b = last, end
    return out


def disagreement(ours: bytes, theirs: bytes) -> str:
    """How many lines of the two engines' outputs differ, in words; empty when none do."""
    mine, other = ours.splitlines(), theirs.splitlines()
    if mine == other:
        return ""
    common = set(mine) & set(other)
    only_mine = sum(1 for line in mine if line not in common)
    only_other = sum(1 for line in other if line not in common)
    return f"{only_mine} lines only from the built-in engine, {only_other} only from hipify-perl" if only_mine or only_other else ""
