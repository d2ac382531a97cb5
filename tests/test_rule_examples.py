"""What a rule's first example shows as the port is advice: no other rule asks for a port of it; where nothing replaces, none is shown."""

from __future__ import annotations

import re

import pytest

from porter import explain, rules
from porter.config import Config
from porter.model import Action
from porter.render import code
from porter.rules import RuleSet
from porter.testing import ALL_TARGETS, Auditor

# Other rules that speak about a shown port, and why that is right. CUDA spelling goes through hipify afterwards ("automatic" and library
# rules); imports that stay on ROCm are found by their names; a lane width of 32 is right and remarked upon.
SPELT_AS_CUDA = {"cub", "cublas", "cutensor", "deprecated-hip-api", "cuda-arch-device-pass"}
STAYS = {"cupy-cuda", "cupy-raw-source", "pytorch3d", "transformer-engine-variables", "warp-32-self-consistent", "float-atomic-on-mi200"}


@pytest.fixture(scope="module")
def ruleset() -> RuleSet:
    return rules.load()


def test_a_shown_port_needs_no_other_port(ruleset: RuleSet) -> None:
    audit = Auditor(Config(targets=ALL_TARGETS), ruleset)
    wrong = {}
    for rule in ruleset.rules.values():
        if rule.shows_port:
            first = rule.examples[0]
            found = {name for name in audit.rule_lines(first.file, first.after.encode()) if not ruleset.rules[name].is_insight}
            if found - SPELT_AS_CUDA - STAYS:
                wrong[rule.id] = sorted(found)
    assert wrong == {}


def test_where_nothing_replaces_a_thing_only_its_removal_is_shown(ruleset: RuleSet) -> None:
    nothing = [rule for rule in ruleset.rules.values() if rule.replacement and re.match(r"nothing\Z", rule.replacement.name, re.IGNORECASE)]
    assert len(nothing) > 8
    added = {
        rule.id: sorted(words(first.after) - words(first.before)) for rule in nothing if rule.shows_port and (first := rule.examples[0])
    }
    assert {name: found for name, found in added.items() if found} == PORTS_OF_NOTHING


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w:/.-]+", text))


PORTS_OF_NOTHING = {
    "pytorch-triton-rocm-pin": ["--index-url", "https://download.pytorch.org/whl/rocm7.2", "torch"],  # the index that brings it
}


def test_no_recipe_rests_on_the_macro_of_a_gpu_family(ruleset: RuleSet) -> None:
    """A width of 64 by vendor or by __GFX9__ breaks wave32 targets, host code and generic targets."""
    recipe = re.compile(r"defined\s*\(?\s*__GFX9__|ifdef\s+__GFX9__|\btest\s+__GFX9__|__HIP_PLATFORM_AMD__\s+64")
    for rule in ruleset.rules.values():
        told = [rule.why, rule.replacement.how if rule.replacement else "", *(e.after for e in rule.examples)]
        assert not [text for text in told if recipe.search(text)], rule.id


def test_good_news_and_near_misses_show_no_port(ruleset: RuleSet) -> None:
    shown = [rule for rule in ruleset.rules.values() if rule.shows_port]
    assert not [rule.id for rule in shown if rule.action is Action.NONE or not rule.examples[0].port]
    work = [rule for rule in ruleset.rules.values() if not rule.is_insight]
    assert len(shown) > 0.75 * len(work)  # near misses are the exception


@pytest.mark.parametrize("name", ["flashinfer", "causal-conv1d", "bmtrain", "aphrodite-engine", "amd-stub-wheel", "warp-size-check"])
def test_ports_that_were_once_only_near_misses(ruleset: RuleSet, name: str) -> None:
    """The first example names what its rule names as the replacement."""
    wanted = {
        "flashinfer": "amd-flashinfer", "causal-conv1d": "pip install --no-build-isolation", "bmtrain": "fsdp",
        "aphrodite-engine": "vllm", "amd-stub-wheel": "pypi.amd.com", "warp-size-check": "case 64",
    }  # fmt: skip
    rule = ruleset.rules[name]
    assert rule.shows_port and wanted[name] in rule.examples[0].after


def test_an_example_of_bytes_is_shown_to_nobody(ruleset: RuleSet) -> None:
    rule = ruleset.rules["cuda-sources-in-archive"]
    assert rule.examples
    assert rule.shown_example is None
    assert code.example(rule) is None
    assert "PK" not in explain.explain("cuda-sources-in-archive")[0]
