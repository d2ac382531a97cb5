"""Imports of a Python file: what is imported, under which name, and whether the program can do without it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from porter.model import Fact
from porter.parse.python_guards import PythonGuards
from porter.parse.python_strings import string_value
from porter.parse.python_tree import Source, field, named

if TYPE_CHECKING:
    from tree_sitter import Node

SEEN_BY = "tree-sitter-python"
FORGIVING = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException", "OSError", "RuntimeError")
CATCHES_CALLS = ("Exception", "OSError", "RuntimeError", "NVML", "CalledProcessError", "FileNotFoundError")
SUPPRESS = re.compile(r"with\s+(?:contextlib\.)?suppress\(([^()]{0,120})\)")
OPTIONAL_IMPORT = re.compile(r"_?(?:optional|lazy|try|safe|maybe|soft)_?import(?:_module|_or_none)?", re.IGNORECASE)
WRAPPED = {"tl": "triton.language", "triton": "triton", "gl": "triton.experimental.gluon.language"}
PROBES = ("importlib.util.find_spec", "importlib.metadata.version", "importlib.metadata.distribution", "pkg_resources.get_distribution")
LOADERS = ("importlib.import_module", "__import__", "pytest.importorskip")


def imports(source: Source, guards: PythonGuards) -> list[Fact]:
    """Facts of all import statements, in order; fills ``source.aliases`` on the way."""
    facts: list[Fact] = []
    done: set[int] = set()
    for path in source.paths(source.find(b"import")):
        at = next((i for i, node in enumerate(path) if node.type in ("import_statement", "import_from_statement")), None)
        if at is None or path[at].id in done:
            continue
        done.add(path[at].id)
        detail = manner(source, path[:at])
        line = source.span(path[at]).line
        for name, node in _names(source, path[at]):
            span = source.span(node)
            more = detail if span.line == line else {**detail, "statement": str(line)}  # a list of names over several lines
            facts.append(Fact("py_import", name, span, "host", guards.at_byte(path[at].start_byte), SEEN_BY, (), more))
    return facts


def _names(source: Source, node: Node) -> list[tuple[str, Node]]:
    """Modules that a statement imports with the node to point at; relative ones are the project's own and left out."""
    out: list[tuple[str, Node]] = []
    module = field(node, "module_name")
    base = source.text(module) if module is not None else ""
    own = base.startswith(".")
    if module is not None and not own:
        out.append((base, module))
    for item in node.children_by_field_name("name"):
        alias = field(item, "alias")
        target = field(item, "name") if item.type == "aliased_import" else item
        if target is None:
            continue
        name = source.text(target)
        full = f"{base}.{name}" if base and not base.endswith(".") else base + name
        if "triton" in base and name in WRAPPED:  # from vllm.triton_utils import tl, triton
            full = WRAPPED[name]
        if alias is not None:
            source.aliases.setdefault(source.text(alias), full)
        elif module is not None:
            source.aliases.setdefault(name, full)
        if not own:
            out.append((full, target if module is None else item))
    return out


def manner(source: Source, path: list[Node]) -> dict[str, str]:
    """How an import stands: optional (in a try that forgives, or in a probe), lazy (in a function), type_checking (never run)."""
    detail: dict[str, str] = {}
    for above, below in zip(path, [*path[1:], None], strict=True):
        if above.type == "function_definition":
            detail["lazy"] = "1"
            if _probes(source, above):
                detail["optional"] = "1"
        elif above.type == "try_statement" and below is not None and below == field(above, "body") and _forgives(source, above):
            detail["optional"] = "1"
        elif above.type == "if_statement" and below == field(above, "consequence"):
            test = _condition(source, above)
            if "TYPE_CHECKING" in test:
                detail["type_checking"] = "1"
            elif "available" in test or "has_" in test.lower():
                detail["optional"] = "1"
        elif above.type == "with_statement" and b"suppress(" in source.data[above.start_byte : above.start_byte + 80]:
            detail["optional"] = "1"
    return detail


def _probes(source: Source, function: Node) -> bool:
    """Whether a function's name says that it only asks if something is there: is_flash_attn_available, has_apex."""
    name = field(function, "name")
    text = source.text(name).lower() if name is not None else ""
    return "available" in text or "installed" in text or text.startswith(("has_", "_has_"))


def _condition(source: Source, node: Node) -> str:
    test = field(node, "condition")
    return source.text(test)[:300] if test is not None else ""


def _forgives(source: Source, node: Node, errors: tuple[str, ...] = FORGIVING) -> bool:
    for clause in node.children:
        if clause.type != "except_clause":
            continue
        parts = named(clause)
        if not parts or parts[0].type == "block":
            return True
        if any(word in source.text(parts[0]) for word in errors):
            return True
    return False


def is_forgiven(source: Source, path: list[Node]) -> bool:
    """Whether the function around a call catches what the call raises without an NVIDIA driver, and does not raise it again."""
    for above, below in zip(reversed(path[:-1]), reversed(path[1:]), strict=True):
        if above.type in ("function_definition", "lambda"):
            return False
        if above.type == "try_statement" and below == field(above, "body") and _forgives(source, above, CATCHES_CALLS):
            handlers = [clause for clause in above.children if clause.type == "except_clause"]
            return not any(b"raise" in source.data[clause.start_byte : clause.end_byte] for clause in handlers)
        if above.type == "with_statement" and (match := SUPPRESS.match(source.text(above)[:200])):
            return any(word in match[1] for word in CATCHES_CALLS)
    return False


def imported_by_call(source: Source, name: str, arguments: list[Node]) -> tuple[str, Node, bool] | None:
    """Module that `importlib.import_module("x")` and its like name, with its node and whether the call only asks for it."""
    is_probe = name in PROBES or name == "pytest.importorskip" or is_optional_import(name)
    if not arguments or (name not in LOADERS and not is_probe):
        return None
    value = string_value(source, arguments[0])
    if value is None or value.startswith(".") or not value.replace(".", "").replace("_", "").replace("-", "").isalnum():
        return None
    return value, arguments[0], is_probe


def is_optional_import(name: str) -> bool:
    """Whether a call, by its name, imports a module if it is there: MONAI's optional_import, lazy_import, try_import and their like."""
    return OPTIONAL_IMPORT.fullmatch(name.rpartition(".")[2]) is not None
