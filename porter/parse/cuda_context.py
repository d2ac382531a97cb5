"""Whether code of a CUDA file runs on the host or on the device, by the words before the function it stands in."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_DEVICE_WORD = re.compile(rb"__device__|__global__|DEVICE|_D_INLINE|HOSTDEV|_HD\b|DINLINE")

_LOOP = "around, else host"


def context_of(header: bytes, plain: str = "host") -> str:
    """Device or host, by the words before a function's body."""
    return "device" if _DEVICE_WORD.search(header) else plain


def functions(nodes: list[Any], original: bytes) -> list[tuple[int, int, str]]:
    """Byte ranges of functions and lambdas with their context; a lambda without words of its own inherits ("")."""
    out = []
    for node in nodes:
        body = node.child_by_field_name("body")
        if body is None:
            continue
        start = node.start_byte
        line = original.rfind(b"\n", 0, start) + 1
        before = original[max(line, start - 200) : start] if node.type == "function_definition" else b""
        header = before.rpartition(b"}")[2] + original[start : body.start_byte]
        plain = "" if node.type == "lambda_expression" else "host"
        if node.type == "function_definition" and node.child_by_field_name("type") is None:
            plain = _LOOP  # KERNEL_LOOP(i, n) { ... } parses as a function without a type
        out.append((node.start_byte, node.end_byte, context_of(header, plain)))
    return sorted(out, key=lambda item: (item[0], -item[1]))


def contexts(ranges: list[tuple[int, int, str]]) -> Callable[[int], str]:
    """A lookup from a byte offset to its context; offsets must be asked in rising order."""
    stack: list[tuple[int, str]] = []
    position = 0

    def at(offset: int) -> str:
        nonlocal position
        while position < len(ranges) and ranges[position][0] <= offset:
            start, end, context = ranges[position]
            while stack and stack[-1][0] <= start:
                stack.pop()
            if context == _LOOP:
                context = stack[-1][1] if stack else "host"
            stack.append((end, context or (stack[-1][1] if stack else "unknown")))
            position += 1
        while stack and stack[-1][0] <= offset:
            stack.pop()
        return stack[-1][1] if stack else "unknown"

    return at
