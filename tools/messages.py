"""Finds every message of the report's frame, and what the catalogues (porter/render/messages/*.po) lack of them.

python tools/messages.py        says what is missing or no longer used
python tools/messages.py --new  prints the missing entries as .po text, to be translated and added
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment, nodes

from porter.render import summary, tongue, words

RENDER = Path(__file__).resolve().parent.parent / "porter/render"
TEMPLATES = ("report", "cover", "overview", "findings", "lists", "sizing", "runbook", "method")
MODULES = ("charts", "html_view", "numbers", "verdict", "xlsx")
CALLS = {"text", "say", "plural", "form", "forms"}
ROWS = {"heads", "facts"}  # names of tuples in xlsx.py whose rows begin with a message

Found = Iterator[tuple[str, str]]


def messages() -> dict[str, str]:
    """Every message by its English text, with its English plural or an empty text."""
    found: dict[str, str] = {}
    for text, plural in (*_words(), *(pair for name in TEMPLATES for pair in _template(name)), *(p for m in MODULES for p in _module(m))):
        if text and not found.get(text):
            found[text] = plural
    return found


def _words() -> Found:
    """The tables of words.py and the phases."""
    singles = [
        *words.CATEGORY_NAMES.values(), *words.CATEGORY_WORDS.values(), *words.ACTIONS.values(), *words.ORIGIN_WORDS.values(),
        *words.SEVERITY_WORDS, *words.CONFIDENCE_WORDS, *words.STATUS_WORDS, *words.LADDER, *words.RUNBOOK_PHASES.values(),
        *words.SCRIPT_WORDS.values(), *(text for texts in words.ALTERNATIVES.values() for text in texts),
        *(text for pair in words.GLOSSARY for text in pair), *(text for name, goal, _ in summary.PHASES for text in (name, goal)),
    ]  # fmt: skip
    yield from ((text, "") for text in singles)
    yield from words.SCRIPT_PLURALS.values()


def _template(name: str) -> Found:
    """The calls of _ and _n in one template."""
    tree = Environment(autoescape=True).parse((RENDER / "templates" / f"{name}.html").read_text("utf-8"))
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in ("_", "_n"):
            texts = [arg.value for arg in call.args if isinstance(arg, nodes.Const) and isinstance(arg.value, str)]
            yield texts[0], texts[1] if call.node.name == "_n" else ""


def _module(name: str) -> Found:
    """Messages in Python: calls on a Tongue, pairs assigned to one and many, units of numbers, heads and facts of sheets."""
    for node in ast.walk(ast.parse((RENDER / f"{name}.py").read_text("utf-8"))):
        if isinstance(node, ast.Call):
            yield from _call(node)
        elif isinstance(node, ast.Assign):
            yield from _assigned(node)
        elif isinstance(node, ast.Return) and name == "numbers":
            yield from ((t, "") for t in _constants(node) if t.startswith(("{n} ", "< {n} ")))


def _call(node: ast.Call) -> Found:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
    texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if called in CALLS and texts:
        yield texts[0], texts[1] if called in ("plural", "form", "forms") and len(texts) > 1 else ""
    elif called == "_list" and texts:
        yield texts[0], ""


def _assigned(node: ast.Assign) -> Found:
    target = node.targets[0]
    if isinstance(target, ast.Tuple) and [getattr(each, "id", "") for each in target.elts] == ["one", "many"]:
        one, many = _constants(node.value)
        yield one, many
    elif getattr(target, "id", "") in ROWS:
        rows = node.value.elts if isinstance(node.value, ast.Tuple | ast.List) else []
        for row in rows:
            first = row.elts[0] if isinstance(row, ast.Tuple) else row
            yield from ((text, "") for text in _constants(first)[:1])


def _constants(node: ast.AST) -> list[str]:
    return [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def main() -> int:
    """Say what the catalogues lack or hold too much of; 1 where there is anything."""
    known = messages()
    status = 0
    for code in tongue.LANGUAGES[1:]:
        entries = {e.text: e for e in tongue.read((RENDER / "messages" / f"{code}.po").read_text("utf-8")) if e.text}
        missing, unused = [text for text in known if text not in entries], [text for text in entries if text not in known]
        status |= bool(missing or unused)
        if "--new" in sys.argv[1:]:
            print(f"# {code}")
            print("\n".join(_po(text, known[text], code) for text in missing))
        else:
            print(f"{code}: {len(entries)} messages, {len(missing)} missing, {len(unused)} unused")
            print("".join(f"  missing: {text}\n" for text in missing) + "".join(f"  unused: {text}\n" for text in unused), end="")
    return status


def _po(text: str, plural: str, code: str) -> str:
    lines = [f"msgid {_quoted(text)}"]
    if not plural:
        return "\n".join([*lines, 'msgstr ""', ""])
    forms = [f'msgstr[{i}] ""' for i in range(tongue.PLURALS[code])]
    return "\n".join([*lines, f"msgid_plural {_quoted(plural)}", *forms, ""])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


if __name__ == "__main__":
    sys.exit(main())
