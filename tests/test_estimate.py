"""The estimate: its arithmetic by hand, its range, and the ways in which it must and must not move."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from porter import estimate, rules
from porter.config import Config
from porter.estimate import hand_lines, parameters, simulate
from porter.examine import Examined
from porter.model import (
    Action,
    Confidence,
    Effort,
    EffortLine,
    Finding,
    HipifyCount,
    Hours,
    Kernel,
    Origin,
    Problem,
    Quantiles,
    Rule,
    Severity,
)  # fmt: skip
from porter.rules import RuleSet

CHEAP = Effort(Hours(0.1, 0.5, 2), Hours(0.05, 0.1, 0.2), Hours(0.02, 0.1, 0.5), 0.8)
HEAVY = Effort(Hours(2, 8, 32), Hours(0.5, 1, 4), Hours(1, 4, 16), 1.0)


def rule(rule_id: str, effort: Effort, category: str = "warp-size") -> Rule:
    return Rule(rule_id, rule_id.title(), category, Severity.MAJOR, Confidence.HIGH, Action.EDIT, "why", effort)


BUILDS = {"built": rule("built", CHEAP, "build"), "heavybuild": rule("heavybuild", HEAVY, "build")}
RULESET = RuleSet({"cheap": rule("cheap", CHEAP), "heavy": rule("heavy", HEAVY), **BUILDS}, "v")


def finding(rule_id: str, path: str, line: int, group: str = "") -> Finding:
    return Finding(
        rule_id, RULESET.rules[rule_id].category, Severity.MAJOR, Confidence.HIGH, Action.EDIT, path, line, 1, line, 9, "text", "message",
        None, ("gfx942",), fingerprint=f"{rule_id}{path}{line}", group=group or rule_id,
    )  # fmt: skip


def cuda(path: str, lines: int = 5000, converted: int = 10, kernels: int = 2, **more: object) -> Examined:
    made = tuple(Kernel(f"k{i}", path, i + 1, 10) for i in range(kernels))
    one = Examined(path, "cuda", Origin.OWN, lines, hipify=HipifyCount(converted, 0, {"cudaMalloc": converted}), kernels=made)
    return msgspec.structs.replace(one, **more)


def run(findings: list[Finding], own: list[Examined]) -> estimate.Estimate:
    return estimate.estimate(findings, own, RULESET, Config())[0]


def test_the_arithmetic_of_one_group() -> None:
    findings = [finding("cheap", "a.cu", 1), finding("cheap", "a.cu", 2), finding("cheap", "b.cu", 1)]
    line = next(x for x in run(findings, [cuda("a.cu"), cuda("b.cu")]).lines if x.rule == "cheap")
    # two hits in one file on an 80 % curve are worth 2 * 0.8 = 1.6 first hits
    assert line.hours.likely == pytest.approx(0.5 + 2 * 0.1 + 0.1 * (1.6 + 1))
    assert line.hours.best == pytest.approx(0.1 + 2 * 0.05 + 0.02 * 2.6)
    assert line.arithmetic.startswith("30 min once + 2 × 6 min a file + 3 × 6 min a place")
    assert line.arithmetic.endswith("a place on a learning curve of 80 % (worth 2.6)") and (line.findings, line.files) == (3, 2)


def test_each_finding_has_its_share_and_the_shares_sum_to_the_line() -> None:
    findings = [finding("heavy", "a.cu", n) for n in range(1, 5)]
    result, shares = estimate.estimate(findings, [cuda("a.cu")], RULESET, Config())
    line = next(x for x in result.lines if x.rule == "heavy")
    assert sum(shares[f.rule, f.group].likely for f in findings) == pytest.approx(line.hours.likely)
    assert result.total.likely == pytest.approx(sum(x.hours.likely for x in result.lines))


def test_a_group_never_costs_more_than_rewriting_its_files() -> None:
    many = [finding("heavy", "small.cu", n) for n in range(1, 201)]
    line = next(x for x in run(many, [cuda("small.cu", lines=120)]).lines if x.rule == "heavy")
    assert line.hours.likely == pytest.approx(8 + 120 * 10 / 60)  # the first fix has to be thought of all the same
    assert "capped" in line.arithmetic


def test_a_project_without_cuda_or_one_that_knows_amd_has_no_project_lines() -> None:
    python = Examined("a.py", "python", Origin.OWN, 100)
    assert [x.kind for x in run([], [python]).lines] == []
    assert run([], [python]).hours.p90 == 0.0
    assert estimate.estimate([], [cuda("a.cu")], RULESET, Config(), ported=True)[0].lines == ()
    assert {x.kind for x in run([], [cuda("a.cu")]).lines} == {"project"}


def test_project_lines_say_when_they_apply() -> None:
    cmake = Examined("CMakeLists.txt", "cmake", Origin.OWN, 30)
    ci = Examined(".github/workflows/ci.yml", "yaml", Origin.OWN, 30)
    labels = [x.label for x in run([], [cuda("a.cu"), cmake, ci]).lines]
    assert "Build system (cmake)" in labels and "CI with an AMD GPU runner" in labels
    assert any("checks against the CUDA results" in label for label in labels)
    one = next(x for x in run([], [cuda("a.cu", kernels=1)]).lines if "checks against" in x.label)
    assert one.arithmetic.startswith("1 kernel × 30 min")
    tested = [x.label for x in run([finding("built", "CMakeLists.txt", 1)], [cuda("a.cu"), cmake, cuda("tests/t.cu")]).lines]
    shared = next(x for x in run([finding("heavybuild", "CMakeLists.txt", 1)], [cuda("a.cu"), cmake]).lines if x.label.startswith("Build"))
    assert shared.hours.likely == pytest.approx(4 * 0.3) and "same decision" in shared.arithmetic  # the dearer finding pays the first fix
    assert "Build system (cmake)" in tested
    assert any("existing tests" in label for label in tested)


def test_grade_names_its_reasons() -> None:
    shaky = cuda("a.cu", coverage=0.5, problems=(Problem("parse", "a.cu", 3, "syntax error"),))
    result = run([], [shaky])
    assert result.grade == "C" and len(result.grade_reasons) >= 3
    assert any("50% of the CUDA lines" in reason for reason in result.grade_reasons)
    assert run([], [cuda("a.cu")]).grade == "B"


PLACES = st.lists(
    st.tuples(st.sampled_from(["cheap", "heavy", "built", "heavybuild"]), st.sampled_from(["a.cu", "b.cu", "c.cu"]), st.integers(1, 400)),
    max_size=25,
    unique=True,
)
OWN = [cuda("a.cu", lines=300), cuda("b.cu", lines=40), cuda("c.cu"), Examined("CMakeLists.txt", "cmake", Origin.OWN, 30)]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PLACES, st.randoms(use_true_random=False))
def test_order_changes_nothing_and_more_never_costs_less(places: list[tuple[str, str, int]], random: object) -> None:
    findings = [finding(*place) for place in places]
    shuffled = list(findings)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert run(shuffled, list(reversed(OWN))).hours == run(findings, OWN).hours
    if findings:
        fewer, more = run(findings[:-1], OWN), run(findings, OWN)
        assert more.total.likely >= fewer.total.likely - 1e-9
        assert more.total.worst >= fewer.total.worst - 1e-9
        for name in ("p10", "p50", "p80", "p90"):
            assert getattr(more.hours, name) >= getattr(fewer.hours, name)


def masks(lines: range, path: str = "a.cu") -> list[Finding]:
    return [msgspec.structs.replace(finding("cheap", path, n), rule="sync-mask-32bit") for n in lines]


def lines_of(findings: list[Finding], own: list[Examined]) -> Quantiles:
    return hand_lines.hand_lines(findings, own)[0]


def test_hand_lines_count_a_line_once_and_grow_with_the_work() -> None:
    one, twice = masks(range(1, 2)), [*masks(range(1, 2)), msgspec.structs.replace(masks(range(1, 2))[0], rule="ballot-in-32-bits")]
    assert lines_of(one, OWN) == lines_of(twice, OWN)
    few, many = lines_of(one, OWN), lines_of(masks(range(1, 31)), OWN)
    assert few.p50 < many.p50 and 20 < many.p50 < 90 and many.p10 < many.p50 < many.p80 <= many.p90


def test_hand_lines_are_zero_without_cuda_and_separate_build_files() -> None:
    python, docker = Examined("serve.py", "python", Origin.OWN, 90), Examined("Dockerfile", "docker", Origin.OWN, 9)
    assert hand_lines.hand_lines([], [python]) == (Quantiles(), Quantiles())
    source, build = hand_lines.hand_lines([finding("cheap", "serve.py", 3), finding("built", "Dockerfile", 1)], [python, docker])
    assert 0 < source.p50 < source.p90 and 0 < build.p50 < build.p90
    assert lines_of([finding("built", "Makefile", 1)], OWN) == lines_of([], OWN)


def test_a_ported_project_is_asked_for_no_lines_but_those_of_its_findings() -> None:
    assert hand_lines.hand_lines([], OWN, ported=True)[0] == Quantiles()
    assert 0 < hand_lines.hand_lines(masks(range(1, 9)), OWN, ported=True)[0].p50 <= lines_of(masks(range(1, 9)), OWN).p50


def test_quantiles_are_ordered_seeded_and_inside_the_sum_of_extremes() -> None:
    lines = {"a": Hours(1, 2, 8), "b": Hours(0.5, 3, 4), "c": Hours(10, 20, 80)}
    one = simulate.quantiles(lines, 7)
    assert one == simulate.quantiles(lines, 7)
    hours = lines.values()
    assert sum(h.best for h in hours) < one.p10 < one.p50 < one.p80 <= one.p90 < sum(h.worst for h in hours)
    assert 25 <= one.p50 < sum((h.best + 4 * h.likely + h.worst) / 6 for h in hours)
    assert simulate.quantiles({"a": Hours(1, 2, 8)}, 7).p50 == pytest.approx(2, rel=0.05)  # half of the cases take more than the likely


def test_many_lines_are_as_wide_as_few_of_the_same_sum() -> None:
    many = simulate.quantiles({str(i): Hours(1, 2, 6) for i in range(500)}, 1)
    assert 500 < many.p10 < many.p50 < many.p90 < 3000


def test_a_machine_is_set_up_however_little_changes_but_for_other_wheels() -> None:
    """Plan and environment of a service that swaps its image were two minutes."""
    shipped = rules.load()

    def plan(rule_id: str) -> float:
        shape = shipped.rules[rule_id]
        found = msgspec.structs.replace(
            finding("cheap", "a.txt", 1), rule=rule_id, group=rule_id, category=shape.category, replacement=shape.replacement
        )
        own = [Examined("a.py", "python", Origin.OWN, 60)]
        return next(x.hours.likely for x in estimate.estimate([found], own, shipped, Config())[0].lines if x.label.startswith("Plan"))

    assert plan("vllm-cuda-image") == pytest.approx(0.25 * 3) and plan("torch") < 0.2


def test_what_calls_a_library_is_charged_once() -> None:
    """A limited first fix holds writing the calling code again; its files and places were charged on top."""
    ruleset = RuleSet({"dear": rule("dear", Effort(Hours(100, 400, 900), Hours(1, 2, 4), Hours(1, 2, 4), 1.0), "cuda-only-library")}, "v")
    calls = [msgspec.structs.replace(finding("cheap", "a.cu", n), rule="dear", group="dear") for n in range(1, 30)]
    lines = [x for x in estimate.estimate(calls, [cuda("a.cu", lines=60)], ruleset, Config())[0].lines if x.rule == "dear"]
    assert [x.hours.likely for x in lines] == pytest.approx([8 + 60 * 10 / 60]) and "60 lines that call it again" in lines[0].arithmetic
    one = estimate.estimate(calls[:1], [cuda("a.cu", lines=60)], ruleset, Config())[0]
    assert one.hours.p90 <= estimate.estimate(calls, [cuda("a.cu", lines=60)], ruleset, Config())[0].hours.p90


def test_dashboards_and_servers_do_not_shrink_with_sources_that_have_nothing_to_do_with_them() -> None:
    """The exporter's own words say that dashboards are most of its work, and a service of 60 lines was charged minutes."""
    shipped = rules.load()

    def line(rule_id: str, own: list[Examined]) -> EffortLine:
        found = msgspec.structs.replace(finding("cheap", "compose.yaml", 1), rule=rule_id, group=rule_id)
        return next(x for x in estimate.estimate([found], own, shipped, Config())[0].lines if x.rule == rule_id)

    compose = Examined("compose.yaml", "yaml", Origin.OWN, 40)
    for own in ([compose, Examined("a.py", "python", Origin.OWN, 60)], [compose, cuda("a.cu", lines=60)]):
        assert line("dcgm-exporter-image", own).once.likely == pytest.approx(shipped.rules["dcgm-exporter-image"].effort.once.likely)
    service, program = line("cuda-base-image", [compose]), line("cuda-base-image", [compose, cuda("a.cu", lines=60)])
    assert service.once.likely == pytest.approx(2.0) and "small" not in service.arithmetic
    assert program.once.likely < 0.5 and "a small project" in program.arithmetic


def test_an_exporter_shares_no_decision_with_an_image_and_what_replaces_one_server_is_one_decision() -> None:
    shipped = rules.load()
    numbers = parameters.project()
    assert numbers.family("dcgm-exporter-image", "container") == "dcgm-exporter-image"
    assert numbers.family("cuda-base-image", "container") == numbers.family("vllm-cuda-image", "container") == "an image with ROCm"
    server = {numbers.family(rule, shipped.rules[rule].category) for rule in ("tensorrt-llm", "tensorrt-llm-image", "trtllm-commands")}
    assert len(server) == 1
