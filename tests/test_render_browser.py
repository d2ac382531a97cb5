"""The HTML report in a real browser: no console error, WCAG A and AA by axe-core in light, dark and narrow, and filters that work."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from report_factory import empty_report, large_report, make_report

from porter.render import html
from porter.render.look import Look

HERE = Path(__file__).parent / "browser"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome") or ""
NODE = shutil.which("node") or ""
MISSING = [
    name
    for name, there in (("node", NODE), ("chromium", CHROMIUM), ("npm ci in tests/browser", (HERE / "node_modules" / "axe-core").is_dir()))
    if not there
]
pytestmark = [pytest.mark.needs_tool, pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}")]


def look(report, folder, mode="all", in_russian=False):
    """What the browser saw of the report."""
    page, russian = folder / "report.html", folder / "russian.html"
    page.write_text(html.render(report), encoding="utf-8")
    if in_russian:
        russian.write_text(html.render(report, Look(lang="ru")), encoding="utf-8")
    words = [NODE, str(HERE / "check.mjs"), str(page), CHROMIUM, mode, str(russian) if in_russian else ""]
    done = subprocess.run(words, capture_output=True, text=True, timeout=170, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_a_report_in_four_views_with_filters_and_without_scripts(tmp_path):
    seen = look(make_report(), tmp_path, in_russian=True)  # one test, so that workers do not each open the page
    check_views(seen)
    check_behaviour(seen["behaviour"])
    check_without_scripts(seen["plain"])
    check_handling(seen["handling"])
    check_paper(seen["handling"])
    assert seen["russian"] == {"shown": "2 из 6 замечаний по 1 правилу", "places": "2 места", "overflow": 0, "errors": []}


def check_views(seen):
    assert [view["name"] for view in seen["views"]] == ["light", "dark", "phone", "narrow dark"]
    for view in seen["views"]:
        assert view["errors"] == [] and view["violations"] == [] and view["overflow"] == 0, view
        assert view["checked"] > 15
    assert seen["behaviour"]["errors"] == []


def check_behaviour(did):
    assert did["blockers"] == did["linked"] == "2 of 6 findings under 1 rule"
    assert did["blockerRules"] == ["rule-ballot-32-bit-mask"] and did["blockerPlaces"] == 2
    assert did["cleared"] == "6 findings" and did["nothing"] == []
    assert did["slashFocus"] == "q"
    assert did["permalink"] is True
    assert did["issue"].startswith("## ") and "- [ ] `" in did["issue"]


def check_without_scripts(plain):
    assert "about 8.6 person-days of work" in plain["text"]
    assert "csrc/vote.cu:40" in plain["text"]
    assert plain["form"] is False and plain["buttons"] == 0


def check_handling(did):
    assert did["firstTab"] == "skip" and did["skippedTo"] == "#main" and did["opened"] is True
    assert did["filters"] == {
        "category": "warp-size: 2 of 6 findings under 1 rule",
        "confidence": "high: 4 of 6 findings under 3 rules",
        "target": "gfx942: 6 of 6 findings under 4 rules",
        "directory": ".: 2 of 6 findings under 2 rules",
        "state": "new: 5 of 6 findings under 4 rules",
    }
    assert did["address"] == "#findings?state=new"
    assert did["falling"] == ["40 h", "8 h", "2 h"] and did["rising"] == ["2 h", "8 h", "40 h"] and did["sorted"] == "ascending"
    assert did["errors"] == []


def check_paper(did):
    assert did["print"] == {"nav": False, "closed": True, "heads": True}
    assert did["A4"]["box"].startswith("0 0 59") and did["Letter"]["box"].startswith("0 0 612 792")
    assert 5 <= did["A4"]["pages"] <= 20 and 5 <= did["Letter"]["pages"] <= 20


def test_fifty_thousand_findings_open_and_filter_quickly(tmp_path):
    did = look(large_report(50_000), tmp_path, "quick")["behaviour"]
    assert did["blockers"].startswith("12,500 of 50,000")
    assert did["permalink"] is True
    assert did["firstPaint"] < 3000 and did["searchTime"] < 3000  # a second on a quiet machine; the tests share theirs


def test_a_page_without_findings_is_clean_too(tmp_path):
    seen = look(empty_report(), tmp_path, "one")
    assert [view["violations"] + view["errors"] for view in seen["views"]] == [[]]
