"""The JSON report against its contract: keys, order, schema, totals, and bytes that stay the same."""

from __future__ import annotations

import json as stdlib_json
from importlib.resources import files

import jsonschema
import pytest
from report_factory import HOSTILE_CODE, HOSTILE_PATH, empty_report, large_report, make_report

from porter.model import CATEGORIES, INSIGHT_CATEGORIES, Problem
from porter.render import json

SCHEMA = stdlib_json.loads((files("porter.render") / "schema" / "porter.report.1.json").read_text())
TOP = ["schema", "tool", "root", "commit", "targets", "rocm", "summary", "findings", "insights", "files", "effort", "problems", "skipped"]
FINDING = [
    "rule", "category", "severity", "confidence", "action", "path", "line", "column", "end_line", "end_column", "snippet", "message",
    "replacement", "targets", "effort_hours", "fingerprint", "group", "state", "related",
]  # fmt: skip


def test_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("report", [make_report(), empty_report(), large_report(50)], ids=["full", "empty", "large"])
def test_report_matches_the_schema(report):
    jsonschema.validate(stdlib_json.loads(json.render(report)), SCHEMA)


def test_schema_refuses_what_is_no_report():
    data = stdlib_json.loads(json.render(make_report()))
    data["findings"][0]["line"] = 0
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, SCHEMA)
    data["findings"][0]["line"] = 1
    data["insights"][0]["action"] = "edit"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, SCHEMA)


def test_keys_stand_in_the_order_of_the_contract():
    data = stdlib_json.loads(json.render(make_report()))
    assert list(data)[: len(TOP)] == TOP
    assert all(list(row)[: len(FINDING)] == FINDING for row in data["findings"] + data["insights"])
    assert list(data["summary"])[:9] == [
        "files_scanned", "files_skipped", "cuda_files", "cuda_lines", "complete", "findings", "hipify", "effort_hours", "hand_lines",
    ]  # fmt: skip
    assert list(data["summary"]["effort_hours"]) == ["p10", "p50", "p80", "p90"]
    assert list(data["summary"]["hand_lines"]) == ["p10", "p50", "p90"]
    assert list(data["files"][0]) == ["path", "kind", "lines", "hipify", "coverage"]


def test_schema_knows_the_categories_of_the_model():
    assert SCHEMA["$defs"]["finding"]["properties"]["category"]["enum"] == list(CATEGORIES)
    assert SCHEMA["$defs"]["insight"]["properties"]["category"]["enum"] == list(INSIGHT_CATEGORIES)


def test_totals_reconcile():
    data = stdlib_json.loads(json.render(make_report()))
    assert sum(data["summary"]["findings"].values()) == len(data["findings"])
    assert data["summary"]["files_scanned"] == len(data["files"])
    assert data["summary"]["files_skipped"] == 801
    assert data["estimate"]["total"]["likely"] == pytest.approx(sum(line["hours"]["likely"] for line in data["effort"]))


def test_complete_follows_the_problems_that_matter():
    assert stdlib_json.loads(json.render(make_report()))["summary"]["complete"] is False
    calm = make_report(problems=(Problem("hipify", "", 0, "not found", False),))
    assert stdlib_json.loads(json.render(calm))["summary"]["complete"] is True


def test_hostile_text_comes_back_as_it_was():
    rows = stdlib_json.loads(json.render(make_report()))["findings"]
    assert any(row["path"] == HOSTILE_PATH and row["snippet"] == HOSTILE_CODE for row in rows)


def test_lone_surrogates_do_not_break_the_file():
    text = json.render(make_report(root="bad\udcff", command="x\udc80"))
    assert stdlib_json.loads(text.encode("utf-8"))["root"] == "bad?"


def test_same_report_gives_the_same_bytes():
    assert json.render(make_report()) == json.render(make_report())


def test_date_is_there_only_if_given():
    assert "date" not in stdlib_json.loads(json.render(make_report()))
    assert stdlib_json.loads(json.render(make_report(date="2026-12-01")))["date"] == "2026-12-01"


def test_the_command_in_a_report_tells_no_folder_and_no_output(monkeypatch):
    from porter import cli_scan as cli

    words = [
        "porter",
        "scan",
        "/home/me/secret/repo",
        "--rules=/home/me/secret/rules",
        "--output=/x/r.html",
        "--output",
        "r.json",
        "-q",
        "--target",
        "gfx942",
        "--jobs",
        "2",
    ]
    monkeypatch.setattr("sys.argv", words)
    assert cli._command() == "porter scan repo --rules=rules --target gfx942"
