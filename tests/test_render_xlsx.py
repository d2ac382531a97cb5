"""The workbook: totals that formulas sum, text that stays text, the same bytes for the same report."""

from __future__ import annotations

import io
import re
import zipfile

import pytest
from openpyxl import load_workbook
from report_factory import HOSTILE_PATH, empty_report, finding, large_report, make_report, rules

from porter.model import EffortLine, Estimate, Hours, Kernel, Problem
from porter.render import xlsx
from porter.render.look import Look

EVIL = ["=HYPERLINK(1)", "+1+1", "-2+3", "@SUM(A1)", "=cmd|' /C calc'!A0", "\t=1", "'=1", "a\x00b\x1b[31m\u202e", "\ud800x", "x" * 50_000]


def opened(report, **look):
    return load_workbook(io.BytesIO(xlsx.render(report, Look(**look))))


def computed(sheet, formula):
    """The value of one of our formulas: SUM over cells, SUMIF over columns."""
    if found := re.fullmatch(r"=SUM\((\w)(\d+):\w(\d+)\)", formula):
        cells = [sheet[f"{found[1]}{row}"].value for row in range(int(found[2]), int(found[3]) + 1)]
        return sum(computed(sheet, cell) if isinstance(cell, str) and cell.startswith("=") else cell or 0 for cell in cells)
    found = re.fullmatch(r"=SUMIF\('(.+)'!\$(\w):\$\w,\$A(\d+),'.+'!(\w):\w\)", formula)
    other, wanted, column = sheet.parent[found[1]], sheet[f"A{found[3]}"].value, "ABC".index(found[2])
    return sum(row["EFGH".index(found[4]) + 4].value or 0 for row in other.iter_rows(min_row=2) if row[column].value == wanted)


@pytest.mark.parametrize("lang", ["en", "ru", "zh"])
def test_the_formulas_sum_to_the_totals_of_the_report(lang):
    report = make_report()
    book = opened(report, lang=lang)
    summary, effort = book.worksheets[0], book.worksheets[1]
    last = [cell.value for cell in effort[effort.max_row]]
    assert computed(effort, last[5]) == pytest.approx(report.estimate.total.likely)
    assert computed(effort, last[7]) == len(report.findings)
    sums = [row for row in summary.iter_rows() if str(row[1].value).startswith("=SUM(")]
    assert len(sums) == 2  # by category and by phase
    for row in sums:
        assert [computed(summary, cell.value) for cell in row[1:4]] == pytest.approx([15.1, 60.7, 234.2])
        assert computed(summary, row[4].value) == len(report.findings)


def test_every_list_is_whole_and_has_a_head_that_stays():
    report = make_report()
    book = opened(report)
    assert book.sheetnames == ["Summary", "Effort", "Findings", "Dependencies", "Kernels", "Translation", "Problems"]
    assert book["Findings"].max_row == 1 + len(report.findings) and book["Kernels"].max_row == 1 + len(report.kernels)
    assert all(sheet.freeze_panes == "A2" and sheet.auto_filter.ref for sheet in book.worksheets[1:])
    assert book["Effort"].auto_filter.ref == f"A1:J{book['Effort'].max_row - 1}"  # the sum stays below when a planner sorts
    assert HOSTILE_PATH in {row[4].value for row in book["Findings"].iter_rows(min_row=2)}
    assert opened(empty_report())["Effort"].max_row == 1


def test_hostile_text_stays_text():
    rule = rules()["nvshmem"]
    found = tuple(finding(rule, text, 1, text + "x", text, fingerprint=str(i), column=1, end_column=2) for i, text in enumerate(EVIL))
    lines = tuple(EffortLine(text, text, Hours(1, 2, 3), "nvshmem", text, "cuda-only-library", 1, 1) for text in EVIL)
    kernels = tuple(Kernel(text, text, 1, 1, (text,)) for text in EVIL)
    problems = tuple(Problem(text, text, 1, text) for text in EVIL)
    report = make_report(
        findings=found, estimate=Estimate(lines=lines), kernels=kernels, problems=problems, root="=1+1", command="@x", commit="-1"
    )
    for sheet in opened(report).worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                assert cell.data_type != "f" or re.match(r"=(SUM|SUMIF)\(", cell.value), cell.value
                assert not isinstance(cell.value, str) or not set(cell.value) & set("\x00\x1b\u202e\ud800")
                assert not isinstance(cell.value, str) or len(cell.value) <= 2000


def test_bytes_are_the_same_and_hold_no_clock():
    first, second = xlsx.render(make_report()), xlsx.render(make_report())
    assert first == second
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert b"2026-01-01T00:00:00Z" in archive.read("docProps/core.xml")
        assert b"<f>SUM(" in archive.read("xl/worksheets/sheet2.xml")


def test_many_findings_are_all_there():
    assert opened(large_report(400))["Findings"].max_row == 401
