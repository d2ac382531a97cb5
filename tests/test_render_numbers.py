"""Numbers as people read them: honest digits, no false hundred per cent."""

from __future__ import annotations

import pytest

from porter.render import numbers, words
from porter.rules import STATUSES


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 h"),
        (0.004, "< 1 min"),
        (0.25, "15 min"),
        (0.999, "1 h"),
        (1, "1 h"),
        (1.26, "1.3 h"),
        (9.96, "10 h"),
        (68.4, "68 h"),
        (1249, "1,200 h"),
    ],
)
def test_hours(value, text):
    assert numbers.hours(value) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(3, 12, "3–12 h"), (0.5, 2, "30 min – 2 h"), (0.1, 0.5, "6–30 min"), (0, 4, "0–4 h"), (2, 2.01, "2 h"), (0, 0, "0 h")],
)
def test_ranges(low, high, text):
    assert numbers.hours_range(low, high) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (1, 0, "n/a"),
        (5, 5, "100 %"),
        (99_999, 100_000, "99.9 %"),
        (0, 9, "0 %"),
        (1, 100_000, "0.1 %"),
        (419, 480, "87 %"),
        (994, 1000, "99.4 %"),
    ],
)
def test_shares_are_never_rounded_up_to_all(part, whole, text):
    assert numbers.percent(part, whole) == text


def test_long_hours_change_their_unit():
    assert [numbers.long_hours(v) for v in (4, 68, 400)] == ["4 h", "8.5 person-days", "10 person-weeks"]


def test_how_a_replacement_stands_is_written_as_people_write_it() -> None:
    assert [words.standing(one) for one in ("works-with-rocm-build", "no-equivalent")] == ["works in its ROCm build", "no equivalent"]
    assert {words.standing(one) for one in STATUSES} <= set(words.STATUS_WORDS)
