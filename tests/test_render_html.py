"""The HTML report: one closed file, hostile text inert, numbers that reconcile, anchors that resolve, bytes that stay."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from conftest import scanned
from report_factory import HOSTILE_PATH, empty_report, finding, large_report, make_report, rules

from porter import packed
from porter.explain import rule_text
from porter.model import Action, EffortLine, FileRecord, Hours, Quantiles, Severity
from porter.model_report import Scope
from porter.render import charts, html, verdict


class Page(HTMLParser):
    """Collects elements, ids, links, scripts and text of a page, and fails on a tag that is not closed in order."""

    VOID = {"meta", "input", "br", "wbr", "rect", "path", "img"}

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.hrefs, self.elements, self.text = [], [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "a":
            self.hrefs.append(attributes.get("href", ""))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


def island_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))


REPORTS = pytest.mark.parametrize("report", [make_report(), empty_report(), large_report(400)], ids=["full", "empty", "large"])


@REPORTS
def test_page_is_well_formed_and_its_anchors_resolve(report):
    page = Page(html.render(report))
    assert len(page.ids) == len(set(page.ids))
    inside = [href[1:] for href in page.hrefs if href.startswith("#")]
    assert inside and not [name for name in inside if name not in page.ids]


@REPORTS
def test_nothing_is_loaded_from_outside(report):
    page = Page(html.render(report))
    assert not [tag for tag, attributes in page.elements if tag in ("link", "img", "iframe", "object", "embed", "base")]
    assert not [attributes for _, attributes in page.elements if {"src", "style", "srcset"} & set(attributes)]
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


def test_policy_allows_only_our_own_style_and_script():
    text = html.render(make_report())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy
    for element in ("style", "script"):
        body = re.search(f"<{element}>(.*?)</{element}>", text, re.DOTALL).group(1)
        assert "sha256-" + base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() in policy.replace("&#43;", "+")


def test_hostile_text_is_inert():
    text = html.render(make_report(root='<script>alert("root")</script>', command="porter <b>", commit='"><img src=x>'))
    page = Page(text)
    assert [attributes for tag, attributes in page.elements if tag == "script"] == [{"type": "application/json", "id": "data"}, {}]
    assert not [tag for tag, _ in page.elements if tag in ("img", "b", "i")]
    assert not set(text) & set("\x1b\u202e\x00")
    assert HOSTILE_PATH + ":7" in "".join(page.text)


def test_link_of_a_source_must_be_https():
    rule = rules()["nvshmem"]
    source = type(rule.sources[0])("javascript:alert(1)", "bad", "2026-12-01")
    bad = type(rule)(**{name: getattr(rule, name) for name in rule.__struct_fields__} | {"sources": (source,)})
    page = Page(html.render(make_report(rules={**rules(), "nvshmem": bad})))
    assert not [href for href in page.hrefs if not href.startswith(("#", "https://"))]


def test_every_finding_is_in_the_page_and_in_the_island():
    report = make_report()
    text = html.render(report)
    ids = set(Page(text).ids)
    assert {"f-" + f.fingerprint for f in report.findings} <= ids
    assert {row[1] for row in island_of(text)["rows"]} == {f.fingerprint for f in report.findings}


def test_headline_numbers_are_those_of_the_lists():
    text = " ".join(" ".join(Page(html.render(make_report())).text).split())
    assert "Effort 68 h median; 31–130 h in a simulation over judged hours. Plan with 100 h." in text
    assert "Blockers 2 of 6 findings under 4 rules." in text
    assert "No hand work 91 % of 480 CUDA lines need no hand work; 84 % of CUDA names are converted" in text
    assert "Sum 6 61 h 15–230 h" in text
    assert "Grade C" in text and "No tests were found." in text


def cells(text, section, row):
    """The texts of one table row inside a section of the page, found by its first cell."""
    part = text[text.index(f'id="{section}"') :]
    for found in re.findall(r"<tr>(.*?)</tr>", part[: part.index("</section>")], re.DOTALL):
        values = [html_text(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", found, re.DOTALL)]
        if values and values[0] == row:
            return values
    raise AssertionError(f"no row {row} in {section}")


def html_text(markup):
    return " ".join("".join(Page(f"<div>{markup}</div>").text).split())


def test_every_headline_number_opens_a_list_that_sums_to_it():
    report = make_report()
    text = html.render(report)
    assert cells(text, "plan", "Sum")[1:] == ["6", "61 h", "15–230 h"]
    assert cells(text, "h-bycat", "Sum")[2] == "61 h" and cells(text, "h-bycat", "Sum")[-1] == "6"
    assert [int(n) for n in cells(text, "h-bydir", "Sum")[2:6]] == [2, 3, 1, 0]
    assert cells(text, "share", "CUDA lines of the project's own")[1] == "480"
    less = int(cells(text, "share", "less hand-changed lines in CUDA files, as git counts them (P50)")[1])
    assert cells(text, "share", "Lines without hand work")[1] == f"{480 - less} (91 %)"
    assert cells(text, "translation", "Sum")[1:4] == ["480", "16", "3"] == [str(report.cuda_lines), "16", "3"]
    assert cells(text, "scope", "Sum")[1] == str(len(report.files))
    assert cells(text, "kernels", "Sum")[4] == "1 h"


def test_the_ladder_claims_only_what_a_scan_knows():
    text = html.render(make_report())
    rungs = [
        cells(text, "ladder", name)[2:] for name in ("Seen", "Read in full", "Translated, no CUDA name left", "Compiles", "Fast enough")
    ]
    assert rungs == [["4", "480"], ["3", "390"], ["2", "180"], ["not tried"], ["not tried"]]
    assert 'id="ladder"' not in html.render(empty_report())


def test_kernels_carry_the_hours_of_the_findings_in_them():
    assert cells(html.render(make_report()), "kernels", "vote_kernel<T>csrc/vote.cu:30")[1:6] == [
        "ballot, shared memory",
        "44",
        "2",
        "30 min",
        "6 min – 2 h",
    ]


def test_strategies_runbook_cost_and_backtest_are_shown():
    text = " ".join(" ".join(Page(html.render(make_report())).text).split())
    for words in (
        "Recommended: Fork once with hipify. Cheapest here.", "not costed", "At the rate given, 120.00 EUR an hour", "12,120",
        "python run.py --out a && echo <done>", "expected A file of results.", "Evidence: The wavefront of gfx9 has 64 lanes. https://",
        "(order of magnitude only). No tests were found.", "312 programs", "82 %", "0.71",
        "all hours times 0.7 <b>",
    ):  # fmt: skip
        assert words in text, words


def test_the_subtraction_of_hand_lines_adds_up_where_less_than_a_line_is_left() -> None:
    """5,675 lines less 0 gave 5,675 (99.9 %)."""
    hand = msgspec.structs.replace(make_report().estimate, hand_lines=Quantiles(0, 0.4, 1, 2))
    report = make_report(estimate=hand)
    text = html.render(report)
    assert cells(text, "share", "less hand-changed lines in CUDA files, as git counts them (P50)")[1] == "1"
    assert cells(text, "share", "Lines without hand work")[1] == f"{report.cuda_lines - 1} (99.9 %)"


def test_decisions_offer_only_what_can_be_decided(tmp_path: Path) -> None:
    """PyTorch, which has a build for ROCm, and the compiler were to be left out of the AMD build at first."""
    files = {
        "Makefile": "all:\n\tnvcc -O3 -o app k.cu\n",
        "requirements_DOT_txt": "torch==2.1.0+cu118\n",
        "k_DOT_cu": "__global__ void k(int* p) { *p = 1; }\n",
    }
    text = html.render(scanned(tmp_path, **files))
    cards = re.findall(r"<h3[^>]*>.*?(?=<h3)", text[text.index('id="decisions"') : text.index('id="strategy"')] + "<h3", re.DOTALL)
    nvcc, torch = (next(card for card in cards if title in card) for title in ("nvcc as the compiler", "resolves to the CUDA wheel"))
    assert "Keep both builds, chosen by an option." in nvcc and "Leave the feature out" not in nvcc + torch


def test_the_verdict_names_a_second_category_only_where_the_first_does_not_say_it_all() -> None:
    def said(*hours: float) -> str:
        names = ("build", "warp-size", "")[: len(hours)]
        lines = tuple(
            EffortLine(n, "", Hours(h, h, h), n, n, n, 1, 1, "finding" if n else "project") for n, h in zip(names, hours, strict=True)
        )
        report = make_report(findings=tuple(f for f in make_report().findings if f.severity is not Severity.BLOCKER))
        return verdict.sentence(msgspec.structs.replace(report, estimate=msgspec.structs.replace(report.estimate, lines=lines)))

    assert said(8.4, 0.7).endswith("most of it is build.") and said(5.0, 4.0).endswith("most of it is build and warp size.")
    assert said(5.0, 4.0, 15.0).endswith("most of it is project setup and build.")


def test_sizes_of_models_are_shown():
    text = html.render(make_report())
    row = ["AMD MI355X", "288 GB", "1", "tensor 1, 8 replicas a server of eight", "59.5 GB", "natively", "3.40", "2,488"]
    assert cells(text, "sizing", "AMD MI355X") == row
    assert cells(text, "sizing", "AMD Small<1>")[2:4] == ["–", "no layout that porter tries holds it"]
    assert cells(text, "sizing", "NVIDIA H200")[1] == "141 GB ?" and cells(text, "sizing", "Weights")[1] == "141 GB"
    words = " ".join(" ".join(Page(text).text).split())
    assert "70.6 billion parameters in BF16" in words and "org/unknown<x>" in words and "AMD: Quantise with <Quark>." in words


def test_context_stands_around_the_flagged_line_and_a_fix_below_it():
    text = html.render(make_report())
    place = text[text.index("csrc/<wbr>vote.cu:40") :]
    shown = html_text(re.search(r"<pre[^>]*>(.*?)</pre>", place, re.DOTALL).group(1))
    assert shown.startswith("int before_it = 1; // </pre>") and shown.endswith("int after_it = 2;")
    assert "unsigned long long vote = __ballot(pred); // <fixed>" in html_text(
        re.search(r'<p class="fix">(.*?)</p>', place, re.DOTALL).group(1)
    )


def test_without_code_there_are_no_empty_boxes():
    rule = rules()["nvshmem"]
    text = html.render(make_report(findings=(msgspec.structs.replace(finding(rule, "a.cu", 1, "x", "m"), snippet=""),)))
    assert "<pre" not in text[text.index('class="places"') : text.index("</ol>", text.index('class="places"'))]


def test_every_place_is_named_without_scripts():
    text = html.render(large_report(5000))
    listed = re.findall(r'<ul class="rest">(.*?)</ul>', text, re.DOTALL)
    assert sum(len(html_text(item).split(": ")[1].split(", ")) for part in listed for item in re.findall("<li>(.*?)</li>", part)) == 5000


@pytest.mark.parametrize("values", [[1.0], [5, 3, 2, 1, 1, 0.01], [1000, 1], [1] * 30, [0.0, 0.0]])
def test_the_treemap_fills_its_box_and_nothing_overlaps(values):
    boxes = charts.squarified(values, 720, 260)
    assert sum(w * h for _, _, w, h in boxes) == pytest.approx(720 * 260 if sum(values) else 0)
    assert all(x >= -1e-6 and y >= -1e-6 and x + w <= 720.001 and y + h <= 260.001 for x, y, w, h in boxes)
    pairs = itertools.combinations(boxes, 2)
    assert not [
        1
        for a, b in pairs
        if min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0]) > 1e-6 and min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1]) > 1e-6
    ]


def test_marked_code_is_the_flagged_stretch():
    assert "<mark>#include</mark>" in html.render(make_report()).replace('<span class="p">', "").replace("</span>", "")


def test_same_fingerprint_twice_gives_two_anchors():
    rule = rules()["nvshmem"]
    twins = tuple(finding(rule, "a.cu", line, "int x = 0;", "m", fingerprint="same") for line in (1, 2))
    assert {"f-same", "f-same-2"} <= set(Page(html.render(make_report(findings=twins))).ids)


def test_a_scan_of_changed_files_says_so_on_top():
    text = html_text(re.search(r'<p class="notice">(.*?)</p>', html.render(make_report(scope=Scope("v1<2>", "abc", 3, 40))), re.DOTALL)[1])
    assert text == "A part. Only the 3 files that differ from v1<2> were looked at; 40 others are in no number."
    assert "A part." not in html.render(make_report())


def test_an_incomplete_audit_says_so_on_top():
    assert "Incomplete." in html.render(make_report())
    assert "Incomplete." not in html.render(make_report(problems=()))


@pytest.mark.parametrize(
    ("prose", "shown"),
    [
        ("use `a<b>` here", "use <code>a&lt;b&gt;</code> here"),
        ("one ` only", "one ` only"),
        ("`a` and `b` and `", "<code>a</code> and <code>b</code> and `"),
    ],
)
def test_backticks_in_prose_are_code(prose, shown):
    assert html._prose(prose) == shown


def test_same_report_gives_the_same_bytes():
    assert html.render(make_report()) == html.render(make_report())


def test_fifty_thousand_findings_stay_under_fifteen_megabytes():
    text = html.render(large_report(50_000))
    assert len(text.encode()) < 15_000_000
    assert len(island_of(text)["rows"]) == 50_000
    assert text.count("<li id=") < 2_000


def test_a_report_full_of_long_code_keeps_to_the_budget():
    rule = rules()["nvshmem"]
    snippet = "\n".join(["x" * 199] * 6)
    found = tuple(finding(rule, "a.cu", line, snippet, "m", fingerprint=str(line), end_line=line + 5) for line in range(1, 8001))
    context = dict.fromkeys(range(1, 8010), "y" * 199)
    text = html.render(make_report(findings=found, files=(FileRecord("a.cu", "cuda", 9000, None, 1.0, packed.lines(context)),)))
    codes = [row[10] for row in island_of(text)["rows"]]
    assert "y" in codes[0] and "y" not in codes[-1] and len(codes[-1]) <= 120
    assert sum(map(len, codes)) < 6_000_000


def test_a_directory_with_signs_of_an_address_is_still_one_filter():
    rule = rules()["nvshmem"]
    text = html.render(make_report(findings=(finding(rule, "a&b+c=d/x.cu", 1, "x y", "m"),)))
    assert 'data-filter="directory=a%26b%2Bc%3Dd"' in text


def test_a_near_miss_is_never_shown_as_the_port():
    """The test's counter-example of a rule that has no port, and of good news, is no advice."""
    found = rules()["ballot-32-bit-mask"]
    first = found.examples[0]
    for changed in (
        msgspec.structs.replace(found, examples=(msgspec.structs.replace(first, port=False),)),
        msgspec.structs.replace(found, action=Action.NONE, severity=Severity.INFO),
    ):
        assert found.shows_port and not changed.shows_port
        assert first.after.split("\n")[0] in rule_text(found) and "Not found by this rule:" in rule_text(changed)
        page = " ".join(Page(html.render(make_report(rules={**rules(), found.id: changed}))).text)
        assert "__popcll(m)" not in page and "__popc(m)" in page
    page = " ".join(Page(html.render(make_report())).text)
    assert "__popcll(m)" in page
