"""What one file tells the others: macros, constants, functions, kernels, launches, includes and -D flags, as a plain value."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from porter import kernel_features, survey_widths
from porter.many import Many
from porter.model import Fact, Live
from porter.parse import Parsed, specifiers
from porter.parse.backend_macros import chosen
from porter.parse.cmake_choices import Choices
from porter.parse.cuda_facts import Captured, arguments, plain_name, text_of
from porter.parse.cuda_fields import BODY, DECLARATOR, DEFAULT_TYPE, DEFAULT_VALUE, NAME, PARAMETERS, VALUE
from porter.parse.cuda_lex import directives, mask
from porter.parse.guards import SourceGuards
from porter.parse.specifiers import side_of
from porter.parse.type_names import TypeName, type_names
from porter.parse.warp_wrappers import halves_32, overloads, wrapped
from porter.survey_launches import Launch, launched
from porter.survey_sums import Sum, sums

CXX_KINDS = ("cuda", "cxx")
MAX_ENTRIES = 20_000  # of each sort a file may give
MAX_RETURN = 120  # bytes of a function's body that may be a mere constant
MAX_RETURNS = 500  # the same with one return for each build
MAX_CHILDREN = 16  # statements of such a body
_BRANCHES = frozenset({"preproc_if", "preproc_ifdef", "preproc_elif", "preproc_else"})
_UNSAFE_ATOMICS = "-munsafe-fp-atomics"
_FLAG = re.compile(r"-D\s*([A-Za-z_]\w*)(?:=(.*))?\Z")
_NAME = re.compile(r"[A-Za-z_][\w:]*")


class Macro(msgspec.Struct, frozen=True, gc=False):
    """A #define: ``params`` is None for an object-like macro; ``live`` for the AMD build, ``nvidia`` for the CUDA build."""

    name: str
    text: str
    line: int
    params: tuple[str, ...] | None = None
    live: Live = Live.YES
    nvidia: Live = Live.YES


class Constant(msgspec.Struct, frozen=True, gc=False):
    """A const, constexpr or enumerator outside functions, with the text of its value."""

    name: str
    text: str
    line: int
    live: Live = Live.YES


class Parameter(msgspec.Struct, frozen=True, gc=False):
    """One parameter of a function or template: name, declared text, default."""

    name: str
    text: str
    default: str = ""


class FunctionDef(msgspec.Struct, frozen=True, gc=False):
    """A function with a body; ``side`` is kernel, device, both or host; ``bounds`` are the texts of __launch_bounds__.

    ``returns`` is the text of what it returns, for a function that does nothing else.
    """

    name: str
    line: int
    end_line: int
    side: str
    params: tuple[Parameter, ...] = ()
    template: tuple[Parameter, ...] = ()
    bounds: tuple[str, ...] = ()
    live: Live = Live.YES
    returns: str = ""
    wraps: tuple[str, ...] = ()  # the warp builtin that a short function calls for its caller, and the texts of its arguments
    marks: tuple[str, ...] = ()  # words before the name that may be macros for __device__ and the like
    features: tuple[str, ...] = ()  # what a device function uses, in the words of kernel_features.py
    by_32: bool = False  # adds up 32 lanes, whatever the device has
    overloads: bool = False  # is named like a builtin, __ldcg, and calls one of its own name


class Flag(msgspec.Struct, frozen=True, gc=False):
    """A -D or -U of a build file, or the flag for unsafe floating-point atomics; ``everywhere``: all targets get it."""

    name: str
    text: str
    line: int
    live: Live = Live.UNKNOWN
    everywhere: bool = False


class Survey(msgspec.Struct, frozen=True):
    """All that one file tells the others."""

    path: str
    kind: str
    includes: tuple[str, ...] = ()
    macros: Many[Macro] = ()
    constants: Many[Constant] = ()
    functions: Many[FunctionDef] = ()
    launches: Many[Launch] = ()
    flags: tuple[Flag, ...] = ()
    cmake_includes: tuple[tuple[str, Live], ...] = ()
    sources: tuple[tuple[str, Live], ...] = ()
    cmake_choices: Choices = Choices()
    types: Many[TypeName] = ()
    widths: tuple[tuple[str, int], ...] = ()  # names for the width of a warp, with the lines that use them
    votes: tuple[str, ...] = ()  # votes that the file calls, and what it asks for its lane
    sums: Many[Sum] = ()  # floating-point additions of kernels into what they are given
    skipped_includes: tuple[str, ...] = ()  # of includes, those that the AMD build does not read
    chosen: tuple[tuple[str, str, str], ...] = ()  # macros that choose a back end: name, yes or no in a build for AMD, text


def survey(parsed: Parsed) -> Survey:
    """Gather a file's survey from its parse."""
    path, kind = parsed.file.path, parsed.file.kind
    if kind not in CXX_KINDS:
        flags = tuple(flag for fact in parsed.facts if fact.kind == "compile_flag" and (flag := _flag(fact, parsed)) is not None)
        inner = [survey(one) for one in parsed.embedded]
        launches = tuple(one for s in inner for one in s.launches)
        included, sources = (parsed.extra.get(name, ()) for name in ("cmake_includes", "sources"))
        choices = parsed.extra.get("cmake_choices", Choices())
        return Survey(path, kind, flags=flags, launches=launches, cmake_includes=included, sources=sources, cmake_choices=choices)
    found = parsed.extra.get("captured")
    functions = tuple(_functions(found, parsed))[:MAX_ENTRIES] if isinstance(found, Captured) else ()
    return Survey(
        path,
        kind,
        tuple(dict.fromkeys(fact.name for fact in parsed.facts if fact.kind == "include"))[:MAX_ENTRIES],
        tuple(_macro(fact, parsed.guards) for fact in parsed.facts if fact.kind == "define")[:MAX_ENTRIES],
        tuple(_constants(found, parsed))[:MAX_ENTRIES] if isinstance(found, Captured) else (),
        kernel_features.of_functions(parsed, functions),
        tuple(launched(found, parsed))[:MAX_ENTRIES] if isinstance(found, Captured) else (),
        types=tuple(type_names(found, parsed))[:MAX_ENTRIES] if isinstance(found, Captured) else (),
        widths=survey_widths.mentions(parsed.facts),
        votes=survey_widths.votes(parsed.facts),
        sums=tuple(sums(parsed.facts, functions))[:MAX_ENTRIES],
        skipped_includes=_skipped_includes(parsed),
        chosen=chosen(directives(mask(parsed.file.data))),
    )


def _skipped_includes(parsed: Parsed) -> tuple[str, ...]:
    included = [fact for fact in parsed.facts if fact.kind == "include"]
    read = {fact.name for fact in included if fact.live is not Live.NO}
    return tuple(sorted({fact.name for fact in included} - read))[:MAX_ENTRIES]


def _flag(fact: Fact, parsed: Parsed) -> Flag | None:
    text = fact.name.strip("\"' ")
    if text == _UNSAFE_ATOMICS or text.startswith("-U"):
        return Flag(text, "1", fact.span.line, fact.live)
    match = _FLAG.match(text)
    whole = fact.span.line in parsed.extra.get("whole_build_lines", ())
    return Flag(match.group(1), (match.group(2) or "1").strip("\"'"), fact.span.line, fact.live, whole) if match else None


def _macro(fact: Fact, guards: Any) -> Macro:
    params = fact.detail.get("params")
    names = None if params is None else tuple(part.strip() for part in params.split(",") if part.strip())
    line = fact.span.line
    nvidia = guards.nvidia_at(line) if isinstance(guards, SourceGuards) else Live.UNKNOWN
    return Macro(fact.name, fact.detail.get("value", ""), line, names, fact.live, nvidia)


def _line(node: Any) -> int:
    return int(node.start_point[0]) + 1


def _constants(found: Captured, parsed: Parsed) -> Iterator[Constant]:
    for node in found.all("declaration"):
        if (scope := node.parent) is not None and scope.type in ("compound_statement", "for_statement", "case_statement"):
            continue
        if not any(child.type == "type_qualifier" for child in node.children):
            continue
        for child in node.children_by_field_id(DECLARATOR):
            name = child.child_by_field_id(DECLARATOR) if child.type == "init_declarator" else child
            value = child.child_by_field_id(VALUE) or node.child_by_field_id(DEFAULT_VALUE)
            if name is not None and value is not None and name.type in ("identifier", "field_identifier"):
                yield Constant(_text(found, name), text_of(found.slice(value)), _line(child), parsed.live(_line(child)))
    for node in found.all("enumerator_list"):
        yield from _enumerators(found, node, parsed)


def _enumerators(found: Captured, node: Any, parsed: Parsed) -> Iterator[Constant]:
    before, step = "", 0
    for child in node.named_children:
        name = child.child_by_field_id(NAME) if child.type == "enumerator" else None
        if name is None:
            continue
        value = child.child_by_field_id(VALUE)
        if value is not None:
            before, step = text_of(found.slice(value)), 0
        text = f"({before}) + {step}" if before and step else before or str(step)
        yield Constant(_text(found, name), text, _line(child), parsed.live(_line(child)))
        step += 1


def _text(found: Captured, node: Any) -> str:
    return found.slice(node).decode("utf-8", "replace")


def _functions(found: Captured, parsed: Parsed) -> Iterator[FunctionDef]:
    data = parsed.file.data
    for node in found.all("function"):
        body, declarator = node.child_by_field_id(BODY), node.child_by_field_id(DECLARATOR)
        if node.type != "function_definition" or body is None:
            continue
        declarator = _function_declarator(declarator)
        named = declarator.child_by_field_id(DECLARATOR) if declarator is not None else None
        if declarator is None or named is None:
            continue
        template = node.parent if node.parent is not None and node.parent.type == "template_declaration" else None
        listed = template.child_by_field_id(PARAMETERS) if template is not None else None
        bounds = next((arguments(found, child) for child in node.children if child.type == "launch_bounds"), ())
        line = _line(template if template is not None else node)
        head = specifiers.before(data, node.start_byte)
        name = plain_name(found.slice(named)).rpartition("::")[2]
        yield FunctionDef(
            name, line, node.end_point[0] + 1,
            side_of(head + data[node.start_byte : body.start_byte]), _parameters(found, declarator.child_by_field_id(PARAMETERS)),
            _parameters(found, listed), bounds, parsed.live(_line(node)), _returned(found, body, parsed),
            marks=_marks(head + data[node.start_byte : declarator.start_byte]),
            wraps=_wrapped(parsed, body), by_32=_halves_32(parsed, body), overloads=overloads(parsed, body, name),
        )  # fmt: skip


def _wrapped(parsed: Parsed, body: Any) -> tuple[str, ...]:
    first = _line(body)
    return wrapped(parsed.file.data[body.start_byte : body.end_byte], lambda line: parsed.live(first + line) is not Live.NO)


def _halves_32(parsed: Parsed, body: Any) -> bool:
    first = _line(body)
    return halves_32(parsed.file.data[body.start_byte : body.end_byte], lambda line: parsed.live(first + line) is not Live.NO)


def _marks(head: bytes) -> tuple[str, ...]:
    return tuple(word.decode() for word in _MARK.findall(head)[:4])


def _returned(found: Captured, body: Any, parsed: Parsed) -> str:
    """The text of what a body returns, where it is a short return and nothing else; of two, for two builds, a choice between them."""
    if body.end_byte - body.start_byte > MAX_RETURNS:
        return ""
    pending, texts = list(body.named_children[:MAX_CHILDREN]), []
    while pending:
        node = pending.pop()
        if node.type in _BRANCHES:
            pending += [child for child in node.named_children[:MAX_CHILDREN] if child.type in (*_BRANCHES, "return_statement")]
        elif node.type == "return_statement" and len(node.named_children) == 1 and parsed.live(_line(node)) is not Live.NO:
            texts.append(text_of(found.slice(node.named_children[0])))
        elif node.type not in ("comment", "return_statement"):
            return ""
    texts = sorted(set(texts))
    if len(texts) == 2 and all(text.isdecimal() for text in texts):
        return f"true ? {texts[0]} : {texts[1]}"
    return texts[0] if len(texts) == 1 and body.end_byte - body.start_byte <= MAX_RETURN else ""


def _function_declarator(node: Any) -> Any:
    for _ in range(12):
        if node is None or node.type == "function_declarator":
            return node
        inner = node.child_by_field_id(DECLARATOR)
        node = inner if inner is not None else next((c for c in node.named_children if c.type.endswith("declarator")), None)
    return None


_MARK = re.compile(rb"\b[A-Z_][A-Z0-9_]+\b")


@functools.lru_cache(maxsize=20_000)
def _same(parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    """Parameters that were seen before instead of equal ones: most of what a survey holds is repeated from function to function."""
    return parameters


def _parameters(found: Captured, node: Any) -> tuple[Parameter, ...]:
    if node is None:
        return ()
    out = []
    for child in node.named_children[:256]:
        if not child.type.endswith("parameter_declaration"):
            continue
        default = child.child_by_field_id(DEFAULT_VALUE) or child.child_by_field_id(DEFAULT_TYPE)
        named = child.child_by_field_id(DECLARATOR) or child.child_by_field_id(NAME) or child
        names = _NAME.findall(_text(found, named))
        out.append(Parameter(names[-1] if names else "", text_of(found.slice(child)), text_of(found.slice(default)) if default else ""))
    return _same(tuple(out))
