"""Names by which a project tells AMD from CUDA: `DEVICE_TYPE`, `get_platform()` and their like, and the word they hold on AMD.

PyTorch's own device type is "cuda" on AMD too, so a name counts only where the file shows that it means the vendor: it is
set to the word, or compared with it as a constant or a call without arguments, and is not set to another where it holds it.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from porter.parse.python_strings import string_value
from porter.parse.python_tree import Source, field, inside, named

if TYPE_CHECKING:
    from tree_sitter import Node

WORDS = ("hip", "rocm", "amd")
MAX_PLACES = 2000
MAX_WORDS = 40  # names of a file
MAX_ROUNDS = 3  # names that get their value from another name
CONSTANT = re.compile(r"(?:\w+\.)?_?[A-Z][A-Z0-9_]{3,60}")
CALL = re.compile(r"(?:\w+\.){0,2}_?[a-z]\w*\(\)")
ATTRIBUTE = re.compile(r"(?:\w+\.)+_?(?:gpu_|device_)?(?:backend|platform|vendor)")  # devices.backend; device.type is "cuda" on AMD too
SUBJECT = re.compile(r"device|platform|backend|accel|vendor|arch|gpu", re.IGNORECASE)
COLLECTIONS = ("tuple", "list", "set")
COMPARED = ("==", "!=", "in", "not in")


def platform_words(source: Source) -> dict[str, str]:
    """Texts of names and calls as they are compared, each with the one word that it holds on AMD."""
    found: dict[str, set[str]] = {}
    for word in WORDS:
        for quote in (b'"', b"'"):
            offsets = itertools.islice(source.find(quote + word.encode() + quote), MAX_PLACES)
            for path in source.paths(offsets):
                for name in _told(source, path):
                    found.setdefault(name, set()).add(word)
    words = dict(itertools.islice(((name, held.pop()) for name, held in found.items() if len(held) == 1), MAX_WORDS))
    for _ in range(MAX_ROUNDS):
        more = dict(_handed_on(source, words))
        if not more.keys() - words.keys():
            break
        words = dict(itertools.islice((words | more).items(), 2 * MAX_WORDS))
    return {name: word for name, word in words.items() if not _set_again(source, name, word)}


def _told(source: Source, path: list[Node]) -> list[str]:
    """What one string, "hip" or its like, says about names: returned by a function, put into a name, compared with one."""
    string = inside(path, ("string",))
    at = path.index(string) if string is not None else 0
    above = path[at - 1] if at else None
    while above is not None and above.type in ("conditional_expression", "parenthesized_expression", "boolean_operator"):
        at -= 1
        above = path[at - 1]
    if above is None:
        return []
    if above.type == "return_statement":
        name = _function(source, path[:at])
        return [f"{name}()"] if name else []
    if above.type == "assignment" and path[at] == field(above, "right"):
        left = field(above, "left")
        name = source.text(left) if left is not None else ""
        return [name] if CONSTANT.fullmatch(name) else []
    if above.type in COLLECTIONS and path[at - 2].type == "comparison_operator":
        if any(string_value(source, item) == "cuda" for item in named(above)):
            return []  # either way is taken: says nothing of which the name holds
        above, at = path[at - 2], at - 1
    return _compared(source, above) if above.type == "comparison_operator" else []


def _compared(source: Source, node: Node) -> list[str]:
    parts = named(node)
    left = source.text(parts[0]) if parts else ""
    plain = len(parts) == 2 and SUBJECT.search(left) and any(known.fullmatch(left) for known in (CONSTANT, CALL, ATTRIBUTE))
    return [left] if plain and sign_of(node) in COMPARED else []


def sign_of(node: Node) -> str:
    """The operator of a comparison of two things, as written: `==`, `not in`."""
    parts = named(node)
    return " ".join(child.type for child in node.children if child not in parts and child.type != "comment")


def _function(source: Source, path: list[Node]) -> str:
    """The name of the innermost function of a path, empty for a method or where it takes arguments."""
    function = inside(path, ("function_definition", "lambda"))
    name, given = (field(function, "name"), field(function, "parameters")) if function is not None else (None, None)
    return source.text(name) if name is not None and given is not None and not named(given) else ""


def _handed_on(source: Source, words: dict[str, str]) -> list[tuple[str, str]]:
    """Constants that are set to a name or call that is known: `DEVICE_TYPE: str = get_device_type()`."""
    found: list[tuple[str, str]] = []
    for name, word in words.items():
        start = name.partition("(")[0].encode().lower()
        for path in source.paths(itertools.islice(source.find(start), MAX_PLACES)):
            assignment = inside(path, ("assignment",))
            right = field(assignment, "right") if assignment is not None else None
            left = field(assignment, "left") if assignment is not None else None
            if left is None or right is None or source.text(right) != name or not CONSTANT.fullmatch(source.text(left)):
                continue
            found.append((source.text(left), word))
    return found


def _set_again(source: Source, name: str, word: str) -> bool:
    """True for a constant that the file sets to some other string where it holds the word: `if KIND == "hip": KIND = "cuda"`."""
    if name.endswith(")"):
        return False
    for path in source.paths(itertools.islice(source.find(name.encode().lower()), MAX_PLACES)):
        assignment = inside(path, ("assignment",))
        left = field(assignment, "left") if assignment is not None else None
        right = field(assignment, "right") if assignment is not None else None
        if left is not None and right is not None and source.text(left) == name and not _chooses(source, right, word, path):
            return True
    return False


def _chooses(source: Source, right: Node, word: str, path: list[Node]) -> bool:
    """False where a name is set to another string in code that is entered because it held the word."""
    if string_value(source, right) in (None, word):
        return True
    test = inside(path, ("if_statement", "elif_clause"))
    condition = field(test, "condition") if test is not None else None
    return condition is None or word not in source.text(condition).lower() or sign_of(condition) != "=="
