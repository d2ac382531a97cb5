"""A verification as text for the terminal and as JSON."""

from __future__ import annotations

import json
from collections import Counter

from porter.render.neutral import encodable, json_text, one_line
from porter.verify.values import RUNG_WORDS, RUNGS, CompilerError, Verification

SCHEMA = "porter.verify/1"
MOST_FILES, MOST_ERRORS = 200, 60


def as_json(done: Verification) -> str:
    """The contract: every file with its rung by target, every error with what predicted it, and the sums."""
    value = {
        "schema": SCHEMA, "root": done.root, "targets": list(done.targets), "rocm": done.rocm, "compilers": done.compilers,
        "summary": {
            "rungs": _rungs(done), "units": sum(1 for file in done.files if file.unit),
            "errors": len(done.errors), "predicted": done.predicted, "unpredicted": len(done.errors) - done.predicted,
        },
        "files": [
            {
                "path": file.path, "rung": file.rung, "targets": file.by_target, "unit": file.unit, "missing": list(file.missing),
                "note": file.note,
            }
            for file in done.files
        ],
        "errors": [
            {
                "path": e.path, "line": e.line, "column": e.column, "kind": e.kind, "message": e.message, "units": list(e.units),
                "targets": list(e.targets), "predicted_by": {"rule": e.rule, "finding": e.finding, "how": e.how} if e.rule else None,
            }
            for e in done.errors
        ],
        "notes": list(done.notes),
        "problems": [{"path": encodable(problem.path), "what": problem.what} for problem in done.problems],
    }  # fmt: skip
    return json_text(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _rungs(done: Verification) -> dict[str, dict[str, int]]:
    """Units on each rung, by target."""
    counts = {target: Counter(file.by_target[target] for file in done.files if file.unit) for target in done.targets}
    return {target: {rung: counts[target][rung] for rung in RUNGS} for target in done.targets}


def as_text(done: Verification) -> str:
    """The same for people: who said it, how many files stand on which rung, which do not compile, and the errors."""
    lines = [f"{one_line(done.root)}: what compilers say of the translation for ROCm {done.rocm or 'newest'}", ""]
    lines += [f"  {target}: {words}" for target, words in done.compilers.items()]
    lines += [f"  note: {one_line(note)}" for note in done.notes]
    lines += [f"  problem: {one_line(problem.path)}: {one_line(problem.what)}" for problem in done.problems[:MOST_FILES]]
    counts = _rungs(done)
    lines += ["", f"{'rung':13}" + "".join(f"{target:>9}" for target in done.targets) + "  meaning"]
    for rung in reversed(RUNGS):
        lines.append(f"{rung:13}" + "".join(f"{counts[target][rung]:>9}" for target in done.targets) + f"  {RUNG_WORDS[rung]}")
    lines.append(f"(units on their highest rung; {sum(1 for file in done.files if file.unit)} in all)")
    lines += ["", *_files(done), *_errors(done)]
    return "\n".join(lines) + "\n"


def _files(done: Verification) -> list[str]:
    low = [file for file in done.files if file.unit and file.rung not in ("compiles", "links")]
    lines = ["Units that do not compile:"] if low else []
    for file in low[:MOST_FILES]:
        why = f"; not on this machine: {', '.join(map(one_line, file.missing))}" if file.missing else ""
        lines.append(f"  {file.rung:12} {one_line(file.path)}{why}{'; ' + one_line(file.note) if file.note else ''}")
    if len(low) > MOST_FILES:
        lines.append(f"  and {len(low) - MOST_FILES} more")
    return lines + [""] if low else []


def _errors(done: Verification) -> list[str]:
    if not done.errors:
        return ["No compiler error." if any(file.unit for file in done.files) else "No CUDA source to compile."]
    share = round(100 * done.predicted / len(done.errors))
    lines = [f"{len(done.errors)} compiler errors, {done.predicted} predicted by a finding ({share} %)"]
    for rule, count in sorted(Counter(e.rule for e in done.errors if e.rule).items(), key=lambda item: (-item[1], item[0])):
        lines.append(f"  {count:>4}  {rule}")
    bad = [error for error in done.errors if not error.rule]
    if bad:
        lines += ["", f"unpredicted: {len(bad)}"]
        lines += [f"  {_place(error)}: {one_line(error.message, 200)}" for error in bad[:MOST_ERRORS]]
        if len(bad) > MOST_ERRORS:
            lines.append(f"  and {len(bad) - MOST_ERRORS} more")
    return lines


def _place(error: CompilerError) -> str:
    return f"{one_line(error.path)}:{error.line}" if error.path else "(no place)"
