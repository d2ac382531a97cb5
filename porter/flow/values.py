"""What a value is to a warp: thread index, lane, warp, width, lane mask or a plain constant, and the arithmetic between them."""

from __future__ import annotations

import operator
from collections.abc import Callable

import msgspec

HARDWARE = 0  # the width that the device has, as warpSize
UNKNOWN_WIDTH = -1
WARP = 32  # lanes of an NVIDIA warp
WAVE = 64  # lanes of a wave on the targets that have wide waves


class Value(msgspec.Struct, frozen=True, gc=False):
    """An abstract value.

    ``kind``: const, hw (warpSize; ``num`` is what was added), hw_part (a fraction of it), tid (index of a thread in its block), gid (in
    the grid), block_size, lane, warp, warps (how many in a block), lane_ref (lane plus or xor something), sub (a part of a
    lane or thread index that no warp width explains), role (what a function makes of the index of a warp), mask (lane mask), tile
    (cooperative group) or other. ``width`` is 32,
    HARDWARE, another number, or UNKNOWN_WIDTH. ``symbols`` are the named constants the width came from. ``proven`` is
    false where only a name says so. ``via`` tells a mask's source. ``bits`` is the type's width, 0 for unknown.
    """

    kind: str
    num: int | None = None
    width: int = UNKNOWN_WIDTH
    symbols: tuple[str, ...] = ()
    proven: bool = True
    bits: int = 0
    via: str = ""

    def but(self, **changes: object) -> Value:
        """The value with some fields replaced."""
        return msgspec.structs.replace(self, **changes)

    @property
    def is_width(self) -> bool:
        """True for 32 and for the hardware's width."""
        return (self.kind == "const" and self.num == WARP) or (self.kind == "hw" and self.num == 0) or self.kind == "named_width"

    @property
    def as_width(self) -> int:
        """Width of a value that is one."""
        if self.kind == "hw":
            return HARDWARE
        return self.num if self.num is not None and self.kind == "const" else UNKNOWN_WIDTH


OTHER = Value("other")
THREADS = frozenset({"tid", "gid"})
LANES = frozenset({"lane", "lane_ref"})


def const(num: int, bits: int = 32, symbols: tuple[str, ...] = ()) -> Value:
    """A plain number."""
    return Value("const", num, symbols=symbols, bits=bits)


def _join(a: Value, b: Value) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*a.symbols, *b.symbols)))


def binary(op: str, a: Value, b: Value) -> Value:
    """The value of ``a op b``."""
    if a.kind == "const" and b.kind == "const" and a.num is not None and b.num is not None:
        return _fold(op, a, b)
    if op in ("==", "!=", "<", ">", "<=", ">=", "&&", "||"):
        return Value("bool", bits=32)
    if a.kind in ("hw", "named_width", "hw_part") or b.kind in ("hw", "named_width"):
        found = _with_hardware(op, a, b)
        if found is not None:
            return found
    if a.kind in THREADS or a.kind == "block_size" or b.kind in THREADS or b.kind == "block_size":
        return _threads(op, a, b)
    if a.kind == "mask" or b.kind == "mask":
        return _masks(op, a, b)
    if op == "<<" and a.kind == "const" and a.num == 1 and b.kind in ("lane", "lane_ref"):
        return Value("mask", bits=a.bits, via="lane-shift", proven=b.proven, width=b.width)
    if a.kind in LANES or (b.kind in LANES and op in ("+", "^", "*")):
        return _lanes(op, a, b)
    if a.kind == "warp" or (b.kind == "warp" and op in ("+", "*")):
        return _warps(op, a, b)
    if a.kind == "warps" and op in ("+", "-"):
        return a
    return Value("other", bits=max(a.bits, b.bits) if a.bits and b.bits else 0, symbols=_join(a, b)[:4])


def _fold(op: str, a: Value, b: Value) -> Value:
    x, y = a.num or 0, b.num or 0
    bits = max(a.bits, b.bits)
    try:
        num = _compute(op, x, y)
    except (ZeroDivisionError, ValueError, OverflowError):
        return OTHER
    if num is None:
        return OTHER
    if op in ("<<", ">>"):
        bits = a.bits
    if op in ("==", "!=", "<", ">", "<=", ">=", "&&", "||"):
        return Value("bool", num, bits=32)
    return const(num, bits, _join(a, b))


ARITHMETIC: dict[str, Callable[[int, int], int | bool]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": lambda x, y: int(x / y) if abs(x) < 1 << 52 else x // y,
    "%": operator.mod, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
    "&&": lambda x, y: bool(x and y), "||": lambda x, y: bool(x or y),
}  # fmt: skip


def _compute(op: str, x: int, y: int) -> int | None:
    if op in ("<<", ">>") and not 0 <= y < 64:
        return None
    maker = ARITHMETIC.get(op)
    return int(maker(x, y)) if maker is not None else None


def _with_hardware(op: str, a: Value, b: Value) -> Value | None:
    if a.kind in ("hw", "named_width") and b.kind == "const" and b.num is not None:
        if op in ("-", "+"):
            return a.but(num=(a.num or 0) + (b.num if op == "+" else -b.num), symbols=_join(a, b))
        if op in ("/", ">>"):
            return Value("hw_part", symbols=_join(a, b))
        return Value("hw_scaled", symbols=_join(a, b))
    if a.kind == "hw_part":
        return a
    if b.kind in ("hw", "named_width") and a.kind == "const" and op == "/" and a.num is not None and not b.num:
        return Value("warps", a.num // WAVE, HARDWARE, symbols=_join(a, b), proven=b.kind == "hw")  # how many it is on wide waves
    if b.kind in ("hw", "named_width") and a.kind == "const" and op == "*":
        return Value("hw_scaled", symbols=_join(a, b))
    return None


def _divides(op: str, b: Value) -> bool:
    return (op == "/" and b.is_width) or (op == ">>" and b.kind == "const" and b.num == 5)


def _masks_off(op: str, b: Value) -> bool:
    if op == "%":
        return b.is_width
    return op == "&" and ((b.kind == "const" and b.num == WARP - 1) or (b.kind in ("hw", "named_width") and b.num == -1))


def _width_of(b: Value) -> int:
    return UNKNOWN_WIDTH if b.kind == "named_width" else HARDWARE if b.kind == "hw" else WARP


def _threads(op: str, a: Value, b: Value) -> Value:
    symbols = _join(a, b)
    index = a if a.kind in THREADS else b if b.kind in THREADS else None
    if index is None and "block" in (a.kind, b.kind):
        return Value("block", symbols=symbols)
    if index is None:  # the size of the block
        if _divides(op, b):
            return Value("warps", width=_width_of(b), symbols=symbols, proven=a.proven)
        keeps = op in ("+", "-", "*")
        return a.but(symbols=symbols) if a.kind == "block_size" and keeps else Value("other", symbols=symbols)
    if a is index:
        if _masks_off(op, b):
            return Value("lane", width=_width_of(b), symbols=symbols, proven=a.proven, via=a.kind)
        if _divides(op, b):
            return Value("warp", width=_width_of(b), symbols=symbols, proven=a.proven, via=a.kind)
        if op in ("%", "&", "/", ">>"):
            return Value("sub", num=b.num, width=b.num or UNKNOWN_WIDTH, symbols=symbols, proven=a.proven, via=a.kind)
    if op in ("+", "-", "*", "|"):
        grid = "gid" if "block" in (a.kind, b.kind) or "gid" in (a.kind, b.kind) else "tid"
        if (op == "*" and b.kind not in ("block_size", *THREADS) and a.kind != "block_size") or "other" in (a.kind, b.kind):
            return Value("scaled", symbols=symbols, proven=index.proven, via=index.kind)
        axis = "x" if "x" in (a.via, b.via) else index.via
        return Value(grid, symbols=symbols, proven=index.proven, bits=index.bits, via=axis)
    return Value("other", symbols=symbols)


def _masks(op: str, a: Value, b: Value) -> Value:
    mask = a if a.kind == "mask" else b
    if op in ("&", "|", "^", "-", "+"):
        bits = max(a.bits, b.bits) if a.bits and b.bits else mask.bits
        return mask.but(bits=bits)
    if op in ("<<", ">>") and a.kind == "mask":
        return a if op == "<<" else a.but(via="shifted")  # what is shifted down was split on purpose
    return Value("other")


def _lanes(op: str, a: Value, b: Value) -> Value:
    symbols = _join(a, b)
    lane = a if a.kind in LANES else b
    if op in ("+", "-", "^", "|"):
        return Value("lane_ref", width=lane.width, symbols=symbols, proven=lane.proven)
    if a is lane and a.width == HARDWARE and b.kind == "const" and _masks_off(op, b):
        return Value("lane", width=WARP, symbols=symbols, proven=lane.proven, via="lane")
    if a is lane and op in ("%", "&", "/", ">>") and b.kind == "const":
        return Value("sub", num=b.num, width=b.num or UNKNOWN_WIDTH, symbols=symbols, proven=lane.proven, via="lane")
    if a is lane and op in ("%", "&") and b.kind == "hw":
        return lane
    return Value("other", symbols=symbols)


def _warps(op: str, a: Value, b: Value) -> Value:
    warp = a if a.kind == "warp" else b
    if op in ("+", "-"):
        return Value("warp", width=warp.width, symbols=_join(a, b), proven=warp.proven, via="offset")
    return Value("other", symbols=_join(a, b))


def unary(op: str, a: Value) -> Value:
    """The value of a unary operator."""
    if a.kind == "const" and a.num is not None:
        if op == "-":
            return a.but(num=-a.num)
        if op == "~":
            return a.but(num=~a.num)
        if op == "+":
            return a
    if op == "~" and a.kind == "mask":
        return a
    if op == "!":
        return Value("bool", bits=32)
    return Value("other", bits=a.bits)
