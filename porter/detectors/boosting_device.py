"""Gradient-boosting libraries asked for a GPU: the argument decides, since the same packages run on the CPU everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from porter.config import Config
from porter.model import Fact, Hit
from porter.parse import Parsed

KINDS = ("python", "notebook")
WORDS = (
    b"gpu_hist", b"gpu_predictor", b"tree_learner", b"xgboost", b"lightgbm", b"catboost", (b"task_type", b"catboost"),
    *((b"device_type", library) for library in (b"lightgbm", b"xgboost", b"catboost")),
)  # fmt: skip

# rule, library, and the key=value pairs that ask for its GPU code
ASKS = (
    ("xgboost-gpu", "xgboost", ("device=cuda*", "device=gpu*", "tree_method=gpu_*", "predictor=gpu_predictor", "updater=grow_gpu_hist")),
    ("lightgbm-cuda", "lightgbm", ("device_type=cuda", "device=cuda", "tree_learner=cuda")),
    ("lightgbm-opencl", "lightgbm", ("device_type=gpu", "device=gpu")),
    ("catboost-gpu", "catboost", ("task_type=GPU",)),
)


def detect(parsed: Parsed, index: Any, config: Config) -> Iterable[Hit]:
    """One hit for each argument, or key of a parameter dict in a file that imports the library, that asks for a GPU."""
    arguments = [fact for fact in parsed.facts if fact.kind == "py_arg"]
    if not arguments:
        return
    imported = {fact.name.split(".")[0] for fact in parsed.facts if fact.kind == "py_import"}
    for rule, library, asks in ASKS:
        if library not in imported:
            continue
        others = imported & {name for _, name, _ in ASKS} - {library}
        for fact in arguments:
            callee = fact.detail.get("callee", "")
            given_to = fact.detail.get("argument_of", "").split(".")[0] == library
            told = callee.split(".")[0] == library or given_to or (callee == "{}" and not (others and _shared(fact)))
            if told and any(_fits(fact.name, ask) for ask in asks):
                yield Hit(rule, fact.span, f"passes {fact.name}", library, live=fact.live)


def _shared(fact: Fact) -> bool:
    """Whether several of the libraries have this key, so that a dict in a file that imports two of them says nothing."""
    return fact.name.partition("=")[0] == "device"


def _fits(name: str, ask: str) -> bool:
    return name.startswith(ask[:-1]) if ask.endswith("*") else name == ask
