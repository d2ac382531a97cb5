"""A verification of a project: what its build files define, and the scan whose findings are held against the compilers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from porter import pipeline
from porter.config import Config
from porter.discover import discover
from porter.errors import ConfigError, InputError
from porter.hipify import api
from porter.model import Finding, Live, SourceFile
from porter.parse import parser_of
from porter.regular import read_regular
from porter.verify import compilers, run
from porter.verify.values import Verification

BUILD_KINDS = ("cmake", "make", "bazel")


def verify(
    path: Path, config: Config, environment: Mapping[str, str], hip_include: str = "", include: tuple[str, ...] = (), rocm: str = "",
    timeout: float = 60.0, progress: Callable[[int, int], None] = lambda *_: None, instead: str = "",
) -> Verification:  # fmt: skip
    """Verifies a folder or one file; ``rocm`` empty translates for the release that the headers are of; ``instead`` is as in Request.

    Raises InputError for a missing path, ConfigError for headers that are not where they were said to be.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if rocm:
        api.hip_version(rocm)
    given = hip_include or environment.get("PORTER_HIP_INCLUDE", "")
    if given and compilers.find_headers(hip_include, environment) is None:
        raise ConfigError(f"{given}: no hip/hip_runtime.h with its hip_version.h there", "give the folder that holds the folder hip")
    if not path.is_dir() and not path.is_file():
        raise InputError(f"{path}: neither a file nor a folder")
    root, only = (path, "") if path.is_dir() else (path.resolve().parent, path.resolve().name)
    flags = (*(_flags(path, config) if path.is_dir() else ()), *(f"-D{define}" for define in config.defines))
    wanted = run.Request(root, config.targets, rocm, include, flags, timeout, max(1, config.jobs), only=only, instead=instead)

    def findings(release: str, targets: tuple[str, ...]) -> Iterable[Finding]:
        return _findings(path, msgspec.structs.replace(config, targets=targets), release)

    return run.verify(wanted, compilers.find_all(hip_include, environment), findings, progress)


def _findings(path: Path, config: Config, rocm: str) -> Iterable[Finding]:
    jobs = config.jobs if config.jobs > 1 else 0  # with one job, in this process
    return pipeline.audit(path, msgspec.structs.replace(config, rocm=rocm or config.rocm, jobs=jobs)).findings


def _flags(root: Path, config: Config) -> Iterable[str]:
    """The -D texts of the project's build files, of places that every build reads; an option of the build is the user's to give."""
    for entry in discover(root, config).entries:
        parse = parser_of(entry.kind) if entry.kind in BUILD_KINDS and entry.size <= config.max_bytes else None
        data = read_regular(root / entry.path, config.max_bytes) if parse else None
        if parse is None or data is None:
            continue
        for fact in parse(SourceFile(entry.path, entry.kind, data)).facts:
            if fact.kind == "compile_flag" and fact.name.startswith("-D") and fact.live is Live.YES:
                yield fact.name
