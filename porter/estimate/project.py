"""Project lines: what a port costs beside its findings (plan, review, packaging, tests, CI, first profile); each says when it applies."""

from __future__ import annotations

from collections.abc import Sequence

from porter.estimate.groups import hits
from porter.estimate.parameters import ProjectLine, project
from porter.estimate.words import duration, percent
from porter.examine import Examined
from porter.model import EffortLine, Finding, Hours, Severity

CODE_KINDS = frozenset({"cuda", "cxx", "python", "cython", "notebook"})
BUILD_KINDS = ("bazel", "cmake", "meson", "make")  # the dearest first; a project is charged for one
CI_FILES = (".github/workflows/", ".gitlab-ci", ".circleci/", ".buildkite/", "Jenkinsfile", "azure-pipelines", ".travis.yml")
PACKAGES = ("setup.py", "pyproject.toml")
TESTED_KINDS = frozenset({"python", "cuda", "cxx", "notebook"})


def code_lines(own: Sequence[Examined]) -> int:
    """The measure of a project's size: lines of own CUDA sources, or of all own code where there are none."""
    cuda = sum(one.lines for one in own if one.kind == "cuda")
    return cuda or sum(one.lines for one in own if one.kind in CODE_KINDS)


def lines(findings: Sequence[Finding], own: Sequence[Examined], share: float, fixing: Hours) -> list[EffortLine]:
    """The project's lines; none for a project without CUDA sources of its own in which nothing has to be done.

    ``share`` is the project's size, 0 to 1; ``fixing`` are the hours of all findings.
    """
    cuda = [one for one in own if one.kind == "cuda" and one.hipify is not None]
    work = any(finding.severity >= Severity.MINOR for finding in findings)
    if not cuda and not work:
        return []
    made = _Lines(share)
    made.whole("environment")
    made.review(cuda)
    _build(made, findings, own, bool(cuda))
    _right(made, own, cuda, fixing)
    made.things("profile", sum(1 for one in cuda for kernel in one.kernels if kernel.launches), "launched kernels")
    return [line for line in made.done if line.hours.worst > 0]


class _Lines:
    """Makes lines out of the table, each with its arithmetic, scaled to the size of the project."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.done: list[EffortLine] = []

    def whole(self, name: str, times: float = 1.0, why: str = "") -> None:
        """A line whose hours belong to the whole project."""
        spec, part = project().lines[name], self.share * times
        words = duration(spec.hours.likely)
        if part < 1.0:
            words = f"{percent(part)} of {words}: {why or 'a small project'}"
        self._add(spec, words, spec.hours.times(part))

    def things(self, name: str, count: int, what: str) -> None:
        """A line of so many things, up to the most that the table names."""
        spec = project().lines[name]
        counted = min(count, spec.most) if spec.most else count
        words = f"{counted} {what} × {duration(spec.each.likely)}"
        words += f" (at most {spec.most} counted)" if counted < count else ""
        words += f" × {percent(self.share)}: a small project" if self.share < 1.0 else ""
        self._add(spec, words, spec.each.times(counted * self.share))

    def part_of(self, name: str, hours: Hours) -> None:
        """A line that is a share of other hours."""
        spec = project().lines[name]
        low, mid, high = spec.share
        words = f"{percent(mid)} of the {duration(hours.likely)} of all findings"
        self._add(spec, words, Hours(hours.best * low, hours.likely * mid, hours.worst * high))

    def review(self, cuda: Sequence[Examined]) -> None:
        """Reading the translation: a file, and a changed name on a learning curve."""
        spec = project().lines["review"]
        changed = [one.hipify.converted for one in cuda if one.hipify and one.hipify.converted]
        if not changed:
            return
        hours = spec.hours.times(self.share) + spec.file.times(len(changed)) + spec.each.times(sum(hits(n, spec.learning) for n in changed))
        words = (
            f"{duration(spec.hours.likely * self.share)} once + {len(changed)} × {duration(spec.file.likely)} a file"
            f" + {sum(changed):,} names × {spec.each.likely * 3600:.0f} s on a {spec.learning:.0%} learning curve"
        )
        self._add(spec, words, hours, len(changed))

    def _add(self, spec: ProjectLine, words: str, hours: Hours, files: int = 0) -> None:
        self.done.append(
            EffortLine(
                label=spec.label,
                arithmetic=words,
                hours=hours,
                category="project",
                files=files,
                kind="project",
                phase=spec.phase,
                applies=spec.applies,
            )  # fmt: skip
        )


def _build(made: _Lines, findings: Sequence[Finding], own: Sequence[Examined], compiles: bool) -> None:
    """Build system, package and images, unless their own findings already carry the cost."""
    carried = {finding.category for finding in findings if finding.severity >= Severity.MINOR}
    kinds = {one.kind for one in own}
    if compiles and "build" not in carried:
        for kind in [kind for kind in BUILD_KINDS if kind in kinds][:1]:
            made.whole(kind)
    if compiles and any(one.path.rsplit("/", 1)[-1] in PACKAGES for one in own):
        made.whole("packaging")
    if "docker" in kinds and "container" not in carried:
        made.whole("containers")


def _right(made: _Lines, own: Sequence[Examined], cuda: Sequence[Examined], fixing: Hours) -> None:
    """Tests that are there, or checks that must be written; CI; review by others."""
    kernels = sum(len(one.kernels) for one in cuda)
    if any("test" in part.lower() for one in own if one.kind in TESTED_KINDS for part in one.path.split("/")):
        made.whole("tests")
    elif kernels:
        made.things("harness", kernels, "kernels")
    else:
        made.whole("results")
    if any(mark in one.path for one in own for mark in CI_FILES):
        made.whole("ci")
        made.part_of("merge", fixing)
