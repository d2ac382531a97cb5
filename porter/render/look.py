"""How a report is dressed: title, logo, language. Checked here, so that renderers can trust what they get."""

from __future__ import annotations

import base64
import re
from xml.parsers import expat

import msgspec

from porter.errors import ConfigError

LOGO_LIMIT = 512 * 1024
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_FORBIDDEN = frozenset(
    ("script", "foreignobject", "iframe", "image", "a", "set", "animate", "animatemotion", "animatetransform", "handler")
)


class Look(msgspec.Struct, frozen=True):
    """Title instead of the project's name, a logo as a data: URI, and the language of the frame."""

    title: str = ""
    logo: str = ""
    lang: str = "en"


def logo(data: bytes, name: str) -> str:
    """A PNG, JPEG or SVG as a data: URI; raises ConfigError for anything else, and for an SVG that does more than draw."""
    if len(data) > LOGO_LIMIT:
        raise ConfigError(f"{name}: the logo has {len(data) // 1024} KiB", f"at most {LOGO_LIMIT // 1024} KiB, since every report holds it")
    if data.startswith(_PNG) and data[12:16] == b"IHDR" and data.rstrip(b"\0").endswith(b"IEND\xaeB`\x82"):
        kind = "png"
    elif data.startswith(_JPEG) and data.rstrip(b"\0").endswith(b"\xff\xd9"):
        kind = "jpeg"
    else:
        _check_svg(data, name)
        kind = "svg+xml"
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def _check_svg(data: bytes, name: str) -> None:
    """An SVG that only draws: well-formed, no document type or entities, no script, event or link to anything outside.

    A browser runs nothing in an image, whatever it holds; this keeps such a file from being handed on inside a report.
    """
    wrong: list[str] = []
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        local = tag.rsplit(":", 1)[-1].lower()
        if depth == 0 and local != "svg":
            wrong.append("is no SVG")
        depth += 1
        if local in _FORBIDDEN:
            wrong.append(f"holds a <{local}> element")
        for key, value in attributes.items():
            if key.lower().startswith("on") or re.search(r"url\(\s*['\"]?(?!#)|javascript:|@import", value, re.IGNORECASE):
                wrong.append(f"holds the attribute {key}, which is code or a link")
            if key.lower().endswith("href") and not value.startswith("#"):
                wrong.append(f"holds a link ({key})")

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    def text(value: str) -> None:
        if re.search(r"@import|url\(\s*['\"]?(?!#)", value, re.IGNORECASE):
            wrong.append("holds a style that loads something")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.StartDoctypeDeclHandler = lambda *_: wrong.append("holds a document type")
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ConfigError(f"{name}: is no PNG, JPEG or SVG image", str(error)) from error
    if wrong:
        raise ConfigError(f"{name}: the SVG {wrong[0]}", "export it as plain SVG, or as PNG")
