"""Every value that crosses a stage of the audit: frozen, plain, and free of imports from the rest of porter."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec


class Ordered(str, Enum):
    """A word with a rank: members compare by the order in which they are written."""

    @property
    def rank(self) -> int:
        """Place in the order, from 0."""
        return list(type(self)).index(self)

    def __lt__(self, other: object) -> bool:
        return self.rank < self._other(other).rank

    def __le__(self, other: object) -> bool:
        return self.rank <= self._other(other).rank

    def __gt__(self, other: object) -> bool:
        return self.rank > self._other(other).rank

    def __ge__(self, other: object) -> bool:
        return self.rank >= self._other(other).rank

    def _other(self, other: object) -> Ordered:
        if type(other) is not type(self):
            raise TypeError(f"cannot order {type(self).__name__} against {type(other).__name__}")
        return other

    def __str__(self) -> str:
        return str(self.value)


class Severity(Ordered):
    """How bad it is on an AMD GPU if nothing is done."""

    INFO = "info"
    MINOR = "minor"
    MAJOR = "major"
    BLOCKER = "blocker"


class Confidence(Ordered):
    """How sure the detector is that the finding is real."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Action(str, Enum):
    """What somebody has to do."""

    NONE = "none"
    AUTOMATIC = "automatic"
    SWAP = "swap"
    EDIT = "edit"
    REDESIGN = "redesign"
    CHECK = "check"

    def __str__(self) -> str:
        return self.value


class Live(str, Enum):
    """Whether code is compiled, or run, in the build for AMD."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        return self.value


class Origin(str, Enum):
    """Whose code a file is; only OWN counts in the totals."""

    OWN = "own"
    VENDORED = "vendored"
    GENERATED = "generated"
    AMD = "amd-side"

    def __str__(self) -> str:
        return self.value


CATEGORIES = (
    "warp-size", "inline-ptx", "cuda-only-library", "unsupported-api", "unsupported-feature", "arch-guard", "precision",
    "python-api", "triton", "build", "container", "deployment", "tooling", "environment", "model-format", "binary",
    "performance",
)  # fmt: skip
AMD_SIGNS_OF_A_PORT = 3  # guards or AMD-side files that make a project one that knows AMD
INSIGHT_CATEGORIES = ("works-as-is", "already-ported")


class Span(msgspec.Struct, frozen=True, order=True, gc=False):
    """A stretch of a file; lines and columns count from 1, the end is exclusive, columns count bytes."""

    line: int
    column: int
    end_line: int
    end_column: int


class SourceFile(msgspec.Struct, frozen=True):
    """One file of the repository: its path relative to the root, its kind (discover.py), and its text.

    ``data`` is UTF-8 whatever the file was stored in, so byte columns agree everywhere; line ends are as in the file.
    ``sibling`` is the path of the AMD version of this file where one stands beside it.
    """

    path: str
    kind: str
    data: bytes = b""
    origin: Origin = Origin.OWN
    sibling: str = ""

    @property
    def text(self) -> str:
        """The text as str; never fails."""
        return self.data.decode("utf-8", "replace")


class Fact(msgspec.Struct, frozen=True, gc=False):
    """What a parser saw: a name in a known place.

    ``kind`` is one of FACT_KINDS; ``detail`` holds what only some kinds have (specifier of a requirement, callee of an
    argument …); ``args`` are the source texts of call or launch arguments.
    """

    kind: str
    name: str
    span: Span
    context: str = "unknown"  # host, device, build, unknown
    live: Live = Live.UNKNOWN
    seen_by: str = ""
    args: tuple[str, ...] = ()
    detail: dict[str, str] = {}


FACT_KINDS = {
    "include": "path in an #include, as written",
    "call": "callee of a C++ call, qualified as written, template arguments removed: cub::DeviceReduce::Sum",
    "type": "type name in C++, qualified as written, template arguments removed",
    "identifier": "any other use of a name in C++ code: enumerator, macro, variable",
    "launch": "kernel name of a <<<>>> launch",
    "define": "macro name in a #define",
    "macro_test": "macro named in an #if, #ifdef, #ifndef or #elif",
    "pragma": "text of a #pragma",
    "ptx": "PTX opcode with modifiers in an asm statement or a .ptx file: cp.async.cg.shared.global",
    "py_import": "dotted module of a Python import; `from a import b` gives a and a.b",
    "py_call": "dotted callee, import aliases resolved: torch.cuda.get_device_capability",
    "py_attr": "dotted attribute read or written, aliases resolved: torch.backends.cuda.matmul.allow_tf32",
    "py_arg": "keyword argument with a constant value, as key=value; detail.callee is the call",
    "py_string": "string constant that is a whole value: 'flash_attention_2'",
    "requirement": "PEP 503 name of a Python dependency; detail: specifier, extras, marker, url, pinned_by",
    "conda_package": "name of a conda dependency",
    "index_url": "URL of a package index or find-links page",
    "apt_package": "system package that apt, dnf, yum, apk or zypper installs",
    "cmake_package": "package of find_package; also meson dependency()",
    "cmake_command": "CMake command of interest, lower case: cuda_add_library, enable_language:CUDA, project:CUDA",
    "cmake_target": "imported target: CUDA::cublas",
    "cmake_var": "CMake variable that is set or read: CMAKE_CUDA_ARCHITECTURES",
    "build_symbol": "name in Bazel, Make, Meson or setup.py: cuda_library, @local_config_cuda, NVCC, CUDAExtension",
    "compile_flag": "compiler flag: -gencode, --use_fast_math, -maxrregcount",
    "link_library": "library without -l: cudart, cublas, nvinfer",
    "image": "container image reference, registry included",
    "env_var": "environment variable set or read; detail.value where constant",
    "command": "command line, first words: 'nvidia-smi', 'nsys profile', 'docker run'",
    "command_flag": "command and one flag: 'docker run --gpus', 'vllm serve --quantization=modelopt'",
    "manifest_key": "key path in YAML or compose, optional =value: resources.limits.nvidia.com/gpu, runtimeClassName=nvidia",
    "model_key": "key in a model's config, =value: quantization_config.quant_method=modelopt",
    "binary": "suffix or embedded mark of a binary: .engine, .cubin, elf:libcudart.so",
}


class Problem(msgspec.Struct, frozen=True, order=True):
    """Something that made the audit less complete; ``matters`` is false for what loses no finding."""

    stage: str
    path: str
    line: int
    what: str
    matters: bool = True


class Skipped(msgspec.Struct, frozen=True, order=True):
    """A file or folder that is not in the totals, and why."""

    path: str
    why: str
    origin: str = ""
    files: int = 1
    cuda_files: int = 0
    cuda_lines: int = 0


class Related(msgspec.Struct, frozen=True, order=True):
    """Another place that belongs to a finding."""

    path: str
    line: int
    note: str


class Hit(msgspec.Struct, frozen=True):
    """What a detector or a data rule returns: rule id, place, and the words that only this place can supply.

    ``message`` completes the rule's title; ``subject`` is the thing found (a package, a constant, an opcode) and findings
    of one rule with one subject are settled by one decision; ``group`` overrides that key.
    """

    rule: str
    span: Span
    message: str = ""
    subject: str = ""
    group: str = ""
    live: Live = Live.UNKNOWN
    confidence: Confidence | None = None
    targets: tuple[str, ...] | None = None
    related: tuple[Related, ...] = ()


class Hours(msgspec.Struct, frozen=True):
    """Person-hours: best, likely, worst."""

    best: float = 0.0
    likely: float = 0.0
    worst: float = 0.0

    def __add__(self, other: Hours) -> Hours:
        return Hours(self.best + other.best, self.likely + other.likely, self.worst + other.worst)

    def times(self, factor: float) -> Hours:
        """Each of the three multiplied."""
        return Hours(self.best * factor, self.likely * factor, self.worst * factor)


class Effort(msgspec.Struct, frozen=True):
    """Cost of a rule's group: once a project, a file, a hit; hits after the first in a file cost m**(learning exponent).

    ``learning`` is the learning rate of a doubling (0.8: the second costs 80 % of the first).
    """

    once: Hours = Hours()
    file: Hours = Hours()
    each: Hours = Hours()
    learning: float = 0.85


class Replacement(msgspec.Struct, frozen=True):
    """What takes the place of the thing found on ROCm."""

    name: str
    how: str = ""
    status: str = ""
    rocm: str = ""


class Source(msgspec.Struct, frozen=True):
    """Evidence of a rule: where, what it says, and the day it was read (ISO date)."""

    url: str
    says: str
    checked: str


class Example(msgspec.Struct, frozen=True):
    """Code that must be flagged, and code that must not; shown in the documentation and run as a test."""

    file: str
    before: str
    after: str


class Rule(msgspec.Struct, frozen=True):
    """One TOML file under rules/: all the prose, severity, effort and sources of a thing that porter finds."""

    id: str
    title: str
    category: str
    severity: Severity
    confidence: Confidence
    action: Action
    why: str
    effort: Effort = Effort()
    targets: tuple[str, ...] = ()
    replacement: Replacement | None = None
    match: dict[str, tuple[str, ...]] = {}
    detector: str = ""
    sources: tuple[Source, ...] = ()
    examples: tuple[Example, ...] = ()
    formerly: tuple[str, ...] = ()
    origins: tuple[str, ...] = ("own",)
    area: str = ""

    @property
    def is_insight(self) -> bool:
        """True where nothing has to be done: the hit is reported as good news, never as work."""
        return self.action is Action.NONE


class Finding(msgspec.Struct, frozen=True):
    """A hit with its rule: one row of the report (the keys of the JSON contract, in its order)."""

    rule: str
    category: str
    severity: Severity
    confidence: Confidence
    action: Action
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    snippet: str
    message: str
    replacement: Replacement | None
    targets: tuple[str, ...]
    effort_hours: Hours = Hours()
    fingerprint: str = ""
    group: str = ""
    state: str = "new"
    related: tuple[Related, ...] = ()

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """The order of every list in every report."""
        return (self.path, self.line, self.column, self.rule, self.message)


class HipifyCount(msgspec.Struct, frozen=True):
    """Names the translation changed, and names it had to leave, in one file. ``names`` counts converted CUDA names."""

    converted: int = 0
    unconverted: int = 0
    names: dict[str, int] = {}
    left: dict[str, int] = {}
    diff: str = ""
    engine: str = "builtin"
    disagreement: str = ""


class FileRecord(msgspec.Struct, frozen=True):
    """One scanned file. ``coverage`` is the share of its bytes outside syntax-error regions, 0 to 1."""

    path: str
    kind: str
    lines: int
    hipify: HipifyCount | None = None
    coverage: float = 1.0


class Kernel(msgspec.Struct, frozen=True):
    """One __global__ function: where it stands, what it uses, how often it is launched in its file set."""

    name: str
    path: str
    line: int
    lines: int
    features: tuple[str, ...] = ()
    launches: int = 0


class EffortLine(msgspec.Struct, frozen=True):
    """One line of the sum: what it is, the arithmetic in words, its hours, the findings it covers."""

    label: str
    arithmetic: str
    hours: Hours
    rule: str = ""
    group: str = ""
    category: str = ""
    findings: int = 0
    files: int = 0
    kind: str = "finding"  # finding, project


class Quantiles(msgspec.Struct, frozen=True):
    """Ten, fifty, eighty and ninety per cent points of the simulated total."""

    p10: float = 0.0
    p50: float = 0.0
    p80: float = 0.0
    p90: float = 0.0


class Estimate(msgspec.Struct, frozen=True):
    """The total in hours and in hand-changed lines, with every line of the sum."""

    hours: Quantiles = Quantiles()
    hand_lines: Quantiles = Quantiles()
    lines: tuple[EffortLine, ...] = ()
    total: Hours = Hours()
    seed: int = 0
    grade: str = ""
    grade_reasons: tuple[str, ...] = ()


class HipifySummary(msgspec.Struct, frozen=True):
    """Which engine's output the report shows, and what it did in all own CUDA files."""

    engine: str = "builtin"
    version: str = ""
    converted: int = 0
    unconverted: int = 0
    notes: tuple[str, ...] = ()


class OriginCount(msgspec.Struct, frozen=True):
    """Files, CUDA files and CUDA lines of one origin."""

    origin: str
    files: int = 0
    cuda_files: int = 0
    cuda_lines: int = 0


class Report(msgspec.Struct, frozen=True):
    """All that an audit found; every renderer reads this and nothing else."""

    tool_version: str
    rules_version: str
    root: str
    commit: str
    targets: tuple[str, ...]
    rocm: str
    files: tuple[FileRecord, ...]
    findings: tuple[Finding, ...]
    insights: tuple[Finding, ...]
    estimate: Estimate
    hipify: HipifySummary
    kernels: tuple[Kernel, ...]
    problems: tuple[Problem, ...]
    skipped: tuple[Skipped, ...]
    origins: tuple[OriginCount, ...]
    cuda_files: int
    cuda_lines: int
    rules: dict[str, Rule]
    command: str = ""
    date: str = ""
    fixed: tuple[Finding, ...] = ()
    amd_signs: tuple[Related, ...] = ()  # places in own code that know AMD: guards, tests for HIP, ROCm settings

    @property
    def already_ported(self) -> bool:
        """True when the project itself already builds for AMD, as far as its own code shows."""
        return len(self.amd_signs) >= AMD_SIGNS_OF_A_PORT

    @property
    def complete(self) -> bool:
        """False when a problem may have cost a finding."""
        return not any(problem.matters for problem in self.problems)


def plain(value: Any) -> Any:
    """A value of this module as dicts, lists and strings."""
    return msgspec.to_builtins(value)
