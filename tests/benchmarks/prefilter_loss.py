"""Whether the prefilter loses a finding: any folder scanned with it and without it, and what only one of the two found.

    python tests/benchmarks/prefilter_loss.py FOLDER...

With the prefilter a Python file is parsed only when it holds words of a rule, and looked at only where they stand; a C++ file without
any sign of CUDA only when it names a header that a rule knows. Without it every file is parsed and looked at everywhere. Exit status 1
when the two differ. The second scan takes many times as long.
"""

from __future__ import annotations

import sys
from pathlib import Path
from unittest import mock

from porter import pipeline
from porter.config import Config
from porter.model import Report

Place = tuple[str, str, int, str]  # rule, path, line, message


def places_of(report: Report) -> set[Place]:
    """Where each finding and insight of a report stands."""
    findings = {(one.rule, one.path, one.line, one.message) for one in report.findings}
    return findings | {(one.rule, one.path, one.line, one.message) for one in report.insights}


def both(folder: Path, jobs: int = 1) -> tuple[set[Place], set[Place]]:
    """What is found with the prefilter, and without."""
    config = Config(jobs=jobs)
    fast = places_of(pipeline.audit(folder, config))
    every_word = mock.patch("porter.examine.words_of", lambda _rules, own=True: None)
    every_header = mock.patch("porter.examine.Auditor._cxx_matters", lambda _self, _source: True)
    with every_word, every_header:
        return fast, places_of(pipeline.audit(folder, config))


def main() -> int:
    """Print a line a folder, and each difference."""
    differs = False
    for name in sys.argv[1:]:
        fast, slow = both(Path(name))
        print(f"{Path(name).name}: {len(fast)} with the prefilter, {len(slow)} without, {len(slow - fast)} lost, {len(fast - slow)} more")
        for sign, some in (("lost", slow - fast), ("more", fast - slow)):
            for rule, path, line, message in sorted(some)[:20]:
                print(f"  {sign}: {path}:{line} {rule}: {message}")
        differs = differs or fast != slow
    return int(differs)


if __name__ == "__main__":
    raise SystemExit(main())
