"""The words that let a Python file in, and the places that are looked at: with their companions, alone where they must stand alone."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from porter import detect, rules
from porter.config import Config
from porter.examine import Auditor
from porter.model import SourceFile
from porter.parse import python
from porter.parse.python_words import Clue, Words, words_of
from porter.size.repository import served_by

WORDS = words_of(rules.load().rules.values())
assert WORDS is not None
ROOT = Path(__file__).parent.parent


def looked(text: str, *clues: Clue) -> tuple[bool, list[int]]:
    look = Words(frozenset(clues), frozenset()).look(text.lower().encode())
    return look.worth, sorted(look.offsets)


def test_a_word_counts_only_with_its_companions() -> None:
    clue = Clue(b"=kernel", frozenset((b"=kernel", b"=warp")))
    assert looked("@kernel\ndef kernels(): ...\n", clue) == (False, [])
    assert looked("import warp\n@warp.kernel\ndef kernels(): ...\n", clue) == (True, [18])
    assert looked("import warpctc\n@warp_.kernel\n", clue) == (False, [])


def test_nothing_in_front_and_an_escape_in_front() -> None:
    clue = Clue(b"^llm(", frozenset((b"^llm(", b"vllm")))
    assert looked("from vllm import LLM\nx = MyLLM(1)\n", clue) == (False, [])
    assert looked('from vllm import LLM\nx = LLM(1)\ny = "\\nllm(2)"\n', clue) == (True, [25, 39])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("engine = Engine(tp_size=16)\n", "tensor-parallel-over-node"),
        ('options = {"tensor_parallel_size": 32}\n', "tensor-parallel-over-node"),
        ('import modal\napp = modal.App()\n@app.function(gpu="L40S")\ndef f(): ...\n', "cloud-gpu-node-selector"),
        ('import os\nos.environ["UCX_TLS"] = "rc,cuda_copy"\n', "ucx-cuda-transport"),
        ('code = """\n.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f() { ret; }\n"""\n', "ptx-source"),
        ("from torch.cuda import profiler\nkeep = profiler\n", "torch-cuda-api"),
    ],
)
def test_what_only_one_detector_asks_for_lets_a_file_in(text: str, rule: str) -> None:
    audit = Auditor(Config(), rules.load())
    parsed = python.parse(SourceFile("a.py", "python", text.encode()), audit.python_words)
    hits, problems = detect.detect(parsed, audit.index, audit.config, audit.matcher, audit.detectors)
    assert not problems
    assert rule in {hit.rule for hit in hits}


@pytest.mark.parametrize("folder", ["rules", "repos"])
def test_the_words_lose_no_finding_of_the_fixtures(folder: str) -> None:
    """Options that define a macro for CUDA in a string were once passed over, so that dead code was reported."""
    fast, slow = runpy.run_path(str(ROOT / "tests/benchmarks/prefilter_loss.py"))["both"](ROOT / "fixtures" / folder, 0)
    assert len(slow) > 150
    assert fast == slow


def test_an_engine_is_found_without_any_other_word() -> None:
    text = 'from vllm import LLM\nllm = LLM(model="meta-llama/Llama-3.1-8B", tensor_parallel_size=2)\n'
    source = SourceFile("a.py", "python", text.encode())
    served = served_by(source, python.parse(source, WORDS).facts)
    assert [(one.model, one.tensor) for one in served] == [("meta-llama/Llama-3.1-8B", 2)]


def test_inputs_name_no_vendor_and_functions_called_from_dead_code_are_doubtful() -> None:
    text = (
        "import torch\n\ndef prepare(x):\n    return x.cuda()\n\ndef used(x):\n    return x.cuda()\n\n"
        "def run(inputs, outputs):\n    if torch.version.hip is None:\n        prepare(inputs)\n        used(inputs)\n"
        "    return used(outputs)\n"
    )
    parsed = python.parse(SourceFile("a.py", "python", text.encode()))
    guards = parsed.guards
    assert guards is not None and hasattr(guards, "doubtful")
    assert guards.doubtful(text.index("return x.cuda()")) and not guards.doubtful(text.rindex("return x.cuda()"))
