"""The reports' fixed words: names of categories, actions and origins, and the glossary."""

from __future__ import annotations

CATEGORY_NAMES = {
    "warp-size": "Warp size",
    "inline-ptx": "Inline PTX",
    "cuda-only-library": "CUDA-only libraries",
    "unsupported-api": "Unsupported API",
    "unsupported-feature": "Unsupported features",
    "arch-guard": "Architecture guards",
    "precision": "Precision",
    "python-api": "Python API",
    "triton": "Triton",
    "build": "Build",
    "container": "Containers",
    "deployment": "Deployment",
    "tooling": "Tooling",
    "environment": "Environment",
    "model-format": "Model formats",
    "binary": "Binaries",
    "performance": "Performance",
    "works-as-is": "Works as it is",
    "already-ported": "Already ported",
    "": "Project setup",
}
CATEGORY_WORDS = {
    "warp-size": "Code that counts on 32 lanes in a warp. Data-centre AMD GPUs (gfx9) have 64, so it may give wrong results in silence.",
    "inline-ptx": "Assembly for NVIDIA GPUs inside C++ code; no AMD compiler reads it.",
    "cuda-only-library": "Libraries and packages that exist for NVIDIA GPUs only.",
    "unsupported-api": "CUDA names for which HIP has no counterpart.",
    "unsupported-feature": "Features of the CUDA language or runtime that HIP lacks or does otherwise.",
    "arch-guard": "Code chosen by NVIDIA's compute capability; an AMD build takes another branch than intended.",
    "precision": "Number formats and rounding that differ between the vendors.",
    "python-api": "Python calls that answer otherwise, or not at all, on ROCm.",
    "triton": "Triton kernels and settings tuned to NVIDIA hardware.",
    "build": "Build scripts that name the CUDA toolchain.",
    "container": "Images and container settings made for NVIDIA GPUs.",
    "deployment": "Cluster and service settings that ask for NVIDIA GPUs.",
    "tooling": "Profilers, debuggers and monitors that have other names on ROCm.",
    "environment": "Environment variables that steer CUDA software.",
    "model-format": "Model files and quantisations tied to one vendor.",
    "binary": "Compiled files that run on NVIDIA GPUs only.",
    "performance": "Code that runs but leaves the hardware idle.",
}
ACTIONS = {
    "none": "nothing to do",
    "automatic": "translated automatically",
    "swap": "swap for the counterpart",
    "edit": "edit by hand",
    "redesign": "redesign",
    "check": "check",
}
ORIGIN_WORDS = {
    "vendored": "Vendored: copies of other people's projects",
    "generated": "Generated: files that a program wrote",
    "amd-side": "AMD side: code that already is for AMD GPUs",
    "own": "The project's own",
}
SEVERITY_WORDS = ("blocker", "major", "minor", "info")
CONFIDENCE_WORDS = ("high", "medium", "low", "high confidence", "medium confidence", "low confidence")
STATUS_WORDS = (
    "already ported", "works as is", "none known", "drop in replacement", "replacement with changes", "partial", "no equivalent",
    "works in its ROCm build",
)  # fmt: skip


def standing(status: str) -> str:
    """How a replacement stands to what it replaces, as words."""
    return "works in its ROCm build" if status == "works-with-rocm-build" else status.replace("-", " ")


_SIDE_BY_SIDE = "Keep both settings, chosen where the program is deployed."
_SWAP = (
    "Leave the feature out of the AMD build at first, behind a build option or an import that may fail.",
    "Keep this one part on NVIDIA GPUs and move the rest.",
)
# What else could be decided, by category, else by what the rule asks for: only what holds for every rule of the kind.
ALTERNATIVES = {
    "inline-ptx": (
        "Leave these kernels out of the AMD build where another path gives the same result.",
        "Write them in plain C++ first and tune later.",
    ),
    "triton": ("Run the Triton path without it first, and tune later.",),
    "warp-size": ("Support only wave32 GPUs (Radeon) at first, where this code keeps its 32 lanes.",),
    "cuda-only-library": _SWAP,
    "python-api": ("Keep both branches, chosen by torch.version.hip when the program starts.",),
    "precision": ("Keep both formats, chosen by the GPU when the program starts.",),
    "model-format": ("Serve another checkpoint of the same model whose format runs on both.",),
    "build": ("Keep both builds, chosen by an option.",),
    "container": ("Keep one image a vendor, chosen where the program is deployed.",),
    "deployment": (_SIDE_BY_SIDE,),
    "environment": (_SIDE_BY_SIDE,),
    "tooling": (_SIDE_BY_SIDE,),
    "swap": _SWAP,
    "redesign": (
        "Ship a plain version first and tune it later.",
        "Leave it out of the AMD build where another path gives the same result.",
    ),
    "edit": ("Keep both versions side by side, chosen by the vendor.",),
    "check": ("Accept it, and let a test say when it goes wrong.",),
}
LADDER = ("Seen", "Read in full", "Translated, no CUDA name left", "Compiles", "Links", "Runs", "Gives the same results", "Fast enough")
RUNBOOK_PHASES = {
    "baseline": "Baseline on CUDA", "environment": "Environment", "build": "Build", "correctness": "Correctness",
    "performance": "Performance", "cost": "Cost",
}  # fmt: skip
SCRIPT_WORDS = {
    "minute": "{n} min", "less": "< {n} min", "hour": "{n} h", "unchanged": "unchanged", "copied": "Copied",
    "copiedIssue": "Copied as an issue",
    "copy": "Copy as issue", "open": "Open all", "close": "Close all", "safe": "safe fix", "fix": "possible fix", "of": "{n} of {all}",
    "do": "What to do", "sources": "Sources:", "foundBy": "Found by porter, rule {rule}.", "sorted": "Sorted by {column}",
    "high": "high confidence", "medium": "medium confidence", "low": "low confidence",
    "blocker": "blocker", "major": "major", "minor": "minor", "info": "info",
}  # fmt: skip
SCRIPT_PLURALS = {
    "places": ("{n} place", "{n} places"),
    "more": ("{n} more place", "{n} more places"),
    "earlier": ("{n} earlier place", "{n} earlier places"),
    "findings": ("{n} finding", "{n} findings"),
    "ofFindings": ("{shown} of {n} finding", "{shown} of {n} findings"),
    "rules": ("under {n} rule", "under {n} rules"),
    "inReport": ("{n} more place is in the report.", "{n} more places are in the report."),
}
GLOSSARY = (
    ("Blocker", "Stops the build, or gives wrong results, on at least one target until somebody acts."),
    ("Major, minor, info", "Major: costs a feature or real work. Minor: small and local. Info: worth knowing, nothing breaks."),
    ("Confidence", "How sure the detector is that the finding is real: high, medium or low. It says nothing about severity."),
    ("Decision", "One thing to settle, such as a library to replace. All places that it settles share its hours."),
    (
        "gfx942, gfx950 …",
        "AMD's names of GPU architectures: gfx90a MI200, gfx942 MI300, gfx950 MI350; gfx10 to gfx12 are Radeon.",
    ),
    ("HIP", "AMD's C++ dialect and runtime, close to CUDA name by name."),
    ("hipify", "The mechanical translation of CUDA names to HIP names."),
    (
        "P10, P50, P80, P90",
        "Hours that 10, 50, 80 and 90 of 100 outcomes of a simulation over judged hours stay under: a judgement, not calibrated on real "
        "hours. Plan with P80.",
    ),
    ("PTX", "NVIDIA's assembly language."),
    ("ROCm", "AMD's GPU software: compilers, runtime and libraries."),
    ("Wavefront, warp", "The group of threads that runs in step: 32 on NVIDIA and Radeon GPUs, 64 on gfx9."),
)
