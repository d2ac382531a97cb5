"""Text out of scanned repositories made harmless: no control characters, no direction overrides, no invisible names."""

from __future__ import annotations

import re
import unicodedata

import msgspec

# C0 and C1 controls, line separators, bidirectional controls (CVE-2021-42574), zero-width characters, tags, lone surrogates; fillers and
# joiners that no font shows; variation selectors, which can hide a text, but for the one behind an emoji.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\ufffe\uffff\U000e0000-\U000e0fff"
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0e\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"
    "|(?<![\u00a9-\u3299\U0001f000-\U0001faff])\ufe0f"
)
_SHOWN = {"\t": "    "}
# The same ones beyond ASCII, and DEL, as JSON has them in UTF-8: C1 controls and overrides act on a terminal that shows raw JSON.
_IN_JSON = re.compile(
    rb"\x7f|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf|\xef\xbf[\xb9-\xbb\xbe\xbf]"
    rb"|\xcd\x8f|\xe1\x85[\x9f\xa0]|\xe1\x9e[\xb4\xb5]|\xe1\xa0[\x8b-\x8f]|\xe3\x85\xa4|\xef\xbe\xa0|\xef\xb8[\x80-\x8e]"
    rb"|\xf0\x9b\xb2[\xa0-\xa3]|\xf0\x9d\x85[\xb3-\xba]|\xf3\xa0[\x80-\xbf][\x80-\xbf]"
)


def _visible(match: re.Match[str]) -> str:
    character = match.group()
    if character in _SHOWN:
        return _SHOWN[character]
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"\\u{code:04x}"


def is_harmless(text: str) -> bool:
    """Whether a text has no control character but tabs, nothing invisible, no line end."""
    return _CONTROL.search(text.replace("\t", "")) is None


def one_line(text: str, limit: int = 0) -> str:
    """The text on one line with every control character shown as a symbol; cut to ``limit`` characters with an ellipsis."""
    line = _CONTROL.sub(_visible, text.replace("\r\n", "\n").replace("\n", " \u23ce ") if "\n" in text else text)
    return shorten(line, limit) if limit else line


def block(text: str) -> str:
    """The text with its line ends kept and every other control character shown as a symbol."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(_CONTROL.sub(_visible, line) for line in lines)


def json_text(value: bytes) -> str:
    """JSON indented by two, every control character in it escaped: the same value to a program, harmless to a terminal."""
    return json_bytes(value).decode() + "\n"


def json_bytes(value: bytes) -> bytes:
    """The same as bytes, without the line end behind it."""
    data = msgspec.json.format(value, indent=2)
    return data if data.isascii() and b"\x7f" not in data else _IN_JSON.sub(_escaped, data)


def _escaped(match: re.Match[bytes]) -> bytes:
    units = match.group().decode().encode("utf-16-be")
    return b"".join(b"\\u%04x" % int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))


def shorten(text: str, limit: int) -> str:
    """At most ``limit`` characters, the last one an ellipsis when something was cut."""
    return text if len(text) <= limit else text[: max(0, limit - 1)].rstrip() + "\u2026"


def encodable(text: str) -> str:
    """The text without lone surrogates, so that it can be written as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def path_bytes(path: str) -> bytes:
    """The bytes of a file's name as the system has them; what no system can have is replaced."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return path.encode("utf-8", "replace")


def cells(text: str) -> int:
    """Columns that the text takes on a terminal: two for wide characters, none for combining ones."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
