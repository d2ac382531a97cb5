"""Switches over numbers of threads of which the AMD branch has fewer cases than the branch it replaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from porter.config import Config
from porter.flow.env import Env
from porter.flow.event import Event
from porter.flow.program import program_of
from porter.flow.values import WAVE
from porter.model import Confidence, Hit, Related
from porter.parse import Parsed

KINDS = ("cuda", "cxx")
MOST_LANES = 64


def detect(parsed: Parsed, index: Any, config: Config) -> Iterator[Hit]:
    """Hits on the first case of an AMD branch that leaves sizes out; only where a wave64 target is asked for."""
    if not config.wave64_targets:
        return
    for env in program_of(parsed, index).envs:
        switches: dict[int, list[Event]] = {}
        for event in env.function.events:
            if event.kind == "case":
                switches.setdefault(event.scope_end, []).append(event)
        for cases in switches.values():
            yield from _judge(env, cases, parsed.file.path, config.wave64_targets)


def _judge(env: Env, cases: list[Event], path: str, targets: tuple[str, ...]) -> Iterator[Hit]:
    numbers = [(event, value.num) for event in cases if (value := env.value(event.value)).kind == "const" and value.num is not None]
    if len(numbers) != len(cases) or not all(0 < number <= MOST_LANES and number & (number - 1) == 0 for _, number in numbers):
        return
    live = {number: event for event, number in reversed(numbers) if env.live(event.line)}
    gone = {number: event for event, number in reversed(numbers) if not env.live(event.line)}
    lost = sorted(gone.keys() - live.keys())
    if WAVE not in live or not lost:
        return
    first = min(live.values(), key=lambda event: event.span)
    words = ", ".join(str(number) for number in lost)
    message = f"{env.function.name} has no case for {words} in the build for AMD"
    related = tuple(Related(path, gone[number].line, f"case {number} of the build for CUDA") for number in lost)
    yield Hit(
        "amd-branch-lacks-cases", first.span, message, env.function.name, confidence=Confidence.MEDIUM, targets=targets, related=related
    )
