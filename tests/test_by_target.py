"""What happens on each target: the table of a rule or of a PTX family, and the words in findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from porter import by_target, rules
from porter.cli import main
from porter.errors import RuleError
from porter.model import Rule
from porter.parse import ptx_dict

AREAS = ("feature", "inline-ptx", "precision", "performance", "triton")
TABLE = {"gfx90a": "slow", "gfx94*": "wrong", "gfx9*": "slow", "*": "fails"}
SOURCE = """#include <cuda_fp8.h>
__global__ void k(__nv_fp8_e4m3* p, float x) { p[0] = __nv_fp8_e4m3(x); }
__device__ void c(void* s, const void* g) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(s), "l"(g)); }
"""


def test_targets_with_one_outcome_are_named_together() -> None:
    assert by_target.words(TABLE, ("gfx90a", "gfx942", "gfx950", "gfx1100")) == "gfx90a, gfx950: slow; gfx942: wrong; gfx1100: fails"
    assert by_target.words({"gfx94*": "wrong"}, ("gfx90a",)) == ""


DEVICE_RULES = [rule for rule in rules.load().rules.values() if rule.area in AREAS]


def test_device_rules_say_what_happens() -> None:
    silent = [rule.id for rule in DEVICE_RULES if not rule.by_target]
    assert len(silent) <= len(DEVICE_RULES) // 10, silent


@pytest.mark.parametrize("rule", [rule for rule in DEVICE_RULES if rule.by_target], ids=lambda rule: rule.id)
def test_a_table_covers_the_targets_of_its_rule(rule: Rule) -> None:
    assert all(len(text.split()) <= 24 for text in rule.by_target.values())
    asked = rules.applies(rule, ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"))
    assert all(by_target.of_target(rule.by_target, target) for target in asked)


def test_a_glob_is_shadowed_by_none_before_it() -> None:
    tables = [rule.by_target for rule in rules.load().rules.values()] + [f.by_target for f in ptx_dict.load().families.values()]
    for table in tables:
        globs = list(table)
        assert all(
            not by_target.of_target({earlier: "x"}, later.rstrip("*") + "0") for n, later in enumerate(globs) for earlier in globs[:n]
        )


@pytest.mark.parametrize(("glob", "text"), [("mi300", "slow"), ("gfx942", " "), ("gfx 942", "slow")])
def test_a_wrong_table_is_refused(tmp_path: Path, glob: str, text: str) -> None:
    source = (rules.rules_folder() / "precision/fp8-format.toml").read_text(encoding="utf-8")
    (tmp_path / "fp8-format.toml").write_text(source.replace('"gfx94*" = "', f'"{glob}" = "{text}"\n"gfx94*" = "', 1))
    with pytest.raises(RuleError, match="by_target"):
        rules.load_file(tmp_path / "fp8-format.toml")


@pytest.mark.parametrize(
    ("target", "fp8", "copy"),
    [
        ("gfx90a", "no fp8 hardware", "direct copies of 4 bytes"),
        ("gfx942", "read as half their value, the maximum is 240", "copies 4 bytes"),
        ("gfx950", "compile error where device code converts", "up to 16 bytes"),
        ("gfx1100", "no fp8 hardware", "no direct copy"),
        ("gfx1201", "compile error where device code converts", "no direct copy"),
        ("gfx1250", "where the hardware is OCP", "global_load_async_to_lds"),
    ],
)
def test_a_finding_says_it_for_the_target_asked_for(target: str, fp8: str, copy: str, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/k.cu").write_text(SOURCE)
    out = tmp_path / "r.json"
    done = CliRunner().invoke(main, ["scan", str(tmp_path / "code"), "--target", target, "--output", str(out)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    messages = {finding["rule"]: finding["message"] for finding in json.loads(out.read_text())["findings"]}
    assert f"{target}: " in messages["fp8-format"] and fp8 in messages["fp8-format"]
    assert copy in messages["inline-ptx-async-copy"] and messages["inline-ptx-async-copy"].endswith(f"{target}: compile error")
