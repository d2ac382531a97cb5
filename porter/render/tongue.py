"""The language of a report's frame: gettext-style catalogues (messages/*.po) whose keys are the English texts."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from importlib.resources import files

import msgspec

from porter.errors import ConfigError

LANGUAGES = ("en", "ru", "zh")
PLURALS = {"en": 2, "ru": 3, "zh": 1}
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"\s*$')
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


class Entry(msgspec.Struct, frozen=True):
    """One message of a catalogue: its English text, the English plural where it has one, and the forms of the translation."""

    text: str
    plural: str = ""
    forms: tuple[str, ...] = ()
    fuzzy: bool = False


class Tongue(msgspec.Struct, frozen=True):
    """One language: its code for the page, its messages by English text, and how it writes numbers."""

    code: str = "en"
    messages: dict[str, tuple[str, ...]] = {}
    thousands: str = ","
    decimal: str = "."

    def text(self, text: str) -> str:
        """The message as it is written in this language, with its {places} still in it."""
        return self.messages.get(text, (text,))[0]

    def say(self, text: str, **values: object) -> str:
        """The message with its {places} filled."""
        return self.text(text).format(**values)

    def forms(self, one: str, many: str) -> tuple[str, ...]:
        """All plural forms of a message, in the order of its catalogue."""
        return self.messages.get(one, (one, many))

    def form(self, one: str, many: str, number: int) -> str:
        """The form that the number asks for, with its {places} still in it."""
        return self.forms(one, many)[form_of(self.code, number)]

    def plural(self, one: str, many: str, number: int, **values: object) -> str:
        """The form that the number asks for; {n} in it becomes the number as this language writes it."""
        return self.form(one, many, number).format(n=self.number(f"{number:,}"), **values)

    def number(self, text: str) -> str:
        """A number that Python has written (1,234.5) with this language's marks."""
        if (self.thousands, self.decimal) == (",", "."):
            return text
        return text.translate({ord(","): self.thousands, ord("."): self.decimal})


ENGLISH = Tongue()


def form_of(code: str, number: int) -> int:
    """Which plural form a language uses for a number; the rules are those of gettext's manual."""
    if code == "zh":
        return 0
    if code != "ru":
        return 0 if number == 1 else 1
    if number % 10 == 1 and number % 100 != 11:
        return 0
    return 1 if 2 <= number % 10 <= 4 and not 12 <= number % 100 <= 14 else 2


@functools.cache
def tongue(code: str) -> Tongue:
    """The language by its code; raises ConfigError for one that porter has no catalogue of."""
    if code not in LANGUAGES:
        raise ConfigError(f"no report in the language '{code}'", f"languages: {', '.join(LANGUAGES)}")
    if code == "en":
        return ENGLISH
    text = (files("porter.render") / "messages" / f"{code}.po").read_text("utf-8")
    messages = {entry.text: entry.forms for entry in read(text) if entry.text and all(entry.forms) and not entry.fuzzy}
    marks = ("\u00a0", ",") if code == "ru" else (",", ".")
    return Tongue(code, messages, *marks)


def read(text: str) -> Iterator[Entry]:
    """The entries of a .po file, its head among them (the one without a text)."""
    for block in re.split(r"\n\s*\n", text):
        if entry := _entry(block):
            yield entry


def _entry(block: str) -> Entry | None:
    """One paragraph of a .po file; None where it holds only comments."""
    parts: dict[str, str] = {}
    key = ""
    fuzzy = False
    for line in block.split("\n"):
        if line.startswith("#"):
            fuzzy = fuzzy or (line.startswith("#,") and "fuzzy" in line)
            continue
        found = _STRING.search(line)
        if found is None:
            continue
        if not line.startswith('"'):
            key = line[: found.start()].strip()
        parts[key] = parts.get(key, "") + re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), found[1])
    if "msgid" not in parts:
        return None
    forms = [value for name, value in sorted(parts.items()) if name.startswith("msgstr")]
    return Entry(parts["msgid"], parts.get("msgid_plural", ""), tuple(forms), fuzzy)
