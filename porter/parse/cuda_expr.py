"""Integer expressions of the preprocessor and of constants, in three values: a number, some non-zero number, unknown."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable
from enum import Enum


class Vague(Enum):
    """A value that is not a known number."""

    UNKNOWN = "unknown"
    NONZERO = "nonzero"


UNKNOWN, NONZERO = Vague.UNKNOWN, Vague.NONZERO
Value = int | Vague
Lookup = Callable[[str], Value]
Defined = Callable[[str], Value]

MAX_DEPTH = 48
MAX_TOKENS = 4000
MAX_KEPT = 400  # characters of an expression whose tokens are kept: thousands of long ones would be most of a gigabyte
_LIMIT = 1 << 64
_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F']+|0[bB][01']+|\d[\d']*)(?P<suffix>[uUlLzZ]*)(?![\w.])"
    r"|(?P<name>[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*)"
    r"|(?P<op><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:(),])|(?P<bad>\S))"
)
_LEVEL = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "|": operator.or_, "^": operator.xor, "&": operator.and_, "+": operator.add, "-": operator.sub, "*": operator.mul,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip
OPERATOR_WORDS = {  # C++ spells its operators in words too, in the preprocessor as well
    "and": "&&", "or": "||", "not": "!", "not_eq": "!=", "bitand": "&", "bitor": "|", "xor": "^", "compl": "~",
}  # fmt: skip
_CAST_WORDS = (
    "int unsigned long short char signed bool size_t int32_t uint32_t int64_t uint64_t int16_t uint16_t int8_t uint8_t uint "
    "std::size_t std::int32_t std::uint32_t std::int64_t std::uint64_t const"
)
_CASTS = frozenset(_CAST_WORDS.split())
_SIZES = {
    "char": 1, "bool": 1, "int8_t": 1, "uint8_t": 1, "short": 2, "half": 2, "__half": 2, "int16_t": 2, "uint16_t": 2,
    "nv_bfloat16": 2, "__nv_bfloat16": 2, "int": 4, "unsigned": 4, "float": 4, "int32_t": 4, "uint32_t": 4, "half2": 4,
    "__half2": 4, "uint": 4, "double": 8, "int64_t": 8, "uint64_t": 8, "size_t": 8, "float2": 8, "int2": 8, "float4": 16,
    "int4": 16, "uint4": 16,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "min": min, "max": max, "std::min": min, "std::max": max,
}  # fmt: skip


class _Giveup(Exception):
    """The text is no expression this evaluator reads."""


def truth(value: Value) -> bool | None:
    """True, false, or None where it is not known."""
    if value is UNKNOWN:
        return None
    return value is NONZERO or bool(value)


def evaluate(text: str, lookup: Lookup, defined: Defined | None = None) -> Value:
    """The value of an expression; ``lookup`` gives names their values, ``defined`` answers defined(NAME)."""
    try:
        return _Reader(text, lookup, defined).whole()
    except _Giveup:
        return UNKNOWN


@functools.lru_cache(maxsize=2000)  # a condition is read for every pass of both builds, a constant wherever it is used
def _tokens(text: str) -> tuple[tuple[str, str], ...]:
    """The kind and the text of each token; raises _Giveup where it is no expression, or too long."""
    out: list[tuple[str, str]] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind == "suffix":
            kind = "number"
        word = match.group(kind)
        out.append(("op", OPERATOR_WORDS[word]) if word in OPERATOR_WORDS else (kind, word))
        if len(out) > MAX_TOKENS or kind == "bad":
            raise _Giveup
    return tuple(out)


class _Reader:
    """Precedence climbing over tokens; depth and length are limited, so hostile text ends in UNKNOWN."""

    def __init__(self, text: str, lookup: Lookup, defined: Defined | None) -> None:
        self.tokens = _tokens(text) if len(text) <= MAX_KEPT else _tokens.__wrapped__(text)
        self.at = 0
        self.lookup = lookup
        self.defined = defined

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> tuple[str, str]:
        if self.at >= len(self.tokens) or (wanted and self.tokens[self.at][1] != wanted):
            raise _Giveup
        self.at += 1
        return self.tokens[self.at - 1]

    def whole(self) -> Value:
        value = self.ternary(0)
        if self.at != len(self.tokens):
            raise _Giveup
        return value

    def ternary(self, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise _Giveup
        test = self.binary(1, depth + 1)
        if self.peek() != "?":
            return test
        self.take("?")
        left = self.ternary(depth + 1)
        self.take(":")
        right = self.ternary(depth + 1)
        known = truth(test)
        if known is None:
            return left if left == right else UNKNOWN
        return left if known else right

    def binary(self, level: int, depth: int) -> Value:
        left = self.unary(depth)
        while _LEVEL.get(self.peek(), 0) >= level:
            op = self.take()[1]
            right = self.binary(_LEVEL[op] + 1, depth + 1)
            left = combine(op, left, right)
        return left

    def unary(self, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise _Giveup
        kind, text = self.take()
        if kind == "number":
            return _number(text)
        if text in ("!", "-", "+", "~"):
            return _negate(text, self.unary(depth + 1))
        if text == "(":
            if self._is_cast():
                return self.unary(depth + 1)
            value = self.ternary(depth + 1)
            self.take(")")
            return value
        if kind != "name":
            raise _Giveup
        return self.name(re.sub(r"\s+", "", text), depth)

    def _is_cast(self) -> bool:
        at = self.at
        while at < len(self.tokens) and self.tokens[at][1] in _CASTS:
            at += 1
        if at == self.at or at >= len(self.tokens) or self.tokens[at][1] != ")":
            return False
        self.at = at + 1
        return True

    def name(self, name: str, depth: int) -> Value:
        if name == "defined" and self.defined is not None:
            bracket = self.peek() == "("
            if bracket:
                self.take("(")
            answer = self.defined(self.take()[1])
            if bracket:
                self.take(")")
            return answer
        if name in ("static_cast", "sizeof", "alignof"):
            return self._typed(name, depth)
        if self.peek() == "(":
            return self._call(name, depth)
        if name in ("true", "false"):
            return int(name == "true")
        return self.lookup(name)

    def _typed(self, name: str, depth: int) -> Value:
        if name == "static_cast":
            self.take("<")
            while self.peek() in _CASTS:
                self.take()
            self.take(">")
            self.take("(")
            value = self.ternary(depth + 1)
            self.take(")")
            return value
        self.take("(")
        words = []
        while self.peek() != ")":
            words.append(self.take()[1])
        self.take(")")
        return _SIZES.get(words[-1], UNKNOWN) if words else UNKNOWN

    def _call(self, name: str, depth: int) -> Value:
        self.take("(")
        if name.startswith("__has_"):
            return self._skip()
        values: list[Value] = []
        while self.peek() != ")":
            values.append(self.ternary(depth + 1))
            if self.peek() == ",":
                self.take(",")
        self.take(")")
        if name in _CASTS and len(values) == 1:
            return values[0]
        function = _FUNCTIONS.get(name)
        if function is not None and len(values) == 2 and isinstance(values[0], int) and isinstance(values[1], int):
            return function(values[0], values[1])
        return UNKNOWN

    def _skip(self) -> Value:
        depth = 1
        while depth:
            text = self.take()[1]
            depth += {"(": 1, ")": -1}.get(text, 0)
        return UNKNOWN


def _number(text: str) -> int:
    digits = text.replace("'", "")
    if len(digits) > 80:
        raise _Giveup
    try:
        if digits[:2].lower() in ("0x", "0b"):
            return int(digits, 0)
        return int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10)
    except ValueError:
        raise _Giveup from None


def _negate(op: str, value: Value) -> Value:
    if op == "!":
        known = truth(value)
        return UNKNOWN if known is None else int(not known)
    if not isinstance(value, int):
        return value if op != "~" else UNKNOWN
    return {"-": -value, "+": value, "~": ~value}[op]


def combine(op: str, left: Value, right: Value) -> Value:
    """One binary operation in three values; what overflows 64 bits or divides by zero is UNKNOWN."""
    if op in ("&&", "||"):
        sides = (truth(left), truth(right))
        decisive = op == "||"
        if decisive in sides:
            return int(decisive)
        return UNKNOWN if None in sides else int(not decisive)
    if not (isinstance(left, int) and isinstance(right, int)):
        return _vague(op, left, right)
    if op in ("/", "%"):
        if right == 0:
            return UNKNOWN
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if op == "/" else left - quotient * right
    if op in ("<<", ">>"):
        if not 0 <= right < 64:
            return UNKNOWN
        value = left << right if op == "<<" else left >> right
    else:
        value = int(_ARITHMETIC[op](left, right))
    return value if abs(value) <= _LIMIT else UNKNOWN


def _vague(op: str, left: Value, right: Value) -> Value:
    """What can be said of ``x > 0``, ``x == 0`` and ``x & 0`` when x is some positive number (a version, an architecture)."""
    if left is NONZERO and right == 0 and op in (">", "!=", ">=", "==", "<", "<="):
        return int(op in (">", "!=", ">="))
    if right is NONZERO and left == 0 and op in ("<", "!=", "<=", "==", ">", ">="):
        return int(op in ("<", "!=", "<="))
    if op in ("*", "&") and (left == 0 or right == 0):
        return 0
    return UNKNOWN
