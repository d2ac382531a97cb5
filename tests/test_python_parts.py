"""Functions and classes of a Python file in which nobody looks for anything are left out of its tree, and only those."""

from __future__ import annotations

from unittest import mock

import pytest

from porter import rules
from porter.config import Config
from porter.examine import Auditor, Examined
from porter.model import Origin, SourceFile
from porter.parse import python, python_parts
from porter.parse.python_tree import Source

PLAIN = "    total = 0\n" + "    total += len(str(total)) * 3\n" * 20 + "    return total\n"
IN_CLASS = PLAIN.replace("    ", "        ")
CALL = "torch.cuda.cudart()\n"


@pytest.fixture(scope="module")
def auditor() -> Auditor:
    """The rules as they are shipped."""
    return Auditor(Config(jobs=0), rules.load())


def source_of(text: str, auditor: Auditor) -> Source:
    """The tree that a scan makes of a text."""
    assert auditor.python_words is not None
    parsed = python.parse(SourceFile("a.py", "python", text.encode(), Origin.OWN), auditor.python_words)
    source = parsed.extra["python"]
    assert isinstance(source, Source)
    return source


def kinds(source: Source, kind: str) -> list[str]:
    """The first lines of all nodes of a kind in the tree."""
    todo, out = [source.root], []
    while todo:
        node = todo.pop()
        todo += reversed(node.children)
        out += [source.text(node).partition("\n")[0]] if node.type == kind else []
    return out


def seen_alike(text: str, auditor: Auditor) -> bool:
    """Whether a file gives the same with its whole tree as with the one that a scan makes."""

    def looked() -> Examined:
        return auditor._look(SourceFile("a.py", "python", text.encode(), Origin.OWN), text.count("\n"))

    part = looked()
    with mock.patch("porter.parse.python_parts.left_out", lambda *_: ()):
        return part == looked()


def test_functions_and_methods_without_a_place_are_left_out(auditor: Auditor) -> None:
    """The place of all else stays, decorators go with what they decorate, and a class that holds a place keeps that method alone."""
    text = (
        f"import torch\n\n\n@cached\n@twice\ndef plain(a):\n{PLAIN}\n\ndef asks(\n    a,\n) -> int:\n    return {CALL}\n\n"
        f"class Some:\n    limit = 3\n\n    def plain_method(self):\n{IN_CLASS}\n    def run(self):\n        return {CALL}"
    )
    source = source_of(text, auditor)
    assert kinds(source, "function_definition") == ["def asks(", "def run(self):"]
    assert kinds(source, "class_definition") == ["class Some:"]
    calls = [i + 1 for i, line in enumerate(text.split("\n")) if "cudart" in line]
    facts = python.parse(SourceFile("a.py", "python", text.encode(), Origin.OWN), auditor.python_words).facts
    assert [fact.span.line for fact in facts if fact.kind == "py_call"] == calls
    assert seen_alike(text, auditor)


def test_a_place_that_is_asked_for_after_all_is_read_in_the_whole_tree(auditor: Auditor) -> None:
    """Whoever follows a name into a function that was left out finds it there."""
    text = f"import torch\n{CALL}\ndef plain(a):\n{PLAIN}"
    source = source_of(text, auditor)
    at = text.index("len(str")
    assert source.leaves_out(at)
    assert [node.type for node in source.path(at)][-2:] == ["call", "identifier"]
    assert [node.type for node in next(iter(source.paths([at])))][-2:] == ["call", "identifier"]


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_a_string_that_begins_in_a_function_and_ends_elsewhere_is_kept(quotes: str, auditor: Auditor) -> None:
    """Lines of a string may look like statements of the module."""
    text = (
        f"import torch\n\n\ndef plain(a):\n{PLAIN}    text = {quotes}\nbegins here\n{quotes}\n{CALL}\n\n"
        f"def last():\n{PLAIN}    return {quotes}a{quotes}\n"
    )
    source = source_of(text, auditor)
    assert kinds(source, "function_definition") == ["def plain(a):"]
    assert seen_alike(text, auditor)


def test_where_the_bounds_of_functions_are_wrong_all_is_read(auditor: Auditor) -> None:
    """A list whose items stand at the margin inside a function."""
    text = f"import torch\n{CALL}\n\ndef plain(a):\n{PLAIN[:-17]}    return [\none,\ntwo]\n\n\ndef more():\n{PLAIN}"
    source = source_of(text, auditor)
    assert kinds(source, "function_definition") == ["def plain(a):", "def more():"]
    assert seen_alike(text, auditor)


def test_uses_of_imported_names_and_of_vendor_tests_keep_their_functions(auditor: Auditor) -> None:
    """A function that names neither CUDA nor AMD may use a name that was imported from there, or be switched off."""
    text = (
        "from torch.cuda import (\n    cudart as runtime,\n)\nfrom torch.version import hip\n\nON_OURS = hip is not None\n\n\n"
        f"def uses():\n    runtime()\n{PLAIN}\n\ndef off():\n    if not ON_OURS:\n        runtime()\n{PLAIN}\n\ndef plain():\n{PLAIN}"
    )
    source = source_of(text, auditor)
    assert kinds(source, "function_definition") == ["def uses():", "def off():"]
    assert seen_alike(text, auditor)


def test_an_odd_end_of_a_file_and_one_without_definitions() -> None:
    """The text without its stretches has the same length and the same lines."""
    data = b"x = 1\ndef f():\n    return 2"
    assert python_parts.without(data, ((6, len(data)),)) == b"x = 1\n0       \n            "
    assert python_parts.without(data, ()) == data


def test_a_file_whose_imports_cost_much_to_follow_is_read_whole(auditor: Auditor) -> None:
    """A bracket that hardly closes, and many names in a long file."""
    for head in ("from torch.cuda import (cudart" + " " * 3_000 + ")\n", "from torch.cuda import cudart, nvtx, amp\n" + "x = 1\n" * 200):
        text = f"{head}import torch\n{CALL}\n\ndef plain(a):\n{PLAIN}"
        assert kinds(source_of(text, auditor), "function_definition") == []
        with mock.patch.object(python_parts, "MAX_READ", 3_000):
            assert kinds(source_of(text, auditor), "function_definition") == ["def plain(a):"]
