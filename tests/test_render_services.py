"""SARIF, CSV, GitLab code quality and JUnit: the services' rules, the same totals everywhere, hostile text that stays text."""

from __future__ import annotations

import csv as stdlib_csv
import io
import json
import xml.etree.ElementTree as ElementTree
from collections import Counter

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_factory import HOSTILE_PATH, empty_report, finding, large_report, make_report, rules

from porter import render
from porter.errors import ConfigError
from porter.render import csv, gitlab, junit, sarif
from porter.render import json as report_json


def run_of(report):
    return json.loads(sarif.render(report))["runs"][0]


def test_sarif_has_what_code_scanning_asks_for():
    run = run_of(make_report())
    rules_of_run = run["tool"]["driver"]["rules"]
    assert len(run["results"]) == 6 and len(rules_of_run) == 4
    for result in run["results"]:
        assert rules_of_run[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"] and result["level"] in ("error", "warning", "note")
        region = result["locations"][0]["physicalLocation"]["region"]
        assert region["startLine"] >= 1 and region["startColumn"] >= 1 and region.get("endColumn", 1) >= 1
        assert "primaryLocationLineHash" in result["partialFingerprints"]
    for rule in rules_of_run:
        assert rule["shortDescription"]["text"] and rule["help"]["text"] and rule["help"]["markdown"]
        assert len(rule["properties"]["tags"]) <= 20


def test_sarif_levels_and_baseline():
    assert Counter(result["level"] for result in run_of(make_report())["results"]) == {"error": 2, "warning": 3, "note": 1}
    assert Counter(result["baselineState"] for result in run_of(make_report())["results"]) == {"new": 5, "unchanged": 1}
    fresh = tuple(f for f in make_report().findings if f.state == "new")
    assert "baselineState" not in run_of(make_report(findings=fresh))["results"][0]


def test_sarif_paths_are_uris_and_columns_count_characters():
    rule = rules()["nvshmem"]
    odd = finding(rule, "dir with space/ä#?.cu", 3, "/* äöü */ nvshmem_init();", "m", column=14, end_column=26)
    place = run_of(make_report(findings=(odd,)))["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "dir%20with%20space/%C3%A4%23%3F.cu"
    assert (place["region"]["startColumn"], place["region"]["endColumn"]) == (11, 23)


@pytest.mark.parametrize("count", [80, 81])
def test_sarif_keeps_within_the_limit_and_tells(count, monkeypatch):
    assert sarif.MAX_RESULTS == 25_000 and sarif.MAX_PACKED == 10_000_000
    monkeypatch.setattr(sarif, "MAX_RESULTS", 80)
    run = run_of(large_report(count))
    assert len(run["results"]) == sarif.MAX_RESULTS
    notes = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert any("1 finding of the lowest severity left out" in note for note in notes) is (count > sarif.MAX_RESULTS)
    if count > sarif.MAX_RESULTS:
        assert sum(result["level"] == "error" for result in run["results"]) == len([i for i in range(count) if i % 4 == 0])


def test_sarif_messages_hold_no_link_and_problems_are_notifications():
    run = run_of(make_report())
    hostile = finding(rules()["nvshmem"], "a.cu", 1, "x", "see [docs](http://evil.example)")
    assert "\\[docs\\](" in run_of(make_report(findings=(hostile,)))["results"][0]["message"]["text"]
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [note["level"] for note in notes] == ["warning", "note"] and "\x1b" not in notes[0]["message"]["text"]


def test_gitlab_issues_have_the_required_keys_and_unique_fingerprints():
    issues = json.loads(gitlab.render(make_report()))
    assert len(issues) == 6
    for issue in issues:
        assert {"description", "check_name", "fingerprint", "severity", "location"} <= set(issue)
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["lines"]["begin"] >= 1
    assert len({issue["fingerprint"] for issue in issues}) == 6


def test_junit_counts_and_text():
    root = ElementTree.fromstring(junit.render(make_report()))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("7", "6", "1")
    assert len(root.findall("./testsuite/testcase/failure")) == 6 and len(root.findall(".//error")) == 1
    assert any(HOSTILE_PATH in (failure.text or "") for failure in root.iter("failure"))
    calm = ElementTree.fromstring(junit.render(empty_report()))
    assert calm.get("failures") == "0" and len(calm.findall(".//testcase")) == 1


@pytest.mark.parametrize("evil", ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0"])
def test_no_cell_is_a_formula(evil):
    rule = rules()["nvshmem"]
    rows = list(stdlib_csv.reader(io.StringIO(csv.render(make_report(findings=(finding(rule, evil, 1, evil, evil),))))))
    assert [row for row in rows for value in row if value.startswith(("=", "+", "-", "@"))] == []
    assert "'" + evil in rows[1]


def test_csv_shows_no_escape_of_a_saved_report_in_any_column():
    """Found by fuzzing: categories and fingerprints come from a stranger's file too."""
    evil = "=\x1b[31m\u202ex"
    made = msgspec.structs.replace(make_report().findings[0], category=evil, fingerprint=evil, targets=(evil,), state=evil)
    rows = list(stdlib_csv.DictReader(io.StringIO(csv.render(make_report(findings=(made,))))))
    assert [rows[0][name] for name in ("category", "fingerprint", "targets", "state")] == ["'=\u241b[31m\\u202ex"] * 4


def test_csv_has_one_row_a_finding_and_insight():
    rows = list(stdlib_csv.DictReader(io.StringIO(csv.render(make_report()))))
    assert Counter(row["kind"] for row in rows) == {"finding": 6, "insight": 3}
    assert next(row for row in rows if row["path"] == "csrc/vote.cu" and row["kind"] == "finding")["line"] == "40"


def test_formats_follow_from_endings():
    names = ("a.html", "a.JSON", "x.sarif", "x.sarif.json", "gl.gitlab.json", "r.md", "r.csv", "r.xml", "r.txt")
    found = [render.format_of(name) for name in names]
    assert found == ["html", "json", "sarif", "sarif", "gitlab", "markdown", "csv", "junit", "terminal"]
    with pytest.raises(ConfigError):
        render.format_of("report.pdf")


TEXT = st.text(st.characters(exclude_categories=()), max_size=40)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT, TEXT, st.integers(1, 10**6)), max_size=6))
def test_any_text_renders_in_every_format_with_the_same_totals(parts):
    rule = rules()["nvshmem"]
    found = tuple(
        finding(rule, path or "x", line, code or "y", message, column=1, end_column=2, fingerprint=f"{i:04x}")
        for i, (path, code, message, line) in enumerate(parts)
    ) if all(code.split() for _, code, _, _ in parts) else ()  # fmt: skip
    report = make_report(findings=found)
    texts = {name: render.render(report, name) for name in render.FORMATS}
    assert all(text if isinstance(text, bytes) else text.encode("utf-8") for text in texts.values())
    assert not any(set(texts[name]) & set("\x1b\x00\x9b\u202e") for name in ("terminal", "html", "markdown", "junit", "csv"))
    assert len(json.loads(texts["json"])["findings"]) == len(found) == len(json.loads(texts["gitlab"]))
    assert len(json.loads(texts["sarif"])["runs"][0]["results"]) == len(found)
    assert ElementTree.fromstring(texts["junit"]).get("failures") == str(len(found))
    assert report_json.as_dict(report)["summary"]["findings"] == ({"cuda-only-library": len(found)} if found else {})
