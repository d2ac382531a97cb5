"""Same-length repairs of CUDA C++ before it is parsed: what the grammar does not know is blanked, so every offset stays true."""

from __future__ import annotations

import re
from dataclasses import dataclass

from porter.parse.cuda_lex import blank

_WITH_BRACKETS = re.compile(
    rb"\b(__align__|__attribute__|__declspec|__cluster_dims__|__maxnreg__|__block_size__|__nv_pure__|alignas)[ \t]*\("
)
_PLAIN = re.compile(rb"\b(__grid_constant__|__nv_pure__|__extension__)\b")
_KEYWORDS = (
    rb"void|bool|char|short|int|long|float|double|unsigned|signed|auto|static|inline|constexpr|virtual|explicit|typename|extern|friend|"
    rb"class|struct|enum|template|__global__|__device__|__host__|__forceinline__|__inline__|__noinline__|consteval|decltype"
)
_NOT_AN_ATTRIBUTE = rb"(?!(?:EXTERN_C_BEGIN|NULL|TRUE|FALSE)\b)"
# DINLINE void f( / CUTLASS_DEVICE static auto g( / API struct S
_BEFORE_KEYWORD = re.compile(
    rb"(?<![\w:.,(<>*&=])" + _NOT_AN_ATTRIBUTE + rb"([A-Z_][A-Z0-9_]*[A-Z][A-Z0-9_]*)(?=\s+(?:" + _KEYWORDS + rb")\b)"
)
# DINLINE Pack<P> load( / static DINLINE T* get(
_BEFORE_TYPE = re.compile(
    rb"(?<![\w:.,(<*&=])" + _NOT_AN_ATTRIBUTE + rb"([A-Z_][A-Z0-9_]*[A-Z][A-Z0-9_]*)"
    rb"(?=\s+(?:const\s+)?[A-Za-z_][\w:]*(?:<[^<>;(){}]{0,120}(?:<[^<>;(){}]{0,80}>[^<>;(){}]{0,80})?>)?(?:\s*[*&]+\s*|\s+)(?:operator\s*\S{1,3}|[A-Za-z_][\w:]*)\s*\()"
)
# DS_D_INLINE S() / HOST_DEVICE T(x): a word that names an attribute, before any name
_BY_NAME = re.compile(rb"(?<![\w:.])([A-Z_][A-Z0-9_]*(?:INLINE|DEVICE|HOST|KERNEL_ATTR|_API|EXPORT|NOINLINE|UNROLL_ATTR))(?=\s+[A-Za-z_~])")
_LAMBDA = re.compile(rb"(?<=\])(\s*)((?:(?:__device__|__host__|__forceinline__|[A-Z_][A-Z0-9_]*[A-Z][A-Z0-9_]*)\s*)+)(?=[({])")
_TYPENAME = re.compile(rb"\btypename(?=\s+(?:::\s*)?[A-Za-z_]\w*\s*::)")
_BRACKETS = re.compile(rb"[()]")


@dataclass(frozen=True, slots=True)
class Blanked:
    """One stretch that the parser will not see: its bytes, the word it starts with, and the end of that word."""

    start: int
    end: int
    word: bytes


def _closing(masked: bytes, start: int, limit: int = 4000) -> int:
    """The offset after the bracket that closes the one at ``start``; -1 where there is none nearby."""
    depth = 0
    for match in _BRACKETS.finditer(masked, start, start + limit):
        depth += 1 if match.group() == b"(" else -1
        if depth == 0:
            return match.end()
    return -1


def find(masked: bytes) -> list[Blanked]:
    """The stretches to blank, in order, not overlapping."""
    found: list[Blanked] = []
    for match in _WITH_BRACKETS.finditer(masked):
        end = _closing(masked, match.end() - 1)
        if end > 0:
            found.append(Blanked(match.start(), end, match.group(1)))
    for pattern in (_PLAIN, _TYPENAME):
        found.extend(Blanked(m.start(), m.end(), m.group()) for m in pattern.finditer(masked))
    for pattern in (_BEFORE_KEYWORD, _BEFORE_TYPE, _BY_NAME):
        found.extend(Blanked(m.start(1), m.end(1), m.group(1)) for m in pattern.finditer(masked))
    found.extend(Blanked(m.start(2), m.end(2), m.group(2)) for m in _LAMBDA.finditer(masked))
    found.sort(key=lambda b: (b.start, -b.end))
    out: list[Blanked] = []
    for stretch in found:
        if not out or stretch.start >= out[-1].end:
            out.append(stretch)
    return out


def apply(data: bytes, stretches: list[Blanked]) -> bytes:
    """The text with the stretches blanked."""
    if not stretches:
        return data
    out = bytearray(data)
    for stretch in stretches:
        out[stretch.start : stretch.end] = blank(data[stretch.start : stretch.end])
    return bytes(out)
