"""The effort model on whole repositories: what moves the number and what must not; calibration, actuals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import scanned
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernels import MASK

from porter import rules
from porter.cli import main
from porter.config import Config, EffortSettings
from porter.errors import PorterError
from porter.estimate import estimate, features, hand_lines, parameters, simulate
from porter.examine import Examined
from porter.model import Finding, HipifyCount, Hours, Kernel, Origin, Quantiles

RULESET = rules.load()
WORK = sorted(rule.id for rule in RULESET.rules.values() if not rule.is_insight)
OWN = [
    Examined(f"{name}.cu", "cuda", Origin.OWN, 900, hipify=HipifyCount(4, 0, {"cudaMalloc": 4}), kernels=(Kernel("k", f"{name}.cu", 1, 9),))
    for name in "abc"
]
GUARDED = MASK.replace("__global__", "#ifndef __HIP_PLATFORM_AMD__\n__global__", 1).replace("\nint main", "\n#endif\nint main", 1)


def finding(rule_id: str, path: str, line: int, group: str) -> Finding:
    rule = RULESET.rules[rule_id]
    return Finding(
        rule_id, rule.category, rule.severity, rule.confidence, rule.action, path, line, 1, line, 9, "text", "message", None, ("gfx942",),
        fingerprint=f"{rule_id}{path}{line}{group}", group=f"{rule_id}/{group}",
    )  # fmt: skip


PLACES = st.lists(
    st.tuples(st.sampled_from(WORK), st.sampled_from(["a.cu", "b.cu", "c.cu"]), st.integers(1, 800), st.sampled_from("xyz")),
    min_size=1, max_size=20, unique=True,
)  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PLACES, st.randoms(use_true_random=False))
def test_more_findings_of_any_rule_never_cost_less_and_order_changes_nothing(
    places: list[tuple[str, str, int, str]], random: object
) -> None:
    findings = [finding(*place) for place in places]
    shuffled = list(findings)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    fewer = estimate(findings[:-1], OWN, RULESET, Config())[0]
    more = estimate(findings, OWN, RULESET, Config())[0]
    other = estimate(shuffled, list(reversed(OWN)), RULESET, Config())[0]
    assert (other.hours, other.hand_lines, other.build_lines) == (more.hours, more.hand_lines, more.build_lines)
    for name in ("best", "likely", "worst"):
        assert getattr(more.total, name) >= getattr(fewer.total, name) - 1e-9
    for name in ("p10", "p50", "p80", "p90"):
        assert getattr(more.hours, name) >= getattr(fewer.hours, name)
        assert getattr(more.hand_lines, name) >= getattr(fewer.hand_lines, name)
        assert getattr(more.build_lines, name) >= getattr(fewer.build_lines, name)


BUILD_PLACES = st.lists(
    st.tuples(st.sampled_from(WORK), st.sampled_from(["CMakeLists.txt", "run.py", "a.cu", "Dockerfile"]), st.integers(1, 90), st.just("x")),
    min_size=1, max_size=20, unique=True,
)  # fmt: skip
NAMES = st.sets(st.sampled_from(["cudaSuccess", "cudaMallocHost", "cusparseCreate", "__hadd", "cudaMalloc", "cudaGetErrorString"]))


@settings(max_examples=60, deadline=None)
@given(BUILD_PLACES, NAMES, NAMES, st.integers(0, 9), st.booleans())
def test_hand_lines_never_fall_with_a_finding_a_name_or_a_name_left_and_are_ordered(
    places: list[tuple[str, str, int, str]], names: set[str], further: set[str], left: int, ported: bool
) -> None:
    def lines(findings: list[Finding], met: set[str], left: int) -> tuple[Quantiles, Quantiles]:
        counted = HipifyCount(len(met), left, dict.fromkeys(met, 1), {"cudaNoSuchThing": left} if left else {})
        cuda = Examined("a.cu", "cuda", Origin.OWN, 900, hipify=counted)
        return hand_lines.hand_lines(findings, [cuda, Examined("run.py", "python", Origin.OWN, 90)], ported)

    findings = [finding(*place) for place in places]
    base = lines(findings[:-1], names, left)
    assert lines(list(reversed(findings[:-1])), names, left) == base
    for more in (lines(findings, names, left), lines(findings[:-1], names | further, left), lines(findings[:-1], names, left + 1)):
        for low, high in zip(base, more, strict=True):
            assert all(getattr(low, name) <= getattr(high, name) for name in ("p10", "p50", "p80", "p90"))
            assert 0 <= high.p10 <= high.p50 <= high.p80 <= high.p90


def test_every_line_is_ordered_and_the_phases_sum_to_the_total() -> None:
    result = estimate([finding(rule, "a.cu", 1 + i, "x") for i, rule in enumerate(WORK)], OWN, RULESET, Config())[0]
    assert all(0 <= line.hours.best <= line.hours.likely <= line.hours.worst for line in result.lines)
    assert sum(phase.hours.likely for phase in result.phases) == pytest.approx(result.total.likely)
    assert [phase.id for phase in result.phases] == ["plan", "build", "right", "fast"]
    assert all(line.applies for line in result.lines if line.kind == "project")


def test_a_first_fix_is_paid_once_a_pattern() -> None:
    alone = estimate([finding("sync-mask-32bit", "a.cu", 1, "x")], OWN, RULESET, Config())[0]
    both = [finding("sync-mask-32bit", "a.cu", 1, "x"), finding("ballot-in-32-bits", "a.cu", 2, "y")]
    lines = {line.rule: line for line in estimate(both, OWN, RULESET, Config())[0].lines if line.rule}
    other = parameters.project().sharing.same_pattern
    assert sorted(line.once.likely for line in lines.values()) == pytest.approx([0.5 * other, 0.5])
    assert alone.total.likely < sum(line.hours.likely for line in estimate(both, OWN, RULESET, Config())[0].lines)
    assert {rule for rule in parameters.project().pattern_of if rule not in RULESET.rules} == set()


def test_guards_never_cost_more_and_vendored_copies_nothing(tmp_path: Path) -> None:
    open_code = scanned(tmp_path / "open", k_DOT_cu=MASK)
    guarded = scanned(tmp_path / "guarded", k_DOT_cu=GUARDED)
    library = {"third_party__one__v_DOT_cu": MASK * 3, "third_party__two__v_DOT_cu": MASK * 3}
    vendored = scanned(tmp_path / "vendored", k_DOT_cu=MASK, **library)
    assert open_code.findings and not guarded.findings
    assert guarded.estimate.hours.p50 < open_code.estimate.hours.p50
    assert guarded.estimate.hand_lines.p50 <= open_code.estimate.hand_lines.p50
    assert vendored.estimate.hours == open_code.estimate.hours and vendored.estimate.hand_lines == open_code.estimate.hand_lines
    assert open_code.backtest is not None and open_code.backtest.version == features.model().backtest["version"]


def test_a_small_program_pays_a_part_of_a_project(tmp_path: Path) -> None:
    report = scanned(tmp_path, k_DOT_cu=MASK, Makefile="all:\n\tnvcc -arch=sm_80 -o k k.cu\n\tncu ./k\n")
    assert report.estimate.hours.p50 < 16 and not any("CI" in line.label for line in report.estimate.lines)
    assert any("a small project" in line.arithmetic for line in report.estimate.lines)


def test_rates_and_factors_count_only_when_given_and_are_shown() -> None:
    findings = [finding("sync-mask-32bit", "a.cu", 1, "x")]
    plain = estimate(findings, OWN, RULESET, Config())[0]
    given_ = EffortSettings(rate=100, currency="EUR", experience=2.0, assistance=0.5)
    told = estimate(findings, OWN, RULESET, Config(effort=given_))[0]
    assert plain.cost is None and plain.assumptions == ()
    assert told.cost is not None and told.cost.money.p50 == pytest.approx(told.hours.p50 * 100) and told.cost.currency == "EUR"
    assert [one.name for one in told.assumptions] == ["experience", "assistance", "rate"]
    by_label = {line.label: line.hours.likely for line in told.lines}
    for line in plain.lines:  # assistance shortens the fixing, never the checks
        assert by_label[line.label] == pytest.approx(line.hours.likely * (1.0 if line.kind == "finding" else 2.0))


def test_actuals_are_recorded_and_compared(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    line = {"label": "Masks", "hours": {"best": 1, "likely": 2, "worst": 8}, "rule": "r", "group": "r/x", "findings": 3, "files": 1}
    found = [{"rule": "r", "group": "r/x", "fingerprint": "abc"}]
    report.write_text(json.dumps({"root": "repo", "effort": [line], "findings": found}), encoding="utf-8")
    file = ["--file", str(tmp_path / "actuals.jsonl")]
    for what, hours in (("r/x", "3"), ("abc", "5"), ("r", "12")):
        result = CliRunner().invoke(main, ["actuals", "record", str(report), what, "--hours", hours, *file])
        assert result.exit_code == 0, result.output
    shown = CliRunner().invoke(main, ["actuals", "show", *file])
    assert "     20 h      6.0  in all" in shown.stdout and "     12 h      2.0" in shown.stdout
    assert "2 of 3 between best and worst" in shown.stdout and "2.50 times the likely hours: r (3 records)" in shown.stdout
    plain = json.loads(CliRunner().invoke(main, ["actuals", "show", "--format", "json", *file]).stdout)
    assert plain["actual"] == 20 and plain["predicted"] == 6 and plain["actuals"][0]["group"] == "r/x"
    summary = {"effort_hours": {"p10": 8, "p50": 12, "p80": 20, "p90": 30}, "hand_lines": {"p10": 4, "p50": 20, "p90": 61}}
    report.write_text(json.dumps({"root": "repo", "effort": [line], "findings": found, "summary": summary}), encoding="utf-8")
    assert CliRunner().invoke(main, ["actuals", "record", str(report), "total", "--hours", "26", "--lines", "62", *file]).exit_code == 0
    shown = CliRunner().invoke(main, ["actuals", "show", *file]).stdout
    assert "     26 h       12      8.0       30  repo: total (P50, P10, P90); 62 lines, predicted 20 (4 to 61): outside" in shown
    assert "     20 h      6.0  in all; 2 of 3" in shown  # the whole port is not summed with its parts
    wrong = CliRunner().invoke(main, ["actuals", "record", str(report), "nothing", "--hours", "1", *file])
    assert wrong.exit_code == 2 and "nothing in its sum" in wrong.stderr
    assert CliRunner().invoke(main, ["actuals", "record", str(report), "r", "--hours", "nan", *file]).exit_code == 2
    (tmp_path / "actuals.jsonl").write_text("{broken\n", encoding="utf-8")
    assert CliRunner().invoke(main, ["actuals", "show", *file]).exit_code == 2


def test_equal_seeds_give_equal_ranges_and_a_dearer_line_moves_every_quantile() -> None:
    lines = {"a": Hours(1, 2, 8), "b": Hours(0.5, 3, 4), "c": Hours(2, 5, 9)}
    one = simulate.quantiles(lines, 3)
    assert one == simulate.quantiles(dict(reversed(lines.items())), 3)
    for dearer in (Hours(1, 2, 80), Hours(1, 8, 8), Hours(2, 2, 8)):  # a worse worst case alone must not lower P10 either
        more = simulate.quantiles(lines | {"a": dearer}, 3)
        assert all(getattr(more, name) >= getattr(one, name) for name in ("p10", "p50", "p80", "p90"))


def test_members_of_a_pattern_are_ordered_alike_in_best_likely_and_worst() -> None:
    """Else a new dearest member could lower the sum of the pattern's first fixes."""
    numbers = parameters.project()
    families: dict[str, list[tuple[Hours, str, bool]]] = {}
    for rule in RULESET.rules.values():
        if not rule.is_insight:
            family = numbers.family(rule.id, rule.category)
            families.setdefault(family, []).append((rule.effort.once, rule.id, rule.category in numbers.scaled))
    for line in numbers.lines.values():
        if line.pattern:
            families[line.pattern].append((line.hours, line.label, True))
    for name, members in families.items():
        ordered = sorted(members, key=lambda member: (member[0].likely, member[0].worst, member[0].best))
        for low, high in zip(ordered, ordered[1:], strict=False):
            assert low[0].best <= high[0].best and low[0].worst <= high[0].worst, (name, low, high)


def test_a_broken_parameter_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameters, "rules_folder", lambda: tmp_path)
    with pytest.raises(PorterError):
        parameters.table("project")
