"""The terminal summary: true width, no colour when not asked, nothing out of scanned code reaches the terminal raw."""

from __future__ import annotations

import re

import msgspec
import pytest
from report_factory import HOSTILE_PATH, empty_report, finding, large_report, make_report, rules

from porter.render import terminal
from porter.render.neutral import cells

ANSI = re.compile("\x1b\\[[0-9;]*m")


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width):
    for report in (make_report(), empty_report(), large_report(300)):
        lines = terminal.render(report, width).splitlines()
        assert max(cells(line) for line in lines) <= width


def test_no_escape_without_colour():
    assert "\x1b" not in terminal.render(make_report())


def test_colour_only_adds_escapes():
    plain = terminal.render(make_report(), 80)
    coloured = terminal.render(make_report(), 80, colour=True)
    assert "\x1b[" in coloured
    assert [line.rstrip() for line in ANSI.sub("", coloured).splitlines()] == plain.splitlines()


def test_escapes_in_scanned_text_are_shown_not_obeyed():
    evil = "int x; // \x1b[2J\x1b]0;owned\x07 \u202e \x9b31m"
    rule = rules()["ballot-32-bit-mask"]
    report = make_report(findings=(finding(rule, "a\x1b[31m\nb.cu", 1, evil, "evil \x1b[0m"),), root="x\x1b[1m", command="\x1b[5m")
    text = ANSI.sub("", terminal.render(report, 120, colour=True))
    assert not set(text) & set("\x1b\x07\x9b\u202e\r")
    assert "\u241b[2J" in text


def test_it_says_what_matters():
    text = " ".join(terminal.render(make_report(), 100, html_path="porter-report.html").split())
    assert "2 blocking places: Ballot result kept in 32 bits" in text
    assert "68 h" in text and "31–130 h" in text and "grade C" in text
    assert HOSTILE_PATH in text
    assert "incomplete: 1 problem may hide findings" in text
    assert "vendored 800 files (90,000 CUDA lines)" in text
    assert "porter-report.html" in text
    assert "porter explain ballot-32-bit-mask" in text


def test_an_empty_project_gets_a_calm_page():
    text = terminal.render(empty_report())
    assert "nothing that ties it to NVIDIA" in text
    assert "Top findings" not in text and "Problems" not in text


def test_rich_markup_in_code_stays_text():
    rule = rules()["nvshmem"]
    report = make_report(findings=(finding(rule, "[bold]x[/bold].cu", 1, "[red]int[/red] :smile:", "m"),))
    text = terminal.render(report, 100)
    assert "[bold]x[/bold].cu:1" in text and "[red]int[/red] :smile:" in text


def test_the_end_is_totals_and_top_rules():
    text = terminal.render(make_report(), 100, html_path="porter-report.html")
    order = ["Top findings", "Works as it is", "Problems", "Category", "Top rules (4 of 4)", "Effort", "Scanned", "Report", "Next"]
    assert [text.index("\n" + name) for name in order] == sorted(text.index("\n" + name) for name in order)


def test_verbose_lists_every_finding_and_every_problem():
    report = large_report(300)
    text = terminal.render(report, 120, verbose=True)
    assert sum(1 for line in text.splitlines() if re.match(r" +\d+  (blocker|major|minor|info)  \S+$", line)) == 300
    assert text.count("│ unsigned vote_") >= 300
    assert "Findings (300)" not in terminal.render(report, 120)
    many = make_report(problems=make_report().problems * 9)
    assert "with --verbose" in terminal.render(many, 120) and "with --verbose" not in terminal.render(many, 120, verbose=True)


def test_counts_of_top_rules_are_whole_however_long_the_names():
    rule = msgspec.structs.replace(rules()["nvshmem"], id="a-very-long-rule-id-" * 5, title="A very long title " * 9)
    report = make_report(findings=tuple(finding(rule, "a.cu", line, "x y", "m") for line in range(1, 1235)), rules={rule.id: rule})
    assert re.search(r"Top rules \(1 of 1\)\n  1,234  a-very", terminal.render(report, 60))
