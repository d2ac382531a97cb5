"""Macros in asm templates: what names and calls of macros come to where they are strings, arguments stringified and joined.

The preprocessor in small: object-like and function-like macros, ``#x``, and neighbours joined; a name that nobody defines is
UNKNOWN. Every template has a budget of tokens and text, so that macros and arguments which double each other end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from porter.parse.ptx_tokens import Token, is_name, literal, tokens

UNKNOWN = "?"  # what a macro or a macro's parameter supplies
MAX_DEPTH = 12  # macros inside macros
BUDGET = 20_000  # tokens read for one template
TEXT = 64  # characters that cost as much as a token
PUNCTUATION = (b"#", b",", b"(", b")")


class Definition(msgspec.Struct, frozen=True, gc=False):
    """A #define: the names of its parameters, None for an object-like one, and its text."""

    params: tuple[str, ...] | None
    text: str


class _Argument(msgspec.Struct, frozen=True, gc=False):
    raw: str  # as it is written
    value: str  # with the macros in it replaced


class Macros:
    """The macros that a file sees, and the strings they come to."""

    def __init__(self, around: Mapping[str, Definition] | None = None) -> None:
        """Start with the macros of other files."""
        self._known = dict(around or {})
        self._bodies: dict[str, list[Token]] = {}
        self._budget = 0

    def learn(self, name: str, definition: Definition) -> None:
        """Take a #define of the file itself; the last one counts."""
        self._known[name] = definition
        self._bodies.pop(name, None)

    def template(self, given: Sequence[Token]) -> tuple[str, list[tuple[int, Token]]]:
        """The joined text of the pieces, and where each piece starts in it; nothing where no piece is a string."""
        self._budget = BUDGET
        parts = list(self._parts(given, {}, 0))
        pieces: list[tuple[int, Token]] = []
        length = 0
        for token, text in parts:
            pieces.append((length, token))
            length += len(text)
        has_string = any(token.text.endswith(b'"') or text != UNKNOWN for token, text in parts)
        return ("".join(text for _, text in parts), pieces) if has_string else ("", [])

    def _parts(self, given: Sequence[Token], arguments: Mapping[str, _Argument], depth: int) -> Iterable[tuple[Token, str]]:
        for token, text in self._pieces(given, arguments, depth):
            self._budget -= len(text) // TEXT
            yield token, text

    def _pieces(self, given: Sequence[Token], arguments: Mapping[str, _Argument], depth: int) -> Iterable[tuple[Token, str]]:
        at = 0
        while at < len(given):
            token = given[at]
            at += 1
            self._budget -= 1
            if token.text.endswith(b'"'):
                yield token, literal(token.text)
                continue
            if token.text == b"#" and at < len(given) and (named := arguments.get(_name(given[at]))) is not None:
                yield token, named.raw if self._budget > 0 else UNKNOWN
                at += 1
                continue
            if token.text in PUNCTUATION:
                continue
            end = _call_end(given, at) if is_name(token.text) else at
            yield token, self._value(token, given[at:end], arguments, depth)
            at = end

    def _value(self, token: Token, call: Sequence[Token], arguments: Mapping[str, _Argument], depth: int) -> str:
        """What one name comes to; ``call`` are the tokens of its parenthesis, brackets included."""
        name = _name(token)
        if name in arguments:
            return arguments[name].value if self._budget > 0 else UNKNOWN
        known = self._known.get(name)
        if known is None or depth >= MAX_DEPTH or self._budget <= 0 or (known.params is None) != (not call):
            return UNKNOWN
        inner: dict[str, _Argument] = {}
        if known.params is not None:
            for parameter, written in zip(known.params, _split(call[1:-1]), strict=False):
                raw = "".join(one.text.decode("utf-8", "replace") for one in written)
                inner[parameter] = _Argument(_substituted(written, arguments, raw), self._joined(written, arguments, depth) or raw)
        return self._joined(self._body(name, known), inner, depth) or UNKNOWN

    def _joined(self, given: Sequence[Token], arguments: Mapping[str, _Argument], depth: int) -> str:
        if not any(one.text.endswith(b'"') or is_name(one.text) for one in given):
            return "".join(one.text.decode("utf-8", "replace") for one in given)  # a number
        return "".join(text for _, text in self._parts(given, arguments, depth + 1))

    def _body(self, name: str, known: Definition) -> list[Token]:
        if name not in self._bodies:
            data = known.text.encode()
            self._bodies[name] = list(tokens(data, 0, len(data)))
        return self._bodies[name]


def _name(token: Token) -> str:
    return token.text.decode("utf-8", "replace")


def _call_end(given: Sequence[Token], at: int) -> int:
    """The end of the parenthesis that opens at ``at``; ``at`` itself where none does."""
    depth = 0
    for place in range(at, len(given)):
        depth += (given[place].text == b"(") - (given[place].text == b")")
        if depth == 0:
            return place + 1 if place > at else at
    return len(given)


def _split(given: Sequence[Token]) -> list[list[Token]]:
    """The arguments of a call: tokens between commas outside parentheses."""
    out: list[list[Token]] = [[]]
    depth = 0
    for token in given:
        depth += (token.text == b"(") - (token.text == b")")
        if token.text == b"," and depth == 0:
            out.append([])
        else:
            out[-1].append(token)
    return out


def _substituted(written: Sequence[Token], arguments: Mapping[str, _Argument], raw: str) -> str:
    """An argument's text as # sees it: parameters of the macro around it are replaced, macros are not."""
    if not any(_name(one) in arguments for one in written):
        return raw
    return "".join(arguments[_name(one)].value if _name(one) in arguments else _name(one) for one in written)
