"""The grade of an estimate: A to D, with the reasons, so that nobody takes an order of magnitude for a quotation."""

from __future__ import annotations

from collections.abc import Sequence

from porter import tested
from porter.estimate import features
from porter.examine import Examined
from porter.model import Confidence, Finding, Quantiles
from porter.rules import RuleSet

LETTERS = "ABCD"
NO_HOURS = "no real hours have confirmed the sum: see porter actuals"
UNPROVED = "no compiler has confirmed the translation, and no real hours the sum: see porter scan --verify and porter actuals"
FAR = 4.0  # scores above so many times the corpus's highest knot are far from what the back-test saw


def grade(own: Sequence[Examined], findings: Sequence[Finding], ruleset: RuleSet, hours: Quantiles) -> tuple[str, tuple[str, ...]]:
    """A letter, and what took it down from A; no estimate is an A before compilers or real hours have confirmed it."""
    has_cuda = any(one.kind == "cuda" for one in own)
    reasons = [UNPROVED if has_cuda else NO_HOURS]
    reasons += _unread(own)
    reasons += _untested(own)
    low = sum(1 for finding in findings if finding.confidence is Confidence.LOW)
    if low > 0.25 * len(findings):
        reasons.append(f"{low:,} of {len(findings):,} findings have low confidence")
    undated = sum(1 for finding in findings if not ruleset.rules[finding.rule].sources)
    if undated:
        reasons.append(f"{undated:,} findings come from rules without a dated source")
    reasons += _far_from_the_corpus(own, findings)
    if hours.p50 and hours.p90 > 3 * hours.p50:
        reasons.append(f"the range is wide: P90 is {hours.p90 / hours.p50:.1f} times P50")
    return letter(reasons), tuple(reasons)


def letter(reasons: Sequence[str]) -> str:
    """The letter of so many reasons."""
    return LETTERS[min((len(reasons) + 1) // 2, 3)]


def _unread(own: Sequence[Examined]) -> list[str]:
    """What could not be read, or has no known counterpart."""
    out = []
    cuda = [one for one in own if one.kind == "cuda"]
    code = sum(one.lines for one in cuda)
    parsed = sum(one.lines * one.coverage for one in cuda) / code if code else 1.0
    if parsed < 0.97:
        out.append(f"{parsed:.0%} of the CUDA lines could be parsed")
    known = sum(one.hipify.converted for one in cuda if one.hipify)
    left = sum(one.hipify.unconverted for one in cuda if one.hipify)
    if left > 0.05 * (known + left):
        out.append(f"{left:,} of {known + left:,} CUDA API names have no HIP counterpart")
    if any(problem.matters for one in own for problem in one.problems):
        out.append("some files could not be read in full")
    return out


def _untested(own: Sequence[Examined]) -> list[str]:
    if any(one.tests or tested.is_test(one.path, one.kind) for one in own):
        return []
    return ["no test files were found, so right results must first be defined"]


def _far_from_the_corpus(own: Sequence[Examined], findings: Sequence[Finding]) -> list[str]:
    """The back-test holds small C++ programs; work of another kind, or far more of it, is outside of what it shows."""
    out = []
    used = features.model()
    found = features.score(features.counts(findings, own, used.feature), used)
    if found > FAR * used.knot[-1].score:
        out.append(f"{found / used.knot[-1].score:.0f} times the CUDA work of the largest programs of the back-test")
    cuda = {one.path for one in own if one.kind in features.SOURCE_KINDS}
    elsewhere = sum(1 for finding in findings if finding.path not in cuda and finding.category != "build")
    if elsewhere > 0.5 * len(findings):
        out.append(f"{elsewhere:,} of {len(findings):,} findings are outside CUDA sources, which the back-test does not measure")
    return out
