"""The real hipify-clang: it parses the file, so it needs the CUDA toolkit's headers and the project's own include paths."""

from __future__ import annotations

import tempfile
from pathlib import Path

from porter.hipify import perl

PROGRAM = "hipify-clang"


def find(explicit: str, env: str, path: str, rocm_path: str) -> Path | None:
    """The first hipify-clang of: ``explicit``, ``env``, the folders of ``path`` (PATH), ``rocm_path`` (ROCM_PATH) and /opt/rocm*."""
    return perl.find(explicit, env, path, rocm_path, PROGRAM)


def run(program: Path, path: str, data: bytes, timeout: float, options: tuple[str, ...] = ()) -> bytes:
    """The HIP text that hipify-clang makes of ``data``, run on a copy in a scratch folder; raises PerlFailed as perl.run does."""
    suffix = Path(path).suffix if Path(path).suffix in (".cu", ".cuh", ".cpp", ".h", ".hpp") else ".cu"
    limit = 2 * len(data) + perl.SPARE_OUTPUT
    flags = tuple("-" + option for option in options)
    with tempfile.TemporaryDirectory(prefix="porter-hipify-") as scratch:
        copy = Path(scratch) / f"source{suffix}"
        output = Path(scratch) / "converted.hip"
        copy.write_bytes(data)
        _, code = perl.limited([str(program), *flags, f"-o={output.name}", copy.name, "--", "-x", "cuda"], scratch, timeout, limit)
        text = output.read_bytes() if output.is_file() and not output.is_symlink() and output.stat().st_size <= limit else None
    if code is None:
        raise perl.PerlFailed(f"stopped after {timeout:g} s")
    if code != 0 or text is None:
        raise perl.PerlFailed(f"ended with status {code}; it needs the CUDA toolkit and every header that the file includes")
    return text
