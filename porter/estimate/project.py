"""Project lines: what a port costs beside its findings (environment, review of the translation, tests, CI); each says when it applies."""

from __future__ import annotations

from collections.abc import Sequence

from porter.examine import Examined
from porter.model import EffortLine, Finding, Hours, Severity

ENVIRONMENT = Hours(4, 8, 24)
REVIEW_ONCE = Hours(0.5, 1, 4)
REVIEW_FILE = Hours(2 / 60, 5 / 60, 15 / 60)
TESTS_EXIST = Hours(2, 6, 20)
TESTS_MISSING_KERNEL = Hours(1, 3, 10)
MOST_KERNELS = 20  # past that a harness is shared between kernels
CI_RUNNER = Hours(4, 16, 60)
BUILD_SYSTEMS = {"cmake": Hours(2, 8, 24), "make": Hours(0.5, 2, 8), "bazel": Hours(8, 24, 80), "meson": Hours(2, 8, 24)}
CI_FILES = (".github/workflows/", ".gitlab-ci", ".circleci/", ".buildkite/", "Jenkinsfile", "azure-pipelines", ".travis.yml")


def lines(findings: Sequence[Finding], own: Sequence[Examined]) -> list[EffortLine]:
    """The project's lines; a project without CUDA sources of its own has none."""
    cuda = [one for one in own if one.kind == "cuda" and one.hipify is not None]
    if not cuda:
        return []
    out = [_environment(cuda), *_review(cuda), *_build(own, findings), _tests(own, cuda)]
    if any(mark in one.path for one in own for mark in CI_FILES):
        out.append(
            _line("CI with an AMD GPU runner", "the repository has CI files, so its tests will want a runner with an AMD GPU", CI_RUNNER)
        )
    return [line for line in out if line.hours.worst > 0]


def _line(label: str, arithmetic: str, hours: Hours, files: int = 0) -> EffortLine:
    return EffortLine(label=label, arithmetic=arithmetic, hours=hours, category="project", files=files, kind="project")


def _environment(cuda: Sequence[Examined]) -> EffortLine:
    """Small programs need less of a plan: the line grows to its full size at ten CUDA files."""
    share = min(1.0, len(cuda) / 10)
    words = f"machine, ROCm, first build and a plan; {share:.0%} of a project's 8 h, since it has {len(cuda)} CUDA files (all from 10 on)"
    return _line("Environment and strategy", words, ENVIRONMENT.times(share), len(cuda))


def _review(cuda: Sequence[Examined]) -> list[EffortLine]:
    files = [one for one in cuda if one.hipify and one.hipify.converted]
    if not files:
        return []
    names = sum(one.hipify.converted for one in files if one.hipify)
    share = min(1.0, len(files) / 10)
    words = f"{names:,} names converted in {len(files)} files: 5 min a file, and up to 1 h once"
    return [_line("Review of the mechanical translation", words, REVIEW_ONCE.times(share) + REVIEW_FILE.times(len(files)), len(files))]


def _build(own: Sequence[Examined], findings: Sequence[Finding]) -> list[EffortLine]:
    """The build system, unless its own findings already carry the cost."""
    if any(f.category == "build" and f.severity >= Severity.MINOR for f in findings):
        return []
    present = sorted({one.kind for one in own} & set(BUILD_SYSTEMS), key=lambda kind: -BUILD_SYSTEMS[kind].likely)
    if not present:
        return []
    return [_line(f"Build system ({present[0]})", "the build must learn a second compiler and target list", BUILD_SYSTEMS[present[0]])]


def _tests(own: Sequence[Examined], cuda: Sequence[Examined]) -> EffortLine:
    has_tests = any("test" in part.lower() for one in own if one.kind in ("python", "cuda", "cxx") for part in one.path.split("/"))
    if has_tests:
        share = max(0.25, min(1.0, len(cuda) / 10))
        words = f"the repository has tests: {share:.0%} of the 6 h that running and mending them takes from ten CUDA files on"
        return _line("Correctness: running the existing tests on AMD", words, TESTS_EXIST.times(share))
    kernels = min(MOST_KERNELS, sum(len(one.kernels) for one in cuda))
    words = f"no tests found: a reference check for {kernels} kernels at 3 h each (20 at most, later ones share the harness)"
    return _line("Correctness: checks against the CUDA results", words, TESTS_MISSING_KERNEL.times(kernels))
