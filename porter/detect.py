"""Detection: matches the facts of a file against the data rules, runs the detectors, and gives plain hits."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from porter.config import Config
from porter.model import Confidence, Fact, Hit, Live, Problem, Span
from porter.parse import Parsed
from porter.rules import RuleSet

GLOB_CHARS = frozenset("*?[")
GLOB_LETTERS = 3  # leading plain characters of a glob by which it is filed
TEST_PATH = re.compile(r"(?:.*/)?(?:(?:tests?|testing|testdata|test_data)/|(?:test_[^/]*|[^/]*_test)\.(?:py|ya?ml|json)\Z)")
PIPELINE_PATH = re.compile(r"\.(?:github|gitlab|circleci|buildkite)/")
TEST_KINDS = frozenset(("yaml", "json", "python"))
TEMPLATE = re.compile(r"_{6,}")  # what stands for {{ … }} in YAML (yaml_tree.blanked)
CMAKE_NO = frozenset(("OFF", "NO", "FALSE", "N", "0"))
GLOB_START = re.compile(r"[^*?[]{1,3}")


class Detector(NamedTuple):
    """A module of porter.detectors: the kinds of file it reads and its function."""

    name: str
    kinds: tuple[str, ...]
    detect: Callable[[Parsed, Any, Config], Iterable[Hit]]


class Matcher:
    """The [match] tables of all data rules, arranged so that a fact costs one dictionary look-up and one regex."""

    def __init__(self, ruleset: RuleSet) -> None:
        """Arrange the tables; names compare with case, globs are fnmatch's, compiled when a name first comes near them."""
        self.known = frozenset(ruleset.rules)
        self.exact: dict[str, dict[str, list[str]]] = {}
        self.globs: dict[str, dict[str, list[tuple[int, str, str]]]] = {}  # by kind, then by the glob's first letters
        number = 0
        for rule in ruleset.rules.values():
            for kind, patterns in rule.match.items():
                for pattern in patterns:
                    if GLOB_CHARS & set(pattern):
                        number += 1
                        start = GLOB_START.match(pattern)
                        self.globs.setdefault(kind, {}).setdefault(start[0] if start else "", []).append((number, pattern, rule.id))
                    else:
                        self.exact.setdefault(kind, {}).setdefault(pattern, []).append(rule.id)
        self._any_glob: dict[tuple[str, str], re.Pattern[str]] = {}
        self.rules_of = functools.lru_cache(maxsize=200_000)(self._find)  # ids of the rules that a fact of this kind and name hits

    def _find(self, kind: str, name: str) -> tuple[str, ...]:
        exact = self.exact.get(kind, {})
        found = list(exact.get(name, ()))
        if kind == "py_import":  # "a" stands for the module and all that is in it
            parts = name.split(".")
            for length in range(1, len(parts)):
                found += exact.get(".".join(parts[:length]), ())
        buckets = self.globs.get(kind, {})
        starts = [start for start in dict.fromkeys(("", name[:1], name[:2], name[:GLOB_LETTERS])) if start in buckets]
        if not starts and not found:
            return ()  # most names
        matching: list[tuple[int, str]] = []
        for start in starts:
            bucket = buckets[start]
            if self._quick(kind, start, bucket).match(name):
                matching += [(number, rule) for number, pattern, rule in bucket if _compiled(pattern).match(name)]
        return tuple(dict.fromkeys([*found, *(rule for _, rule in sorted(matching))]))

    def _quick(self, kind: str, start: str, bucket: list[tuple[int, str, str]]) -> re.Pattern[str]:
        """One regex for all globs of a bucket."""
        if (kind, start) not in self._any_glob:
            self._any_glob[kind, start] = re.compile("|".join(_regex(pattern) for _, pattern, _ in bucket))
        return self._any_glob[kind, start]


@functools.lru_cache(maxsize=20_000)
def _compiled(glob: str) -> re.Pattern[str]:
    return re.compile(_regex(glob))


def _regex(glob: str) -> str:
    """A glob as an anchored regex: * and ? match any character, [..] is a set."""
    out: list[str] = []
    i = 0
    while i < len(glob):
        char = glob[i]
        if char == "*":
            out.append(".*")
        elif char == "?":
            out.append(".")
        elif char == "[" and (end := glob.find("]", i + 1)) > 0:
            body = glob[i + 1 : end].replace("\\", "\\\\")
            out.append("[^" + body[1:] + "]" if body.startswith("!") else "[" + body + "]")
            i = end
        else:
            out.append(re.escape(char))
        i += 1
    return "(?s:" + "".join(out) + r")\Z"


def load_detectors(ruleset: RuleSet) -> tuple[Detector, ...]:
    """The detectors that the rules name, found by module name; raises ImportError for one that is missing."""
    found = []
    for name in ruleset.detectors:
        module = importlib.import_module(f"porter.detectors.{name}")
        found.append(Detector(name, tuple(module.KINDS), module.detect))
    return tuple(found)


def detect(
    parsed: Parsed, index: Any, config: Config, matcher: Matcher, detectors: tuple[Detector, ...]
) -> tuple[list[Hit], list[Problem]]:
    """All hits in one file and in the sources embedded in it; a detector that throws is a problem, never a lost file."""
    hits: list[Hit] = []
    problems: list[Problem] = []
    for part in (parsed, *parsed.embedded):
        hits += data_hits(part, matcher)
        for detector in detectors:
            if part.file.kind not in detector.kinds:
                continue
            try:
                found = [_with_live(hit, part) for hit in detector.detect(part, index, config)]
                hits += [hit for hit in found if hit.rule in matcher.known]
                problems += [_unknown(rule, detector, parsed) for rule in sorted({hit.rule for hit in found} - matcher.known)]
            except Exception as error:  # a detector's crash must cost one detector on one file, and be seen
                what = f"detector {detector.name} failed: {type(error).__name__}: {str(error)[:200]}"
                problems.append(Problem("detect", parsed.file.path, 0, what))
    if _is_test_data(parsed):
        hits = [msgspec.structs.replace(hit, confidence=Confidence.LOW) if _is_setting(hit, parsed) else hit for hit in hits]
    return list(dict.fromkeys(hits)), problems


def _is_test_data(parsed: Parsed) -> bool:
    path = parsed.file.path
    return parsed.file.kind in TEST_KINDS and TEST_PATH.match(path) is not None and PIPELINE_PATH.match(path) is None


def _is_setting(hit: Hit, parsed: Parsed) -> bool:
    """Whether a test file only names the thing: a manifest that tests compare with, an argument or a string of Python."""
    return hit.confidence is None and (parsed.file.kind != "python" or hit.fact_kind in ("py_arg", "py_string"))


def _unknown(rule: str, detector: Detector, parsed: Parsed) -> Problem:
    return Problem("detect", parsed.file.path, 0, f"detector {detector.name} names the rule '{rule}', which does not exist")


def data_hits(parsed: Parsed, matcher: Matcher) -> list[Hit]:
    """Hits of the data rules; one rule hits a line once, however many facts of the line it knows."""
    best: dict[tuple[str, int], Hit] = {}
    for fact in parsed.facts:
        rules = matcher.rules_of(fact.kind, fact.name)
        if not rules or (fact.kind == "py_import" and fact.detail.get("type_checking")) or _is_switched_off(fact):
            continue  # most names; what is never loaded, or not asked for
        for rule in rules:
            key = (rule, fact.span.line)
            if key not in best and (rule, int(fact.detail.get("statement", 0))) not in best:
                optional = fact.kind == "py_import" and "optional" in fact.detail
                doubt = Confidence.LOW if "forgiven" in fact.detail or "unopened" in fact.detail else None
                best[key] = Hit(
                    rule, fact.span, _message(fact), _subject(fact), live=_live(fact, parsed), optional=optional, confidence=doubt,
                    fact_kind=fact.kind, fact_name=fact.name,
                )  # fmt: skip
    return list(best.values())


def _is_switched_off(fact: Fact) -> bool:
    """Whether a variable of CMake is set to one of its words for no: what it would switch on is not built."""
    return fact.kind == "cmake_var" and fact.detail.get("value", "").upper() in CMAKE_NO


def _with_live(hit: Hit, parsed: Parsed) -> Hit:
    if hit.live is not Live.UNKNOWN:
        return hit
    return msgspec.structs.replace(hit, live=parsed.live(hit.span.line))


def _live(fact: Fact, parsed: Parsed) -> Live:
    return fact.live if fact.live is not Live.UNKNOWN else parsed.live(fact.span.line)


def _subject(fact: Fact) -> str:
    if fact.kind in ("py_import", "include"):
        return fact.name.split("." if fact.kind == "py_import" else "/")[0]
    return fact.name


def _message(fact: Fact) -> str:
    if fact.kind == "binary" and "words" in fact.detail:
        return fact.detail["words"]
    words = {
        "include": "includes {0}", "call": "calls {0}", "type": "uses type {0}", "identifier": "uses {0}",
        "py_import": "imports {0}", "py_call": "calls {0}", "py_attr": "uses {0}", "py_arg": "passes {0}",
        "requirement": "depends on {0}", "conda_package": "depends on {0}", "index_url": "installs from {0}",
        "apt_package": "installs {0}", "cmake_package": "finds package {0}", "cmake_target": "links {0}",
        "link_library": "links {0}", "image": "runs on image {0}", "env_var": "sets or reads {0}",
        "command": "runs {0}", "command_flag": "runs {0}", "manifest_key": "asks for {0}", "model_key": "has {0}",
        "compile_flag": "passes {0}", "binary": "ships {0}", "define": "defines {0}", "macro_test": "tests {0}",
    }  # fmt: skip
    name = TEMPLATE.sub("…", fact.name) if fact.kind in ("manifest_key", "image") else fact.name
    text = words.get(fact.kind, "uses {0}").format(name)
    extra = fact.detail.get("specifier", "") if fact.kind == "requirement" else ""
    text += "; the error is caught, and the program goes on without it" if "forgiven" in fact.detail else ""
    text += "; nothing in this file opens it" if "unopened" in fact.detail else ""
    return text + (f" ({extra})" if extra and "$" not in extra else "")


def span_text(data: bytes, span: Span, limit: int = 400) -> str:
    """The source lines that a span touches, at most ``limit`` characters, as text."""
    lines = data.splitlines()[span.line - 1 : max(span.line, min(span.end_line, span.line + 7))]
    return b"\n".join(lines).decode("utf-8", "replace")[:limit]
