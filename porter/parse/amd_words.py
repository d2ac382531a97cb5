"""Words that say AMD or NVIDIA in names and conditions of build files, with the three-valued logic over them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from porter.model import Live

_SPLIT = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")
_AMD = frozenset(("rocm", "hip", "hipcc", "amdgcn", "amdgpu", "rocminfo", "hipify", "amdsmi", "rocmsmi", "kfd", "hipblas", "rccl"))
_AMD_FILES = ("/opt/rocm", "/dev/kfd", "rocm-smi", "amd-smi", "rocminfo")
_NVIDIA = frozenset(("cuda", "nvidia", "nvcc", "cudatoolkit", "nvidiasmi", "cudnn"))
Truth = bool | None


def words_of(name: str) -> frozenset[str]:
    """The words of an identifier or phrase, lower case: USE_ROCM, useRocm and use-rocm all hold `rocm`."""
    return frozenset(words_in_order(name))


def words_in_order(name: str) -> tuple[str, ...]:
    """The same words as they stand."""
    return tuple(word.lower() for word in _SPLIT.split(name[:2_000]) if word)


def says_amd(name: str) -> bool:
    """Whether a name holds a word of AMD's stack: ROCM, HIP, AMDGPU and the like (never AMD alone: that is a CPU as well)."""
    words = words_of(name)
    if words & _AMD or any(mark in name for mark in _AMD_FILES):
        return True
    return any(word.startswith("rocm") or (word.startswith("gfx") and len(word) >= 6 and word[3].isdigit()) for word in words)


def says_nvidia(name: str) -> bool:
    """Whether a name holds a word of NVIDIA's stack: CUDA, NVIDIA, NVCC and the like."""
    words = words_of(name)
    return bool(words & _NVIDIA) or any(word.startswith("cuda") for word in words)


def all_of(values: Iterable[Truth]) -> Truth:
    """Three-valued AND."""
    listed = list(values)
    if any(value is False for value in listed):
        return False
    return None if any(value is None for value in listed) else True


def any_of(values: Iterable[Truth]) -> Truth:
    """Three-valued OR."""
    listed = list(values)
    if any(value is True for value in listed):
        return True
    return None if any(value is None for value in listed) else False


def negated(value: Truth) -> Truth:
    """Three-valued NOT."""
    return None if value is None else not value


class Chain:
    """One if/elif/else chain: given what each condition is in a build for AMD, says which branch is live."""

    def __init__(self) -> None:
        """Start before the first branch."""
        self._taken: Truth = False
        self._current: Truth = None

    def branch(self, condition: Truth) -> None:
        """Open the next branch; an `else` has the condition True."""
        self._current = all_of((negated(self._taken), condition))
        self._taken = any_of((self._taken, condition))

    @property
    def live(self) -> Live:
        """Whether the open branch is part of the build for AMD."""
        return live_of(self._current)


class Nest:
    """Chains inside chains: what is live where the reading stands, at the same cost however deep that is."""

    def __init__(self) -> None:
        """Start outside any test."""
        self._open: list[tuple[Chain, Live]] = []

    @property
    def live(self) -> Live:
        """Whether the place is part of the build for AMD."""
        if not self._open:
            return Live.YES
        chain, around = self._open[-1]
        return narrowest((around, chain.live))

    def open(self, condition: Truth) -> None:
        """Enter an if with its condition."""
        around = self.live
        self._open.append((Chain(), around))
        self.branch(condition)

    def branch(self, condition: Truth) -> None:
        """Go on to the next branch of the innermost chain; an `else` has the condition True."""
        if self._open:
            self._open[-1][0].branch(condition)

    def close(self) -> None:
        """Leave the innermost chain."""
        if self._open:
            self._open.pop()


def live_of(value: Truth) -> Live:
    """The Live of a three-valued truth."""
    return Live.UNKNOWN if value is None else Live.YES if value else Live.NO


def narrowest(lives: Iterable[Live]) -> Live:
    """Live of nested regions: NO wins, then UNKNOWN, then YES."""
    found = Live.YES
    for live in lives:
        if live is Live.NO:
            return Live.NO
        if live is Live.UNKNOWN:
            found = Live.UNKNOWN
    return found
