"""Conda environments and recipes: packages, channels and the pip section; templates are blanked before reading."""

from __future__ import annotations

import re

from porter.model import Live, SourceFile
from porter.parse import Parsed, conda_lock, yaml
from porter.parse.install_line import conda_package
from porter.parse.requirement_line import add_requirement
from porter.parse.sheet import Sheet
from porter.parse.yaml_tree import Node, blanked, load, walk

_SECTIONS = frozenset(("dependencies", "build", "host", "run", "run_constrained", "test", "requires", "run_exports", "strong"))
_ROOT_KEYS = ("dependencies", "requirements", "channels", "package", "recipe", "outputs")
_COMPILER = re.compile(r"^[ \t]*-[ \t]*\$?\{\{[ \t]*compiler\([\"']cuda[\"']\)[ \t]*\}\}", re.MULTILINE)
_NOT_LINUX = ("win", "osx", "not linux", "arm64")


def parse(file: SourceFile) -> Parsed:
    """Facts of environment.yml, meta.yaml or recipe.yaml; a file that is only named like one is read as plain YAML."""
    sheet = Sheet(file, "conda")
    documents = load(sheet, blanked(sheet.text))
    if any(conda_lock.is_lock(document) for document in documents):
        return conda_lock.read(sheet, documents)
    if not any(document.get(key) is not None for document in documents for key in _ROOT_KEYS):
        return yaml.parse(file)
    for document in documents:
        for path, node, key in walk(document):
            last = path.rsplit(".", 1)[-1]
            if node.value is None:
                if key is not None and last == "pip":
                    for item in node.items:
                        _pip(sheet, item)
                continue
            if key is None and last == "channels":
                sheet.add("index_url", f"conda:{node.value.strip()}", node.start, node.end)
            elif key is None and last in _SECTIONS:
                conda_package(sheet, node.value, node.start, node.end, _selected(sheet, node))
            elif path.endswith(("source.url", "source.git_url", "source.git")) and "://" in node.value:
                sheet.add("index_url", node.value.strip(), node.start, node.end, option="source")
    for match in _COMPILER.finditer(sheet.text):  # the one template that names a package, in the only form conda-build takes
        sheet.add("conda_package", "compiler:cuda", match.end() - len(match[0].lstrip(" \t-")), match.end())
    return sheet.parsed


def _selected(sheet: Sheet, node: Node) -> Live:
    """A selector comment (`# [win]`) behind an entry: NO where it leaves Linux out."""
    stop = sheet.text.find("\n", node.end)
    rest = sheet.text[node.end : stop if stop >= 0 else len(sheet.text)]
    _, _, selector = rest.partition("# [")
    selector = selector.split("]")[0].strip()
    return Live.NO if selector in _NOT_LINUX or selector in ("win64", "win32", "osx and arm64") else Live.YES


def _pip(sheet: Sheet, item: Node) -> None:
    text = (item.value or "").strip()
    if text.startswith(("-i ", "--index-url", "--extra-index-url", "-f ", "--find-links")):
        option, _, url = text.replace("=", " ", 1).partition(" ")
        sheet.add("index_url", url.strip(), item.start, item.end, option=option)
        return
    if not text or text.startswith("-"):
        return
    add_requirement(sheet, text, item.start, item.end, section="pip")
