"""Where programs of this machine are looked for: the folders of PATH that are safe to ask, and those where ROCm installs."""

from __future__ import annotations

import os
from pathlib import Path


def folders(path: str) -> list[Path]:
    """The absolute folders of a PATH: a relative entry could mean the scanned repository, whose programs are never run."""
    return [Path(entry) for entry in path.split(os.pathsep) if os.path.isabs(entry)]  # noqa: PTH117 - a text of the environment


def rocm_roots(rocm_path: str) -> list[Path]:
    """Folders that may hold a ROCm installation, that of ROCM_PATH first; since 7.14 it is /opt/rocm/core-VERSION."""
    given = [Path(rocm_path)] if rocm_path else []
    newest = sorted(Path("/opt/rocm").glob("core-*"), reverse=True)
    return [*given, *newest, Path("/opt/rocm"), *sorted(Path("/opt").glob("rocm-*"), reverse=True)]
