"""The grade of an estimate: A to D, with the reasons, so that nobody takes an order of magnitude for a quotation."""

from __future__ import annotations

from collections.abc import Sequence

from porter.examine import Examined
from porter.model import Confidence, Finding

LETTERS = "ABCD"


def grade(own: Sequence[Examined], findings: Sequence[Finding]) -> tuple[str, tuple[str, ...]]:
    """A letter, and what took it down from A; no estimate is an A before compilers or real hours have confirmed it."""
    reasons = ["no compiler has confirmed the translation"]
    cuda = [one for one in own if one.kind == "cuda"]
    code = sum(one.lines for one in cuda)
    if code:
        parsed = sum(one.lines * one.coverage for one in cuda) / code
        if parsed < 0.97:
            reasons.append(f"{parsed:.0%} of the CUDA lines could be parsed")
    known = sum(one.hipify.converted for one in cuda if one.hipify)
    left = sum(one.hipify.unconverted for one in cuda if one.hipify)
    if left > 0.05 * (known + left):
        reasons.append(f"{left:,} of {known + left:,} CUDA API names have no HIP counterpart")
    low = sum(1 for finding in findings if finding.confidence is Confidence.LOW)
    if low > 0.25 * len(findings):
        reasons.append(f"{low:,} of {len(findings):,} findings have low confidence")
    if any(problem.matters for one in own for problem in one.problems):
        reasons.append("some files could not be read in full")
    return LETTERS[min(len(reasons), 3)], tuple(reasons)
