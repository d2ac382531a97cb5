"""What the report says of the whole: effort, hipify's sums, origins, suppressions, the baseline."""

from __future__ import annotations

import msgspec

from porter.many import Many
from porter.model_rule import Hours, Quantiles, Source


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
    phase: str = ""  # id of the Phase this line belongs to
    applies: str = ""  # when a project line applies, and why it does here
    once: Hours = Hours()  # the part of the hours that settles the thing once, whatever the number of places


class Phase(msgspec.Struct, frozen=True):
    """A part of the work in the order it is done: the plan, the build, right results, speed; its lines sum to ``hours``."""

    id: str  # plan, build, right, fast
    name: str
    what: str
    hours: Hours
    lines: int = 0


class Assumption(msgspec.Struct, frozen=True):
    """Something that the user told the estimate (a rate, experience, assistance), and what it changed."""

    name: str
    value: str
    effect: str


class Cost(msgspec.Struct, frozen=True):
    """Money at the rate that the user gave, for the hours of the estimate; there is none without a rate."""

    currency: str
    rate: float  # an hour
    money: Quantiles = Quantiles()


class Backtest(msgspec.Struct, frozen=True):
    """How the hand-line model did on programs it was not fitted on; the whole table is in docs/effort.md."""

    version: str  # of the parameters: changes whenever they are fitted again
    corpus: str
    programs: int
    coverage: float  # share of programs whose real lines lie in P10 to P90
    width: float  # mean width of P10 to P90 over that of the same ranges, their upper ends lowered until they hold 80 %
    rank_correlation: float  # Spearman, predicted P50 against real lines
    rank_of_loc: float  # the same for lines of CUDA code alone
    bias: float  # mean of predicted P50 less real, in lines
    method: str = ""


class Evidence(msgspec.Struct, frozen=True):
    """What compilers showed of the translated CUDA files: the rung of each by path, and who said it, by target."""

    compilers: dict[str, str]  # targets without one are left out
    rungs: dict[str, str]  # the lowest over those targets
    unjudged: tuple[str, ...] = ()  # files whose headers the machine lacks
    errors: int = 0
    unpredicted: int = 0  # errors that no finding had predicted
    rocm: str = ""  # the release that the headers were of


class Strategy(msgspec.Struct, frozen=True):
    """One way to get the code onto AMD GPUs, costed on this repository's findings; exactly one is recommended."""

    id: str
    name: str
    what: str
    fits: bool  # False: named, with why it does not fit here
    why: str  # why it fits or not
    hours: Hours = Hours()  # the whole way as P10, P50 and P90, project lines included; zero where it does not fit
    added_lines: Quantiles = Quantiles()  # lines added to the tree, by hand or by machine
    maintenance: str = ""  # what it does to later maintenance, in words
    maintenance_hours: Hours = Hours()  # a year
    recommended: bool = False
    reason: str = ""  # of the recommendation
    costed: bool = True  # False for alternatives whose cost porter cannot know
    sources: tuple[Source, ...] = ()


class RunbookStep(msgspec.Struct, frozen=True):
    """One step of the validation: what to do, the commands, what must come out, and which findings it settles."""

    id: str
    phase: str  # baseline, environment, correctness, performance, cost
    title: str
    why: str
    commands: tuple[str, ...] = ()
    expect: str = ""
    settles: tuple[str, ...] = ()  # groups of findings (Finding.group)
    rules: tuple[str, ...] = ()  # their rules
    sources: tuple[Source, ...] = ()


class Estimate(msgspec.Struct, frozen=True):
    """The total in hours and in hand-changed lines of source (removed and added both count), with every line of the sum."""

    hours: Quantiles = Quantiles()
    hand_lines: Quantiles = Quantiles()
    lines: Many[EffortLine] = ()
    total: Hours = Hours()
    seed: int = 0
    grade: str = ""
    grade_reasons: tuple[str, ...] = ()
    phases: tuple[Phase, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    cost: Cost | None = None
    build_lines: Quantiles = Quantiles()  # lines of build, packaging, container and deployment files; not in hand_lines


class GpuFit(msgspec.Struct, frozen=True):
    """One kind of GPU for one model: how many, how they are laid out, what stays free, and money where the user gave prices."""

    vendor: str
    gpu: str
    memory_gb: float
    verified: bool  # False: nobody has checked the memory size
    gpus: int  # 0: porter tries no number of servers that holds the model
    tensor: int
    pipeline: int
    replicas: int  # a server of eight
    free_gb: float
    runs: str  # whether the hardware computes in the model's format
    gpu_hour: float | None = None
    month: float | None = None  # of the GPUs that the model needs
    gb_month: float | None = None
    million_tokens: float | None = None  # cost; needs a throughput that the user measured


class Note(msgspec.Struct, frozen=True):
    """Something to know, and its source; ``side`` says whose hardware it speaks for, where it takes a side."""

    text: str
    source: str = ""
    side: str = ""


class ModelSize(msgspec.Struct, frozen=True):
    """A model for inference: memory by part, and how many GPUs of each kind; 1 GB = 10^9 bytes."""

    name: str
    where: str
    params: int
    dtype: str
    kv_dtype: str
    context: int
    concurrency: int
    weights_gb: float
    kv_gb: float
    total_gb: float
    reserve_share: float
    asked_tensor: int = 0
    fits: tuple[GpuFit, ...] = ()
    advice: tuple[Note, ...] = ()
    currency: str = ""


class Sizing(msgspec.Struct, frozen=True):
    """The models that the repository serves or the user names; the largest, and how many more; names nobody here can size."""

    models: tuple[ModelSize, ...]
    not_sized: tuple[str, ...] = ()
    more: int = 0


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


class Suppression(msgspec.Struct, frozen=True):
    """Why a finding is out of the totals: a comment in the source (kind "inSource") or the settings ("external")."""

    kind: str
    path: str
    line: int
    reason: str = ""


class Baseline(msgspec.Struct, frozen=True):
    """What the report was compared with (a file name or a revision), the counts, and the debt in hours before and after.

    ``change`` is the difference of the sums of likely hours, finer than the simulated totals, which are rounded.
    """

    source: str
    commit: str
    new: int
    fixed: int
    unchanged: int
    before: Quantiles
    after: Quantiles
    change: float = 0.0


class Scope(msgspec.Struct, frozen=True):
    """What --changed-since left to look at: files that differ from a revision, and how many do not."""

    revision: str
    commit: str
    changed: int
    unchanged: int
