"""Where NVIDIA hardware stays the better choice: five conditions, each with what this report shows of it, and what it cannot show."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from itertools import chain

from porter.advise.traits import DAYS, STANDS_ON, Traits, traits
from porter.estimate.project import SAME
from porter.estimate.simulate import two_digits
from porter.estimate.words import duration
from porter.model import Action, Note, Report, Severity
from porter.size import advice

NVIDIA, MEASURE = "nvidia", "measure"
MOST_NAMED = 4
NVFP4 = ("checkpoint-nvfp4", "nvfp4-model-name")
DOMAIN = ("nvlink-domain-assumption", "tensor-parallel-over-node", "multicast-memory")
TRAINING = ("deepspeed*", "megatron-core", "horovod", "nemo-*", "colossalai", "bmtrain", "lightning")


def stays(report: Report) -> tuple[Note, ...]:
    """A note for each condition that holds or has to be measured, and one that names those of which nothing was found."""
    if not (report.findings or report.insights or report.sizing):
        return ()
    seen = traits(report)
    made = {
        "components that cannot be replaced": _components(report),
        "a domain larger than one server": _domain(report),
        "small models": _small(report),
        "NVFP4 checkpoints": _nvfp4(report),
        "training that the interconnect limits": _training(report, seen),
    }
    notes = [note for note in made.values() if note is not None]
    absent = [name for name, note in made.items() if note is None]
    unsized = report.sizing is None or not report.sizing.models
    if absent:
        tail = "; without a model of known size, small models are not judged" if unsized and "small models" in absent else ""
        notes.append(Note(f"Nothing of this kind was found here: {', '.join(absent)}{tail}."))
    return tuple(notes)


def _components(report: Report) -> Note | None:
    """What has no counterpart, and what asks for days of another design or another library."""
    hours: dict[str, float] = {}
    hard: set[str] = set()
    designs: set[str] = set()
    for finding in report.findings:
        library = finding.category in STANDS_ON
        if finding.severity < Severity.MAJOR or not (library or finding.action is Action.REDESIGN):
            continue
        if finding.replacement is not None and finding.replacement.status in SAME:  # a build for ROCm is no reason to stay
            continue
        hours[finding.rule] = hours.get(finding.rule, 0.0) + finding.effort_hours.likely
        if library and finding.action is Action.REDESIGN:
            designs.add(finding.rule)
        if library and (finding.replacement is None or finding.replacement.status == "no-equivalent"):
            hard.add(finding.rule)
    named = sorted(
        (rule for rule in hours if rule in hard | designs or hours[rule] >= DAYS), key=lambda rule: (rule not in hard, -hours[rule], rule)
    )
    if not named:
        return None
    words = [f"{report.rules[rule].title} ({_cost(report, rule, hours[rule], rule in hard)})" for rule in named[:MOST_NAMED]]
    more = f"; and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    total = two_digits(sum(hours[rule] for rule in named))
    together = f" Likely {duration(total)} together." if len(named) > 1 else ""
    return Note(
        f"Components: {'; '.join(words)}{more}.{together} Where less time than that is left, what stands on "
        "them stays on NVIDIA hardware, and the rest can move first.",
        side=NVIDIA,
    )


def _cost(report: Report, rule: str, hours: float, hard: bool) -> str:
    """The likely hours, and what comes nearest where nothing is the same."""
    nearest = report.rules[rule].replacement
    if not hard:
        return duration(two_digits(hours))
    return f"{duration(two_digits(hours))}, no equivalent" + (f", nearest {nearest.name}" if nearest else "")


def _domain(report: Report) -> Note | None:
    if _hit(report, DOMAIN):
        return Note(
            "Domain: settings or code count on more GPUs in one fast domain than the eight of a server, or on NVLink switches. MI300 and "
            "MI350 servers end at eight; NVIDIA's GB200 and GB300 systems join more, the better choice where that traffic is the limit.",
            advice.DOMAIN_SOURCE, NVIDIA,
        )  # fmt: skip
    return _sized(report, advice.DOMAIN_SOURCE, "Domain", "one server of eight holds it on no AMD row with a checked memory size")


def _small(report: Report) -> Note | None:
    what = "one NVIDIA GPU of 80 GB holds it, so more memory on a GPU wins nothing by itself"
    return _sized(report, advice.SMALL_SOURCE, "Small models", what)


def _nvfp4(report: Report) -> Note | None:
    if _hit(report, NVFP4):
        return Note(
            "NVFP4: a checkpoint or a setting asks for it. vLLM emulates it on AMD GPUs, for correctness rather than speed: B200 and B300 "
            "stay the better choice for that checkpoint as it is, and another one of the model (FP8, BF16, MXFP4) changes that.",
            advice.NVFP4_SOURCE, NVIDIA,
        )  # fmt: skip
    return _sized(report, advice.NVFP4_SOURCE, "NVFP4", "its weights are NVFP4, which vLLM emulates on AMD GPUs")


def _training(report: Report, seen: Traits) -> Note | None:
    """Collectives alone do not say that the interconnect limits anything; the profile of the system that is there does."""
    locks = {record.path for record in report.files if record.kind == "python-lock"}  # what a lock file pins may be nobody's choice
    chosen = {finding.rule for finding in chain(report.findings, report.insights) if finding.path not in locks}
    framework = seen.has("torch", "jax", "tensorflow") and not seen.has("vllm", "sglang", "tritonserver")
    distributed = framework and (seen.has("collectives") or "torch-nccl-backend" in seen.rules)
    if not distributed and not any(fnmatch.fnmatchcase(rule, glob) for rule in chosen for glob in TRAINING):
        return None
    return Note(
        "Interconnect: the repository uses collectives over several GPUs, or a framework that trains with them. For training, take the "
        "share of a step that waits for them from a profile on the NVIDIA system, within a server and across servers: where it is "
        "large, NVIDIA hardware stays the better choice until all_reduce at your message sizes has been measured on the AMD system.",
        side=MEASURE,
    )


def _sized(report: Report, source: str, name: str, what: str) -> Note | None:
    """What the sizes of models say: the note is the same for all of them."""
    models = report.sizing.models if report.sizing else ()
    many = sum(1 for model in models if any(note.source == source and note.side for note in model.advice))
    if not many:
        return None
    which = "the model that was sized" if len(models) == 1 else f"{many} of the {len(models)} models that were sized"
    return Note(f"{name}: this holds for {which}: {what}. See the sizes of models.", source, NVIDIA)


def _hit(report: Report, globs: Iterable[str]) -> bool:
    rules = {finding.rule for finding in report.findings}
    return any(fnmatch.fnmatchcase(rule, glob) for rule in rules for glob in globs)
