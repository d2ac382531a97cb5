"""The frame of the reports in three languages: complete catalogues, whole places and tags, plurals and numbers as people write them."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections import Counter

import pytest
from conftest import ROOT
from report_factory import empty_report, large_report, make_report
from test_render_html import Page, island_of

from porter.errors import ConfigError
from porter.model import Baseline, Hours, Quantiles
from porter.render import html, numbers, tongue, verdict, xlsx
from porter.render.look import Look

spec = importlib.util.spec_from_file_location("messages_tool", ROOT / "tools/messages.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

OTHERS = pytest.mark.parametrize("code", tongue.LANGUAGES[1:])
PLACES, TAGS = re.compile(r"\{\w+\}"), re.compile(r"</?\w+>")


@functools.cache
def entries(code):
    text = (ROOT / f"porter/render/messages/{code}.po").read_text("utf-8")
    return {entry.text: entry for entry in tongue.read(text) if entry.text}


@functools.cache
def known():
    return tool.messages()


@OTHERS
def test_a_catalogue_has_every_message_and_no_other(code):
    assert entries(code).keys() == known().keys()
    assert len(entries(code)) > 350


@OTHERS
def test_every_entry_is_translated_in_all_forms(code):
    for text, plural in known().items():
        entry = entries(code)[text]
        assert not entry.fuzzy and entry.plural == plural
        assert len(entry.forms) == (tongue.PLURALS[code] if plural else 1) and all(entry.forms), text


@OTHERS
def test_places_and_tags_survive_translation(code):
    for text, plural in known().items():
        for form in entries(code)[text].forms:
            wanted, got = set(PLACES.findall(text + plural)), set(PLACES.findall(form))
            assert got == wanted or (plural and wanted - got <= {"{n}"}), (text, form)
            assert Counter(TAGS.findall(form)) == Counter(TAGS.findall(text)), (text, form)


@OTHERS
def test_what_reports_ask_for_at_run_time_is_in_the_catalogue(code, monkeypatch):
    asked = set()
    monkeypatch.setattr(tongue.Tongue, "text", lambda self, text: asked.add(text) or self.messages.get(text, (text,))[0])
    monkeypatch.setattr(tongue.Tongue, "forms", lambda self, one, many: asked.add(one) or self.messages.get(one, (one, many)))
    base = Baseline("main", "abc", 1, 2, 3, Quantiles(1, 2, 3, 4), Quantiles(2, 3, 4, 5), 1.0)
    for report in (make_report(baseline=base, redacted=True), empty_report(), large_report(100)):
        html.render(report, Look(lang=code))
        xlsx.render(report, Look(lang=code))
    assert len(asked) > 250
    assert {text for text in asked if text and text not in entries(code) and not text.startswith("Title with")} == set()


@pytest.mark.parametrize(("code", "lang", "word"), [("ru", "ru", "Замечания"), ("zh", "zh-Hans", "发现"), ("en", "en", "Findings")])
def test_a_page_speaks_its_language_and_marks_the_english_prose(code, lang, word):
    page = Page(text := html.render(make_report(), Look(lang=code)))
    assert [attributes for tag, attributes in page.elements if tag == "html"] == [{"lang": lang}]
    assert word in page.text
    assert (' lang="en"' in text.split("<body>")[1]) == (code != "en")
    reason = next(attributes for tag, attributes in page.elements if attributes.get("class") == "reason")
    assert reason.get("lang") == (None if code == "en" else "en")
    assert island_of(text)["lang"] == code


@pytest.mark.parametrize(
    ("number", "form"), [(1, 0), (2, 1), (5, 2), (11, 2), (12, 2), (14, 2), (21, 0), (22, 1), (101, 0), (111, 2), (0, 2)]
)
def test_russian_plurals(number, form):
    assert tongue.form_of("ru", number) == form


def test_numbers_are_written_as_the_language_writes_them():
    russian, chinese = tongue.tongue("ru"), tongue.tongue("zh")
    assert numbers.hours(2.5, russian) == "2,5 ч" and numbers.hours(2.5, chinese) == "2.5 小时"
    assert numbers.count(12345, russian) == "12\u00a0345" and numbers.count(12345, chinese) == "12,345"
    assert numbers.spread(Hours(0.25, 1, 12), russian) == "15 мин – 12 ч"
    assert numbers.percent(991, 1000, russian) == "99,1 %"
    assert verdict.sentence(make_report(), russian).startswith("warp-tools: около 8,6 чел.-дн. работы")


def test_an_unknown_language_is_one_clear_error():
    with pytest.raises(ConfigError, match="no report in the language 'de'"):
        tongue.tongue("de")


def test_po_texts_over_several_lines_and_fuzzy_ones():
    text = '# note\n#, fuzzy\nmsgid ""\n"a\\n"\n"b \\"c\\""\nmsgid_plural "d"\nmsgstr[0] "e"\nmsgstr[1] "f"\n'
    assert list(tongue.read(text)) == [tongue.Entry('a\nb "c"', "d", ("e", "f"), True)]
