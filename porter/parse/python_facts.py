"""Turns places in a Python tree into facts: calls, attributes, constant arguments, strings, environment variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from porter.model import Fact
from porter.parse.python_commands import built_command
from porter.parse.python_guards import PythonGuards
from porter.parse.python_imports import SEEN_BY, is_optional_import
from porter.parse.python_strings import constant, form_of, string_value
from porter.parse.python_tree import Source, field
from porter.parse.vendor_images import VENDOR_IMAGE

if TYPE_CHECKING:
    from tree_sitter import Node

STATEMENTS = (
    "block",
    "module",
    "function_definition",
    "class_definition",
    "expression_statement",
    "import_statement",
    "import_from_statement",
)
INDEX_CLUES = ("/whl", "/simple", "pypi.", "find-links", "/wheels")
MAX_STRING = 300
MAX_CLIMB = 12


class Collector:
    """Looks at paths and keeps the facts; each node gives its facts once."""

    def __init__(self, source: Source, guards: PythonGuards, calls: Callable[..., None]) -> None:
        """Start empty; ``calls`` gives the facts of a call (python_calls.call_facts)."""
        self.source = source
        self.guards = guards
        self.facts: list[Fact] = []
        self._calls = calls
        self._done: set[int] = set()

    def look(self, path: list[Node]) -> None:
        """The facts at one place: the name there, and the calls, arguments and pairs that it is directly part of."""
        for at in range(len(path) - 1, max(0, len(path) - MAX_CLIMB), -1):
            node = path[at]
            if node.type in STATEMENTS:
                return
            if node.id not in self._done:
                self._done.add(node.id)
                self._facts(node, path[:at])

    def _facts(self, node: Node, above: list[Node]) -> None:
        kind = node.type
        parent = above[-1]
        if kind == "call":
            self._call(node, above)
        elif kind == "attribute":
            self._attribute(node, parent)
        elif kind == "identifier":
            self._identifier(node, parent)
        elif kind in ("string", "concatenated_string"):
            if not self._is_imported(above):
                self._string(node, parent)
        elif kind in ("default_parameter", "typed_default_parameter"):
            self._constant_of(node, field(node, "name"), "def")
        elif kind == "pair":
            self._pair(node, above)
        elif kind == "subscript":
            self._subscript(node, above)
        elif kind == "assignment":
            built_command(self.source, node, above, self.emit)

    def emit(self, kind: str, name: str, node: Node, args: tuple[str, ...] = (), detail: dict[str, str] | None = None) -> None:
        """Keep a fact that stands at a node."""
        live = self.guards.at_byte(node.start_byte)
        self.facts.append(Fact(kind, name, self.source.span(node), "host", live, SEEN_BY, args, detail or {}))

    def _call(self, node: Node, above: list[Node]) -> None:
        function = field(node, "function")
        name = self.source.resolve(function) if function is not None else ""
        if function is not None and function.type == "subscript":  # a Triton launch: kernel[grid](…)
            base = field(function, "value")
            name = (self.source.resolve(base) if base is not None else "") + "[]"
        if name:
            first = len(self.facts)
            self._calls(self.source, node, name, above, self.emit)
            if above[-1].type == "decorator":
                self.facts[first].detail["decorator"] = "1"

    def _attribute(self, node: Node, parent: Node) -> None:
        """Only the outermost attribute counts, and not as the callee of a call (that is a py_call)."""
        if parent.type == "attribute" or (parent.type == "call" and node == field(parent, "function")):
            return
        name = self.source.resolve(node)
        if not name:
            return
        if parent.type == "decorator":
            self.emit("py_call", name, node, detail={"decorator": "1"})
        written = parent.type in ("assignment", "augmented_assignment") and node == field(parent, "left")
        detail: dict[str, str] = {}
        if written:
            value = constant(self.source, field(parent, "right"))
            detail = {"access": "write", **({"value": value} if value is not None else {})}
        self.emit("py_attr", name, node, detail=detail)

    def _identifier(self, node: Node, parent: Node) -> None:
        """A bare name that was imported from somewhere is an attribute of that module."""
        if parent.type in ("attribute", "keyword_argument", "parameters", "default_parameter", "dotted_name", "aliased_import"):
            return
        if parent.type == "call" and node == field(parent, "function"):
            return
        full = self.source.aliases.get(self.source.text(node))
        if full is not None and "." in full and not full.startswith("."):
            self.emit("py_call" if parent.type == "decorator" else "py_attr", full, node)

    def _is_imported(self, above: list[Node]) -> bool:
        """Whether a string is the argument of a call that imports it: the call tells it as an import."""
        if len(above) < 2 or above[-1].type != "argument_list" or above[-2].type != "call":
            return False
        function = field(above[-2], "function")
        return function is not None and is_optional_import(self.source.resolve(function))

    def _string(self, node: Node, parent: Node) -> None:
        if parent.type in ("concatenated_string", "expression_statement", "interpolation", "format_expression"):
            return  # pieces are told by their whole; a bare string is a docstring
        if node.end_byte - node.start_byte > 4 * MAX_STRING:
            return
        value = string_value(self.source, node)
        if value is None and VENDOR_IMAGE.fullmatch(form := form_of(self.source, node)):
            self.emit("image", form, node)
        if not value or len(value) > MAX_STRING:
            return
        self.emit("py_string", value, node)
        if VENDOR_IMAGE.fullmatch(value):
            self.emit("image", value, node)
        if value.startswith(("https://", "http://")) and any(clue in value for clue in INDEX_CLUES):
            self.emit("index_url", value, node)

    def _constant_of(self, node: Node, name: Node | None, callee: str) -> None:
        value = constant(self.source, field(node, "value"))
        if name is not None and value is not None and len(value) <= 200:
            self.emit("py_arg", f"{self.source.text(name)}={value}", node, detail={"callee": callee})

    def _pair(self, node: Node, above: list[Node]) -> None:
        """A key of a dict literal: settings that later become keyword arguments."""
        key = field(node, "key")
        word = string_value(self.source, key) if key is not None and key.type == "string" else None
        value = constant(self.source, field(node, "value"))
        if word and value is not None and len(value) <= 200:
            call = next((n for n in reversed(above[-4:]) if n.type == "call"), None)
            function = field(call, "function") if call is not None else None
            detail = {"callee": "{}", **({"argument_of": self.source.resolve(function)} if function is not None else {})}
            self.emit("py_arg", f"{word}={value}", node, detail=detail)

    def _subscript(self, node: Node, above: list[Node]) -> None:
        """`os.environ["X"]`, and `env["X"]` where the variable is called env or environ."""
        base, key = field(node, "value"), field(node, "subscript")
        if base is None or key is None or key.type != "string":
            return
        name = self.source.resolve(base)
        if name not in ("os.environ", "environ") and name.rpartition(".")[2].lower().strip("_") not in (
            "env",
            "environ",
            "env_vars",
            "envs",
        ):
            return
        word = string_value(self.source, key)
        if not word:
            return
        parent = above[-1]
        detail = {"access": "read"}
        if parent.type == "assignment" and node == field(parent, "left"):
            value = constant(self.source, field(parent, "right"))
            detail = {"access": "write", **({"value": value} if value is not None else {})}
        self.emit("env_var", word, key, detail=detail)
