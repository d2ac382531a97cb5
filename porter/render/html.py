"""The HTML report: one file without network, script or style from outside; the same bytes for the same report."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup, escape

from porter.model import Report
from porter.render import html_view, numbers
from porter.render.look import Look
from porter.render.neutral import block, one_line
from porter.render.tongue import Tongue, tongue
from porter.render.words import ACTIONS, CATEGORY_NAMES, ORIGIN_WORDS, standing


def render(report: Report, look: Look = Look()) -> str:  # noqa: B008 - frozen
    """The report as the text of an HTML file, dressed as ``look`` says."""
    return "".join(_parts(report, look))


def pieces(report: Report, look: Look = Look()) -> Iterator[bytes]:  # noqa: B008 - frozen
    """The same text in pieces, since the findings of a very large repository need not be in memory as a whole."""
    return (part.encode("utf-8", "replace") for part in _parts(report, look))


def _parts(report: Report, look: Look) -> Iterator[str]:
    style, script = asset("report.css"), asset("report.js")
    fixed = {"style": style, "script": script, "style_hash": digest(style), "script_hash": digest(script)}
    view = html_view.view(report, look)
    page = environment(look.lang).get_template("report.html").render(fixed | view)
    head, _, tail = page.rpartition(html_view.ISLAND)
    island = view["island_pieces"]
    del page, view  # the island of a very large tree needs the room
    yield head
    del head
    yield from island
    yield tail


@functools.cache
def environment(lang: str = "en") -> jinja2.Environment:
    """The templates of this package in one language, with everything that they print escaped."""
    words = tongue(lang)
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("porter.render", "templates"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_finalize, keep_trailing_newline=False,
    )  # fmt: skip
    env.filters.update({name: functools.partial(_in, function, words) for name, function in _NUMBERS.items()})
    env.filters.update(
        line=one_line, path=_path, paragraphs=_paragraphs, prose=_prose, plural=numbers.plural,
        word=lambda text: words.text(str(text)), category=lambda name: words.text(str(CATEGORY_NAMES.get(name, name))),
        standing=standing,
        action=lambda action: words.text(ACTIONS[str(action)]), origin=lambda name: words.text(str(ORIGIN_WORDS.get(name, name))),
    )  # fmt: skip
    env.globals.update(_=functools.partial(_say, words), _n=functools.partial(_plural, words))
    return env


_NUMBERS: dict[str, Any] = {
    "hours": numbers.hours,
    "spread": numbers.spread,
    "count": numbers.count,
    "share": lambda value, words: numbers.percent(value, 1.0, words),
    "decimal": lambda value, words: words.number(f"{value:.2f}"),
    "compact": lambda value, words: words.number(f"{value:,.0f}" if value >= 100 else f"{value:.3g}"),
    "money": lambda value, words: words.number(f"{value:,.2f}" if value < 1000 else f"{value:,.0f}"),
}


def _in(function: Any, words: Tongue, value: Any) -> str:
    """A number as this language writes it."""
    text: str = function(value, words)
    return text


def _say(words: Tongue, text: str, **values: Any) -> Markup:
    """A message of ours as markup; what fills its places is escaped unless it is markup itself."""
    return Markup(words.text(text)).format(**{name: _finalize(value) for name, value in values.items()})


def _plural(words: Tongue, one: str, many: str, number: int, **values: Any) -> Markup:
    """The form of a message for a number, as _say does."""
    values["n"] = numbers.count(number, words)
    return Markup(words.form(one, many, number)).format(**{name: _finalize(value) for name, value in values.items()})


def _finalize(value: Any) -> Any:
    """Every text that a template prints loses its control characters; markup made by this package stays as it is."""
    return block(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _path(path: str) -> Markup:
    """A path that may break after its slashes."""
    return Markup("/<wbr>").join(escape(part) for part in one_line(path).split("/"))


def _paragraphs(text: str) -> list[Markup]:
    """A rule's prose as paragraphs, with what stands between backticks as code."""
    return [_prose(" ".join(part.split())) for part in text.strip().split("\n\n") if part.strip()]


def _prose(text: str) -> Markup:
    """One paragraph of a rule's prose; an odd backtick stays one."""
    parts = block(text).split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = ["`".join(parts[-2:])]
    return Markup("").join(Markup("<code>{}</code>").format(part) if i % 2 else escape(part) for i, part in enumerate(parts))


def asset(name: str) -> Markup:
    """A style sheet or script of this package, ready to stand inside its element."""
    text = (files("porter.render") / "templates" / name).read_text("utf-8")
    return Markup("\n" + text)


def digest(text: str) -> str:
    """The hash by which the content policy knows an inline element."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
