"""Calibration: statistics by hand, the fit and its cross-validation, the shipped table, and the command on a made corpus."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernels import MASK

from porter import pipeline, rules
from porter.calibrate import backtest, corpus, fit, quantile_lines, statistics, written
from porter.calibrate.quantile_lines import Line
from porter.cli import main
from porter.config import Config
from porter.errors import InputError
from porter.estimate import features, hand_lines
from porter.model import Quantiles


def test_ranks_coverage_and_width_by_hand() -> None:
    assert statistics.spearman([1, 2, 3, 4], [10, 20, 30, 40]) == pytest.approx(1.0)
    assert statistics.spearman([1, 1, 2], [3, 3, 1]) == pytest.approx(-1.0)
    ranges = [Quantiles(0, 5, 8, 10)] * 10
    assert statistics.coverage(ranges, [5] * 8 + [11] * 2) == pytest.approx(0.8)
    real = [5] * 5 + [7.4] * 3 + [99] * 2  # upper ends at 7.4 hold 80 %: 0 to 10 is 10 / 7.4 times as wide as needed
    assert statistics.width(ranges, real) == pytest.approx(10 / 7.4, rel=0.01)
    assert statistics.stretch(ranges, real) == pytest.approx(1 / 0.48, rel=0.02)
    assert statistics.width(ranges, [5] * 7 + [15] + [99] * 2) == pytest.approx(10 / 15, rel=0.01)  # they hold too little
    assert statistics.width(ranges, [99] * 10) == 0.25
    assert statistics.quantile([1, 2, 3], 0.5) == 2


def test_the_fit_finds_what_was_put_in_and_never_goes_below_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    start = features.model()
    made = [
        fit.Observation(str(i), real=3.0 + 10.0 * masks**0.5, loc=100, counts={"masks": float(masks), "libraries": float(i // 10 % 2)})
        for i, masks in enumerate([0, 1, 4, 9, 0, 4, 1, 0, 9, 4] * 20)
    ]
    model = fit.fitted(made, start)
    weights = {feature.name: feature.weight for feature in model.feature}
    assert model.base == pytest.approx(3.0, rel=0.25) and weights["masks"] == pytest.approx(10.0, rel=0.1)
    assert all(weight >= 0 for weight in weights.values()) and weights["libraries"] < 2
    assert weights["inline PTX"] == fit.PRIOR_LINES  # nothing is known of it here: what was assumed stays
    monkeypatch.setattr(fit, "INNER", (0,))
    assert statistics.spearman([q.p50 for q in fit.cross_validated(made, start)], [one.real for one in made]) > 0.9


def test_ranges_of_programs_that_mostly_need_nothing_hold_the_share_they_are_made_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of five need nothing, whatever they have; the fifth needs up to 60 lines. P50 under one is the chance of a change."""
    start = features.model()
    made = [
        fit.Observation(str(i), real=float(i % 60 if i % 5 == 0 else 0), loc=9, counts={"libraries": float(i % 7 == 0)}, domain=str(i % 3))
        for i in range(300)
    ]
    monkeypatch.setattr(fit, "INNER", (0,))
    held = fit.cross_validated(made, start)
    assert 0.78 <= statistics.coverage(held, [one.real for one in made]) <= 0.9
    assert {one.p10 for one in held} == {0.0} and all(0.1 <= one.p50 <= 0.3 for one in held)
    assert [one.p50 for one in fit.by_domain(made, start)] == pytest.approx([0.2] * 300, abs=0.21)


def test_parts_of_a_cross_validation_are_alike_and_no_program_is_seen_by_the_model_that_predicts_it() -> None:
    made = [fit.Observation(str(i), float(i % 4), 9, {"masks": float(i % 2)}) for i in range(80)]
    for part in (fit._folds(made, 3), [one.name[-1] for one in made]):
        seen: list[set[str]] = []

        def fitting(programs: Sequence[fit.Observation], start: features.LineModel, seen: list[set[str]] = seen) -> features.LineModel:
            seen.append({one.name for one in programs})
            return start

        groups = fit._held_out(made, features.model(), part, fitting)
        assert sorted(i for held, _ in groups for i in held) == list(range(80)) and len(groups) == 10
        for (held, _), names in zip(groups, seen, strict=True):
            assert names == {one.name for i, one in enumerate(made) if i not in held}
    assert [sum(1 for one, of in zip(made, fit._folds(made, 3), strict=True) if of == k and not one.real) for k in range(10)] == [2] * 10


def test_a_quantile_line_has_the_least_pinball_loss_and_never_falls() -> None:
    scores = [i / 10 for i in range(200)]
    real = [max(0.0, 3.0 * (score - 4.0)) * (1 + i * 7 % 11) / 6 for i, score in enumerate(scores)]
    for level in (0.1, 0.5, 0.9):
        line = quantile_lines.fitted(scores, real, [level] * 200, -10.0, 30.0)
        below = sum(1 for score, lines in zip(scores, real, strict=True) if score > 5 and lines < line.at(score)) / 149
        assert line.start == pytest.approx(4.0, abs=0.5) and below == pytest.approx(level, abs=0.08)
        least = quantile_lines._loss(line, scores, real, [level] * 200)
        for slope in (0.5, 0.9, 1.1, 2.0):
            assert quantile_lines._loss(Line(line.start, line.slope * slope), scores, real, [level] * 200) >= least
    falling = quantile_lines.fitted(scores, [20.0 - score for score in scores], [0.5] * 200, -10.0, 30.0)
    assert falling.slope >= 0


MADE = st.lists(
    st.tuples(st.floats(0, 300), st.integers(0, 9), st.integers(0, 3)).map(lambda t: (t[0] if t[2] else 0.0, t[1], t[2])),
    min_size=20, max_size=60,
)  # fmt: skip


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MADE, st.floats(0, 200), st.floats(0, 50))
def test_a_model_of_any_corpus_grows_with_the_score_and_its_quantiles_are_ordered(
    made: list[tuple[float, int, int]], score: float, further: float
) -> None:
    programs = [fit.Observation(str(i), real, 9, {"masks": float(a), "libraries": float(b)}) for i, (real, a, b) in enumerate(made)]
    model = fit.fitted(programs, features.model())
    assert model.knot and [knot.score for knot in model.knot] == sorted({knot.score for knot in model.knot})
    low, high = hand_lines.range_of(score, model), hand_lines.range_of(score + further, model)
    for name in ("p10", "p50", "p80", "p90"):
        assert getattr(low, name) <= getattr(high, name) + 1e-9
        assert getattr(hand_lines.rounded(low), name) <= getattr(hand_lines.rounded(high), name)
    assert 0 <= high.p10 <= high.p50 <= high.p80 <= high.p90


def test_past_the_corpus_the_range_grows_wider_and_every_quantile_still_grows() -> None:
    model = features.model()
    last = model.knot[-1]
    values = [hand_lines.range_of(last.score * factor, model) for factor in (0.2, 0.5, 1, 2, 8, 64)]
    for name in ("p10", "p50", "p80", "p90"):
        numbers = [getattr(value, name) for value in values]
        assert numbers == sorted(numbers)
    assert values[-1].p90 / values[-1].p10 > 4 * last.p90 / last.p10


def test_the_shipped_table_says_how_it_did_and_its_version_fits_its_numbers() -> None:
    shipped = hand_lines.backtest()
    assert shipped.version == written.version_of(features.model())
    assert shipped.programs == 312 and shipped.coverage >= 0.82 and shipped.width <= 1.3 and shipped.rank_correlation >= 0.62


def made_corpus(folder: Path, programs: int) -> Path:
    rows = ["name\thand_lines\tfiles_paired"]
    for i in range(programs):
        program = folder / f"src/p{i}-cuda"
        program.mkdir(parents=True)
        (program / "main.cu").write_text("int main() { return cudaDeviceSynchronize(); }\n" if i % 2 else MASK, encoding="utf-8")
        rows.append(f"p{i}\t{0 if i % 2 else 20 + i}\t1")
    table = folder / "pairs.tsv"
    table.write_text("\n".join([*rows, "gone\t3\t1", "unpaired\t3\t0"]) + "\n", encoding="utf-8")
    return table


def test_calibrate_reads_a_corpus_fits_and_writes_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "SEEDS", (1,))
    monkeypatch.setattr(fit, "INNER", (0,))
    table = made_corpus(tmp_path, 20)
    shipped = rules.rules_folder() / "effort/hand_lines.toml"
    copy = tmp_path / "hand_lines.toml"
    copy.write_bytes(shipped.read_bytes())
    seen = corpus.pairs(tmp_path, table)
    assert len(seen[0]) == 20 and seen[1] == ["gone"]
    kinds = [corpus.observation(pair, pipeline.audit(pair.folder, Config(jobs=0))) for pair in seen[0][:2]]

    def observed(found: list[corpus.Pair], *_: object) -> list[fit.Observation]:
        return [msgspec.structs.replace(kinds[i % 2], name=pair.name, real=pair.real) for i, pair in enumerate(found)]

    monkeypatch.setattr(corpus, "observed", observed)
    arguments = ["calibrate", str(tmp_path), "--pairs", str(table), "--observations", str(tmp_path / "seen.jsonl")]
    result = CliRunner().invoke(main, [*arguments, "--fit", str(copy), "--label", "mine"])
    assert (
        result.exit_code == 0 and "| programs | 20 |" in result.stdout and "1 programs of the table are not in the corpus" in result.stderr
    )
    model = msgspec.toml.decode(copy.read_bytes(), type=features.LineModel)
    assert model.backtest["corpus"] == "mine" and model.backtest["version"] == written.version_of(model) and model.other
    again = CliRunner().invoke(main, [*arguments, "--format", "json"])
    rows = json.loads(again.stdout)
    assert rows["cross_validated"]["rank_correlation"] > 0.7 and len(rows["programs"]) == 20
    few = CliRunner().invoke(main, [*arguments, "--limit", "5"])
    assert few.exit_code == 2 and "too few" in few.stderr


def test_a_wrong_table_is_one_line(tmp_path: Path) -> None:
    for text in ("", "name\tother\na\t1\n", "name\thand_lines\na\tmany\n"):
        (tmp_path / "a").mkdir(exist_ok=True)
        (tmp_path / "pairs.tsv").write_text(text, encoding="utf-8")
        with pytest.raises(InputError):
            corpus.pairs(tmp_path, tmp_path / "pairs.tsv")
    (tmp_path / "pairs.tsv").write_text("name\thand_lines\n../../etc\t1\n", encoding="utf-8")
    assert corpus.pairs(tmp_path, tmp_path / "pairs.tsv") == ([], ["../../etc"])


def test_the_page_of_the_backtest_names_coverage_bias_and_features() -> None:
    programs = [fit.Observation("a", 4.0, 9, {"masks": 1.0}), fit.Observation("b", 0.0, 5, {"masks": 0.0})]
    result = backtest.measured(programs, [Quantiles(1, 3, 5, 9), Quantiles(1, 2, 3, 4)])
    text = backtest.page(result, "Title")
    assert "domain" not in text and "| programs | 2 | 2 |  |" in backtest.page(result, "Title", result)
    assert result.coverage == 0.5 and result.bias == pytest.approx(0.5) and "| masks | 1 | 4.0 | 3.0 | 100% |" in text and "50.0%" in text
    assert [row["name"] for row in backtest.rows(programs, [Quantiles(1, 3, 5, 9), Quantiles(1, 2, 3, 4)])] == ["b", "a"]


def test_programs_scanned_by_several_processes_give_the_same_observations_in_order(tmp_path: Path) -> None:
    table = made_corpus(tmp_path, 20)
    arguments = ["calibrate", str(tmp_path), "--pairs", str(table), "--limit", "5"]
    for jobs in ("1", "2"):
        result = CliRunner().invoke(main, [*arguments, "--jobs", jobs, "--observations", str(tmp_path / f"{jobs}.jsonl")])
        assert result.exit_code == 2 and "5 programs are too few" in result.stderr  # scanned and kept; too few to judge a model by
    one = (tmp_path / "1.jsonl").read_bytes()
    assert one == (tmp_path / "2.jsonl").read_bytes() and one.count(b"\n") == 5
    seen = [msgspec.json.decode(line, type=fit.Observation) for line in one.splitlines()]
    assert [program.name for program in seen] == [f"p{i}" for i in range(5)]
    assert seen[0].counts["masks"] >= 2 and seen[0].predicted.p50 > seen[1].predicted.p50 and not any(seen[1].counts.values())
