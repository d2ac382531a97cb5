"""Launches: ``kernel<<<grid, block, shared, stream>>>(arguments)`` as a hipLaunchKernelGGL call."""

from __future__ import annotations

import re

from porter.hipify import neighbours
from porter.hipify.edits import Edits
from porter.hipify.lexer import Brackets

_GLOBAL = re.compile(rb"\b__global__\b")
_NAME = re.compile(rb"([A-Za-z_]\w*)\s*(\()?")
_BOUNDS = (b"__launch_bounds__", b"__attribute__", b"__cluster_dims__", b"__block_size__", b"__maxnreg__", b"alignas")
_TEMPLATE = re.compile(rb"\btemplate\s*<")
_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+[\w:]+<[^<>\n]*>[ \t]*\r?$", re.MULTILINE)
_DIM3 = re.compile(rb"(?:::)?dim3\s*[({]")
_PATH_CHAR = re.compile(rb"[A-Za-z0-9_\x80-\xff:]")
_NOT_A_KERNEL = (b"return", b"else", b"do", b"operator", b"case")
_MAX_NAME = 4096
_LOOK_BACK = 600


def template_kernels(masked: bytes) -> set[bytes]:
    """Names of the __global__ function templates that a masked text declares, and of macros that stand for one with arguments."""
    out: set[bytes] = set()
    for match in _GLOBAL.finditer(masked):
        start = max(0, match.start() - _LOOK_BACK)
        before = masked[start : match.start()]
        before = before[max(before.rfind(mark) for mark in (b";", b"}", b"{")) + 1 :]
        if _TEMPLATE.search(before):
            name = _declared(masked, match.end())
            if name:
                out.add(name)
    out.update(match[1] for match in _MACRO.finditer(masked))
    return out


def _declared(masked: bytes, at: int) -> bytes:
    """The function that a declaration behind ``__global__`` names: the first word before a parenthesis that is no attribute."""
    stop = min(len(masked), at + _LOOK_BACK)
    while True:
        match = _NAME.search(masked, at, stop)
        if match is None:
            return b""
        at = match.end()
        if match[2]:
            if match[1] not in _BOUNDS:
                return match[1]
            depth = 1
            while depth and at < stop:
                depth += {40: 1, 41: -1}.get(masked[at], 0)
                at += 1


def rewrite(masked: bytes, at: int, brackets: Brackets, templates: set[bytes], edits: Edits) -> bool:
    """Rewrites the launch whose ``<<<`` stands at ``at``; False, and nothing done, where its parts cannot be told apart."""
    config = brackets.arguments(at)
    group = brackets.group(at)
    if config is None or group is None or not 2 <= len(config) <= 4:
        return False
    opening = masked.find(b"(", group.close + 3)
    if opening < 0 or masked[group.close + 3 : opening].strip():
        return False
    arguments = brackets.arguments(opening)
    closing = brackets.group(opening)
    name_end = len(masked[max(0, at - _MAX_NAME) : at].rstrip()) + max(0, at - _MAX_NAME)
    start = _kernel_start(masked, name_end)
    if arguments is None or closing is None or start is None:
        return False
    if neighbours.before(masked, start)[-2:] == b"##":  # a name that is pasted together stands in a macro's text only in part
        return False
    kernel = masked[start:name_end]
    wrapped = b"<" in kernel or kernel.rsplit(b"::", 1)[-1] in templates
    edits.open(start, b"hipLaunchKernelGGL(" + (b"HIP_KERNEL_NAME(" if wrapped else b""))
    edits.replace(name_end, config[0][0], b")" * wrapped + b", ")
    for first, last in config[:2]:
        _dimensions(masked, first, last, edits)
    edits.replace(config[0][1], config[1][0], b", ")
    for left, right in zip(config[1:], config[2:], strict=False):
        edits.replace(left[1], right[0], b", ")
    fill = b", 0" * (4 - len(config))
    if not arguments:
        edits.replace(config[-1][1], closing.close, fill)
    elif b"\n" in masked[opening : arguments[0][0]]:  # the arguments begin on a line of their own, and stay there
        edits.replace(config[-1][1], opening + 1, fill + b",")
    else:
        edits.replace(config[-1][1], arguments[0][0], fill + b", ")
    return True


def _dimensions(masked: bytes, start: int, end: int, edits: Edits) -> None:
    if _DIM3.match(masked, start, end):
        return
    braced = masked[start : start + 1] == b"{"
    edits.open(start, b"dim3" if braced else b"dim3(")
    if not braced:
        edits.close(end, b")")


def _kernel_start(masked: bytes, end: int) -> int | None:
    """Offset where the kernel expression that ends at ``end`` begins: a qualified name, template arguments, or parentheses."""
    stop = max(0, end - _MAX_NAME)
    at = end
    while at > stop:
        before = masked[at - 1 : at]
        if before == b">" and masked[at - 2 : at] != b"->":
            opened = _back(masked, at, stop, b"<", b">")
            if opened is None:
                return None
            at = opened
        elif before == b")" and at == end:
            return _back(masked, at, stop, b"(", b")")
        elif _PATH_CHAR.match(before):
            while at > stop and _PATH_CHAR.match(masked[at - 1 : at]):
                at -= 1
        elif before == b"." and at < end:
            at -= 1
        elif masked[at - 2 : at] == b"->" and at < end:
            at -= 2
        else:
            break
    name = masked[at:end]
    return None if not name or name in _NOT_A_KERNEL or name[:1].isdigit() else at


def _back(masked: bytes, at: int, stop: int, opener: bytes, closer: bytes) -> int | None:
    """Offset of the opener that the closer before ``at`` belongs to, within ``stop``."""
    depth = 0
    while at > stop:
        at -= 1
        char = masked[at : at + 1]
        if char == closer:
            depth += 1
        elif char == opener:
            depth -= 1
            if depth == 0:
                return at
        elif char in (b";", b"{"):
            return None
    return None
