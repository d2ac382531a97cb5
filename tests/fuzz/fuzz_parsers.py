"""Coverage-guided fuzzing with atheris: one target a run, on the paths that a hostile repository reaches.

    python tests/fuzz/fuzz_parsers.py TARGET [CORPUS] [-max_total_time=60 and other options of libFuzzer]

A target is a file kind (cuda, python, yaml, …), `hipify`, `expression`, `requirement`, or one of fuzz_targets.py. What a
target may do with bad input is give a Problem; an exception is a crash and is kept in tests/fuzz/crashes/TARGET-*, which
tests/test_fuzz.py replays. See README.md for all targets in a row.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

import fuzz_mutators  # noqa: E402
import fuzz_targets  # noqa: E402

NAMES = {
    "cuda": "a.cu", "cxx": "a.cpp", "ptx": "a.ptx", "python": "a.py", "cython": "a.pyx", "notebook": "a.ipynb",
    "requirements": "requirements.txt",
    "pyproject": "pyproject.toml", "setup-cfg": "setup.cfg", "pipfile": "Pipfile", "python-lock": "uv.lock", "conda": "environment.yml",
    "cmake": "CMakeLists.txt", "make": "Makefile", "bazel": "BUILD.bazel", "meson": "meson.build", "docker": "Dockerfile", "yaml": "a.yaml",
    "json": "a.json", "toml": "a.toml", "shell": "a.sh", "jenkins": "Jenkinsfile", "pbtxt": "config.pbtxt", "hcl": "a.tf", "binary": "a.so",
}  # fmt: skip
TARGETS = (*NAMES, "hipify", "expression", "requirement", *fuzz_targets.EXTRA)


def target(name: str) -> Callable[[bytes], object]:
    """The function that is fed with bytes; its exceptions are crashes."""
    if name in fuzz_targets.EXTRA:
        return fuzz_targets.EXTRA[name]()
    from porter import link
    from porter.hipify import engine
    from porter.kinds import decode
    from porter.model import SourceFile
    from porter.parse import parser_of
    from porter.parse.cuda_expr import UNKNOWN, evaluate
    from porter.parse.requirement_line import read_requirement

    if name == "hipify":
        return lambda data: engine.convert(decode(data), engine.Options())
    if name == "expression":
        return lambda data: evaluate(data.decode("utf-8", "replace"), lambda word: len(word) if word[:1] == "A" else UNKNOWN)
    if name == "requirement":

        def read(data: bytes) -> None:
            try:
                read_requirement(data.decode("utf-8", "replace"))
            except ValueError:
                return  # how it says that a line is no requirement

        return read
    parse = parser_of(name)
    if parse is None:
        raise SystemExit(f"no such target: {name}")

    def one(data: bytes) -> None:
        parsed = parse(SourceFile(NAMES[name], name, data if name == "binary" else decode(data)))
        link.survey(parsed)
        link.link([]).enrich(parsed)

    return one


def _own_mutator(data: bytes, most: int) -> bytes:
    """libFuzzer's own mutator; ``atheris.Mutate`` of version 3.0.0 asks another copy of it, which never started."""
    from atheris import core_with_libfuzzer  # type: ignore[import-not-found, unused-ignore]

    out: bytes = core_with_libfuzzer.Mutate(data, min(len(data) + 64, most))
    return out


def main() -> None:
    """Fuzz until a limit of libFuzzer's is reached or something crashes."""
    import atheris  # type: ignore[import-not-found, unused-ignore]

    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=["porter", "packaging"]):
        run = target(name)
    crashes = Path(__file__).with_name("crashes")
    limits = ["-timeout=10", "-rss_limit_mb=2000", f"-max_len={60_000 if name == 'report' else 4096}"]
    words = [sys.argv[0], f"-artifact_prefix={crashes}/{name}-", *limits, *sys.argv[1:]]
    atheris.Setup(words, run, custom_mutator=fuzz_mutators.mutator(name, _own_mutator))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
