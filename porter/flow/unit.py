"""A source file as functions and named constants: the one place where the flow model is built, once for all detectors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from porter.flow.classes import Field, device_lambdas, fields_of, last_name, owner_of
from porter.flow.declared import named_type, type_of
from porter.flow.event import Function, Parameter
from porter.flow.expr import Expr, Origin, build
from porter.flow.fragments import joined, parse, parse_expression
from porter.flow.function import Reader
from porter.flow.parameters import parameters, templates
from porter.model import Span
from porter.parse import Parsed
from porter.parse.cuda_facts import Captured
from porter.parse.specifiers import before
from porter.parse.type_names import type_names
from porter.parse.word_index import index_of

# What a function that has anything to do with a warp shows. All of it as one regex would be tried at every byte; words in an index and a
# regex that begins with a set of bytes are read five times as fast.
IN_ANY_CASE = index_of(frozenset((
    b"shfl", b"ballot", b"warp", b"lane", b"activemask", b"match_a", b"wave", b"tiled_partition", b"coalesced_threads", b"wmma",
)))  # fmt: skip
AS_WRITTEN = index_of(frozenset((
    b"cub::", b"<<<", b"volatile", b"atomicCAS", b"atomicExch", b"cudaLaunchKernel", b"dim3", b"multiProcessor", b"Occupancy",
    b"launch_bounds__",
)))  # fmt: skip
CUES = re.compile(
    rb"[_>W0136](?:(?<=_)sync\b|(?<=>)>=?\s*5\b|(?<=W)(?<!\wW)S\b|(?<=0)x[fF]{8}"
    rb"|(?<!\w.)(?:(?<=3)[12]|(?<=6)[34]|(?<=1)6|(?<=0)x[13][fF]|(?<=1)024)[uUlL]*\b)"
)
WORDS_ALONE = bytes(byte if chr(byte).isalnum() or byte == 0x5F else 0x20 for byte in range(128)) + b" " * 128
ON_GPU = (b"__shfl", b"__ballot", b"__syncthreads", b"__syncwarp", b"__activemask")
CALL_LEVELS = 3  # how far callers of warp code are followed
MAX_BODY = 400_000  # bytes of one function; larger ones are tables or machine-made
PLAIN_SCOPES = frozenset({
    "translation_unit", "declaration_list", "field_declaration_list", "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif",
    "template_declaration", "linkage_specification", "ERROR",
})  # fmt: skip


class Definition(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A named constant of the file: macro, constexpr, enumerator or default of a template parameter."""

    name: str
    kind: str
    value: Expr
    span: Span
    type: str = ""


class Unit(msgspec.Struct, frozen=True, eq=False):
    """What a file holds that the detectors need. ``constants`` maps a name to its definitions, in source order."""

    parsed: Parsed
    functions: tuple[Function, ...]
    constants: dict[str, tuple[Definition, ...]]
    tests: tuple[Expr, ...]
    asserts: tuple[Expr, ...]
    aliases: tuple[tuple[str, Expr], ...] = ()  # names given to types of CUB outside functions
    fields: dict[str, tuple[Field, ...]] = {}  # data members by class
    types: dict[str, tuple[tuple[str, int], ...]] = {}  # names given to plain types: what they mean, and the line

    def by_name(self, name: str) -> tuple[Function, ...]:
        """Functions and function-like macros with this last name."""
        return tuple(f for f in self.functions if f.name == name)


def unit_of(parsed: Parsed, specifiers: Mapping[str, str] | None = None, wrappers: Iterable[str] = ()) -> Unit:
    """The flow model of a file, made at the first call and kept with the parse.

    ``specifiers`` are macros for __device__ and the like, ``wrappers`` functions of other files that call a warp builtin or come to one.
    """
    found = parsed.extra.get("flow_unit")
    if not isinstance(found, Unit):
        found = _make(parsed, specifiers or {}, wrappers)
        parsed.extra["flow_unit"] = found
    return found


def _make(parsed: Parsed, specifiers: Mapping[str, str], wrappers: Iterable[str]) -> Unit:
    captured = parsed.extra.get("captured")
    if not isinstance(captured, Captured):
        return Unit(parsed, (), {}, (), ())
    at = Origin(parsed.file.data)
    named = [node for node in captured.all("type_name") if node.parent is not None and node.parent.type in PLAIN_SCOPES]
    aliases = tuple(alias for node in named if (alias := named_type(node, at, b"cub")) is not None)
    definitions = [node for node in captured.all("function") if node.type == "function_definition"]
    functions = _functions(definitions, at, {name.encode() for name in (*(alias for alias, _ in aliases), *wrappers)}, specifiers)
    constants: dict[str, list[Definition]] = {}
    for node in captured.all("define"):
        if node.type == "preproc_def":
            _define(node, at, constants)
        elif (made := _macro(node, at)) is not None:
            functions.append(made)
    functions.sort(key=lambda function: function.span)
    for node in captured.all("enumerator"):
        _named(node, node.child_by_field_name("name"), node.child_by_field_name("value"), "enum", at, constants)
    for node in captured.all("declaration"):
        _declared(node, at, constants)
    tests = tuple(build(found, at) for node in captured.all("test") if (found := node.child_by_field_name("condition")) is not None)
    asserts = tuple(found for node in captured.all("assert") if (found := _assert(node, at)) is not None)
    ordered = {name: tuple(sorted(found, key=lambda d: d.span)) for name, found in constants.items()}
    types = _types(captured, parsed)
    return Unit(parsed, tuple(functions), ordered, tests, asserts, aliases, fields_of(captured.all("declaration"), at), types)


def _assert(node: Any, at: Origin) -> Expr | None:
    """The condition of a static_assert; None where a template gives the name warpSize a meaning of its own."""
    found = node.child_by_field_name("condition")
    if found is None or any(param.name == "warpSize" for param in templates(node, at)):
        return None
    return build(found, at)


def _types(captured: Captured, parsed: Parsed) -> dict[str, tuple[tuple[str, int], ...]]:
    found: dict[str, list[tuple[str, int]]] = {}
    for one in type_names(captured, parsed):
        found.setdefault(one.name, []).append((one.text, one.line))
    return {name: tuple(listed) for name, listed in found.items()}


def _functions(nodes: list[Any], at: Origin, names: set[bytes], specifiers: Mapping[str, str]) -> list[Function]:
    """The functions that have anything to do with a warp or use one of some names, and those that call them, some levels up."""
    made: list[Function] = []
    rest: list[tuple[Any, set[bytes]]] = []
    for node in nodes:
        source = at.data[node.start_byte : node.end_byte]
        words = set() if _is_cued(source) else _words(source)
        if not words or not words.isdisjoint(names):
            made += _with_lambdas(node, at, specifiers)
        else:
            rest.append((node, words))
    names = {function.name.encode() for function in made}
    for _ in range(CALL_LEVELS):
        callers = [node for node, words in rest if not words.isdisjoint(names)]
        rest = [(node, words) for node, words in rest if words.isdisjoint(names)]
        found_now = [found for node in callers for found in _with_lambdas(node, at, specifiers)]
        made += found_now
        names = {function.name.encode() for function in found_now}
        if not names:
            break
    return made


def _words(source: bytes) -> set[bytes]:
    return set(source.translate(WORDS_ALONE).split())


def _is_cued(source: bytes) -> bool:
    """True for a text that may have to do with a warp."""
    return IN_ANY_CASE.holds(source.lower()) or AS_WRITTEN.holds(source) or CUES.search(source) is not None


def _with_lambdas(node: Any, at: Origin, specifiers: Mapping[str, str]) -> list[Function]:
    """A function, and the lambdas for the device that stand in it."""
    outer = _function(node, at, specifiers)
    if outer is None:
        return []
    made = [outer]
    body = node.child_by_field_name("body")
    for one in device_lambdas(body, at.data):
        declarator, inner = one.child_by_field_name("declarator"), one.child_by_field_name("body")
        params = parameters(declarator.child_by_field_name("parameters") if declarator is not None else None, at)
        name = f"{outer.name}'s lambda"
        made.append(Function(name, "device", _span(one), params, events=Reader(at).read(inner), owner=outer.owner, outer=outer))
    return made


def _function(node: Any, at: Origin, specifiers: Mapping[str, str]) -> Function | None:
    body, declarator = node.child_by_field_name("body"), node.child_by_field_name("declarator")
    if body is None or declarator is None or node.end_byte - node.start_byte > MAX_BODY or _inside_function(node):
        return None
    source = at.data[node.start_byte : node.end_byte]
    while declarator.type != "function_declarator":
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in declarator.named_children if child.type.endswith("declarator")), None)
        if inner is None:
            return None
        declarator = inner
    name = declarator.child_by_field_name("declarator")
    params = declarator.child_by_field_name("parameters")
    head = source[: body.start_byte - node.start_byte]
    bounds: tuple[Expr, ...] = ()
    for child in node.children:
        if child.type == "launch_bounds":
            bounds = tuple(build(part, at) for part in child.named_children if part.type != "comment")
    called = at.text(name) if name is not None else ""
    return Function(
        last_name(called),
        _side(before(at.data, node.start_byte) + head, source, specifiers),
        _span(node),
        parameters(params, at),
        templates(node, at),
        bounds,
        "" if b"\n#" in head else type_of(node, at),  # a head in several versions has no one type
        Reader(at).read(body, node),
        owner_of(node, called, at),
    )


def _inside_function(node: Any) -> bool:
    """True for a "function" in the body of another: a macro that opens a block, which the outer function reads."""
    parent = node.parent
    while parent is not None:
        if parent.type == "function_definition":
            return True
        if parent.type in ("translation_unit", "declaration_list"):
            return False
        parent = parent.parent
    return False


def _side(head: bytes, source: bytes, specifiers: Mapping[str, str]) -> str:
    words = _words(head)
    for text in [specifiers[name] for word in words if (name := word.decode()) in specifiers]:
        words |= _words(text.encode())
    device = b"__device__" in words or any(b"DEVICE" in word or word in (b"GPU_FUNC", b"HD", b"DEV") for word in words)
    host = b"__host__" in words or any(b"HOST" in word for word in words)
    if b"__global__" in words or any(word in (b"GLOBAL", b"KERNEL") for word in words):
        return "kernel"
    if device:
        return "both" if host else "device"
    if b"<<<" in source or b".warpSize" in source:
        return "host"
    on_gpu = any(word in source for word in ON_GPU) or (b"threadIdx" in source and re.search(rb"\bthreadIdx\b", source))
    return "device" if on_gpu else "host"


def _macro(node: Any, at: Origin) -> Function | None:
    value, name, params = (node.child_by_field_name(field) for field in ("value", "name", "parameters"))
    if value is None and name is not None and at.text(name) == "__syncwarp":
        return Function("__syncwarp", "macro", _span(node))
    if value is None or name is None or value.end_byte - value.start_byte > MAX_BODY:
        return None
    text = at.data[value.start_byte : value.end_byte]
    if not _is_cued(text):
        return None
    names = tuple(Parameter(at.text(child)) for child in params.named_children) if params is not None else ()
    prefix = b"void f(){"
    row, column = value.start_point
    whole = prefix + joined(text) + b";}"
    tree = parse(whole)
    function = next((child for child in tree.root_node.named_children if child.type == "function_definition"), None)
    body = function.child_by_field_name("body") if function is not None else None
    if body is None:
        return None
    inside = Origin(whole, row, column - len(prefix))
    return Function(at.text(name), "macro", _span(node), names, events=Reader(inside).read(body))


def _define(node: Any, at: Origin, constants: dict[str, list[Definition]]) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or value is None or value.end_byte - value.start_byte > 200:
        return
    text = re.sub(rb"//.*|/\*.*?\*/", b"", at.data[value.start_byte : value.end_byte]).strip()
    if not re.search(rb"\d|[A-Za-z_]", text) or text[:1] == b'"':
        return
    made = parse_expression(text, *value.start_point)
    if made is not None:
        constants.setdefault(at.text(name), []).append(Definition(at.text(name), "macro", made, _span(node)))


def _named(node: Any, name: Any, value: Any, kind: str, at: Origin, constants: dict[str, list[Definition]], type_name: str = "") -> None:
    if name is not None and value is not None:
        key = at.text(name)
        constants.setdefault(key, []).append(Definition(key, kind, build(value, at), _span(node), type_name))


def _declared(node: Any, at: Origin, constants: dict[str, list[Definition]]) -> None:
    if at.data.find(b"const", node.start_byte, node.end_byte) < 0:
        return  # the bytes say so sooner than the nodes
    scope = node.parent
    if scope is None or scope.type not in PLAIN_SCOPES:
        return
    kind = type_of(node, at)
    if "const" not in kind:
        return
    for child in node.children_by_field_name("declarator"):
        name = child.child_by_field_name("declarator") if child.type == "init_declarator" else child
        value = child.child_by_field_name("value") if child.type == "init_declarator" else node.child_by_field_name("default_value")
        if name is not None and name.type in ("identifier", "field_identifier"):
            _named(child, name, value, "constant", at, constants, kind)


def _span(node: Any) -> Span:
    row, column = node.start_point
    end_row, end_column = node.end_point
    return Span(row + 1, column + 1, end_row + 1, end_column + 1)
