"""Many repositories: what they share is paid once, nothing is lost when an audit fails, and hostile names stay text."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import openpyxl
import pytest
from click.testing import CliRunner
from conftest import missing
from report_factory import empty_report, finding, rules

from porter import report_file
from porter.cli import main
from porter.estimate.parameters import project
from porter.model import EffortLine, Estimate, Hours, Quantiles, Report, Strategy
from porter.portfolio import book, listing, merge, page, run, saved
from porter.portfolio.listing import Repository
from porter.portfolio.one import Answer, Task, audit, signature
from porter.render import json as json_report

BENCHMARK = Path(__file__).parent / "benchmarks" / "portfolio_cluster.py"
HEADER = "#pragma once\n__device__ inline int alive(bool p) { unsigned v = __ballot_sync(0xffffffff, p); return __popc(v); }\n"


def line(rule: str, likely: float, once: float = 0.0, kind: str = "finding") -> EffortLine:
    first = Hours(once / 2, once, once * 2)
    return EffortLine(rule, "", Hours(likely / 2, likely, likely * 2), rule, rule, "cuda-only-library", 1, 1, kind, once=first)


def report(*lines: EffortLine, places: tuple[tuple[str, str], ...] = ()) -> bytes:
    nvshmem = rules()["nvshmem"]
    findings = tuple(
        msgspec.structs.replace(finding(nvshmem, path, 1, "x", ""), rule=rule, group=rule, category="cuda-only-library")
        for rule, path in places
    )
    hours = Quantiles(1.0, sum(one.hours.likely for one in lines), 3.0, 4.0)
    return json_report.render(empty_report_with(findings=findings, estimate=Estimate(hours, hours, lines))).encode()


def empty_report_with(**more: object) -> Report:
    return msgspec.structs.replace(empty_report(), **more)


def merged(*answers: Answer, **values: float) -> merge.Portfolio:
    return merge.portfolio([Repository(one.name, "/x/" + one.name, values.get(one.name)) for one in answers], answers)


def test_a_first_fix_is_paid_whole_where_it_is_dearest_and_in_part_elsewhere() -> None:
    part = project().sharing.same_rule
    whole = merged(Answer("a", report(line("x", 10.0, once=4.0))), Answer("b", report(line("x", 20.0, once=8.0))))
    left = {row.name: row.likely for row in whole.rows}
    assert left == {"a": pytest.approx(10.0 - 4.0 * (1 - part)), "b": 20.0}
    assert whole.apart.likely == 30.0
    assert whole.together.likely == pytest.approx(sum(left.values()))
    assert [(one.rule, one.repositories) for one in whole.shared] == [("x", ("a", "b"))]


def test_a_file_that_stands_in_two_repositories_is_paid_by_the_first() -> None:
    one = Answer("a", report(line("x", 10.0), places=(("x", "v/k.cu"),)), {"v/k.cu": "same"})
    two = Answer("b", report(line("x", 10.0), line("own", 3.0), places=(("x", "k.cu"), ("own", "o.cu"))), {"k.cu": "same", "o.cu": "other"})
    whole = merged(one, two)
    assert {row.name: row.likely for row in whole.rows} == {"a": 10.0, "b": 3.0}
    assert [file.places for file in whole.copied] == [(("a", "v/k.cu"), ("b", "k.cu"))]


def test_a_first_fix_is_paid_whole_by_one_that_has_something_left_to_fix() -> None:
    one = Answer("a", report(line("x", 10.0, once=4.0), places=(("x", "k.cu"),)), {"k.cu": "same"})
    two = Answer("b", report(line("x", 20.0, once=8.0), places=(("x", "k.cu"),)), {"k.cu": "same"})
    assert {row.name: row.likely for row in merged(one, two).rows} == {"a": 10.0, "b": 0.0}


def test_project_lines_are_shared_by_nobody_and_order_changes_nothing() -> None:
    answers = [Answer(name, report(line("", 8.0, kind="project"), line("x", 5.0, once=2.0))) for name in "abc"]
    whole = merged(*answers)
    again = merge.portfolio([Repository(name, "/x/" + name) for name in "abc"], reversed(answers))
    assert page.as_json(whole) == page.as_json(again)
    assert whole.together.likely >= 24.0 + 5.0


def test_ranking_puts_value_an_hour_first_and_failures_last() -> None:
    whole = merged(Answer("dear", report(line("x", 100.0))), Answer("cheap", report(line("x", 2.0))),
                   Answer("gone", error="no such"), Answer("plain", report(line("x", 1.0))), dear=1000.0, cheap=30.0)  # fmt: skip
    assert [row.name for row in whole.rows] == ["cheap", "dear", "plain", "gone"]
    assert not whole.complete
    assert merged(Answer("b", report(line("x", 2.0))), Answer("a", report(line("x", 3.0)))).rows[0].name == "b"


def test_each_repository_stands_beside_the_way_that_its_report_recommends() -> None:
    """The portfolio ranked repositories and did not say how any of them would be ported."""
    ways = (Strategy("header", "One header", "", True, "", recommended=True), Strategy("copy", "A copy", "", True, ""))
    data = json_report.render(empty_report_with(strategies=ways)).encode()
    whole = merged(Answer("a", data), Answer("b", report(line("x", 2.0))))
    assert {row.name: row.way for row in whole.rows} == {"a": "One header", "b": ""}
    text = page.render(whole)
    assert "<td>One header</td>" in text and "A copy" not in text
    sheet = openpyxl.load_workbook(io.BytesIO(book.render(whole)))["Ranking"]
    at = [cell.value for cell in sheet[1]].index("Recommended way")
    assert {str(row[at].value or "") for row in sheet.iter_rows(min_row=2)} == {"One header", ""}


def test_hostile_names_stay_text_everywhere() -> None:
    name, formula = "<script>alert(1)</script>\x1b[31m", '=HYPERLINK("x")'
    whole = merged(Answer(name, report(line("<img src=x>", 2.0), places=(("<img src=x>", "<b>.cu"),)), {"<b>.cu": "s"}),
                   Answer(formula, report(line("<img src=x>", 2.0), places=(("<img src=x>", "<b>.cu"),)), {"<b>.cu": "s"}))  # fmt: skip
    text = page.render(whole)
    assert "<script" not in text
    assert "<img" not in text
    assert "<b>" not in text
    assert "\x1b" not in text
    sheet = openpyxl.load_workbook(io.BytesIO(book.render(whole)))["Ranking"]
    cells = [cell for row in sheet.iter_rows() for cell in row if isinstance(cell.value, str) and "HYPERLINK" in cell.value]
    assert cells
    assert all(cell.data_type == "s" for cell in cells)
    assert book.render(whole) == book.render(whole)


@pytest.mark.parametrize(
    ("text", "said"),
    [("https://host/x.git\n", "fetches nothing"), ("nowhere\n", "no such folder"), ("here value=dear\n", "a number"),
     ("# none\n", "names no"),      ("here colour=red\n", "colour"), ("'here\n", "quotation")],
)  # fmt: skip
def test_a_wrong_list_is_one_clear_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "repos.txt").write_text(text)
    result = CliRunner().invoke(main, ["portfolio", str(tmp_path / "repos.txt")])
    assert result.exit_code == 2
    assert said in result.output
    assert result.output.count("\n") == 1


def test_folders_of_one_name_are_told_apart_and_links_are_left_out(tmp_path: Path) -> None:
    for folder in ("one/app", "two/app", "my project"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "repos.txt").write_text("one/app value=3\ntwo/app  # the other\n'my project' name=mine\none/app\n")
    assert [(one.name, one.value) for one in listing.repositories(tmp_path / "repos.txt")] == [
        ("mine", None),
        ("one/app", 3.0),
        ("two/app", None),
    ]
    (tmp_path / "link").symlink_to("/")
    assert [one.name for one in listing.repositories(tmp_path)] == ["my project", "one", "two"]


def task(folder: Path, timeout: float = 120.0) -> Task:
    return Task(folder.name, str(folder), ("--jobs", "0"), timeout, {"PATH": "/usr/bin:/bin"})


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "votes.cuh").write_text(HEADER)
    (folder / "requirements.txt").write_text("tensorrt\n")
    return folder


def test_an_audit_gives_the_report_and_the_hashes_of_files_with_findings(repository: Path) -> None:
    answer = audit(task(repository))
    assert answer.error == ""
    assert set(answer.content) == {"votes.cuh", "requirements.txt"}
    found = report_file.parse(answer.report)
    assert found.cuda_files == 1
    assert any(one.once != Hours() for one in found.estimate.lines)


def test_an_audit_that_fails_or_takes_too_long_is_told(tmp_path: Path, repository: Path) -> None:
    assert "no such" in audit(task(tmp_path / "gone")).error
    assert audit(task(repository, timeout=0.01)).error == "not done in 0.01 s"


def test_saved_answers_are_taken_for_unchanged_trees_only(tmp_path: Path, repository: Path) -> None:
    reports, job = tmp_path / "reports", task(repository)
    answer = Answer(job.name, report(line("x", 1.0)), {}, signature(repository, job.options))
    assert list(saved.keep([answer], reports if saved.split([], reports) else None)) == [answer]
    assert saved.split([job], reports) == ([answer], [])
    next(reports.glob("*.json")).write_text("{}")
    assert saved.split([job], reports) == ([], [job])
    list(saved.keep([answer], reports))
    (repository / "new.cu").write_text("int x;\n")
    assert saved.split([job], reports) == ([], [job])


def test_local_runs_hand_on_every_answer() -> None:
    work: Callable[[Task], Answer] = lambda one: Answer(one.name, error="x" if one.name == "b" else "")  # noqa: E731
    tasks = [Task(name, "/", (), 1.0, {}) for name in "abc"]
    assert sorted((one.name, one.error) for one in run.local(tasks, 2, work)) == [("a", ""), ("b", "x"), ("c", "")]


def test_no_scheduler_is_one_clear_line(tmp_path: Path, repository: Path) -> None:
    result = CliRunner().invoke(main, ["portfolio", str(repository.parent), "--scheduler", "nowhere", "--output", str(tmp_path / "p.json")])
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert not (tmp_path / "p.json").exists()


def test_a_killed_worker_and_a_stopped_run_lose_nothing() -> None:
    if importlib.util.find_spec("distributed") is None:
        missing("needs Dask: pip install 'rocm-porter[dask]'")
    done = subprocess.run([sys.executable, str(BENCHMARK), "--repositories", "3"], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("same bytes") == 3


def test_a_decision_of_a_category_is_paid_once_over_repositories() -> None:
    """Rules of the build share one decision by their category, and only the patterns that list rules were looked at."""
    build = msgspec.structs.replace(EffortLine("x", "", Hours()), rule="cmake-cuda-language", category="build")
    other = msgspec.structs.replace(build, rule="nvcc-arch-flags")
    assert merge._family(build) == merge._family(other) == "a second compiler in the build"
    assert merge._family(msgspec.structs.replace(build, rule="cudf", category="cuda-only-library")) == "cudf"
