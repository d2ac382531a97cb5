"""The HTML report: one closed file, hostile text inert, numbers that reconcile, anchors that resolve, bytes that stay."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from report_factory import HOSTILE_PATH, empty_report, finding, large_report, make_report, rules

from porter.render import html


class Page(HTMLParser):
    """Collects elements, ids, links, scripts and text of a page, and fails on a tag that is not closed in order."""

    VOID = {"meta", "input", "br", "wbr", "rect", "path"}

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
    assert "Effort 68 h median; eight times in ten between 31–130 h . Plan with 100 h." in text
    assert "Blockers 2 of 6 findings under 4 rules." in text
    assert "No hand work 91 % of 480 CUDA lines need no hand work; 84 % of CUDA names are converted" in text
    assert "Sum 6 61 h 15–230 h" in text
    assert "Grade C" in text and "No tests were found." in text


def test_marked_code_is_the_flagged_stretch():
    assert "<mark>#include</mark>" in html.render(make_report()).replace('<span class="p">', "").replace("</span>", "")


def test_same_fingerprint_twice_gives_two_anchors():
    rule = rules()["nvshmem"]
    twins = tuple(finding(rule, "a.cu", line, "int x = 0;", "m", fingerprint="same") for line in (1, 2))
    assert {"f-same", "f-same-2"} <= set(Page(html.render(make_report(findings=twins))).ids)


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
