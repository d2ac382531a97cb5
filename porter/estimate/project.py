"""Project lines: what a port costs beside its findings (plan, review, packaging, tests, CI, first profile); each says when it applies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from porter import tested
from porter.estimate.groups import hits
from porter.estimate.parameters import ProjectLine, project
from porter.estimate.words import SAME_DECISION, duration, percent
from porter.examine import Examined
from porter.model import EffortLine, Finding, Hours, Severity

SAME = frozenset({"drop-in-replacement", "works-with-rocm-build"})  # the same package in another build
BUILD_KINDS = ("bazel", "cmake", "meson", "make")  # the dearest first; a project is charged for one
CI_FILES = (".github/workflows/", ".gitlab-ci", ".circleci/", ".buildkite/", "Jenkinsfile", "azure-pipelines", ".travis.yml")
PACKAGES = ("setup.py", "pyproject.toml")


def size(own: Sequence[Examined]) -> float:
    """How large the CUDA sources are, 0 to 1, against a whole project; 1 where there are none, since then nothing shrinks with them."""
    lines = sum(one.lines for one in own if one.kind == "cuda")
    return project().share(lines) if lines else 1.0


def shared(own: Sequence[Examined], share: float) -> dict[str, Hours]:
    """The hours of the lines that share a decision with findings, by pattern; none without CUDA sources of its own."""
    if not _cuda(own):
        return {}
    lines = [project().lines[name] for name in _decided(own)]
    return {line.pattern: line.hours.times(share) for line in lines if line.pattern}


def lines(
    findings: Sequence[Finding], own: Sequence[Examined], share: float, fixing: Hours, paid: Mapping[str, float] | None = None
) -> list[EffortLine]:
    """The project's lines; none for a project without CUDA sources of its own in which nothing has to be done.

    ``share`` is the project's size, 0 to 1; ``fixing`` are the hours of all findings; ``paid`` says what part of a line its pattern leaves.
    """
    cuda = _cuda(own)
    work = any(finding.severity >= Severity.MINOR for finding in findings)
    if not cuda and not work:
        return []
    made = _Lines(
        share if cuda else project().share_of_work(fixing.likely, _wheels_only(findings)), "a small project" if cuda else "little to change"
    )
    made.whole("environment")
    made.review(cuda)
    left = dict(paid or {}) if cuda else _decided_by(findings)
    for name in _decided(own) if cuda else _ci(own):
        made.whole(name, left.get(project().lines[name].pattern, 1.0))
    _right(made, own, cuda)
    if _ci(own):
        made.part_of("merge", fixing)
    made.things("profile", sum(1 for one in cuda for kernel in one.kernels if kernel.launches), "launched kernel")
    return [line for line in made.done if line.hours.worst > 0]


def _wheels_only(findings: Sequence[Finding]) -> bool:
    """Whether other builds of the same packages are all that is needed: no image, no setting, no other library."""
    return all(one.category == "cuda-only-library" and one.replacement is not None and one.replacement.status in SAME for one in findings)


def _decided_by(findings: Sequence[Finding]) -> dict[str, float]:
    """What project lines pay where findings settle their decision already; without CUDA sources the findings are always the dearer."""
    return dict.fromkeys({project().family(finding.rule, finding.category) for finding in findings}, project().sharing.same_pattern)


def _cuda(own: Sequence[Examined]) -> list[Examined]:
    return [one for one in own if one.kind == "cuda" and one.hipify is not None]


def _decided(own: Sequence[Examined]) -> list[str]:
    """The lines of build system, package, images and CI that apply to a project with CUDA sources."""
    kinds = {one.kind for one in own}
    names = [kind for kind in BUILD_KINDS if kind in kinds][:1]
    if any(one.path.rsplit("/", 1)[-1] in PACKAGES for one in own):
        names.append("packaging")
    if "docker" in kinds:
        names.append("containers")
    return names + _ci(own)


def _ci(own: Sequence[Examined]) -> list[str]:
    return ["ci"] if any(mark in one.path for one in own for mark in CI_FILES) else []


class _Lines:
    """Makes lines out of the table, each with its arithmetic, scaled to the size of the project."""

    def __init__(self, share: float, why: str) -> None:
        self.share = share
        self.why = why
        self.done: list[EffortLine] = []

    def whole(self, name: str, paid: float = 1.0) -> None:
        """A line whose hours belong to the whole project; ``paid`` is the part that its pattern leaves to it."""
        spec = project().lines[name]
        share = 1.0 if spec.fixed else self.share
        words = duration(spec.hours.likely)
        if share < 1.0:
            words = f"{percent(share)} of {words}: {self.why}"
        if paid < 1.0:
            words += f"; {percent(paid)} {SAME_DECISION}"
        self._add(spec, words, spec.hours.times(share * paid))

    def things(self, name: str, count: int, what: str) -> None:
        """A line of so many things (``what`` is one of them), up to the most that the table names."""
        spec = project().lines[name]
        counted = min(count, spec.most) if spec.most else count
        words = f"{counted} {what}{'' if counted == 1 else 's'} × {duration(spec.each.likely)}"
        words += f" (at most {spec.most} counted)" if counted < count else ""
        words += f" × {percent(self.share)}: {self.why}" if self.share < 1.0 else ""
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
            f" + {sum(changed):,} names × {spec.each.likely * 3600:.0f} s on a learning curve of {percent(spec.learning)}"
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


def _right(made: _Lines, own: Sequence[Examined], cuda: Sequence[Examined]) -> None:
    """Tests that are there, or checks that must be written."""
    kernels = sum(len(one.kernels) for one in cuda)
    if any(one.tests or tested.is_test(one.path, one.kind) for one in own):
        made.whole("tests")
    elif kernels:
        made.things("harness", kernels, "kernel")
    else:
        made.whole("results")
