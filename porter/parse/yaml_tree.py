"""YAML as plain nodes with offsets: built from events, so no object is made, no alias expanded, and depth and number are bounded."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from porter.model import Live
from porter.parse.amd_words import says_amd, says_nvidia
from porter.parse.sheet import Sheet

MAX_NODES = 200_000
MAX_DEPTH = 60
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEMPLATE = re.compile(r"\{\{(?:[^{}\n]|\{[^{}\n]*\}|\}(?!\}))*\}\}|\{%[^%\n]*%\}|\{#[^#\n]*#\}")
_LONG_TEMPLATE = re.compile(r"\{\{(?:[^{}]|\{[^{}\n]*\}|\}(?!\})){0,4000}\}\}")
_NAME_IN_BRACES = re.compile(r"(?<=[:-] )\{[\w.-]{1,60}\}(?=[\w/.:@-])")  # image: {user}/served:latest, which is no YAML as it stands
_OPEN_TEMPLATE = re.compile(r"\{\{-?\s{0,20}/\*.{0,2000}?\*/\s{0,20}-?\}\}", re.DOTALL)


@dataclass
class Node:
    """A scalar (``value``), a sequence (``items``) or a mapping (``pairs``), with its offsets in the text."""

    start: int
    end: int
    value: str | None = None
    style: str = ""
    items: list[Node] = field(default_factory=list)
    pairs: list[tuple[Node, Node]] = field(default_factory=list)
    live: Live = Live.YES

    def get(self, key: str) -> Node | None:
        """The value of a key of a mapping."""
        for name, node in self.pairs:
            if name.value == key:
                return node
        return None

    def text(self, key: str) -> str:
        """The scalar value of a key, or an empty text."""
        node = self.get(key)
        return node.value or "" if node is not None else ""


def blanked(text: str) -> str:
    """The text with Jinja, Helm and Actions templates replaced at equal length: alone on a line by blanks, else by underscores."""
    if "{" not in text:
        return text
    text = _NAME_IN_BRACES.sub(lambda match: "_" * len(match[0]), text)
    if "{{" not in text and "{%" not in text and "{#" not in text:
        return text
    text = _OPEN_TEMPLATE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    text = _LONG_TEMPLATE.sub(_one_line, text)
    return "\n".join(_blank_line(line) if "{" in line else line for line in text.split("\n"))


def _one_line(match: re.Match[str]) -> str:
    """A template of several lines as one of the first line, and blanks below: {{ include "a" (dict …) }}."""
    first, *rest = match[0].split("\n")
    if not rest or len(first) < 4:
        return match[0] if not rest else re.sub(r"[^\n]", " ", match[0])
    return "\n".join(("{{" + " " * (len(first) - 4) + "}}", *(" " * len(line) for line in rest)))


def _blank_line(line: str) -> str:
    emptied = _TEMPLATE.sub(lambda match: " " * len(match[0]), line)
    if not emptied.strip() or emptied.strip() == "-":
        return " " * len(emptied) if "-" not in emptied else emptied
    return _TEMPLATE.sub(lambda match: "_" * len(match[0]) if match[0][1] == "{" else " " * len(match[0]), line)


def load(sheet: Sheet, text: str) -> list[Node]:
    """The documents of a text; what can't be read is one problem and what came before is kept."""
    documents: list[Node] = []
    stack: list[Node] = []
    keys: list[Node | None] = []
    count = 0
    try:
        for event in yaml.parse(text.replace("\ufeff", " "), Loader=_LOADER):
            count += 1
            if count > MAX_NODES or len(stack) > MAX_DEPTH:
                sheet.problem(_index(event.start_mark), "YAML is too deep or too long; the rest was not read")
                break
            _take(event, documents, stack, keys)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        offset = sheet.start_of(mark.line + 1) if mark is not None else 0
        sheet.problem(offset, f"not valid YAML: {getattr(error, 'problem', None) or type(error).__name__}")
    except (ValueError, RecursionError) as error:
        sheet.problem(0, f"not valid YAML: {type(error).__name__}")
    return documents


def _index(mark: Any) -> int:
    return int(mark.index) if mark is not None else 0


def _take(event: yaml.Event, documents: list[Node], stack: list[Node], keys: list[Node | None]) -> None:
    """Add one event to the tree; ``keys`` holds the open key of every mapping on the stack."""
    if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
        if stack:
            stack.pop().end = _index(event.end_mark)
            keys.pop()
        return
    if isinstance(event, yaml.ScalarEvent):
        node = Node(_index(event.start_mark), _index(event.end_mark), event.value, event.style or "")
    elif isinstance(event, yaml.AliasEvent):
        node = Node(_index(event.start_mark), _index(event.end_mark), "")
    elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
        node = Node(_index(event.start_mark), _index(event.end_mark))
    else:
        return
    _attach(node, documents, stack, keys)
    if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
        node.style = "map" if isinstance(event, yaml.MappingStartEvent) else "list"
        stack.append(node)
        keys.append(None)


def _attach(node: Node, documents: list[Node], stack: list[Node], keys: list[Node | None]) -> None:
    if not stack:
        documents.append(node)
    elif stack[-1].style == "list":
        stack[-1].items.append(node)
    else:
        key = keys[-1]
        if key is None:
            keys[-1] = node
        else:
            stack[-1].pairs.append((key, node))
            keys[-1] = None


def walk(root: Node) -> Iterator[tuple[str, Node, Node | None]]:
    """Every node under a root with its dotted path and its key, in the order of the text, without recursion.

    On the way each node learns its ``live``: where one mapping has a key for AMD beside one for NVIDIA, the latter is not
    part of what runs on AMD.
    """
    work: list[tuple[str, Node, Node | None]] = [("", root, None)]
    while work:
        path, node, key = work.pop()
        yield path, node, key
        for item in reversed(node.items):
            item.live = node.live
            work.append((path, item, None))
        ported = any(_for_amd(name.value or "") for name, _ in node.pairs)
        for name, value in reversed(node.pairs):
            label = (name.value or "")[:200]
            value.live = Live.NO if ported and says_nvidia(label) and not _for_amd(label) else node.live
            work.append((f"{path}.{label}" if path else label, value, name))


@functools.lru_cache(maxsize=20_000)
def _for_amd(key: str) -> bool:
    return len(key) < 60 and key.isprintable() and (says_amd(key) or key.lower() in ("amd", "amd-gpu", "amd_gpu"))
