"""What fuzzing found stays found: every input kept in tests/fuzz/crashes is replayed, and every target takes some bytes of each sort."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FUZZ = Path(__file__).with_name("fuzz")
SEEDS = (b"", b"\0", b"\xff\xfe\xfd", b"{" * 200, b"a = [", b"- &a [*a]", b'"\\', b"#if (1\n", b"x" * 3000, "é\u2028\U0001f600".encode())


def _module() -> object:
    spec = importlib.util.spec_from_file_location("fuzz_parsers", FUZZ / "fuzz_parsers.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULE = _module()


@pytest.mark.parametrize("name", MODULE.TARGETS)  # type: ignore[attr-defined]
def test_no_target_raises(name: str) -> None:
    run = MODULE.target(name)  # type: ignore[attr-defined]
    for data in (*SEEDS, *(path.read_bytes() for path in sorted((FUZZ / "crashes").glob(f"{name}-*")))):
        run(data)
