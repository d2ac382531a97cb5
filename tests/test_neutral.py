"""No character that acts on a reader unseen reaches one: every format and control character of Unicode, fillers, variation selectors."""

from __future__ import annotations

import json
import unicodedata

from porter.render.neutral import block, is_harmless, json_text, one_line

# Marks of Arabic, Kaithi and Egyptian numbers and of Syriac are of category Cf, but are seen.
SEEN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13456)}
FILLERS = (0x34F, 0x115F, 0x1160, 0x17B4, 0x3164, 0xFFA0, 0x180B, 0xFE00, 0xFE0E, 0xE0100, 0xE01EF)
UNSEEN = [
    chr(code) for code in range(0x110000)
    if code in FILLERS or (unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp") and code not in SEEN and chr(code) not in "\t\n")
]  # fmt: skip


def test_what_nobody_sees_is_shown() -> None:
    assert len(UNSEEN) > 200
    for character in UNSEEN:
        shown = one_line(f"a{character}b")
        assert character not in shown and shown != "ab" and not is_harmless(f"a{character}b"), hex(ord(character))
        assert character == "\r" or character not in block(f"a{character}b")


def test_json_holds_it_escaped_and_unchanged() -> None:
    text = "".join(UNSEEN)
    written = json_text(json.dumps([text], ensure_ascii=False).encode())
    assert json.loads(written) == [text]
    assert not set(UNSEEN) & set(written)


def test_ordinary_text_stays_as_it_is() -> None:
    for text in ("caf\u00e9 \u4e2d\u6587 \u0645\u0631\u062d\u0628\u0627", "\u26a0\ufe0f careful", "\U0001f5a5\ufe0f", "a\tb"):
        assert is_harmless(text) and one_line(text).replace("    ", "\t") == text


def test_a_name_hidden_behind_a_variation_selector_is_another_name() -> None:
    assert one_line("a\ufe0f.cu") != one_line("a.cu") != one_line("a\U000e0101.cu")
