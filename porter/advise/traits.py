"""What a report says of a repository's nature: the few yes-or-no questions that strategies and runbook turn on."""

from __future__ import annotations

import fnmatch
from array import array
from itertools import chain

import msgspec

from porter import tested
from porter.model import Action, Report, Severity

MATRIX_FEATURES = frozenset({"tensor cores", "asynchronous copies", "clusters"})
REPLACED = ("replacement-with-changes", "no-equivalent")
DAYS = 16.0  # likely hours from which replacing a library is a way to port of its own
BUILDS = frozenset({"cmake", "make", "bazel", "meson"})
SOURCES = frozenset({"warp-size", "inline-ptx", "unsupported-feature", "unsupported-api", "arch-guard", "precision"})  # of own CUDA code
WORDS = {  # trait -> globs on the ids of rules that hit, in findings and insights
    "torch": ("torch", "torch-*", "pytorch-*", "ngc-pytorch-image"),
    "vllm": ("vllm*", "amd-vllm-image", "tensorrt-llm*", "trtllm-*", "nim-image"),
    "tritonserver": ("triton-server-image", "triton-tensorrt-model", "triton-server-*"),
    "jax": ("jax*", "ngc-jax-image"),
    "tensorflow": ("tensorflow*", "ngc-tensorflow-image", "nvidia-tensorflow"),
    "sglang": ("sglang*",),
    "kubernetes": ("kubernetes-*", "nvidia-gpu-operator", "nvidia-device-plugin-image"),
    "slurm": ("slurm-gpu-type",),
    "collectives": ("nccl", "nccl-*", "horovod", "deepspeed", "megatron-core"),
    "triton": (
        "triton-autotune-*", "triton-cta-cluster", "triton-dot-*", "triton-fp8-*", "triton-gluon-*", "triton-inline-ptx", "triton-language",
        "triton-launch-pdl", "triton-libdevice-*", "triton-maxnreg", "triton-num-warps-*", "triton-ptx-of-kernel", "triton-stages-*",
        "triton-tma-*", "triton-warp*",
    ),
    "fp8": ("fp8-*", "*fp8*", "nvfp4*", "modelopt*"),
}  # fmt: skip


class Traits(msgspec.Struct, frozen=True):
    """Answers about one repository, all from its report."""

    has_cuda: bool
    ported: bool  # the project builds for AMD already
    installs: bool  # a setup.py or pyproject.toml at its root
    is_package: bool  # a Python package with CUDA sources of its own, made by the setup.py of its root
    is_extension: bool  # PyTorch compiles and translates: a setup.py anywhere, and a CUDAExtension or nothing else seen to compile CUDA
    has_tests: bool
    test_runner: str  # of compiled tests: ctest, make test; empty where nothing was seen that runs them
    python_tests: bool
    kinds: frozenset[str]
    rules: frozenset[str]
    words: frozenset[str]
    matrix_kernels: int  # kernels on tensor cores, asynchronous copies or clusters
    libraries_first: bool  # its CUDA sources ask for little beside what it stands on and has no drop-in for ROCm
    kernels: int
    kernel_lines: int
    names: int  # different CUDA names that the translation knows

    def has(self, *words: str) -> bool:
        """Whether one of the words of WORDS is true."""
        return any(word in self.words for word in words)


def traits(report: Report) -> Traits:
    """The answers."""
    kinds = frozenset(record.kind for record in report.files)
    rules = frozenset(finding.rule for finding in chain(report.findings, report.insights))
    names = {name for record in report.files if record.hipify is not None for name in record.hipify.names}
    tests = [record for record in report.files if tested.is_test(record.path, record.kind)]
    runners = {record.tests for record in report.files if record.tests}
    setups = {record.path for record in report.files if record.path.rsplit("/", 1)[-1] == "setup.py"} if "cuda" in kinds else set()
    matrix = [kernel for kernel in report.kernels if MATRIX_FEATURES & set(kernel.features)]
    return Traits(
        has_cuda=any(record.kind == "cuda" for record in report.files),
        ported=report.already_ported,
        installs=any(record.path in ("setup.py", "pyproject.toml") for record in report.files),
        is_package="setup.py" in setups,
        is_extension=bool(setups) and (_extends_torch(report) or not _other_build(report)),
        has_tests=bool(tests or runners),
        test_runner=tested.CTEST if tested.CTEST in runners else min(runners, default=""),
        python_tests=any(record.kind == "python" for record in tests),
        kinds=kinds,
        rules=rules,
        words=frozenset(word for word, globs in WORDS.items() if any(fnmatch.fnmatchcase(rule, glob) for rule in rules for glob in globs)),
        matrix_kernels=len(matrix),
        libraries_first=_libraries_first(report),
        kernels=len(report.kernels),
        kernel_lines=sum(kernel.lines for kernel in report.kernels),
        names=len(names),
    )


def _other_build(report: Report) -> bool:
    """Whether a build file besides setup.py compiles CUDA: the findings of the build say so."""
    files = {record.path for record in report.files if record.kind in BUILDS}
    return any(finding.category == "build" and finding.path in files for finding in report.findings)


def _extends_torch(report: Report) -> bool:
    """Whether most of the CUDA lines stand below folders with a CUDAExtension: that of a test does not build the program."""
    places = {
        one.path.rpartition("/")[0].split("/")[0] for one in chain(report.findings, report.insights) if one.rule == "torch-cuda-extension"
    }
    lines = [(record.path.split("/")[0], record.lines) for record in report.files if record.kind == "cuda"]
    below = sum(count for top, count in lines if top in places or "" in places)
    return bool(places) and 2 * below >= sum(count for _, count in lines)


def _libraries_first(report: Report) -> bool:
    """Most of the likely hours go to what has no drop-in for ROCm, and hardly any to the program's own CUDA sources."""
    everything, sources = array("d"), array("d")
    for finding in report.findings:
        everything.append(finding.effort_hours.likely)
        if finding.category in SOURCES:
            sources.append(finding.effort_hours.likely)
    total = sum(everything)
    return bool(total) and library_hours(report) >= 0.4 * total and sum(sources) <= 0.1 * total


def redesign_hours(report: Report) -> float:
    """Likely hours of the findings that ask for another design."""
    return sum(finding.effort_hours.likely for finding in report.findings if finding.action is Action.REDESIGN)


STANDS_ON = frozenset({"cuda-only-library", "container"})  # categories of what a program calls or is served by


def blocking_libraries(report: Report) -> list[tuple[str, str]]:
    """Libraries and servers without a drop-in for ROCm, each with what takes its place; the dearest first.

    Those count that take days to replace, and those whose replacement is another design, however little of the own code calls them.
    """
    cost = _blocking(report)
    out = []
    for rule_id in sorted(cost, key=lambda name: (-cost[name], name)):
        rule = report.rules[rule_id]
        out.append((rule.title, rule.replacement.name if rule.replacement else "no known replacement"))
    return out


def library_hours(report: Report) -> float:
    """Likely hours of what blocking_libraries names."""
    return sum(_blocking(report).values())


def _blocking(report: Report) -> dict[str, float]:
    cost: dict[str, float] = {}
    designs: set[str] = set()
    for finding in report.findings:
        status = finding.replacement.status if finding.replacement else "no-equivalent"
        design = finding.action is Action.REDESIGN
        if finding.severity >= Severity.MAJOR and finding.category in STANDS_ON and (status in REPLACED or design):
            cost[finding.rule] = cost.get(finding.rule, 0.0) + finding.effort_hours.likely
            designs |= {finding.rule} if design else set()
    return {rule: hours for rule, hours in cost.items() if hours >= DAYS or rule in designs}
