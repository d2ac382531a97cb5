"""The validation runbook: a checklist with commands for this very repository; each step says which findings it settles."""

from __future__ import annotations

import fnmatch
import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from porter import tested
from porter.advise import software
from porter.advise.traits import Traits, traits
from porter.errors import RuleError
from porter.estimate import parameters
from porter.model import Finding, Report, RunbookStep

GPUS = 8  # of one server
PYTHON = frozenset({"python", "notebook", "requirements"})  # kinds of files that say that packages are installed
AMD_BUILD = "build-amd"  # the baseline has a build folder of its own
GPUS_OF = {"gfx90a": ("MI250X",), "gfx942": ("MI300X", "MI325X"), "gfx950": ("MI350X", "MI355X"), "gfx1250": ("MI455X",)}
NO_TESTS = "# no tests were found: run the program on fixed inputs and keep its outputs"
NO_RUNNER = "# test files were found, and nothing that runs them: run them as the project does and keep their results"
OWN_BUILD = "# the project builds for AMD already: build it in the way it has, for the targets of this report"
COMPARE = ", then compare them with those of the baseline"


class _Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of the table: when it is shown, what it says, and which findings it settles."""

    id: str
    phase: str
    title: str
    why: str
    expect: str
    commands: tuple[str, ...] = ()
    cuda_commands: tuple[str, ...] = ()
    python_commands: tuple[str, ...] = ()
    way_commands: dict[str, tuple[str, ...]] = {}  # come first where this strategy is recommended
    test_commands: bool = False
    build_commands: bool = False
    traits: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    needs_findings: bool = False
    categories: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()  # globs, as in ``except_``
    except_: tuple[str, ...] = msgspec.field(default=(), name="except")  # settled by another step, where one that does is shown

    def names(self, finding: Finding) -> bool:
        """Whether the step is the one for the finding's rule."""
        return any(fnmatch.fnmatchcase(finding.rule, glob) for glob in self.rules)

    def may_settle(self, finding: Finding) -> bool:
        """Whether the step settles it where no step is more to the point."""
        return finding.category in self.categories or self.names(finding)

    def gives_up(self, finding: Finding) -> bool:
        """Whether another step that may settle it is more to the point."""
        return not self.names(finding) and any(fnmatch.fnmatchcase(finding.rule, glob) for glob in self.except_)


class _Book(msgspec.Struct, frozen=True):
    """rules/effort/runbook.toml."""

    image: tuple[software.Image, ...]
    wheels: tuple[software.Wheels, ...]
    step: tuple[_Step, ...]


@functools.lru_cache(maxsize=1)
def _book() -> _Book:
    try:
        return msgspec.convert(parameters.table("runbook"), _Book)
    except msgspec.ValidationError as error:
        raise RuleError(f"rules/effort/runbook.toml: {error}", "reinstall porter") from error


def steps(report: Report) -> tuple[RunbookStep, ...]:
    """The steps for this repository in the order they are done; none where there is neither CUDA nor work."""
    seen = traits(report)
    if not (seen.has_cuda or report.findings):
        return ()
    shown = [step for step in _book().step if _shown(step, seen)]
    settled = _settled(shown, report.findings)
    groups: dict[str, set[str]] = defaultdict(set)
    for finding in report.findings:
        groups[finding.rule].add(finding.group)
    made = [_made(step, rules, groups, report, seen) for step, rules in zip(shown, settled, strict=True)]
    needs = {step.id for step in _book().step if step.needs_findings}
    return tuple(step for step in made if step.settles or step.id not in needs)


def _settled(shown: Sequence[_Step], findings: Sequence[Finding]) -> list[set[str]]:
    """The rules whose findings each step settles: where the step that is more to the point is not shown, the others do."""
    settled: list[set[str]] = [set() for _ in shown]
    for finding in {finding.rule: finding for finding in findings}.values():  # a rule has one category
        able = [at for at, step in enumerate(shown) if step.may_settle(finding)]
        best = [at for at in able if not shown[at].gives_up(finding)] or able
        for at in best:
            settled[at].add(finding.rule)
    return settled


def _shown(step: _Step, seen: Traits) -> bool:
    words = seen.words | ({"cuda"} if seen.has_cuda else frozenset()) | ({"ported"} if seen.ported else frozenset())
    return (not step.traits or not words.isdisjoint(step.traits)) and words.isdisjoint(step.without)


def _made(step: _Step, settled: set[str], groups: Mapping[str, set[str]], report: Report, seen: Traits) -> RunbookStep:
    pinned = _pinned(step.id, report, seen)
    words = _words(report, seen) | (pinned.fields if pinned else {})
    optional = ("test", "size")  # commands that need what this repository may not have
    commands = list(pinned.commands) if pinned else []
    way = next((way.id for way in report.strategies if way.recommended), "")
    asked = (*step.way_commands.get(way, ()), *step.commands)
    tests_run = any("{test}" in one for one in asked)  # by a command of the step itself
    commands += [one.format_map(words) for one in asked if all(words[name] or f"{{{name}}}" not in one for name in optional)]
    commands += step.cuda_commands if seen.has_cuda else ()
    commands += step.python_commands if seen.kinds & PYTHON else ()
    if step.build_commands:
        commands += _builds(report, seen)
    if step.test_commands and not (tests_run and words["test"]):
        commands += (_kept(seen) if step.phase == "baseline" else _tests(seen)) or [_untested(seen, step.phase)]
    settles = sorted(set().union(*(groups[rule] for rule in settled)))
    return RunbookStep(
        id=step.id, phase=step.phase, title=step.title, why=f"{step.why} {pinned.sentence}." if pinned and pinned.sentence else step.why,
        commands=tuple(commands), expect=step.expect.format_map(words), settles=tuple(settles),
        rules=tuple(sorted(settled)), sources=(pinned.source,) if pinned else (),
    )  # fmt: skip


def _pinned(step: str, report: Report, seen: Traits) -> software.Software | None:
    """What the steps of the image and of the wheels name; None for all others."""
    if step == "image":
        return software.image(_book().image, seen.words, report.rocm)
    return software.wheels(_book().wheels, report.targets, report.rocm) if step == "wheels" else None


def _words(report: Report, seen: Traits) -> dict[str, str]:
    """What the commands are filled with; nothing that the scanned repository chose reaches a command."""
    tests = _tests(seen)
    versions = ["the driver", *(["the compiler"] if seen.has_cuda else []), *(["the packages"] if seen.kinds & PYTHON else [])]
    gpus = [gpu for target in report.targets for gpu in GPUS_OF.get(target, (target,))]
    return {
        "targets": ",".join(report.targets), "one_target": _listed(report.targets), "one_gpu": _listed(gpus), "rocm": report.rocm,
        "root": ".", "gpus": str(GPUS), "test": tests[0] if tests else "", "size": _size(report, seen),
        "versions": _listed(versions, "and"),
    }  # fmt: skip


def _listed(names: Sequence[str], word: str = "or") -> str:
    """Names for a sentence: a, b or c."""
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _untested(seen: Traits, phase: str) -> str:
    """What stands in place of a command where nothing runs tests."""
    return (NO_RUNNER if seen.has_tests else NO_TESTS) + (COMPARE if phase != "baseline" else "")


def _size(report: Report, seen: Traits) -> str:
    """What porter size can be asked: the repository, the configuration of the model that is served, or nothing."""
    if report.sizing is not None and report.sizing.models:
        return "."
    return '"$MODEL_CONFIG_JSON"' if report.sizing is not None or seen.has("vllm", "sglang") else ""


def _builds(report: Report, seen: Traits) -> list[str]:
    """How this repository is built for the targets, by the build files that it has."""
    targets = ";".join(report.targets)
    if report.already_ported:
        return [OWN_BUILD]
    if seen.is_package or seen.is_extension:
        return [f"PYTORCH_ROCM_ARCH='{targets}' python -m pip install --no-build-isolation -v ."]
    if "cmake" in seen.kinds:
        return [
            f"cmake -B {AMD_BUILD} -DCMAKE_HIP_ARCHITECTURES='{targets}' -DCMAKE_BUILD_TYPE=Release",
            f"cmake --build {AMD_BUILD} --parallel",
        ]
    if "bazel" in seen.kinds:
        return [f"bazel build --config=rocm --action_env=TF_ROCM_AMDGPU_TARGETS={','.join(report.targets)} //..."]
    if "make" in seen.kinds:
        flags = " ".join(f"--offload-arch={target}" for target in report.targets)
        return [f"make CC=amdclang++ CXX=amdclang++ NVCC='hipcc {flags}'"]
    if not seen.has_cuda:
        return ["python -m pip install --no-build-isolation -v ."] if seen.installs else []
    return ["hipcc " + " ".join(f"--offload-arch={target}" for target in report.targets) + " -o program.amd <the translated sources>"]


def _kept(seen: Traits) -> list[str]:
    """The tests on the system that is replaced, all of them, with what they say kept in a file."""
    return [f"{command} 2>&1 | tee -a baseline-tests.txt" for command in _tests(seen, "build")]


def _tests(seen: Traits, folder: str = AMD_BUILD) -> list[str]:
    """How this repository is tested, by what it has, compiled tests first; ``folder`` is the one that CMake built in."""
    compiled = f"ctest --test-dir {folder} --output-on-failure" if seen.test_runner == tested.CTEST else seen.test_runner
    return [command for command in (compiled, "python -m pytest -q" if seen.python_tests else "") if command]
