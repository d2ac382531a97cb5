"""The GPUs that porter size knows: rules/hardware/*.toml, one file a model, each with its source and what nobody has checked."""

from __future__ import annotations

import datetime
import tomllib
from typing import Any

import msgspec

from porter.errors import RuleError
from porter.model import Source
from porter.rules import rules_folder

PER_SERVER = 8  # all prices and all known answers are for servers of eight


class Gpu(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of GPU. ``memory_gb`` counts 10^9 bytes; ``native`` says whether its table of rates names a format.

    ``devices`` is what software sees of one GPU: two on MI250X, each with half of the memory.
    """

    vendor: str
    gpu: str
    full_name: str
    arch: str
    memory_gb: int
    memory: str
    memory_verified: bool
    bandwidth: str
    bf16_dense: str
    fp8_dense: str
    fp4_dense: str
    interconnect: str
    power: str
    status: str
    native: dict[str, str]
    source: tuple[Source, ...]
    devices: int = 1

    def runs(self, family: str) -> str:
        """Whether its matrix units take the format: yes (or how), no, or not stated."""
        return self.native.get(family, "not stated")


def load() -> tuple[Gpu, ...]:
    """All GPUs, AMD's first, by memory and name; raises RuleError for a file that is wrong."""
    gpus = []
    for path in sorted((rules_folder() / "hardware").glob("*.toml")):
        try:
            gpu = msgspec.convert(_dated(tomllib.loads(path.read_text(encoding="utf-8"))), Gpu)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError, OSError) as error:
            raise RuleError(f"{path}: {error}") from error
        if not gpu.source or gpu.memory_gb <= 0 or gpu.devices not in (1, 2):
            raise RuleError(f"{path}: a GPU needs a source, a memory size and one or two devices")
        gpus.append(gpu)
    if not gpus:
        raise RuleError("porter's table of GPUs is missing", "reinstall porter")
    return tuple(sorted(gpus, key=lambda gpu: (gpu.vendor, gpu.memory_gb, gpu.gpu)))


def _dated(table: dict[str, Any]) -> dict[str, Any]:
    for source in table.get("source", ()):
        if isinstance(source.get("checked"), datetime.date):
            source["checked"] = source["checked"].isoformat()
    return table
