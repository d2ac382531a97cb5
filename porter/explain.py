"""What porter knows of a name: a rule, a CUDA API name, a Python package, a header or library, or a PTX opcode."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Iterable

from packaging.utils import canonicalize_name

from porter import rules
from porter.config import Config
from porter.detect import Matcher
from porter.detectors import python_dependency
from porter.estimate import duration
from porter.hipify import api
from porter.model import Effort, Rule, SourceFile
from porter.parse import ptx_dict, requirements
from porter.render.neutral import one_line
from porter.rules import RuleSet

WIDTH = 100


def explain(name: str) -> tuple[str, bool]:
    """Everything known of a name as text, and whether anything is; for an unknown name the text says what comes close."""
    ruleset = rules.load()
    name = name.strip()
    parts = [*_rules_named(name, ruleset), *_cuda_name(name), *_ptx(name), *_surfaces(name, ruleset)]
    if parts:
        return "\n\n".join(dict.fromkeys(parts)) + "\n", True
    close = _close(name, ruleset)
    words = f"; close to it: {', '.join(close)}" if close else ""
    return f"porter: nothing is known of '{one_line(name)}'{words}\n", False


def _rules_named(name: str, ruleset: RuleSet) -> list[str]:
    rule = ruleset.rules.get(name.lower())
    former = [r for r in ruleset.rules.values() if name in r.formerly]
    return [rule_text(r) for r in ([rule] if rule else former)]


def rule_text(rule: Rule) -> str:
    """A rule for the terminal: what it finds, why it matters, what to do, what it costs, an example, the sources."""
    lines = [f"{rule.id} · {rule.category} · {rule.severity} · confidence {rule.confidence} · {rule.action}", rule.title, ""]
    lines += _wrapped(rule.why)
    if rule.targets:
        lines += ["", f"Matters on: {', '.join(rule.targets)}"]
    lines += _by_target(rule)
    if rule.replacement:
        lines += ["", *_wrapped(f"On ROCm: {rule.replacement.name}. {rule.replacement.how}")]
        if rule.replacement.rocm:
            lines += [f"Needs ROCm {rule.replacement.rocm}"]
    if rule.effort != Effort():
        lines += ["", *_effort_lines(rule.effort)]
    example = rule.shown_example
    if example is not None:
        found, other = ("Before", "After") if rule.shows_port else ("Found", "Not found by this rule")
        lines += ["", f"{found}, {example.file}:", *_indented(example.before), f"{other}:", *_indented(example.after)]
    lines += ["", *(f"Source ({s.checked}): {s.url}" for s in rule.sources)]
    return "\n".join(lines)


def _by_target(rule: Rule) -> list[str]:
    """What happens on each target, a paragraph of its own."""
    others = "other targets" if len(rule.by_target) > 1 else "every target"
    lines = [line for glob, text in rule.by_target.items() for line in _wrapped(f"On {others if glob == '*' else glob}: {text}")]
    return ["", *lines] if lines else []


def _effort_lines(effort: Effort) -> list[str]:
    parts = (("once", effort.once), ("a file", effort.file), ("a place", effort.each))
    return [f"Effort {label}: {duration(h.likely)} ({duration(h.best)} to {duration(h.worst)})" for label, h in parts if h.worst > 0]


def _indented(text: str) -> list[str]:
    return ["    " + line for line in text.strip("\n").split("\n")]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), WIDTH)


def _cuda_name(name: str) -> list[str]:
    known = api.lookup(name)
    if known is None:
        return []
    lines = [f"{known.name} · {known.library} {known.kind} · {known.support}"]
    if known.hip:
        lines.append(f"HIP: {known.hip}" + _versions(known.hip_added, known.hip_deprecated, known.hip_removed))
    if known.roc:
        lines.append(f"ROCm library: {known.roc}")
    cuda = _versions(known.cuda_added, known.cuda_deprecated, known.cuda_removed)
    if cuda:
        lines.append(f"CUDA: {cuda[2:-1]}")
    if not known.hip and not known.roc:
        lines.append("No HIP or ROCm-library counterpart is known.")
    if known.docs:
        lines.append(f"Page: {known.docs}")
    return ["\n".join(lines)]


def _versions(added: str, deprecated: str, removed: str) -> str:
    words = [f"{what} {version}" for what, version in (("since", added), ("deprecated in", deprecated), ("removed in", removed)) if version]
    return f" ({', '.join(words)})" if words else ""


def _ptx(name: str) -> list[str]:
    """A PTX opcode or special register; a plain word is one only when the dictionary holds it."""
    text = ptx_dict.explain(name)
    return [text] if text else []


def _surfaces(name: str, ruleset: RuleSet) -> list[str]:
    """Rules that would find the name as a package, import, header, library, CMake package or image."""
    matcher = Matcher(ruleset)
    found: list[str] = []
    for kind, spelt in _spellings(name):
        found += [rule for rule in matcher.rules_of(kind, spelt) if rule not in found]
    found += [rule for rule in _as_requirement(name) if rule in ruleset.rules and rule not in found]
    return [rule_text(ruleset.rules[rule]) for rule in found[:5]]


def _as_requirement(name: str) -> list[str]:
    """Rules that a requirements file with this one line would hit by its extra, its version tag or its index."""
    parsed = requirements.parse(SourceFile("requirements.txt", "requirements", name.encode()))
    return [hit.rule for hit in python_dependency.detect(parsed, None, Config())]


def _spellings(name: str) -> Iterable[tuple[str, str]]:
    package = re.split(r"[\[=<>!~;@ ]", name, maxsplit=1)[0]
    yield "requirement", canonicalize_name(package)
    for kind in (
        "py_import",
        "py_call",
        "py_attr",
        "include",
        "call",
        "type",
        "link_library",
        "cmake_package",
        "cmake_target",
        "apt_package",
        "conda_package",
        "model_key",
        "binary",
        "image",
        "env_var",
        "command",
    ):
        yield kind, name


def _close(name: str, ruleset: RuleSet) -> list[str]:
    near = difflib.get_close_matches(name.lower(), list(ruleset.rules), n=3, cutoff=0.7)
    found = [*api.close_matches(name), *near]
    words = re.findall(r"[a-z0-9_]+", name.lower())
    titled = (rule.id for rule in ruleset.rules.values() if words and all(word in f"{rule.id} {rule.title}".lower() for word in words))
    return (found or list(titled))[:5]
