"""Guards on __CUDA_ARCH__, CUDA_VERSION and kin: what the AMD build is left with where NVIDIA's macros stand for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from porter.config import Config
from porter.detectors import arch_branches, arch_texts, places
from porter.detectors.arch_branches import Branch, Code, Group
from porter.model import Confidence, Hit, Related
from porter.parse import Parsed
from porter.parse.guards import SourceGuards

if TYPE_CHECKING:
    from porter.link import Index

KINDS = ("cuda", "cxx")
MAX_RELATED = 5
MAX_SPECIALISATION = 4000  # characters
DEBUG_SWITCH = re.compile(r"#\s*if(?:def\s+|\s+defined\s*\(?\s*)(\w*DEBUG\w*)\s*\)?\s*\Z")
UNREACHABLE = re.compile(r"\w{0,80}(?i:unreachable)\w{0,80}\s*\(\s*\)\s*;?")
SPECIALISATION = re.compile(r"\s*template\s*<[^<>]*>\s*(?:struct|class)\s+\w+\s*<")
STOPS = re.compile(
    r"\b(?:__trap|__builtin_trap|trap|assert|abort|static_assert|\w*NOT_IMPLEMENTED\w*|\w*UNREACHABLE\w*|__assert_fail|assertm)\b"
)
MAX_STOP = 8_000  # characters; longer code does more than stop
PRINTS = re.compile(r"\bprintf\b")
WORD = re.compile(r"[A-Za-z_]\w*")
# What newer NVIDIA GPUs do to save time, and checks: nothing is missing where AMD leaves it out.
OPTIONAL = re.compile(
    r"\b(?:cudaGridDependencySynchronize|cudaTriggerProgrammaticLaunchCompletion|__nanosleep|assert|static_assert|prefetch\w*|launch_dependent_grids"
    r"|wait_on_dependent_grids|griddepcontrol\w*|warpgroup_reg_\w+|__pragma|_Pragma)\s*\([^;]*\)\s*;"
)
ASM = re.compile(r"\b(?:asm|__asm__)\b[^;]*;")
NOISE = re.compile(r"[\s;{}()]|\breturn\b|\bnullptr\b|\bvoid\b|\b0(?:\.0?f?)?\b")


def detect(parsed: Parsed, index: Index, config: Config) -> Iterable[Hit]:
    """Hits of the arch-guard rules, one a conditional."""
    found = arch_branches.groups(parsed)
    if not found:
        return []
    code = Code(parsed)
    return [
        _with_launches(hit, parsed, group, index)
        for group in found
        if not _debugs(parsed, group, index)
        for hit in _hits(parsed, code, group, found)
    ]


def _debugs(parsed: Parsed, group: Group, index: Any) -> bool:
    """Whether a conditional stands under an #ifdef of a debugging switch that nothing in the repository turns on."""
    if not isinstance(parsed.guards, SourceGuards):
        return False
    around = parsed.guards.region(group.line)
    switches = [match.group(1) for one in (around.conditions if around else ()) if (match := DEBUG_SWITCH.match(one))]
    known = [getattr(index, table, {}) for table in ("macros", "flags", "given")]
    return any(all(name not in table for table in known) for name in switches)


def _hits(parsed: Parsed, code: Code, group: Group, found: list[Group]) -> Iterator[Hit]:
    if any(outer is not group and _inside(group, outer) for outer in found):
        return  # the outer conditional decides already
    function = places.function_at(parsed, group.span)
    is_arch = any(arch_branches.ARCH.match(name) for name in group.names)
    if is_arch and function is not None and not places.is_device(parsed, function):
        return  # the host pass of CUDA has no __CUDA_ARCH__ either
    rule = _rule(parsed, code, group, function, is_arch)
    if rule:
        subject = next(name for name in sorted(group.names) if arch_branches.ARCH.match(name) or arch_branches.VERSION.match(name))
        message = _message(code, group)
        if rule == "qualifier-macro-empty":
            subject = arch_texts.emptied_qualifier(code.directives_of(group.cuda), code.directives_of(group.amd))
            message = f"{subject} stands for nothing in the AMD build; {message}"
        sure = Confidence.LOW if rule == "cuda-arch-missing-code" and _is_one_word(code, group) else _confidence(group, function)
        yield Hit(rule, group.span, message, subject, confidence=sure)


def _is_one_word(code: Code, group: Group) -> bool:
    """Whether what AMD does not read is one macro's name before a declaration: seldom more than a constexpr or a hint."""
    lost = code.of(group.cuda, for_amd=False).strip()
    return WORD.fullmatch(lost) is not None and not lost.startswith("__")


def _with_launches(hit: Hit, parsed: Parsed, group: Group, index: Any) -> Hit:
    """An empty kernel with the places that launch it; less sure where nobody does."""
    function = places.function_at(parsed, group.span)
    if hit.rule != "cuda-arch-empty-kernel" or function is None:
        return hit
    name = places.name_of(parsed, function)
    launches = index.launches_of(name) if index is not None else ()
    related = tuple(Related(path, launch.line, f"launches {name}") for path, launch in launches[:MAX_RELATED])
    here = any(fact.kind == "launch" and fact.name.rpartition("::")[2] == name for fact in parsed.facts)
    confidence = hit.confidence if related or here else Confidence.MEDIUM
    return msgspec.structs.replace(hit, message=f"{name}: {hit.message}", related=related, confidence=confidence)


def _inside(group: Group, outer: Group) -> bool:
    """Whether a conditional stands in a branch of another that only one of the two builds reads."""
    return any(branch.first <= group.line <= branch.last and branch.amd is not branch.cuda for branch in outer.branches)


def _confidence(group: Group, function: Any) -> Confidence:
    if not group.is_certain:
        return Confidence.LOW
    return Confidence.HIGH if function is not None else Confidence.MEDIUM


def _rule(parsed: Parsed, code: Code, group: Group, function: Any, is_arch: bool) -> str:
    """The rule that fits, empty where the AMD build loses nothing."""
    ours, theirs = code.of(group.amd), code.of(group.cuda, for_amd=False)
    if code.has_error(group.amd):
        return "cuda-guard-error"
    lost = _essence(theirs)
    included = code.directives_of(group.cuda)
    if not lost and not included and not _essence(ours):
        return ""
    if "".join(ours.split()) == "".join(theirs.split()) and included == code.directives_of(group.amd):
        return ""  # both builds read the same code, from two branches
    if not (is_arch or lost or included) and _ends_what_has_returned(parsed, group, ours):
        return ""
    if _stops(ours):
        return "cuda-arch-trap" if is_arch else "cuda-guard-error"
    ours_defined = code.directives_of(group.amd)
    if arch_texts.emptied_qualifier(included, ours_defined):
        return "qualifier-macro-empty"
    if not lost and not ours_defined and arch_texts.only_flags(included):
        return "cuda-arch-fallback" if is_arch else "cuda-version-fallback"
    if not is_arch:
        return "cuda-version-missing-code" if not _essence(ours) and not code.directives_of(group.amd) else "cuda-version-fallback"
    if function is not None and not _essence(ours) and lost and _is_whole_body(function, group):
        return "cuda-arch-empty-kernel" if places.is_kernel(parsed, function) else "cuda-arch-missing-code"
    if _is_pass_test(group) and (_essence(ours) or code.directives_of(group.amd)):
        works = function is not None and not ours_defined and arch_texts.works_on_the_device(ours, theirs)
        return "cuda-arch-host-branch" if works else "cuda-arch-device-pass"
    if not _essence(ours) and not code.directives_of(group.amd):
        return "cuda-arch-fallback" if function is None and _only_specialises(theirs) else "cuda-arch-missing-code"
    return "cuda-arch-fallback"


def _only_specialises(text: str) -> bool:
    """Whether code at file level is one specialisation of a class template: without it the general template does the work."""
    return len(text) <= MAX_SPECIALISATION and SPECIALISATION.match(text) is not None and text.count("template") == 1


def _essence(text: str) -> str:
    """What is left of code without asserts, hints, empty statements and plain returns; empty: nothing that counts."""
    text = OPTIONAL.sub("", text)
    return NOISE.sub("", text)


def _stops(text: str) -> bool:
    """Whether code only reports or stops: a trap, an assert, a message."""
    if len(text) > MAX_STOP or not (STOPS.search(text) or PRINTS.search(text)):
        return False
    rest = re.sub(
        r"[^;{}]*\b(?:__trap|__builtin_trap|trap|assert|abort|static_assert|printf|\w*NOT_IMPLEMENTED\w*|\w*UNREACHABLE\w*)\b[^;]*;?",
        "",
        text,
    )
    return not _essence(ASM.sub("", rest))


def _ends_what_has_returned(parsed: Parsed, group: Group, ours: str) -> bool:
    """Whether code is a mark that old compilers want at the end of a function all of whose branches return: UNREACHABLE() before its }."""
    if not UNREACHABLE.fullmatch(ours.strip()):
        return False
    lines = parsed.file.data.split(b"\n")
    before = next((line.strip() for line in reversed(lines[: group.line - 1]) if line.strip()), b"")
    after = next((line.strip() for line in lines[group.end :] if line.strip()), b"")
    return before == b"}" and after.startswith(b"}")


def _is_pass_test(group: Group) -> bool:
    """Whether the conditions only ask if __CUDA_ARCH__ is there: the device pass of CUDA."""
    return not arch_branches.COMPARED.search(group.conditions) and "__CUDA_ARCH__" in group.names


def _is_whole_body(function: Any, group: Group) -> bool:
    """Whether a function holds nothing but the conditional."""
    body = function.child_by_field_name("body")
    if body is None:
        return False
    for node in body.named_children:
        if node.type in ("comment",) or node.type.startswith("preproc"):
            inside = group.line <= node.start_point[0] + 1 and node.end_point[0] <= group.end
            if node.type.startswith("preproc") and not inside:
                return False
            continue
        if not group.line <= node.start_point[0] + 1 <= group.end:
            return False
    return True


def _message(code: Code, group: Group) -> str:
    """Which branch is read, and what it holds."""
    condition = f"#{group.branches[0].directive.word} {group.branches[0].directive.text}"[:100]
    ours, theirs = group.amd, group.cuda
    lost = _describe(code, theirs, for_amd=False)
    if ours is None or not (_essence(code.of(ours)) or code.directives_of(ours) or code.has_error(ours) or _stops(code.of(ours))):
        return f"{condition}: the AMD build reads nothing here, a recent NVIDIA GPU {lost}"
    return f"{condition}: the AMD build takes {_name(ours)} and {_describe(code, ours, for_amd=True)}, a recent NVIDIA GPU {lost}"


def _name(branch: Branch) -> str:
    word = branch.directive.word
    return f"the #{word} of line {branch.directive.line}" if word != "else" else f"the #else of line {branch.directive.line}"


def _describe(code: Code, branch: Branch | None, for_amd: bool) -> str:
    """A few words on what a branch holds."""
    if branch is None:
        return "reads nothing"
    if for_amd and code.has_error(branch):
        return "stops with #error"
    text = code.of(branch, for_amd)
    if for_amd and _stops(text):
        return "only stops or reports"
    count = sum(1 for line in text.split("\n") if line.strip())
    defined = code.directives_of(branch)
    if count == 0 and defined:
        return "reads " + ", ".join(line[:50] for line in defined[:2])
    lines = f"lines {branch.first} to {branch.last}" if branch.last > branch.first else f"line {branch.first}"
    return f"reads {count} line{'s' if count > 1 else ''} of code ({lines})" if count else "reads nothing"
