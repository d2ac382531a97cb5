"""Code for AMD only: rules that speak of such code find it, and the detectors that no such rule names are left out."""

from __future__ import annotations

import inspect
from pathlib import Path

from porter.config import Config
from porter.discover import Entry
from porter.examine import Auditor
from porter.model import Origin
from porter.rules import RuleSet

CODE = b"""#include <hipfft.h>
__global__ void k(int* p) { p[0] = __shfl_down_sync(0xffffffffu, p[0], 16); }
void run(OrtSessionOptions* o) { OrtSessionOptionsAppendExecutionProvider_ROCM(o, 0); }
"""


def rules(auditor: Auditor, path: Path, origin: Origin) -> set[str]:
    path.write_bytes(CODE)
    return {hit.rule for hit in auditor.examine(Entry(path.name, "cuda", len(CODE), origin=origin)).hits}


def test_rules_for_code_for_amd_find_it_by_include_and_by_detector(ruleset: RuleSet, tmp_path: Path) -> None:
    auditor = Auditor(Config(), ruleset, tmp_path)
    found = rules(auditor, tmp_path / "a.cu", Origin.AMD)
    assert found == {"hip-flat-header", "onnxruntime-rocm-provider"}
    assert found < rules(auditor, tmp_path / "a.cu", Origin.OWN)


def test_no_detector_that_is_left_out_knows_a_rule_for_code_for_amd(ruleset: RuleSet) -> None:
    auditor = Auditor(Config(), ruleset)
    left_out = [one for one in auditor.detectors if one not in auditor.amd_detectors]
    assert len(left_out) > 10
    for one in left_out:
        text = inspect.getsource(inspect.getmodule(one.detect))  # type: ignore[arg-type]
        assert not [rule for rule in auditor.amd_rules if f'"{rule}"' in text], one.name


def test_python_of_the_amd_side_is_read_for_each_rule_that_counts_there(ruleset: RuleSet, tmp_path: Path) -> None:
    auditor = Auditor(Config(), ruleset, tmp_path)
    seen = 0
    for rule in sorted(auditor.amd_rules):
        for number, example in enumerate(one for one in ruleset.rules[rule].examples if one.file.endswith(".py")):
            path, text = f"{rule}{number}/{example.file}", example.before.encode()
            (tmp_path / path).parent.mkdir(parents=True)
            (tmp_path / path).write_bytes(text)
            seen += 1
            assert rule in {hit.rule for hit in auditor.examine(Entry(path, "python", len(text), origin=Origin.AMD)).hits}, path
    assert seen >= 2


def test_python_of_the_amd_side_is_not_parsed_for_what_counts_elsewhere(ruleset: RuleSet) -> None:
    auditor = Auditor(Config(), ruleset)
    text = b"import torch\nif torch.version.hip:\n    x = torch.zeros(1, device='cuda')  # as ROCm has it\n"
    assert auditor.amd_python_words is not None
    assert auditor.python_words is not None
    assert auditor.python_words.look(text.lower()).worth
    assert not auditor.amd_python_words.look(text.lower()).worth
