"""Source excerpts as HTML: the flagged stretch marked, comments, strings, keywords and numbers coloured, everything escaped."""

from __future__ import annotations

import re

import msgspec
from markupsafe import Markup, escape

from porter.model import Finding, Rule
from porter.render.neutral import block

MAX_LINES, MAX_LINE = 6, 200
NEAR = 2  # lines of context on each side
_KEYWORDS = (
    "alignas|asm|auto|bool|break|case|char|class|const|constexpr|continue|def|default|delete|do|double|elif|else|enum|except|explicit|"
    "extern|false|final|float|for|from|friend|goto|half|if|import|in|inline|int|lambda|long|namespace|new|noexcept|None|not|or|and|"
    "operator|pass|private|public|raise|return|short|signed|sizeof|static|static_cast|reinterpret_cast|struct|switch|template|this|"
    "True|False|true|try|typedef|typename|union|unsigned|using|virtual|void|volatile|while|with|yield|"
    "__global__|__device__|__host__|__shared__|__constant__|__forceinline__|__restrict__|__launch_bounds__|size_t|u?int(?:8|16|32|64)_t"
)
_STRING = r'(?P<s>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
_WORDS = r"|(?P<k>\b(?:" + _KEYWORDS + r")\b)|(?P<n>\b(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?)[uUlLfF]*\b)"
PATTERNS = {
    "c": r"(?P<c>//[^\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*(?:\*/|$))|(?P<p>^[ ]*#[ ]*\w+)|" + _STRING + _WORDS,
    "hash": r"(?P<c>(?:^|(?<=\s))#[^\n]*)|" + _STRING + _WORDS,
}
_COMPILED = {name: re.compile(pattern, re.MULTILINE) for name, pattern in PATTERNS.items()}
_C_ENDINGS = (".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".cpp", ".cc", ".cxx", ".c", ".hip", ".inl", ".inc", ".in", ".ptx", ".js")


class Excerpt(msgspec.Struct, frozen=True):
    """A finding's code without control characters and common indent; ``start`` to ``end`` (characters) is what was flagged."""

    text: str
    start: int
    end: int


def language_of(path: str) -> str:
    """Which of PATTERNS suits a file: "c" where comments are // and /* */, "hash" where they begin with #."""
    return "c" if path.lower().endswith(_C_ENDINGS) else "hash"


def excerpt(finding: Finding, context: dict[int, str] | None = None) -> Excerpt:
    """The finding's snippet ready to show, at most six lines of 200 characters, between the lines of ``context`` near it."""
    lines = finding.snippet.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = _offset(lines, 0, finding.column)
    last = max(first, _offset(lines, finding.end_line - finding.line, finding.end_column))
    above, below = _around(finding, min(len(lines), MAX_LINES), context or {})
    text = "\n".join([*above, *lines[:MAX_LINES], *below])
    shift = sum(len(line) + 1 for line in above)
    before, marked, after = block(text[: first + shift]), block(text[first + shift : last + shift]), block(text[last + shift :])
    return _trimmed(before + marked + after, len(before), len(before) + len(marked), bool(above or below))


def _around(finding: Finding, height: int, context: dict[int, str]) -> tuple[list[str], list[str]]:
    """The lines before and after a snippet of so many lines, as far as they are known, without blank ones at the edges."""
    above = [context[n] for n in range(finding.line - NEAR, finding.line) if n in context]
    below = [context[n] for n in range(finding.line + height, finding.line + height + NEAR) if n in context]
    while above and not above[0].strip():
        del above[0]
    while below and not below[-1].strip():
        del below[-1]
    return above, below


def _offset(lines: list[str], row: int, column: int) -> int:
    """Index in the joined text of a row (from 0) and a byte column (from 1), clamped to the text."""
    if row >= len(lines):
        return sum(len(line) + 1 for line in lines) - 1
    in_row = len(lines[row].encode("utf-8", "surrogatepass")[: column - 1].decode("utf-8", "ignore"))
    return sum(len(line) + 1 for line in lines[:row]) + in_row


def _trimmed(text: str, start: int, end: int, has_context: bool) -> Excerpt:
    lines = text.split("\n")
    filled = [line for line in lines if line.strip()]
    indent = min((len(line) - len(line.lstrip(" ")) for line in filled), default=0)
    out: list[str] = []
    old = new = 0  # offsets of the current line before and after the cut
    begin = finish = 0
    for line in lines:
        cut = min(indent, len(line))
        kept = line[cut : cut + MAX_LINE]
        if old <= start <= old + len(line):
            begin = new + min(max(0, start - old - cut), len(kept))
        if old <= end <= old + len(line):
            finish = new + min(max(0, end - old - cut), len(kept))
        shown = kept + ("…" if len(line) - cut > MAX_LINE else "")
        out.append(shown)
        old += len(line) + 1
        new += len(shown) + 1
    joined = "\n".join(out)
    if finish <= begin and end > start:
        finish = len(joined)
    line_end = joined.find("\n", begin)
    finish = min(finish, line_end) if line_end >= 0 else finish  # a mark over many lines would mark nothing
    whole = not has_context and not joined[:begin].strip() and not joined[finish:].strip()
    return Excerpt(joined, 0, 0) if whole or finish <= begin else Excerpt(joined, begin, min(finish, len(joined)))


def highlight(text: str, language: str, start: int = 0, end: int = 0) -> Markup:
    """The text as HTML with span classes c, s, k, n, p, and a mark element around start to end."""
    pieces: list[Markup] = []
    for first, last, kind, marked in _pieces(text, language, start, end):
        piece = escape(text[first:last])
        if kind:
            piece = Markup('<span class="{}">{}</span>').format(kind, piece)
        pieces.append(Markup("<mark>{}</mark>").format(piece) if marked else piece)
    return Markup("").join(pieces)


def _pieces(text: str, language: str, start: int, end: int) -> list[tuple[int, int, str, bool]]:
    """The text cut at token borders and at the mark's borders."""
    tokens: list[tuple[int, int, str]] = []
    at = 0
    for match in _COMPILED[language].finditer(text):
        tokens += [(at, match.start(), ""), (match.start(), match.end(), match.lastgroup or "")]
        at = match.end()
    tokens.append((at, len(text), ""))
    out = []
    for first, last, kind in tokens:
        borders = [first, *(b for b in (start, end) if first < b < last and start < end), last]
        for a, b in zip(borders, borders[1:], strict=False):
            if a < b:
                out.append((a, b, kind, start <= a and b <= end and start < end))
    return out


def finding_code(finding: Finding, context: dict[int, str] | None = None) -> Markup:
    """A finding's excerpt as highlighted HTML."""
    shown = excerpt(finding, context)
    return highlight(shown.text, language_of(finding.path), shown.start, shown.end)


class ShownExample(msgspec.Struct, frozen=True):
    """A rule's first example as highlighted HTML; ``port`` says whether ``after`` may be shown as what to write."""

    before: Markup
    after: Markup
    port: bool


def example(rule: Rule) -> ShownExample | None:
    """The example that people can read as highlighted HTML; None where there is none."""
    first = rule.shown_example
    if first is None:
        return None
    language = language_of(first.file)
    before, after = (highlight(block(text.strip("\n")), language) for text in (first.before, first.after))
    return ShownExample(before, after, rule.shows_port)
