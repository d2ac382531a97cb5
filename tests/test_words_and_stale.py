"""The word index finds what plain searching finds, globs filed by their first letters still match, and old rules are listed."""

from __future__ import annotations

import datetime
import fnmatch
import random
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from porter import rules
from porter.catalog import stale_rules
from porter.cli import main
from porter.detect import Matcher
from porter.parse.word_index import WordIndex
from porter.rules import RuleSet

RULES = rules.load()


def searched(words: frozenset[bytes], text: bytes) -> set[int]:
    """Where the words start, by looking at every place."""
    return {at for at in range(len(text)) if any(text.startswith(word, at) for word in words)}


@pytest.mark.parametrize("seed", range(20))
def test_the_index_finds_what_plain_search_finds(seed: int) -> None:
    chance = random.Random(seed)
    words = frozenset(bytes(chance.choices(b"ab_.-+ :", k=chance.randint(1, 5))) for _ in range(12))
    text = bytes(chance.choices(b"ab_.-+ :\n(", k=400))
    index = WordIndex(words)
    assert index.offsets(text) == searched(words, text)
    assert index.holds(text) == bool(searched(words, text))


def test_a_word_is_found_in_a_long_token() -> None:
    index = WordIndex(frozenset([b"needle"]))
    text = b"x" * 100_000 + b"needle" + b"x" * 100_000
    assert index.offsets(text) == {100_000}


def test_globs_match_as_fnmatch_says_wherever_their_first_letters_file_them() -> None:
    matcher = Matcher(RULES)
    names = [
        "cudaMalloc",
        "nvshmem_put",
        "libcublas-dev",
        "ab",
        "a",
        "",
        "nvcr.io/nvidia/cuda:12",
        "x.enable_xformers_memory_efficient_attention",
    ]
    names += [
        pattern.replace("*", "x").replace("?", "y") for rule in RULES.rules.values() for found in rule.match.values() for pattern in found
    ]
    for kind in ("image", "requirement", "py_call", "apt_package", "command_flag"):
        for name in names[:400]:
            expected = {
                rule.id for rule in RULES.rules.values() if any(fnmatch.fnmatchcase(name, pattern) for pattern in rule.match.get(kind, ()))
            }
            assert set(matcher.rules_of(kind, name)) == expected, (kind, name)


def dated(day: str) -> RuleSet:
    """Two rules: one whose sources were all read on ``day``, one with a second source of 2026-11-30."""
    one, other = list(RULES.rules.values())[:2]
    old = tuple(msgspec.structs.replace(source, checked=day) for source in one.sources)
    fresh = (*old, msgspec.structs.replace(old[0], checked="2026-11-30"))
    return RuleSet({one.id: msgspec.structs.replace(one, sources=old), other.id: msgspec.structs.replace(other, sources=fresh)}, "x")


def test_a_rule_is_stale_when_its_newest_source_is_older_than_the_limit() -> None:
    first = next(iter(RULES.rules))
    today = datetime.date(2026, 12, 1)
    assert [(age, rule.id) for age, rule in stale_rules(dated("2026-06-03"), today, 180)] == [(181, first)]
    assert stale_rules(dated("2026-06-04"), today, 180) == []


def test_the_command_counts_from_the_day_it_is_given(tmp_path: Path) -> None:
    fresh = CliRunner().invoke(main, ["rules", "stale", "--today", "2026-12-02"])
    assert (fresh.exit_code, fresh.stdout) == (0, "")
    old = CliRunner().invoke(main, ["rules", "stale", "--today", "2028-01-01"])
    assert old.exit_code == 1
    assert len(old.stdout.splitlines()) == len(RULES.rules)
    assert "2026-12-01   396 days" in old.stdout
    assert CliRunner().invoke(main, ["rules", "stale", "--today", "soon"]).exit_code == 2
