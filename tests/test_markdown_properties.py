"""Any text in Markdown is read back as that text: no element, no cell and no fence comes out of a scanned repository."""

from __future__ import annotations

import random
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from report_factory import finding, rules

from porter.comment import text as comment_text
from porter.model import Fix
from porter.render.markdown import code, text
from porter.render.neutral import one_line

PARTS = (
    *"\\`*_[]<>&|$~@#!%^:/.-+=(){}\"'1a G\tH\n", "GH-1", "www.", "://", "```", "~~~", "<b>", "</details>", "<!--", "-->", "&amp;", "&#35;",
    "1. ", "http://a.b", "x@y.z", "\\|", "    ", "````\n", "- ", "\n/close\n",
)  # fmt: skip
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
TABLE = {"table", "thead", "tbody", "tr", "th", "td", "code"}


class Page(HTMLParser):
    """Tags, and the text of every cell."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.cells = [""]
        self.feed(MARKDOWN.render(body))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.cells += [""] * (tag in ("td", "th"))

    def handle_data(self, data: str) -> None:
        self.cells[-1] += data


def words(shown: str) -> str:
    return " ".join(shown.replace("\u200b", "").split())


def samples(count: int) -> list[str]:
    chance = random.Random(20261202)
    return ["".join(chance.choice(PARTS) for _ in range(chance.randint(1, 9))) for _ in range(count)]


def test_prose_and_code_are_read_back_as_they_were() -> None:
    for sample in samples(700):
        want = words(one_line(sample).strip())
        page = Page(text(sample))
        assert page.tags <= {"p"} and words("".join(page.cells)) == want, sample
        row = Page(f"| a | b |\n| --- | --- |\n| {text(sample)} | {code(sample)} |\n")
        assert row.tags <= TABLE and [words(cell) for cell in row.cells[3:]] == [want, want], sample


def test_code_does_not_leave_its_fence() -> None:
    for sample in samples(300):
        for fix in (None, Fix("x" + sample.replace("\n", ""), True)):
            lines = comment_text._code(finding(rules()["nvshmem"], "a.cu", 1, "x" + sample, "m", fix=fix))
            page = Page("\n".join([*lines, "end"]))
            assert page.tags == {"pre", "code", "p"} and page.cells[0].endswith("end\n"), sample
            assert not any(line.startswith("/") for line in lines)
