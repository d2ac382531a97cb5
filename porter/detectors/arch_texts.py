"""What the text of a preprocessor branch amounts to: whether the host's branch works on the device, or a macro loses its qualifiers."""

from __future__ import annotations

import re

MAX_TEXT = 4000  # characters; longer branches do more than is judged here
CALLED = re.compile(r"((?:[A-Za-z_]\w*::)*[A-Za-z_]\w*)\s*(?:<[^<>;(){}]{0,60}>\s*)?\(")
KEYWORDS = frozenset(("return", "if", "for", "while", "switch", "sizeof", "static_cast", "reinterpret_cast", "const_cast", "decltype"))
# Functions that HIP's device code has as well as the host.
BOTH_SIDES = re.compile(
    r"(?:::|std::)?(?:isnan|isinf|isfinite|abs|fabs|sqrt|cbrt|hypot|exp|exp2|expm1|log|log2|log10|log1p|pow|floor|ceil|round|trunc|rint|min"
    r"|max|fmin|fmax|fma|fmod|sin|cos|tan|sinh|cosh|tanh|asin|acos|atan|atan2|erf|erfc|lgamma|tgamma|copysign|signbit|ldexp|frexp)[fl]?\Z"
    r"|std::(?:move|forward|get|numeric_limits|swap)\Z|__builtin_\w+\Z|(?:float|double|int|unsigned|bool)\Z"
)
CHECKS = re.compile(r"(?:\w*(?:REQUIRE|ASSERT|CHECK|EXPECT)\w*|assert|printf)\Z")
HOST_ONLY = re.compile(r"\b(?:throw|new|delete|static|cout|cerr|clog|mutex|atomic|string|vector|exit|abort|terminate|getenv)\b")
OTHER_MEANING = re.compile(r"\b(?:atomic\w+|threadIdx|blockIdx|blockDim|gridDim|__sync\w+|__shfl\w*|__ballot\w*|asm|__threadfence\w*)\b")
QUALIFIER = re.compile(r"#\s*define\s+(\w+)\b(?!\()[^\n]*?\b(?:__device__|__host__|__global__|__forceinline__|__shared__|__constant__)")
# clang's device code reads a constant of file level without __constant__: with HIP too, as long as its value is a constant.
ONLY_CONSTANT = re.compile(r"(?!.*__(?:device|host|global|forceinline|shared)__).*__constant__")
CONST = re.compile(r"\bconst(?:expr)?\b")


def works_on_the_device(host: str, device: str) -> bool:
    """Whether what CUDA compiles for the host is plain arithmetic that the device does as well, or only checks."""
    if max(len(host), len(device)) > MAX_TEXT or HOST_ONLY.search(host):
        return False
    calls = [name for name in CALLED.findall(host) if name not in KEYWORDS]
    theirs = [name for name in CALLED.findall(device) if name not in KEYWORDS]
    if calls and theirs and all(CHECKS.match(name) for name in (*calls, *theirs) if not _is_inner(name)):
        return True
    return not OTHER_MEANING.search(device) and all(BOTH_SIDES.match(name) for name in calls)


def _is_inner(name: str) -> bool:
    """A call among the arguments of a check: a method, a cast."""
    return name.islower() and not name.startswith("__") and name not in ("assert", "printf")


def emptied_qualifier(cuda: list[str], amd: list[str]) -> str:
    """A macro that holds CUDA's qualifiers in one branch and none of them in the other, empty where there is none."""
    ours = {name: line for line in amd if (name := _defined(line))}
    for line in cuda:
        match = QUALIFIER.match(line)
        amds = ours.get(match[1], "__").partition(match[1])[2] if match else "__"
        if match and "__" not in amds and not (ONLY_CONSTANT.match(line) and CONST.search(amds)):
            return match[1]
    return ""


def _defined(line: str) -> str:
    match = re.match(r"#\s*define\s+(\w+)", line)
    return match[1] if match else ""


def only_flags(lines: list[str]) -> bool:
    """Whether all lines define macros that are no more than a mark: a name with nothing or a number."""
    return bool(lines) and all(re.match(r"#\s*define\s+\w+\s*(?:=?\s*[01]|true)?\s*\Z", line) for line in lines)
