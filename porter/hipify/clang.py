"""The real hipify-clang: it parses the file, so it needs the CUDA toolkit's headers and the project's own include paths.

Options, exit status and messages as in its sources of 2025-08 (main.cpp, ArgParse.cpp, LLVMCompat.cpp): it works on a copy in the
folder for temporary files, gives 1 and writes nothing when clang finds an error, and says "[HIPIFY] error: ..." of its own errors.
"""

from __future__ import annotations

import functools
import re
import tempfile
from pathlib import Path

from porter.hipify import perl
from porter.verify import sandbox

PROGRAM = "hipify-clang"
_SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp")
_HIP = re.compile(r"\[HIPIFY\] Supports ROCm HIP from [\d.]+ up to (\d+(?:\.\d+)+)")
_MISSING = re.compile(r"error: '([^'\n]{1,200})' file not found")
_OWN = re.compile(r"\[HIPIFY\] (?:error|conflict): ([^\n]{1,200})")
_NO_CUDA = "cannot find CUDA installation"


def find(explicit: str, env: str, path: str, rocm_path: str) -> Path | None:
    """The first hipify-clang of: ``explicit``, ``env``, the folders of ``path`` (PATH), ``rocm_path`` (ROCM_PATH) and /opt/rocm*."""
    return perl.find(explicit, env, path, rocm_path, PROGRAM)


@functools.lru_cache(maxsize=8)
def version(program: Path) -> str:
    """The newest HIP version that a hipify-clang says it knows; empty for an older one, which has no --versions."""
    with tempfile.TemporaryDirectory(prefix="porter-hipify-") as scratch:
        match = _HIP.search(sandbox.run([str(program), "--versions"], Path(scratch), 20).text)
    return match[1] if match else ""


def arguments(options: tuple[str, ...], folders: tuple[Path, ...], defines: tuple[str, ...], cuda: str) -> list[str]:
    """Its own options for those of hipify-perl, for folders to include from, macros, and the folder of the CUDA toolkit."""
    words = ["-" + option for option in options]
    words += [word for folder in folders for word in ("-I", str(folder.resolve()))]
    words += [word for define in defines for word in ("-D", define)]
    return [*words, f"--cuda-path={cuda}"] if cuda else words


def run(program: Path, path: str, data: bytes, timeout: float, words: list[str]) -> bytes:
    """The HIP text that hipify-clang makes of ``data``, run on a copy in a scratch folder; raises PerlFailed as perl.run does.

    ``words`` are its options, as arguments() gives them; ``path`` gives the copy its suffix. What it prints is not handed on,
    because a message can quote any file that the source includes; only the name of a header that it did not find, and its
    own errors, are.
    """
    suffix = Path(path).suffix if Path(path).suffix in _SUFFIXES else ".cu"
    limit = 2 * len(data) + perl.SPARE_OUTPUT
    with tempfile.TemporaryDirectory(prefix="porter-hipify-") as scratch:
        copy = Path(scratch) / f"source{suffix}"
        output = Path(scratch) / "converted.hip"
        copy.write_bytes(data)
        said = sandbox.run([str(program), *words, f"-o={output.name}", copy.name, "--"], Path(scratch), timeout)
        good = output.is_file() and not output.is_symlink() and output.stat().st_size <= limit
        text = output.read_bytes() if good else None
    if said.stopped:
        raise perl.PerlFailed(said.stopped)
    if said.code != 0 or text is None:
        raise perl.PerlFailed(f"ended with status {said.code}: {_reason(said.text)}")
    return text


def _reason(text: str) -> str:
    """Why it gave no output, in words that quote nothing of a source."""
    if _NO_CUDA in text:
        return "it found no CUDA toolkit; give --cuda-path"
    if missing := _MISSING.search(text):
        return f"it found no {missing[1]}; give the folder with -I"
    if own := _OWN.search(text):
        return own[1]
    return "clang finds errors in the file; options of the build are given with -I and -D"
