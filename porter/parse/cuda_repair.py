"""Same-length repairs of CUDA C++ before it is parsed: what the grammar does not know is blanked, so every offset stays true."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from porter.parse.cuda_lex import blank

MAX_LIST = 4000  # bytes of an argument list that is looked through
# Patterns begin with a plain character, or with a set of them, so that the regex engine skips to it; what stands before is asked behind it.
_WITH_BRACKETS = (
    re.compile(rb"__(?<!\w__)(?:align__|attribute(?:__)?|declspec|cluster_dims__|maxnreg__|block_size__|nv_pure__)\s*\("),
    re.compile(rb"alignas(?<!\walignas)\s*\("),
)
_PLAIN = (
    re.compile(rb"__(?<!\w__)(?:grid_constant__|nv_pure__|extension__|restrict)\b"),
    re.compile(rb"typename(?<!\wtypename)(?=\s+(?:::\s*)?[A-Za-z_]\w*\s*::)"),
    re.compile(rb"defined(?<!\wdefined)(?=[ \t]+[A-Za-z_])"),
)
_NOT_WORDS = frozenset((b"NULL", b"TRUE", b"FALSE", b"CUDART_INF_F", b"CUDART_NAN_F", b"CASE", b"DEFAULT"))
_CAPITALS = re.compile(rb"[A-Z_](?<![\w:.,(<>*&=|+/-].)(?:(?<=[A-Z])|(?<=_)_?[A-Z])[A-Z0-9_]{1,60}+(?=\s+[A-Za-z_~:])")
_KEYWORD = re.compile(
    rb"\s+(?:void|bool|char|short|int|long|float|double|unsigned|signed|auto|static|inline|constexpr|virtual|explicit|typename|extern|"
    rb"friend|class|struct|enum|template|__global__|__device__|__host__|__forceinline__|__inline__|__noinline__|consteval|decltype)\b"
)
_TYPE = re.compile(
    rb"\s+(?:const\s+)?[A-Za-z_][\w:]*+(?:<[^<>;(){}]{0,120}(?:<[^<>;(){}]{0,80}>[^<>;(){}]{0,80})?>)?(?:\s*[*&]+\s*|\s+)"
    rb"(?:operator\s*\S{1,3}|[A-Za-z_][\w:]*+)(?:<[^<>;(){}]{0,80}>)?\s*\("
)
_ATTRIBUTE = re.compile(rb"(?:INLINE|DEVICE|HOST|KERNEL_ATTR|_API|EXPORT|_UNROLL_ATTR|_HD)\Z")
_LAMBDA = re.compile(rb"\]\s*((?:(?:__device__|__host__|__forceinline__|[A-Z_][A-Z0-9_]{2,60}+)\s*)+)(?=[({])")
_MACRO_CALL = re.compile(rb"[A-Z](?<!\w.)[A-Z0-9_]{2,80}+[ \t]*\(")
_PRIMITIVE = re.compile(
    rb"(?<=[(,])(\s*)((?:unsigned[ \t]+)?(?:bool|char|short|int|long|float|double|void|unsigned|u?int(?:8|16|32|64)_t|size_t)"
    rb"[ \t]*\**)(?=\s*[,)])"
)
_ALONE = re.compile(rb"\n[A-Z_][A-Z0-9_]{2,80}+[ \t]*\(")
_WORD_ALONE = re.compile(rb"\n[ \t]*+([A-Z_][A-Z0-9_]{3,80}+)[ \t]*\r?(?=\n\s*(?![=,.;)+*/?<>&|%^\]-]))")
_AFTER = re.compile(rb"[ \t]*(?:\r?\n\s*|\Z)")
_BRACKETS = re.compile(rb"[()]")


@dataclass(frozen=True, slots=True)
class Blanked:
    """One stretch that the parser will not see as it is. ``word`` names an attribute, empty where there is none; ``fill`` is put
    in its place (spaces where empty); ``code`` is true where the stretch is code that has to be read by itself."""

    start: int
    end: int
    word: bytes = b""
    fill: bytes = b""
    code: bool = False


def _closing(masked: bytes, start: int) -> int:
    """The offset after the bracket that closes the one at ``start``; -1 where there is none nearby."""
    depth = 0
    for match in _BRACKETS.finditer(masked, start, start + MAX_LIST):
        depth += 1 if match.group() == b"(" else -1
        if depth == 0:
            return match.end()
    return -1


def find(masked: bytes) -> list[Blanked]:
    """The stretches to blank, in order, not overlapping."""
    found: list[Blanked] = []
    for match in _all(_WITH_BRACKETS, masked):
        end = _closing(masked, match.end() - 1)
        if end > 0:
            found.append(Blanked(match.start(), end, match.group()[:-1].rstrip()))
    for match in _all(_PLAIN, masked):
        word = match.group()
        found.append(Blanked(match.start(), match.end(), b"" if word in (b"typename", b"defined") else word))
    for match in _CAPITALS.finditer(masked):
        if _is_attribute(masked, match):
            found.append(Blanked(match.start(), match.end(), match.group()))
    found.extend(Blanked(m.start(1), m.end(1), m.group(1)) for m in _LAMBDA.finditer(masked))
    found.extend(_alone(masked))
    found.extend(_words_alone(masked))
    found.extend(_types_as_arguments(masked))
    return merged(found)


def _all(patterns: tuple[re.Pattern[bytes], ...], masked: bytes) -> Iterator[re.Match[bytes]]:
    return itertools.chain.from_iterable(pattern.finditer(masked) for pattern in patterns)


def merged(found: list[Blanked]) -> list[Blanked]:
    """Stretches by place; one that starts inside an earlier one is dropped."""
    out: list[Blanked] = []
    for stretch in sorted(found, key=lambda b: (b.start, -b.end)):
        if not out or stretch.start >= out[-1].end:
            out.append(stretch)
    return out


def _is_attribute(masked: bytes, match: re.Match[bytes]) -> bool:
    """Whether a word in capitals stands before a declaration as an attribute: DINLINE void f(, API struct S, HD T g(."""
    if match.group() in _NOT_WORDS:
        return False
    line = masked.rfind(b"\n", 0, match.start()) + 1
    if masked[line : match.start()].lstrip()[:1] == b"#":
        return False
    if _KEYWORD.match(masked, match.end()) or _ATTRIBUTE.search(match.group()):
        return True
    return _TYPE.match(masked, match.end()) is not None


def _alone(masked: bytes) -> list[Blanked]:
    """Macro calls without a semicolon at the left margin: INSTANTIATE(float) between functions."""
    found = []
    for match in _ALONE.finditer(b"\n" + masked):  # so each line begins with \n, the first one too, and offsets are one more
        end = _closing(masked, match.end() - 2)
        after = _AFTER.match(masked, end) if end > 0 else None
        if after is not None and (after.end() >= len(masked) or masked[after.end()] not in b"{:;=.,+-*/?<>&|)"):
            found.append(Blanked(match.start(), end, code=True))
    return found


def _words_alone(masked: bytes) -> list[Blanked]:
    """A macro that is a whole line where a statement starts: CUTLASS_PRAGMA_UNROLL before a loop."""
    found = []
    for match in _WORD_ALONE.finditer(b"\n" + masked):  # so each line begins with \n, the first one too, and offsets are one more
        start, end = match.start(1) - 1, match.end(1) - 1
        before = masked[max(0, match.start() - 400) : match.start()].rstrip()
        is_after_directive = before.rpartition(b"\n")[2].lstrip()[:1] == b"#"
        if (before[-1:] in b";{})" or is_after_directive) and not before.endswith(b"\\") and b"enum" not in before[-60:]:
            found.append(Blanked(start, end, match.group(1)))
    return found


def _types_as_arguments(masked: bytes) -> list[Blanked]:
    """Types given to a macro, CALL(float, 4): written as a name, since the grammar takes no keyword for an argument."""
    found = []
    for match in _MACRO_CALL.finditer(masked):
        end = _closing(masked, match.end() - 1)
        if end > 0:
            for inner in _PRIMITIVE.finditer(masked, match.end() - 1, end):
                found.append(Blanked(inner.start(2), inner.end(2), fill=b"_" * (inner.end(2) - inner.start(2))))
    return found


def apply(data: bytes, stretches: list[Blanked]) -> bytes:
    """The text with the stretches blanked or filled."""
    if not stretches:
        return data
    out = bytearray(data)
    for stretch in stretches:
        out[stretch.start : stretch.end] = stretch.fill or blank(data[stretch.start : stretch.end])
    return bytes(out)
