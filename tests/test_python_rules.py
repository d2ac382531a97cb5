"""Python rules that follow values: compute capability by target, torch.version.cuda, refusals, device names."""

from __future__ import annotations

import pytest

from porter.config import Config
from porter.detectors import python_capability, python_device_names, python_vendor_tests, works_as_is
from porter.model import Confidence, Hit, Live, SourceFile
from porter.parse import python


def hits(detector: object, text: str, *targets: str, path: str = "a.py") -> list[Hit]:
    parsed = python.parse(SourceFile(path, "python", ("import torch\n" + text).encode()))
    return list(detector.detect(parsed, None, Config(targets=targets or ("gfx942", "gfx950"))))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("target", "answer"),
    [("gfx90a", (9, 0)), ("gfx942", (9, 4)), ("gfx950", (9, 5)), ("gfx1100", (11, 0)), ("gfx1201", (12, 0)), ("gfx1250", (12, 5))],
)
def test_what_a_target_answers(target: str, answer: tuple[int, int]) -> None:
    assert python_capability.capability(target) == answer


CAP = "torch.cuda.get_device_capability()"
TESTS = [
    (f"x = {CAP} >= (9, 0)", ("gfx942", "gfx950")),
    (f"x = {CAP}[0] == 9", ("gfx942", "gfx950")),
    (f"x = {CAP} == (9, 0)", ()),
    (f"x = (9, 5) <= {CAP}", ("gfx950",)),
    (f"x = {CAP}[0] in (9, 10)", ("gfx942", "gfx950")),
    (f"x = {CAP} < (9, 0)", ("gfx942", "gfx950")),
    (f"x = {CAP} >= (10, 0)", ()),
    (f"x = {CAP} >= minimum", ()),
    (f"major, minor = {CAP}\nx = major * 10 + minor >= 90", ("gfx942", "gfx950")),
    (f"major, minor = {CAP}\nsm = major * 10 + minor\nx = sm >= 95", ("gfx950",)),
    (f"major, _ = {CAP}\nmajor = 3\nx = other >= 9", ()),
    ("p = torch.cuda.get_device_properties(0)\nx = p.major >= 9", ("gfx942", "gfx950")),
    ("p = torch.cuda.get_device_properties(0)\nx = p.total_memory >= 9", ()),
    ("x = platform.has_device_capability(90)", ("gfx942", "gfx950")),
    ("x = platform.is_device_capability(90)", ()),
    ("x = platform.is_device_capability_family(100)", ()),
]


@pytest.mark.parametrize(("text", "targets"), TESTS)
def test_capability(text: str, targets: tuple[str, ...]) -> None:
    found = hits(python_capability, text + "\n")
    assert tuple(target for hit in found for target in hit.targets or ()) == targets
    assert len(found) == (1 if targets else 0)


def test_rdna_passes_for_blackwell() -> None:
    assert [hit.targets for hit in hits(python_capability, f"x = {CAP} >= (10, 0)\n", "gfx942", "gfx1100")] == [("gfx1100",)]


def test_capability_behind_the_vendor_is_dead() -> None:
    found = hits(python_capability, f"x = torch.version.hip is None and {CAP}[0] >= 9\n")
    assert [hit.live for hit in found] == [Live.NO]


def test_doubt_lowers_the_confidence() -> None:
    text = f"def _tma():\n    return {CAP}[0] >= 9\n"
    assert [hit.confidence for hit in hits(python_capability, text)] == [None]
    assert [hit.confidence for hit in hits(python_capability, text, path="tests/test_a.py")] == [Confidence.LOW]
    called = text + "if torch.version.hip is None:\n    _tma()\n"
    assert [hit.confidence for hit in hits(python_capability, called)] == [Confidence.LOW]


def test_skipped_tests_are_no_work() -> None:
    text = f"@pytest.mark.skipif({CAP} < (9, 0), reason='')\ndef test_a():\n    pass\n"
    assert hits(python_capability, text, path="tests/test_a.py") == []


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("v = Version(torch.version.cuda)", ["torch-version-cuda-parsed"]),
        ("v = torch.version.cuda[:2]", ["torch-version-cuda-parsed"]),
        ("v = torch.version.cuda < '12'", ["torch-version-cuda-parsed"]),
        ("v = torch.version.cuda.split('.') if torch.version.cuda else None", []),
        ("v = torch.version.cuda or ''", []),
        ("v = {'cuda': torch.version.cuda}", []),
        ("if torch.cuda.is_available():\n    v = torch.version.cuda.split('.')", ["torch-version-cuda-parsed"]),
        ("if torch.version.cuda:\n    a = 1", ["torch-version-cuda-tested"]),
        ("if torch.version.cuda:\n    a = 1\nelif torch.version.hip:\n    a = 2", []),
        ("if torch.version.cuda is None:\n    raise E", ["python-requires-cuda-build"]),
        ("if torch.version.hip:\n    raise E", ["python-refuses-amd"]),
        ("if is_cuda() or is_rocm():\n    raise E", []),
        ("if device.type != 'xpu':\n    raise E", []),
    ],
)
def test_vendor_tests(text: str, rules: list[str]) -> None:
    found = [hit.rule for hit in hits(python_vendor_tests, text + "\n") if hit.live is not Live.NO]
    assert found == rules


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('x = "H100" in torch.cuda.get_device_name(0)', 1),
        ('name = torch.cuda.get_device_name(0)\nx = name == "NVIDIA A100-SXM4-80GB"', 1),
        ('x = "MI300X" in torch.cuda.get_device_name(0)', 0),
        ('x = column == "A100"', 0),
        ('x = "sm_90" in torch.cuda.get_arch_list()', 1),
    ],
)
def test_device_names(text: str, count: int) -> None:
    assert len(hits(python_device_names, text + "\n")) == count


def test_good_news_once_a_file() -> None:
    found = hits(works_as_is, "a = b.cuda()\nc = torch.randn(2, device='cuda')\ntorch.cuda.synchronize()\n")
    assert [(hit.rule, hit.span.line) for hit in found] == [("torch-cuda-api", 2)]
    assert "2 more lines" in found[0].message
