"""Findings: joins hits with their rules, says what is work and what is good news, and gives each a lasting fingerprint."""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from porter import by_target, cuda_language
from porter.config import Config
from porter.examine import Examined
from porter.held import HeldLines
from porter.many import Many
from porter.model import Action, Confidence, Finding, Fix, Hit, Hours, Live, Origin, Rule, Severity, Span
from porter.origin import CUDA_WORD
from porter.pages import Filling, spill_of
from porter.rules import RuleSet, applies
from porter.spill import Spill

T = TypeVar("T", Finding, Examined)
PYTHON_KINDS = frozenset({"python", "cython", "notebook"})
MAX_FIX = 300  # bytes of a line that a fix is offered for; snippets may be cut after 400 characters
CODE_KINDS = PYTHON_KINDS | {"cuda", "cxx"}
VENDOR_TESTS = "python_vendor_tests"  # the detector
SCRIPT_KINDS = frozenset({"shell", "yaml", "docker", "requirements", "conda", "jenkins"})
DEPENDENCIES = frozenset({"requirement", "conda_package"})  # kinds of fact
OTHER_HARDWARE = re.compile(r"(?<![a-z0-9])(?:cpu|xpu|tpu|hpu|npu|ppc64le|s390x|riscv64|neuron|openvino|gaudi)(?![a-z0-9])")
TOOLKIT = "cuda-system-packages"  # the rule
TOOLKIT_LIBRARIES = frozenset({"cublas", "cudnn", "cufft", "curand", "cusolver", "cusparse", "nccl", "npp", "nvjpeg"})  # rules
TESTS = re.compile(r"(\A|/)(tests?|testing|unit_tests|benchmarks?)/")


def assemble(
    examined: Iterable[Examined], ruleset: RuleSet, config: Config, ported: bool = False, off_path: frozenset[str] = frozenset(),
    spill: Spill | None = None,
) -> tuple[Many[Finding], Many[Finding]]:  # fmt: skip
    """Findings and insights of all files, each in report order; very many of them go to ``spill``.

    ``ported``: the project itself builds for AMD; ``off_path`` are then the files that this build cannot hold.
    """
    examined = list(examined)
    spill = spill or Spill()
    unused = _unused_libraries(examined, ruleset, off_path) if ported else frozenset()
    no_cuda = ported and cuda_language.is_off(examined)
    own = _own_includes(examined)
    uncalled = _only_installed(examined) if TOOLKIT in ruleset.rules else frozenset()
    all_findings, all_insights = Filling(Finding, spill), Filling(Finding, spill)
    for one in sorted(examined, key=lambda held: held.path):  # so that what is ordered file by file is ordered
        findings: list[Finding] = []
        insights: list[Finding] = []
        if isinstance(one.snippets, HeldLines):
            one = _with(one, snippets=one.snippets.all())
        for hit in one.hits:
            rule = ruleset.rules[TOOLKIT if hit.rule in uncalled else hit.rule]
            targets = _targets(rule, hit, config)
            if not targets or (hit.fact_kind == "include" and hit.fact_name in own):
                continue
            if rule.is_insight:
                insights.append(_finding(rule, hit, one, targets, "works-as-is"))
            elif (
                hit.live is Live.NO or one.path in off_path or (ported and _off_the_amd_path(rule, hit, one, unused))
                or (no_cuda and cuda_language.only_sets_it_up(hit, one))
            ):  # fmt: skip
                insights.append(_finding(rule, hit, one, targets, "already-ported"))
            elif hit.optional:
                insights.append(_finding(rule, hit, one, targets, "works-as-is"))
            else:
                findings.append(_finding(rule, hit, one, targets, rule.category, ported))
        all_findings.extend(_ordered(findings))
        all_insights.extend(_ordered(insights))
    return all_findings.done(), all_insights.done()


def _only_installed(examined: Iterable[Examined]) -> frozenset[str]:
    """Rules of the toolkit's libraries that the system packages name and nothing else does: an image that is set up as NVIDIA's is."""
    kinds: dict[str, set[str]] = {}
    for one in examined:
        for hit in one.hits:
            if hit.rule in TOOLKIT_LIBRARIES:
                kinds.setdefault(hit.rule, set()).add(hit.fact_kind)
    return frozenset(rule for rule, found in kinds.items() if found == {"apt_package"})


def _own_includes(examined: Iterable[Examined]) -> frozenset[str]:
    """Includes by folder and name that are files of the repository itself: nothing that it depends on.

    A bare name may mean anybody's file, so it is left as it is.
    """
    files = list(examined)
    asked = {hit.fact_name for one in files for hit in one.hits if hit.fact_kind == "include" and "/" in hit.fact_name.strip("./")}
    bases = {name.rsplit("/", 1)[-1] for name in asked}
    paths = [one.path for one in files if one.origin is Origin.OWN and one.path.rsplit("/", 1)[-1] in bases]
    return frozenset(name for name in asked if any(path == name or path.endswith("/" + name) for path in paths))


def _off_the_amd_path(rule: Rule, hit: Hit, one: Examined, unused: frozenset[str] = frozenset()) -> bool:
    """Python code around a CUDA-only library, in a project that builds for AMD: without the library it is not imported there.

    So is what installs one of the ``unused`` libraries, a script for CUDA or other hardware by its name (install-cu121.sh, cpu.txt),
    a library in sources that the translation maps without loss, and CUDA's settings in a Python file that itself asks for AMD.
    """
    name = one.path.lower()
    if one.kind in SCRIPT_KINDS and (CUDA_WORD.search(name) or OTHER_HARDWARE.search(name)):
        return True
    if rule.id in unused and one.kind not in CODE_KINDS:
        return True
    if hit.fact_kind in DEPENDENCIES:
        return rule.id in unused
    if one.kind in PYTHON_KINDS and one.amd_signs and rule.category in ("build", "environment"):
        return True
    return (rule.category == "cuda-only-library" and one.kind in PYTHON_KINDS) or _translated(rule, one)


def _translated(rule: Rule, one: Examined) -> bool:
    """A library that the translation maps without loss, in sources of a project that builds for AMD: its build has done that."""
    replaced = rule.replacement is not None and rule.replacement.status == "drop-in-replacement"
    return replaced and rule.action is Action.AUTOMATIC and one.kind in ("cuda", "cxx")


def _unused_libraries(examined: list[Examined], ruleset: RuleSet, off_path: frozenset[str]) -> frozenset[str]:
    """CUDA-only libraries that a ported project's code uses, and none of it on the AMD path: what installs them brings no work."""
    used: dict[str, bool] = {}
    for one in examined:
        for hit in one.hits if one.kind in CODE_KINDS else ():
            rule = ruleset.rules[hit.rule]
            if rule.category == "cuda-only-library" and not rule.is_insight and hit.fact_kind not in DEPENDENCIES:
                off = hit.live is Live.NO or hit.optional or one.path in off_path or _off_the_amd_path(rule, hit, one)
                used[rule.id] = used.get(rule.id, False) or not off
    return frozenset(rule for rule, matters in used.items() if not matters)


def _severity(rule: Rule, hit: Hit, one: Examined, ported: bool) -> Severity:
    """The rule's; at most minor in scripts that only test or measure, since nobody's product stops with them.

    So are doubtful hits on guards and vendor tests, and doubtful questions, in a project that builds for AMD: what stops it
    there would be known.
    """
    is_side = one.kind not in ("cuda", "cxx") and TESTS.search(one.path)
    confidence = hit.confidence or rule.confidence
    is_check = rule.category == "arch-guard" or rule.detector == VENDOR_TESTS or rule.action is Action.CHECK
    is_doubtful = confidence is Confidence.LOW or (confidence is Confidence.MEDIUM and is_check)
    return min(rule.severity, Severity.MINOR) if is_side or (ported and is_doubtful) else rule.severity


def _targets(rule: Rule, hit: Hit, config: Config) -> tuple[str, ...]:
    """The asked-for targets on which this hit bites."""
    asked = applies(rule, config.targets)
    if hit.targets is None:
        return asked
    return tuple(t for t in asked if any(fnmatch.fnmatchcase(t, glob) for glob in hit.targets))


def _finding(rule: Rule, hit: Hit, one: Examined, targets: tuple[str, ...], category: str, ported: bool = False) -> Finding:
    work = category == rule.category and not rule.is_insight
    message = f"{rule.title}: {hit.message}" if hit.message else rule.title
    if category == "already-ported":
        message = f"{_why_ported(rule, hit, one)}: {message}"
    elif hit.optional:
        message += " (optional: the program goes on without it; its use is found at the calls)"
    elif outcome := by_target.words(rule.by_target, targets):
        message = f"{message.rstrip('.')}. {outcome}"
    span = hit.span
    return Finding(
        rule=rule.id, category=category, severity=_severity(rule, hit, one, ported) if work else Severity.INFO,
        confidence=hit.confidence or rule.confidence, action=rule.action if work else Action.NONE, path=one.path,
        line=span.line, column=span.column, end_line=span.end_line, end_column=span.end_column,
        snippet=one.snippets.get(span.line, ""), message=message, replacement=rule.replacement if work else None,
        targets=targets, group=_group(rule, hit), related=hit.related, fix=_fix(rule, span, one) if work else None,
    )  # fmt: skip


def _fix(rule: Rule, span: Span, one: Examined) -> Fix | None:
    """The line with the rule's words in place of those the hit stands on; None where the whole line is not known."""
    line = one.snippets.get(span.line, "").split("\n", 1)[0].encode("utf-8", "surrogatepass")
    if rule.fix is None or span.end_line != span.line or not line or len(line) > MAX_FIX or b"\xef\xbf\xbd" in line:
        return None
    start, end = span.column - 1, span.end_column - 1
    new = rule.fix.replace.get(line[start:end].decode("utf-8", "ignore"))
    if new is None or any(text.encode() in line for text in rule.fix.unless):
        return None
    rest = line[end:].lstrip(b" \t") if not new else line[end:]
    return Fix((line[:start] + new.encode() + rest).decode("utf-8", "ignore"), rule.fix.safe)


def _why_ported(rule: Rule, hit: Hit, one: Examined) -> str:
    if hit.live is Live.NO:
        return hit.unread or "Not in the build for AMD"
    return "Translated in this project's build for AMD" if _translated(rule, one) else "Off the AMD path of this project"


def _group(rule: Rule, hit: Hit) -> str:
    """The decision that settles a finding: the library for a data rule, the constant, opcode or name for a detector's."""
    part = hit.group or ("" if rule.match else hit.subject)
    return f"{rule.id}/{part}" if part else rule.id


def _ordered(findings: list[Finding]) -> Iterator[Finding]:
    """Those of one file in report order, without doubles, with fingerprints: a file's name is a part of them."""
    seen: Counter[str] = Counter()
    for finding in sorted(dict.fromkeys(findings), key=lambda f: f.sort_key):
        key = fingerprint_key(finding)
        seen[key] += 1
        yield _with(finding, fingerprint=hashlib.sha256(f"{key}\0{seen[key]}".encode()).hexdigest()[:24])


def fingerprint_key(finding: Finding) -> str:
    """What makes a finding the same after lines above it have moved: rule, file, and the text of its line."""
    line = " ".join(finding.snippet.split("\n", 1)[0].split())
    return f"{finding.rule}\0{finding.path}\0{line}"


def _with(value: T, **changes: object) -> T:
    return msgspec.structs.replace(value, **changes)


def with_hours(findings: Sequence[Finding], shares: Mapping[tuple[str, str], Hours]) -> Many[Finding]:
    """The findings with the hours that the estimate gives each (by rule and group)."""
    done = Filling(Finding, spill_of(findings))
    done.extend(_with(f, effort_hours=shares.get((f.rule, f.group), Hours())) for f in findings)
    return done.done()
