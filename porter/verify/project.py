"""A verification of a project: what its build files define, and the scan whose findings are held against the compilers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from porter import pipeline
from porter.config import Config
from porter.discover import discover, read_regular
from porter.errors import ConfigError, InputError
from porter.hipify import api
from porter.model import Finding, Live, SourceFile
from porter.parse import parser_of
from porter.verify import compilers, run
from porter.verify.values import Verification

BUILD_KINDS = ("cmake", "make", "bazel")


def verify(
    path: Path, config: Config, environment: Mapping[str, str], hip_include: str = "", include: tuple[str, ...] = (), rocm: str = "",
    timeout: float = 60.0, progress: Callable[[int, int], None] = lambda *_: None,
) -> Verification:  # fmt: skip
    """Verifies a folder or one file; ``rocm`` empty translates for the release that the headers are of.

    Raises InputError for a missing path, ConfigError for headers that are not where they were said to be.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if rocm:
        api.hip_version(rocm)
    given = hip_include or environment.get("PORTER_HIP_INCLUDE", "")
    if given and compilers.find_headers(hip_include, environment) is None:
        raise ConfigError(f"{given}: no hip/hip_runtime.h with its hip_version.h there", "give the folder that holds the folder hip")
    if not path.is_dir():
        return _one_file(path, config, environment, hip_include, include, rocm, timeout)
    wanted = run.Request(
        path, config.targets, rocm, include, (*_flags(path, config), *(f"-D{d}" for d in config.defines)), timeout, max(1, config.jobs)
    )
    return run.verify(wanted, compilers.find_all(hip_include, environment), lambda release: _findings(path, config, release), progress)


def _one_file(
    path: Path, config: Config, environment: Mapping[str, str], hip_include: str, include: tuple[str, ...], rocm: str, timeout: float
) -> Verification:
    """One file alone: in a folder of its own, so that nothing beside it is read."""
    data = read_regular(path.resolve(), config.max_bytes)
    if data is None:
        raise InputError(f"{path}: cannot be read, or is larger than {config.max_bytes >> 20} MiB")
    with tempfile.TemporaryDirectory(prefix="porter-verify-") as folder:
        (Path(folder) / path.name).write_bytes(data)
        return verify(Path(folder), config, environment, hip_include, include, rocm, timeout)


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
