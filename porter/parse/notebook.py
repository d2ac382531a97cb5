"""Jupyter notebooks: code cells as Python, `!` and `%%bash` lines as shell, `%%cu` and written .cu files as CUDA.

Three texts with the same line numbers are made from the cells, one for each language; what the parsers find in them is put
back to its line of the .ipynb file as an editor counts it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import msgspec

from porter.model import Fact, Problem, SourceFile, Span
from porter.parse import Parsed, parser_of, python
from porter.parse.notebook_cells import Cell, Line, read_cells

SHELL_CELLS = ("bash", "sh", "script", "system", "!")
CUDA_CELLS = ("cu", "cuda", "cuda_group_save", "cudasrc")
WRITTEN = re.compile(r"%%(?:writefile|file)\s+(?:-a\s+)?\S+\.(cu|cuh|cpp|h|hpp|py|sh)\s*\Z")
TRANSPARENT = ("time", "timeit", "capture", "prun", "memit", "mprun", "cython_inline")
SHELL_MAGICS = ("pip", "conda", "mamba", "sx", "system", "uv")
ENV_MAGIC = re.compile(r"%(?:env|set_env)\s+([A-Za-z_]\w*)(?:=|\s+)(\S.*)")
ASSIGNED = re.compile(r"(\s*+[\w,][\w, ]*+=\s*+)[!%](.*)")


@dataclass
class Text:
    """A text made of lines of the notebook: ``places`` has, for each of its lines, the line and column shift in the file."""

    lines: list[str] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)

    def add(self, line: Line, text: str) -> None:
        """Append a line, at its own number in the file where that is still ahead."""
        while len(self.lines) < line.line - 1:
            self.lines.append("")
            self.places.append((len(self.lines), 0))
        self.lines.append(text)
        self.places.append((line.line, line.column - 1))

    def data(self) -> bytes:
        """The text as UTF-8."""
        return "\n".join([*self.lines, ""]).encode("utf-8", "replace")

    def place(self, span: Span) -> Span:
        """A span of this text in the file."""
        start, end = self._at(span.line), self._at(span.end_line)
        return Span(start[0], span.column + start[1], end[0], span.end_column + end[1])

    def _at(self, line: int) -> tuple[int, int]:
        if not self.places:
            return line, 0
        return self.places[min(max(line, 1), len(self.places)) - 1]


def parse(file: SourceFile) -> Parsed:
    """Facts of a notebook's code cells; the kernel's language decides whether they are Python."""
    book = read_cells(file.data)
    texts = {"python": Text(), "shell": Text(), "cuda": Text()}
    if not book.language or "python" in book.language:
        for cell in book.cells:
            if cell.kind == "code":
                _sort_lines(cell, texts)
    text = texts["python"]
    parsed = python.read(SourceFile(file.path, "notebook", text.data(), file.origin), None, text.place)
    parsed.file = file
    if book.wrong:
        parsed.problems.append(Problem("parse", file.path, 1, f"notebook: {book.wrong}"))
    parsed.facts = sorted([*parsed.facts, *_shell(file, texts["shell"])], key=lambda fact: (fact.span, fact.kind, fact.name))
    parsed.embedded = [*parsed.embedded, *_cuda(file, texts["cuda"])]
    return parsed


def _sort_lines(cell: Cell, texts: dict[str, Text]) -> None:
    """Each line of a cell to the text of its language."""
    first = next((line for line in cell.lines if line.text.strip()), None)
    if first is None:
        return
    head = first.text.strip()
    kind = "python"
    lines = cell.lines
    if head.startswith("%%"):
        kind = _kind_of_cell(head)
        lines = lines[lines.index(first) + 1 :]
    for line in lines:
        if kind != "python":
            if kind:
                texts[kind].add(line, line.text)
            continue
        code, command = _split(line.text)
        texts["python"].add(line, code)
        if command:
            texts["shell"].add(line, command)


def _kind_of_cell(head: str) -> str:
    """The language of a cell with a cell magic; empty for one that concerns nobody."""
    word = head[2:].split(None, 1)[0] if head[2:].split() else ""
    written = WRITTEN.match(head)
    if written:
        return {"py": "python", "sh": "shell"}.get(written.group(1), "cuda")
    if word in SHELL_CELLS:
        return "shell" if word != "script" or any(shell in head for shell in ("bash", " sh", "zsh")) else ""
    if word in CUDA_CELLS:
        return "cuda"
    return "python" if word in TRANSPARENT else ""


def _split(text: str) -> tuple[str, str]:
    """A line's Python, and the command in it: `!cmd`, `%pip …`, `x = !cmd`, `%env A=b`."""
    bare = text.lstrip()
    indent = text[: len(text) - len(bare)]
    assigned = ASSIGNED.match(text)
    if assigned and not bare.startswith(("!", "%")):
        return assigned.group(1) + "None", assigned.group(2) if "!" in text[: assigned.start(2)] else ""
    if bare.startswith("!"):
        return indent + "pass", bare.lstrip("!")
    if not bare.startswith("%"):
        return (indent + "pass", "") if bare.startswith("?") or bare.rstrip().endswith("?") and "#" not in bare else (text, "")
    env = ENV_MAGIC.match(bare)
    if env:
        return indent + "pass", f"export {env.group(1)}={env.group(2)}"
    word, _, rest = bare[1:].partition(" ")
    if word in SHELL_MAGICS:
        return indent + "pass", rest if word in ("sx", "system") else f"{word} {rest}"
    return (indent + rest, "") if word in TRANSPARENT and rest and not rest.startswith("-") else (indent + "pass", "")


def _shell(file: SourceFile, text: Text) -> list[Fact]:
    """Facts of the commands in a notebook."""
    shell = parser_of("shell") if any(text.lines) else None
    if shell is None:
        return []
    return [msgspec.structs.replace(fact, span=text.place(fact.span)) for fact in shell(SourceFile(file.path, "shell", text.data())).facts]


def _cuda(file: SourceFile, text: Text) -> list[Parsed]:
    """The CUDA cells as one embedded source."""
    cuda = parser_of("cuda") if any(text.lines) else None
    if cuda is None:
        return []
    inner = cuda(SourceFile(file.path, "cuda", text.data(), file.origin))
    inner.facts = [msgspec.structs.replace(fact, span=text.place(fact.span)) for fact in inner.facts]
    return [inner]
