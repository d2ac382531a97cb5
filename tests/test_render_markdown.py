"""The Markdown report: tables that hold together, and hostile text that stays text in GitHub's dialect."""

from __future__ import annotations

import re

import pytest
from report_factory import empty_report, finding, large_report, make_report, rules

from porter.render import markdown, markdown_text


def _tables(text):
    """The rows of every table, split at bars that are not escaped."""
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("report", [make_report(), empty_report(), large_report(200)], ids=["full", "empty", "large"])
def test_every_row_has_the_cells_of_its_head(report):
    width = 0
    for line in markdown.render(report).splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        cells = len(re.split(r"(?<!\\)\|", line)) - 2
        width = width or cells
        assert cells == width, line


def test_hostile_prose_is_escaped_outside_code():
    outside = re.sub(r"(`+).*?\1", "", markdown.render(make_report()))
    for bad in ("<script", "<b>", "<img", "@octocat", "\x1b", "\u202e"):
        assert bad not in outside


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a|b", "a&#124;b"),
        ("[x](http://e)", "\\[x\\](http&#58;&#8203;//e)"),
        ("www.e.com", "www&#46;&#8203;e.com"),
        ("fixes #12", "fixes &#35;&#8203;12"),
        ("cc @octocat", "cc &#64;&#8203;octocat"),
        ("GH-7, !3 and %4", "GH&#45;&#8203;7, &#33;&#8203;3 and &#37;&#8203;4"),
        ("/approve", "&#47;approve"),
        ("- item", "&#45; item"),
        ("1. item", "&#49;. item"),
        ("1.", "&#49;."),
        ("10.2 is no list", "10.2 is no list"),
        ("# head", "&#35; head"),
        ("a_b*c*", "a\\_b\\*c\\*"),
        ("two\nlines", "two \u23ce lines"),
    ],
)
def test_text(value, shown):
    assert markdown.text(value) == shown


def test_code_spans_outlast_their_content():
    assert markdown.code("a `b` ``c``") == "``` a `b` ``c`` ```"
    assert markdown.code("x|y") == "`x\\|y`"
    assert markdown.code("  ") == ""


def test_a_path_with_a_line_end_cannot_leave_its_cell():
    rule = rules()["nvshmem"]
    report = make_report(findings=(finding(rule, "a\n| evil | row |\nb.cu", 1, "int x;", "m"),))
    assert not [line for line in markdown.render(report).splitlines() if line.startswith("| evil")]


def test_totals_and_places():
    text = markdown.render(make_report())
    assert "| **Findings** | 6 |" in text and "| **Blockers** | 2 |" in text
    assert "`csrc/vote.cu:40`" in text
    assert "| **Sum** |  | **61 h** | 15–230 h |" in text
    assert len(_tables(text)) > 30


def test_long_lists_say_what_they_leave_out():
    assert "30 more places in the other reports." in markdown.render(large_report(200))


def test_addresses_in_porters_own_words_can_be_copied() -> None:
    """A character without width stood inside them, and a command copied from the report failed."""
    how = "pip install x --extra-index-url https://pypi.amd.com/rocm-7.2.3/simple/ (for 7.2), or see https://a.example/b. [x](y)"
    shown = markdown_text.prose(how)
    assert "--extra-index-url <https://pypi.amd.com/rocm-7.2.3/simple/> (for 7.2), or see <https://a.example/b>. \\[x\\](y)" in shown
    assert markdown_text.prose("no <b> https://") == markdown.text("no <b> https://")


def test_steps_of_the_runbook_name_their_evidence() -> None:
    """Images and wheels stood there without the page that names them."""
    text = markdown.render(make_report())
    assert "  Expected: A file of results." in text
    assert "  Evidence: The wavefront of gfx9 has 64 lanes. <https://rocm.docs.amd.com/projects/HIP/en/latest/>, read 2026-12-01." in text
