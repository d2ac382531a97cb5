"""The page of the catalogue: every rule is in it, hostile text is inert, and it works closed and without scripts."""

from __future__ import annotations

import base64
import hashlib
import re

import msgspec
import report_factory
from click.testing import CliRunner
from test_render_html import Page

from porter import rules
from porter.cli import main
from porter.model import Action, Example, Replacement, Severity, Source
from porter.render import catalogue

ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\" onclick='alert(3)' \x1b[31m\u202e"


def test_the_command_writes_a_page_with_every_rule(tmp_path):
    out = tmp_path / "rules.html"
    assert CliRunner().invoke(main, ["rules", "docs", "--output", str(out)]).exit_code == 0
    page = Page(out.read_text("utf-8"))
    known = rules.load().rules
    assert {name for name in page.ids if name.startswith("rule-")} == {f"rule-{name}" for name in known}
    assert len(page.ids) == len(set(page.ids))
    assert {href[1:] for href in page.hrefs if href.startswith("#")} <= set(page.ids)
    assert {source.url for rule in known.values() for source in rule.sources if source.url.startswith("https://")} <= set(page.hrefs)
    options = {attributes["value"] for tag, attributes in page.elements if tag == "option" and attributes.get("value")}
    marked = [attributes for tag, attributes in page.elements if tag == "details"]
    assert {attributes["data-category"] for attributes in marked} == options
    assert {attributes["data-severity"] for attributes in marked} <= {str(severity) for severity in Severity}


def test_hostile_text_of_a_rule_stays_text():
    first = next(iter(report_factory.rules().values()))
    hostile = msgspec.structs.replace(
        first, title=ATTACK, why=ATTACK, replacement=Replacement(ATTACK, ATTACK, ATTACK, ATTACK), match={"include": (ATTACK,)},
        sources=(Source("javascript:alert(4)", ATTACK, ATTACK), Source(f"https://example.org/{ATTACK}", "x", "2026-12-01")),
        examples=(Example("a.cu", ATTACK, ATTACK),),
    )  # fmt: skip
    text = catalogue.render([hostile], ATTACK)
    page = Page(text)
    assert [tag for tag, _ in page.elements if tag in ("script", "img")] == ["script"]
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert all(href.startswith(("#", "https://example.org/")) for href in page.hrefs)
    assert "\x1b" not in text and "\u202e" not in text
    assert "".join(page.text).count("alert(1)") >= 8


def test_the_policy_allows_the_two_inline_elements_and_nothing_else():
    text = catalogue.render(report_factory.rules().values(), "1")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text).group(1)
    for name in ("style", "script"):
        body = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL).group(1)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert not re.search(r"<link|@import|url\(|fetch\(|<iframe", text)


def test_without_scripts_all_rules_are_there_and_the_filters_are_not():
    made = report_factory.rules()
    page = Page(catalogue.render(made.values(), "1"))
    hidden = [attributes.get("id") for tag, attributes in page.elements if "hidden" in attributes]
    assert hidden == ["filters"]
    assert sum(tag == "details" for tag, _ in page.elements) == len(made)


def test_good_news_comes_last_and_the_bytes_stay():
    made = list(report_factory.rules().values())
    made.append(msgspec.structs.replace(made[0], id="works", action=Action.NONE))
    text = catalogue.render(made, "1")
    assert text == catalogue.render(reversed(made), "1")
    sections = [attributes["id"] for tag, attributes in Page(text).elements if tag == "section"]
    assert sections[-1] == "works-as-is" and len(sections) > 2
