"""Which CMake commands an AMD build runs: if/elseif/else read with three truth values.

A CUDA variable counts as false only in a file that also knows ROCm or HIP: elsewhere nothing says that the project has
another side, and what stands under `if(USE_CUDA)` is the code to port.
"""

from __future__ import annotations

from porter.model import Live
from porter.parse.amd_words import Nest, Truth, all_of, any_of, negated, says_amd, says_nvidia
from porter.parse.cmake_words import Argument, Command

MAX_TERMS = 400
_FALSE = frozenset(("0", "off", "no", "false", "n", "ignore", "notfound", ""))
_TRUE = frozenset(("1", "on", "yes", "true", "y"))
_NOT_LINUX = frozenset(("WIN32", "MSVC", "APPLE", "MINGW", "CYGWIN", "ANDROID", "IOS", "MSVC_IDE"))
COMPARISONS = frozenset(
    (
        "STREQUAL", "MATCHES", "EQUAL", "LESS", "GREATER", "LESS_EQUAL", "GREATER_EQUAL", "STRLESS", "STRGREATER", "VERSION_LESS",
        "VERSION_GREATER", "VERSION_EQUAL", "VERSION_LESS_EQUAL", "VERSION_GREATER_EQUAL", "IN_LIST", "IS_NEWER_THAN", "PATH_EQUAL",
    )
)  # fmt: skip
_UNARY = frozenset(("DEFINED", "TARGET", "COMMAND", "EXISTS", "POLICY", "TEST", "IS_DIRECTORY", "IS_ABSOLUTE"))


def knows_amd(commands: list[Command]) -> bool:
    """Whether a file has a side for AMD: ROCm or HIP in a condition, an option, a package or a language."""
    for command in commands:
        if command.name in ("if", "elseif", "option", "find_package", "enable_language", "project", "cmake_dependent_option"):
            if any(says_amd(text) for text in command.texts()[:40]):
                return True
        elif command.name.startswith("hip_") or (command.name == "set" and says_amd(" ".join(command.texts()[:1]))):
            return True
    return False


def lives(commands: list[Command], twinned: bool = False) -> list[Live]:
    """The Live of every command, in order; ``twinned``: another file of the build holds the other side of this file's choices."""
    ported = twinned or knows_amd(commands)
    nest = Nest()
    out: list[Live] = []
    for command in commands:
        if command.name == "if":
            out.append(nest.live)
            nest.open(condition(command.arguments, ported))
            continue
        if command.name in ("elseif", "else"):
            nest.branch(True if command.name == "else" else condition(command.arguments, ported))
        elif command.name == "endif":
            nest.close()
        out.append(nest.live)
    return out


def condition(arguments: list[Argument], ported: bool) -> Truth:
    """Truth of an if() condition in a build for AMD on Linux."""
    if len(arguments) > MAX_TERMS:
        return None
    return _Condition(arguments, ported).value()


class _Condition:
    """Operator by operator: parentheses, unary tests, comparisons, NOT, AND, OR; brackets nest on a stack."""

    def __init__(self, arguments: list[Argument], ported: bool) -> None:
        self.arguments = arguments
        self.ported = ported

    def value(self) -> Truth:
        stack: list[list[Truth | str]] = [[]]
        at = 0
        while at < len(self.arguments):
            argument = self.arguments[at]
            if argument.text == "(" and not argument.quoted:
                stack.append([])
                at += 1
            elif argument.text == ")" and not argument.quoted:
                inner = _reduce(stack.pop()) if len(stack) > 1 else None
                stack[-1].append(inner)
                at += 1
            elif not argument.quoted and argument.text in ("AND", "OR", "NOT"):
                stack[-1].append(argument.text)
                at += 1
            else:
                term, at = self._term(at)
                stack[-1].append(term)
        while len(stack) > 1:
            inner = _reduce(stack.pop())
            stack[-1].append(inner)
        return _reduce(stack[0])

    def _term(self, at: int) -> tuple[Truth, int]:
        text = self.arguments[at].text
        following = self.arguments[at + 1].text if at + 1 < len(self.arguments) else ""
        if text in _UNARY and at + 1 < len(self.arguments):
            return self._test(text, following), at + 2
        if following in COMPARISONS and at + 2 < len(self.arguments):
            return self._compare(text, following, self.arguments[at + 2].text), at + 3
        return self._name(text), at + 1

    def _name(self, text: str) -> Truth:
        if text.lower() in _TRUE:
            return True
        if text.lower() in _FALSE:
            return False
        if text in _NOT_LINUX:
            return False
        if text in ("UNIX", "LINUX"):
            return True
        amd, nvidia = says_amd(text), says_nvidia(text)
        if amd and not nvidia:
            return True
        return False if nvidia and not amd and self.ported else None

    def _test(self, test: str, text: str) -> Truth:
        if test in ("POLICY", "EXISTS", "TEST", "IS_DIRECTORY", "IS_ABSOLUTE"):
            return None
        if test == "TARGET" or test == "COMMAND":
            return self._name(text)
        return None if says_nvidia(text) else True if says_amd(text) and not text.startswith("ENV{") else None

    def _compare(self, left: str, operator: str, right: str) -> Truth:
        if operator in ("STREQUAL", "MATCHES", "IN_LIST") and not (left.startswith("CMAKE_CXX_COMPILER") or "VERSION" in left):
            values = right if operator != "IN_LIST" else left
            if values in ("Windows", "Darwin", "MSVC", "AppleClang"):
                return False
            amd, nvidia = says_amd(values), says_nvidia(values)
            if amd and not nvidia:
                return True
            if nvidia and not amd and self.ported:
                return False
        return None


def _reduce(items: list[Truth | str]) -> Truth:
    """Value of a flat list of truths and the words NOT, AND and OR, in CMake's order of precedence."""
    plain: list[Truth | str] = []
    flip = False
    for item in items:
        if item == "NOT":
            flip = not flip
            continue
        if isinstance(item, str):
            plain.append(item)
        else:
            plain.append(negated(item) if flip else item)
        flip = False
    groups: list[list[Truth]] = [[]]
    for item in plain:
        if item == "OR":
            groups.append([])
        elif not isinstance(item, str):
            groups[-1].append(item)
    return any_of(all_of(group) for group in groups if group) if any(groups) else None
