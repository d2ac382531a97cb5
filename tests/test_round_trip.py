"""JSON to every other format: the same totals for any report, and hostile words that stay words everywhere."""

from __future__ import annotations

import csv as stdlib_csv
import gzip
import io
import json
import random
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from html.parser import HTMLParser

import jsonschema
import msgspec
import pytest
from conftest import ROOT, missing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report_factory import finding, make_report, rules

from porter import report_file
from porter.comment import actions, choose, text
from porter.comment.values import Marker, Place, marker_of
from porter.errors import InputError
from porter.model import Baseline, Finding, Fix, Hours, Problem, Quantiles, Related, Report, Severity, Suppression
from porter.render import csv, gitlab, junit, markdown, sarif, terminal
from porter.render import html as html_report
from porter.render import json as report_json
from porter.render import xlsx as xlsx_report

ATTACKS = (
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\uff1d1",
    "\x1b[31m\x1b]0;x\x07", "a\u202eb\u2066c", "@octocat #1 [x](http://e.example) ![](http://e.example/p)", "`` ` ``` |",
    "<!-- porter:v1 key=default -->", "]]>&lt;", "</details>", "::error::x", "/close", "\ud800", "\udc80", "\x00", "a\r\nb\n\nc",
    "{{ 7*7 }}{% raw %}", "%0A", "$(id)", "\\", "ä漢🔥", "x" * 500,
)  # fmt: skip
WORDS = st.one_of(st.sampled_from(ATTACKS), st.text(st.characters(exclude_categories=()), max_size=30), st.just("plain"))
PATHS = WORDS.map(lambda words: words.lstrip("/.") or "x")
HOURS = st.tuples(*[st.floats(0, 500, allow_nan=False)] * 3).map(lambda v: Hours(*sorted(round(x, 4) for x in v)))


@st.composite
def findings(draw: st.DrawFn, start: str, most: int) -> tuple[Finding, ...]:
    known = list(rules().values())[:4]
    out = []
    for i in range(draw(st.integers(0, most))):
        code = draw(WORDS)
        severity, state = draw(st.sampled_from(list(Severity))), draw(st.sampled_from(["new", "unchanged"]))
        made = finding(
            draw(st.sampled_from(known)), draw(PATHS), draw(st.integers(1, 10**6)), code if code.split() else "y", draw(WORDS),
            fingerprint=f"{start}{i:04x}", severity=severity, state=state, effort_hours=draw(HOURS), column=1, end_column=2,
            related=(Related(draw(WORDS), 3, draw(WORDS)),) if draw(st.booleans()) else (),
            fix=Fix(draw(WORDS), draw(st.booleans())) if draw(st.integers(0, 3)) == 0 else None,
        )  # fmt: skip
        out.append(made)
    return tuple(out)


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """A report with hostile words wherever a scanned repository has a say."""
    found, fixed, hidden = draw(findings("a", 8)), draw(findings("b", 4)), draw(findings("c", 4))
    new = sum(one.state == "new" for one in found)
    base = Baseline(draw(WORDS), draw(WORDS), new, len(fixed), len(found) - new, Quantiles(1, 2, 3, 4), Quantiles(2, 3, 4, 5), 0.5)
    why = {one.fingerprint: Suppression(draw(st.sampled_from(["inSource", "external"])), one.path, one.line, draw(WORDS)) for one in hidden}
    return make_report(
        root=draw(WORDS), command=draw(WORDS), findings=found, fixed=fixed, suppressed=hidden, suppressions=why, baseline=base,
        insights=draw(findings("d", 2)), problems=tuple(Problem("parse", path, 1, path) for path in draw(st.lists(PATHS, max_size=2))),
    )  # fmt: skip


def same_totals(report: Report) -> dict[str, str]:
    """Render all formats, hold their totals against the report's, and return the texts."""
    n, hidden, fixed = len(report.findings), len(report.suppressed), len(report.fixed)
    texts = {
        module.__name__.rsplit(".", 1)[-1]: module.render(report) for module in (csv, gitlab, junit, markdown, sarif, terminal, html_report)
    }
    results = json.loads(texts["sarif"])["runs"][0]["results"]
    assert (sum("suppressions" not in one for one in results), sum("suppressions" in one for one in results)) == (n, hidden)
    rows = list(stdlib_csv.DictReader(io.StringIO(texts["csv"], newline="")))
    wanted = Counter({"finding": n, "insight": len(report.insights), "fixed": fixed, "suppressed": hidden})
    assert Counter(row["kind"] for row in rows) == +wanted
    assert sum(float(row["hours_likely"]) for row in rows) == pytest.approx(
        sum(f.effort_hours.likely for f in report.findings), abs=0.001 * (n + 1)
    )
    assert len(json.loads(texts["gitlab"])) == n
    suites = ElementTree.fromstring(texts["junit"])
    assert (suites.get("failures"), len(suites.findall(".//failure")), len(suites.findall(".//skipped"))) == (str(n), n, hidden)
    assert int(suites.get("tests", "")) == n + hidden + fixed + sum(p.matters for p in report.problems) or not (n + hidden + fixed)
    assert f"| **Findings** | {n} |" in texts["markdown"] and re.search(rf"Findings +{n}\b", texts["terminal"])
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', texts["html"], re.DOTALL)
    assert found is not None and len(json.loads(found[1])["rows"]) == n
    chosen = choose.choose(report, Severity.INFO)
    texts["comment"] = text.comment(report, chosen, Marker(), Place("https://h.example", "c"))
    new = sum(one.state == "new" for one in report.findings)
    assert (len(chosen.new), len(chosen.fixed)) == (new, fixed) and (f"{new} new" if new else "no new") in texts["comment"].split("\n")[1]
    return texts


class Page(HTMLParser):
    """Elements of an HTML text, and the attributes that could run something."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.runs: list[str] = []
        self.feed(body)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.runs += [name for name, value in attrs if name.startswith("on") or (value or "").strip().lower().startswith("javascript:")]


PLAIN = Page(html_report.render(make_report()))
CONTROLS = set("\x1b\x00\x9b\u202e\u2066\x07")


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(reports())
def test_json_gives_every_format_with_the_same_totals_and_words_stay_words(report: Report) -> None:
    saved = report_json.render(report)
    again = report_file.parse(saved.encode())
    contract = ("schema", "tool", "root", "commit", "targets", "rocm", "summary", "findings", "insights", "files", "problems", "skipped")
    first, second = json.loads(saved), json.loads(report_json.render(again))
    for key in (*contract, "fixed", "baseline", "suppressed", "suppressions"):
        assert first[key] == second[key], key
    texts = same_totals(again)
    assert csv.render(report).count("\n") == texts["csv"].count("\n")
    assert not [name for name, words in texts.items() if set(words) & CONTROLS and name not in ("sarif", "gitlab")]
    assert all(words.encode("utf-8") for words in texts.values())
    cells = [value for row in stdlib_csv.reader(io.StringIO(texts["csv"], newline="")) for value in row]
    assert not [value for value in cells if value.startswith(csv._FORMULA)]
    page = Page(texts["html"])
    assert page.tags["script"] == PLAIN.tags["script"] and page.tags["img"] == PLAIN.tags["img"] and not page.runs
    assert marker_of(texts["comment"]) == Marker() and len(texts["comment"].encode()) < text.LIMIT
    assert not re.search(r"^/|^::", texts["comment"], re.MULTILINE)
    assert all(line.count("\n") == 0 and line.startswith("::") for line in actions.commands(choose.choose(report)))


def test_the_workbook_has_the_same_findings_and_runs_none_of_their_words() -> None:
    import openpyxl

    report = hostile_report()
    book = openpyxl.load_workbook(io.BytesIO(xlsx_report.render(report)))
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert sum(str(cell.value) == "nvshmem" for cell in cells) >= len(report.findings)
    assert not [cell.value for cell in cells if cell.data_type == "f" and re.search(r"cmd|calc'|SUM\(A1\)|\+1$|-1$", str(cell.value))]


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"null", b"\xff", b'{"schema": "porter.report/2"}', b"[" * 10_000])
def test_what_is_no_report_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        report_file.parse(data)


def test_a_report_of_another_version_is_refused_and_unknown_keys_are_passed_over() -> None:
    log = json.loads(report_json.render(make_report()))
    log["tomorrow"] = {"x": [1]}
    log["findings"][0]["tomorrow"] = 1
    assert len(report_file.parse(json.dumps(log).encode()).findings) == 6
    log["schema"] = "porter.report/2"
    with pytest.raises(InputError, match="porter.report/2"):
        report_file.parse(json.dumps(log).encode())


def hostile_report() -> Report:
    """Every attack in every place."""
    found = tuple(
        finding(
            rules()["nvshmem"],
            words.lstrip("/.") or "x",
            i + 1,
            words if words.split() else "y",
            words,
            fingerprint=f"{i:04x}",
            state="unchanged",
        )
        for i, words in enumerate(ATTACKS)
    )
    hidden = tuple(msgspec.structs.replace(one, fingerprint="f" + one.fingerprint) for one in found)
    why = {one.fingerprint: Suppression("inSource", one.path, 1, one.message) for one in hidden}
    return make_report(
        findings=found,
        fixed=found[:3],
        suppressed=hidden,
        suppressions=why,
        baseline=Baseline("main", "c", 0, 3, 25, Quantiles(), Quantiles()),
    )


@pytest.fixture(scope="module")
def published() -> jsonschema.protocols.Validator:
    """SARIF's published schema, which comes with the tools of the browser tests."""
    folder = ROOT / "tests/browser/node_modules/@microsoft/jest-sarif/lib/schemas"
    if not folder.is_dir():
        missing("needs SARIF's schema: npm ci in tests/browser")
    schema = json.loads((folder / "sarif-2.1.0-rtm.5.json").read_text())
    return jsonschema.validators.validator_for(schema)(schema)


@pytest.mark.parametrize("report", [make_report(), hostile_report(), make_report(findings=(), insights=(), problems=())])
def test_sarif_follows_the_published_schema(published: jsonschema.protocols.Validator, report: Report) -> None:
    fixed = msgspec.structs.replace(report, findings=tuple(msgspec.structs.replace(f, fix=Fix("x", True)) for f in report.findings))
    for one in (report, fixed):
        assert [error.message for error in published.iter_errors(json.loads(sarif.render(one)))] == []


def test_sarif_fixes_replace_the_line() -> None:
    (one,) = json.loads(
        sarif.render(make_report(findings=(finding(rules()["nvshmem"], "a.cu", 3, "ä b();\nc", "m", fix=Fix("d();", True)),)))
    )["runs"]
    (change,) = one["results"][0]["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["deletedRegion"] == {"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 7}


def test_sarif_tells_what_its_limits_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MAX_RESULTS", 8), ("MAX_NOTES", 12), ("MAX_RELATED", 5)):
        monkeypatch.setattr(sarif, name, value)
    for count in (2, 3, 8, 9):
        hidden = tuple(finding(rules()["nvshmem"], "h.cu", i + 1, "x", "m", fingerprint=f"h{i}") for i in range(count))
        run = json.loads(sarif.render(make_report(suppressed=hidden)))["runs"][0]
        notes = " ".join(note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"])
        assert len(run["results"]) == min(8, 6 + count) and ("suppressed finding" in notes) is (count > 2)
    problems = tuple(Problem("parse", "a", i, "x") for i in range(sarif.MAX_NOTES + 1))
    related = tuple(Related("a.cu", i + 1, "n") for i in range(sarif.MAX_RELATED + 1))
    for extra in (0, 1):
        one = finding(rules()["nvshmem"], "a.cu", 1, "x", "m", related=related[: sarif.MAX_RELATED + extra])
        run = json.loads(sarif.render(make_report(findings=(one,), problems=problems[: sarif.MAX_NOTES + extra])))["runs"][0]
        notes = run["invocations"][0]["toolExecutionNotifications"]
        assert len(notes) == sarif.MAX_NOTES + extra and ("1 more problem" in notes[0]["message"]["text"]) is bool(extra)
        assert (
            len(run["results"][0]["relatedLocations"]) == sarif.MAX_RELATED
            and run["results"][0]["properties"].get("relatedLeftOut", 0) == extra
        )


def test_sarif_packs_to_what_github_takes_at_the_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = random.Random(1)
    lines = ["".join(chr(noise.randrange(0x21, 0x7F)) for _ in range(300)) for _ in range(40)]
    report = make_report(
        findings=tuple(finding(rules()["nvshmem"], f"{i}.cu", 1, line, line[:200], fingerprint=f"{i}") for i, line in enumerate(lines))
    )
    full = len(gzip.compress(sarif.render(report).encode(), 6))
    for limit, code, results in ((full, True, 40), (full - 1, False, 40), (full // 3, False, 20), (5000, False, 10)):
        monkeypatch.setattr(sarif, "MAX_PACKED", limit)
        words = sarif.render(report)
        run = json.loads(words)["runs"][0]
        assert len(run["results"]) <= results and len(gzip.compress(words.encode(), 6)) <= limit
        assert ("snippet" in words) is code and (len(run["results"]) == 40) is (results == 40)
        assert ("code of the findings left out" in words) is (not code)


GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!/|\\./)"},
                    "lines": {"type": "object", "required": ["begin"], "properties": {"begin": {"type": "integer", "minimum": 1}}},
                },
            },
        },
    },
}  # what https://docs.gitlab.com/ci/testing/code_quality/ asks for
# What the schema that Jenkins checks JUnit files with allows: element -> attributes, and children.
JUNIT = {
    "testsuites": ({"name", "time", "tests", "failures", "disabled", "errors"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id"}, {"testcase"}),
    "testcase": ({"name", "assertions", "time", "classname", "status"}, {"skipped", "error", "failure", "system-out", "system-err"}),
    "failure": ({"type", "message"}, set()), "error": ({"type", "message"}, set()), "skipped": ({"type", "message"}, set()),
}  # fmt: skip


@pytest.mark.parametrize("report", [make_report(), hostile_report(), make_report(findings=(), problems=())])
def test_gitlab_and_junit_follow_their_schemas(report: Report) -> None:
    issues = json.loads(gitlab.render(report))
    jsonschema.validate(issues, GITLAB)
    assert len({one["fingerprint"] for one in issues}) == len(issues) == len(report.findings)
    for element in ElementTree.fromstring(junit.render(report)).iter():
        attributes, children = JUNIT[element.tag]
        assert set(element.attrib) <= attributes and {child.tag for child in element} <= children
        if element.tag == "testsuite":
            counted = (len(element), *(len(element.findall(f"testcase/{tag}")) for tag in ("failure", "error", "skipped")))
            assert counted == tuple(int(element.get(name, "")) for name in ("tests", "failures", "errors", "skipped"))
