"""PyTorch's own translation: which files a build with torch.utils.cpp_extension hipifies by itself on ROCm.

CUDAExtension and load() run torch.utils.hipify over the sources they list and the project's headers that those include, and over
nothing else (torch/utils/cpp_extension.py: ``hipify_extra_files_only=True``).
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from porter.parse.python_strings import string_value
from porter.parse.python_tree import Source, TooSlow
from porter.regular import read_regular
from porter.source_tree import SourceTree

BUILDERS = (b"CUDAExtension", b"load", b"load_inline")
CLUE = b"cpp_extension"
SOURCES = (".cu", ".cuh", ".c", ".cc", ".cpp", ".h", ".in", ".hpp")  # what torch.utils.hipify takes
_MOST_STRINGS = 5000
_MOST_FOLDERS, _MOST_BUILDERS = 8, 50  # that are looked at for one source
_MAX_BYTES = 1 << 20


def listed_sources(data: bytes) -> tuple[str, ...]:
    """Names and patterns of sources in a Python file that builds CUDA extensions: the strings in it that end like a source.

    Lists are often put together in variables, so every such string of the file counts; empty for a file without a builder.
    """
    if CLUE not in data or len(data) > _MAX_BYTES or not any(name in data for name in BUILDERS):
        return ()
    try:
        source = Source(data)
    except TooSlow:
        return ()
    if not any(_calls_builder(node, source) for node in _nodes(source, "call")):
        return ()
    texts = (string_value(source, node) for node in _nodes(source, "string"))
    return tuple(dict.fromkeys(text for text in texts if text and text.endswith(SOURCES) and "\n" not in text))


def _calls_builder(node: Any, source: Source) -> bool:
    function = node.child_by_field_name("function")
    name = source.data[function.start_byte : function.end_byte].rsplit(b".", 1)[-1] if function is not None else b""
    return name == b"CUDAExtension" or (name in BUILDERS and b"sources" in source.data[node.start_byte : node.end_byte])


def _nodes(source: Source, kind: str) -> list[Any]:
    """Nodes of a kind, found with a cursor, so that depth costs no Python stack."""
    found: list[Any] = []
    cursor = source.tree.walk()
    while len(found) < _MOST_STRINGS:
        node = cursor.node
        if node is not None and node.type == kind:
            found.append(node)
        if cursor.goto_first_child() or cursor.goto_next_sibling():
            continue
        while cursor.goto_parent():
            if cursor.goto_next_sibling():
                break
        else:
            return found
    return found


def translated_by_torch(builders: Mapping[str, bytes], tree: SourceTree) -> tuple[str, ...]:
    """Paths that PyTorch's build translates: what ``builders`` (Python files) list among the sources, and the headers included."""
    found: dict[str, None] = {}
    for path, data in builders.items():
        for name in listed_sources(data):
            for source in _matching(name, posixpath.dirname(path), tree.files):
                found.update(dict.fromkeys(tree.reach(source)))
    return tuple(sorted(found))


def builder_of(source: Path) -> str:
    """The Python file in one of the folders above a source that has PyTorch's build translate it; empty for none.

    Looked for up to the folder with the repository's .git, at most eight folders up.
    """
    source = source.resolve()
    for folder in source.parents[:_MOST_FOLDERS]:
        name = source.relative_to(folder).as_posix()
        for path in sorted(folder.glob("*.py"))[:_MOST_BUILDERS]:
            data = read_regular(path, _MAX_BYTES)
            if data is not None and any(_matching(text, "", (name,)) for text in listed_sources(data)):
                return path.name
        if (folder / ".git").exists():
            break
    return ""


def _matching(name: str, folder: str, sources: Iterable[str]) -> list[str]:
    """Files that a string means: the path from the build file's folder, else every file below it whose path ends in the string."""
    bare = posixpath.normpath(name.lstrip("/"))
    below = [path for path in sources if path.startswith(folder + "/") or not folder]
    exact = posixpath.normpath(posixpath.join(folder, bare))
    if exact in below:
        return [exact]
    return [path for path in below if fnmatch.fnmatchcase(path, bare) or fnmatch.fnmatchcase(path, "*/" + bare)]
