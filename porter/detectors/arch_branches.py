"""Conditionals that ask about NVIDIA's compiler or GPU: which branch the AMD build takes, which CUDA takes, and what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from porter.model import Live, Span
from porter.parse import Parsed
from porter.parse.cuda_build import AMD, NVIDIA, Pass, ambient
from porter.parse.cuda_expr import UNKNOWN
from porter.parse.cuda_lex import Directive, directives, mask
from porter.parse.guards import Preprocessor, run_pass

# A recent NVIDIA GPU and toolkit: where it and the AMD build read the same branch, nothing is lost.
RECENT = {
    "__CUDA_ARCH__": "900", "CUDA_VERSION": "12080", "CUDART_VERSION": "12080", "__CUDACC_VER_MAJOR__": "12", "__CUDACC_VER_MINOR__": "8",
    "CUBLAS_VERSION": "120800", "CUBLAS_VER_MAJOR": "12", "CUBLAS_VER_MINOR": "8", "CUDNN_VERSION": "90800", "CUDNN_MAJOR": "9",
    "CUDNN_MINOR": "8", "CUSPARSE_VERSION": "12508", "CUSPARSE_VER_MAJOR": "12", "CUSPARSE_VER_MINOR": "5", "CUSOLVER_VERSION": "11703",
    "CUSOLVER_VER_MAJOR": "11", "CUSOLVER_VER_MINOR": "7", "CUFFT_VERSION": "11303", "CUFFT_VER_MAJOR": "11", "CURAND_VERSION": "10309",
    "__CUDACC_VER_BUILD__": "0", "__CUDA_ARCH_FEAT_SM90_ALL": "1", "__NVCC__": "1", "__CUDACC__": "1",
}  # fmt: skip
ARCH = re.compile(r"__CUDA_ARCH__$|__CUDA_ARCH_(?:FEAT|SPECIFIC|FAMILY|LIST)|CUT(?:LASS|E)_ARCH_")
VERSION = re.compile(
    r"(?:CU(?:BLAS|DNN|SPARSE|SOLVER|FFT|RAND)_(?:VERSION|VER_MAJOR|VER_MINOR|MAJOR|MINOR)|CUDA_VERSION|CUDART_VERSION|__CUDACC_VER\w*|__NVCC__|__CUDA_API_VERSION|__CUDART_API_VERSION)$"
)
NAME = re.compile(r"[A-Za-z_]\w*")
COMPARED = re.compile(r"__CUDA_ARCH__\s*+(?:(?:[<>=!]=?|\))\s*+)?[<>=!]|[<>=]\s*__CUDA_ARCH__|__CUDA_ARCH__\s*[/*%+-]")
ASKED = (
    b"__CUDA_ARCH_", b"CUTLASS_ARCH_", b"CUTE_ARCH_", b"CUDA_VERSION", b"CUDART_VERSION", b"__CUDACC_VER", b"__NVCC__",
    b"CUBLAS_VER", b"CUDNN_VER", b"CUDNN_M", b"CUSPARSE_VER", b"CUSOLVER_VER", b"CUFFT_VER", b"CURAND_VER",
)  # fmt: skip
OPENERS = ("if", "ifdef", "ifndef")


@dataclass(slots=True)
class Branch:
    """One branch: its directive, the lines of its code (from 1, none where last < first), and who reads it."""

    directive: Directive
    first: int
    last: int = 0
    amd: Live = Live.UNKNOWN
    cuda: Live = Live.UNKNOWN


@dataclass(slots=True)
class Group:
    """An #if with all its branches; ``depth`` counts the conditionals around it."""

    branches: list[Branch] = field(default_factory=list)
    depth: int = 0
    end: int = 0

    @property
    def conditions(self) -> str:
        """All conditions of the group as one text."""
        return " ".join(branch.directive.text for branch in self.branches)

    @property
    def names(self) -> frozenset[str]:
        """The macros that the conditions name."""
        return frozenset(NAME.findall(self.conditions)) - {"defined"}

    @property
    def line(self) -> int:
        """Line of the #if."""
        return self.branches[0].directive.line

    @property
    def span(self) -> Span:
        """Place of the #if."""
        directive = self.branches[0].directive
        return Span(directive.line, 1, directive.end, 1 + len(directive.word) + 1 + len(directive.text))

    @property
    def amd(self) -> Branch | None:
        """The branch that the AMD build reads, None where it reads none; the first perhaps counts."""
        return next((branch for branch in self.branches if branch.amd is not Live.NO), None)

    @property
    def cuda(self) -> Branch | None:
        """The branch that CUDA reads for a recent GPU."""
        return next((branch for branch in self.branches if branch.cuda is not Live.NO), None)

    @property
    def is_certain(self) -> bool:
        """False where an unknown macro decides what the AMD build reads."""
        return all(branch.amd is not Live.UNKNOWN for branch in self.branches)


def groups(parsed: Parsed) -> list[Group]:
    """The conditionals of a file that name NVIDIA's macros and no AMD one, live for AMD, and read differently by the two."""
    masked = mask(parsed.file.data)
    if not any(word in masked for word in ASKED):
        return []
    lines = directives(masked)
    if not any(_asks_nvidia(frozenset(NAME.findall(line.text))) for line in lines if "_" in line.text):
        return []
    around = parsed.extra.get("imported", {})
    theirs = {name: found for name, found in around.get(NVIDIA, {}).items() if name not in RECENT}  # an AMD header may set those
    cuda = run_pass(lines, Preprocessor(Pass(NVIDIA, "device"), RECENT, theirs))
    amd = run_pass(lines, Preprocessor(Pass(AMD, "device"), parsed.extra.get("given", {}), around.get(AMD, {})))
    found = []
    for group in _all(lines, amd, cuda):
        _correct(parsed, group)
        if (
            _asks_nvidia(group.names)
            and not _asks_amd(group.names, around)
            and parsed.extra.get("backends", frozenset()).isdisjoint(group.names)
            and parsed.live(group.line) is not Live.NO
            and group.amd is not group.cuda
        ):
            found.append(group)
    return sorted(found, key=lambda group: group.line)


def _correct(parsed: Parsed, group: Group) -> None:
    """Take over what included files say of the branches, which the file's own lines leave open."""
    for branch in group.branches:
        if branch.first <= branch.last and branch.amd is Live.UNKNOWN:
            branch.amd = parsed.live(branch.first)


def all_groups(parsed: Parsed) -> list[Group]:
    """Every conditional of a file, by line; who reads a branch is left open."""
    lines = directives(mask(parsed.file.data))
    unknown: list[bool | None] = [None] * len(lines)
    return sorted(_all(lines, unknown, unknown), key=lambda group: group.line)


def _asks_nvidia(names: frozenset[str]) -> bool:
    return any(ARCH.match(name) or VERSION.match(name) for name in names)


def _asks_amd(names: frozenset[str], around: Mapping[str, Mapping[str, tuple[str, str]]]) -> bool:
    """Whether the conditions know AMD: a macro that only its build defines, or only headers of the project's own for it."""
    for name in names:
        if around.get(AMD, {}).get(name, ("no",))[0] != "no" and around.get(NVIDIA, {}).get(name, ("",))[0] == "no":
            return True
        ours = ambient(name, Pass(AMD, "device"))
        theirs = ambient(name, Pass(NVIDIA, "device"))
        if theirs is None and (ours is UNKNOWN or ours is not None):
            return True
    return False


def _all(lines: Sequence[Directive], amd: list[bool | None], cuda: list[bool | None]) -> Iterator[Group]:
    """Every conditional, inner ones first."""
    live = {True: Live.YES, False: Live.NO, None: Live.UNKNOWN}
    stack: list[Group] = []
    for position, directive in enumerate(lines):
        word = directive.word
        if word in OPENERS:
            stack.append(Group(depth=len(stack)))
        elif not stack or not (word.startswith("el") or word == "endif"):
            continue
        group = stack[-1]
        if group.branches:
            group.branches[-1].last = directive.line - 1
        if word == "endif":
            group.end = directive.line
            yield stack.pop()
            continue
        group.branches.append(Branch(directive, directive.end + 1, amd=live[amd[position]], cuda=live[cuda[position]]))


class Code:
    """The code of a file without comments, strings' insides and directives, by line."""

    def __init__(self, parsed: Parsed) -> None:
        """Blank what is no code."""
        masked = mask(parsed.file.data)
        text = bytearray(masked)
        self.errors: list[int] = []
        for directive in directives(masked):
            if directive.word == "error":
                self.errors.append(directive.line)
            text[directive.start_byte : directive.end_byte] = b" " * (directive.end_byte - directive.start_byte)
            # Continuation lines of the directive vanish with it, so later lines need their line ends back.
            for offset in range(directive.start_byte, directive.end_byte):
                if masked[offset : offset + 1] == b"\n":
                    text[offset : offset + 1] = b"\n"
        self.lines = bytes(text).decode("utf-8", "replace").split("\n")
        self.raw = masked.decode("utf-8", "replace").split("\n")
        self.parsed = parsed

    def of(self, branch: Branch | None, for_amd: bool = True) -> str:
        """The code of a branch; for AMD without the lines that its build does not read."""
        if branch is None:
            return ""
        keep = [number for number in range(branch.first, branch.last + 1) if not for_amd or self.parsed.live(number) is not Live.NO]
        return "\n".join(self.lines[number - 1] for number in keep if number - 1 < len(self.lines))

    def directives_of(self, branch: Branch | None) -> list[str]:
        """The #include and #define lines of a branch, as written."""
        if branch is None:
            return []
        words = ("#include", "#define")
        lines = (self.raw[n - 1].strip().replace("# ", "#") for n in range(branch.first, min(branch.last, len(self.raw)) + 1))
        return [line for line in lines if line.startswith(words)]

    def has_error(self, branch: Branch | None) -> bool:
        """Whether an #error that the AMD build reads stands in a branch."""
        if branch is None:
            return False
        return any(branch.first <= line <= branch.last and self.parsed.live(line) is not Live.NO for line in self.errors)
