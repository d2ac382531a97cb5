"""Flags of compilers and linkers: nvcc's own, -D macros and -l libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable

from porter.model import Live
from porter.parse.sheet import Sheet
from porter.parse.shell_words import Word, names

_NVCC = re.compile(r"nvcc(?:\.exe)?|\$[({]?\w*NVCC\w*[)}]?", re.IGNORECASE)
_HOST = re.compile(
    r"(?:[\w.]+-)*(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+|mpicc|mpicxx|mpic\+\+|ld|ld\.lld|icpx|icx|icpc|gfortran|nvc|nvc\+\+)(?:-[\d.]+)?"
)
_HOST_VARIABLE = re.compile(r"\$[({]?(?:CC|CXX|LD|HOST_COMPILER|MPICC|MPICXX|CPP)[)}]?")
_WITH_VALUE = names(
    "-gencode --generate-code -arch --gpu-architecture -code --gpu-code -Xcompiler --compiler-options -Xptxas --ptxas-options -Xlinker "
    "--linker-options -ccbin --compiler-bindir -maxrregcount --maxrregcount -Xfatbin --fatbin-options -Xcudafe -Xnvlink "
    "--nvlink-options --default-stream -default-stream -t --threads -cudart --cudart -diag-suppress --diag-suppress"
)
_SILENT = names("-o -c -I -L -x -MF -MT -isystem -include --version -V --help -h")
_MACRO = ("-D", "-U")
_NAME = re.compile(r"[A-Za-z_]")
_LIBRARY = re.compile(r"(?:.*/)?lib([A-Za-z0-9_+-]+)\.(?:so|a|dylib)(?:\.[\d.]+)?")


def is_compiler(program: str, word: str = "") -> bool:
    """Whether a program's name, or the variable it is called by, is a compiler or linker."""
    return any(pattern.fullmatch(text) for text in (program, word) if text for pattern in (_NVCC, _HOST, _HOST_VARIABLE))


def is_nvcc(word: str) -> bool:
    """Whether a word calls nvcc, by name, by path or through a variable such as $(NVCC)."""
    return bool(_NVCC.fullmatch(word.rsplit("/", 1)[-1]) or _NVCC.fullmatch(word))


def read(sheet: Sheet, program: str, words: Iterable[Word], live: Live) -> None:
    """Flags and libraries of one compiler call: all flags of nvcc, macros and libraries of the others."""
    listed = list(words)
    for word in listed:
        if is_nvcc(program) and word.text in ("--version", "-V", "--help", "-h"):
            sheet.add("command_flag", f"nvcc {word.text}", word.start, word.end, live, "host")
    read_flags(sheet, listed, live, everything=is_nvcc(program))


def read_flags(sheet: Sheet, words: Iterable[Word], live: Live, everything: bool = True) -> None:
    """Compile flags as written, a separate value joined by `=`; -lfoo and libfoo.so as libraries.

    With ``everything`` off only -D, -U, -l and CUDA's own flags are noted; -D NAME and -U NAME are one flag.
    """
    listed = list(words)
    skip = False
    for at, word in enumerate(listed):
        if skip:
            skip = False
            continue
        text, end = word.text, word.end
        if text in _WITH_VALUE and at + 1 < len(listed):
            text, end, skip = f"{text}={listed[at + 1].text}", listed[at + 1].end, True
        elif text in _MACRO and at + 1 < len(listed) and _NAME.match(listed[at + 1].text):
            text, end, skip = text + listed[at + 1].text, listed[at + 1].end, True
        library = library_of(text)
        if library:
            sheet.add("link_library", library, word.start, end, live)
        elif text.startswith("-") and len(text) > 1 and text not in _SILENT and (everything or text[:2] in _MACRO or is_cuda_flag(text)):
            sheet.add("compile_flag", text, word.start, end, live)


def read_setting(sheet: Sheet, value: str, word: Word, live: Live) -> None:
    """Flags of nvcc in the value of a variable such as NVCC_GENCODE="-gencode=arch=compute_80,code=sm_80"; libraries are left out."""
    if value.startswith("-"):
        flags = [Word(part, word.start, word.end) for part in value.split()[:100] if is_cuda_flag(part)]
        read_flags(sheet, flags, live, everything=False)


def library_of(text: str) -> str:
    """Library that a link argument names: cudart for -lcudart and for /usr/lib/libcudart.so; empty for others."""
    if text.startswith("-l:"):
        text = text[3:]
    elif text.startswith("-l") and len(text) > 2 and text[2].isalnum() and text != "-lineinfo":
        return text[2:]
    if text.startswith("-"):
        return ""
    match = _LIBRARY.fullmatch(text[:400])
    return match[1] if match else ""


_CUDA_FLAGS = re.compile(
    r"--?(?:gencode|generate-code|arch=(?:sm|compute)|gpu-architecture|gpu-code|code=(?:sm|compute)|ptxas-options|Xptxas|Xcompiler|Xfatbin|Xcudafe|"
    r"Xnvlink|use_fast_math|expt-|extended-lambda|maxrregcount|rdc|relocatable-device-code|lineinfo|generate-line-info|"
    r"ccbin|compiler-bindir|cudart|default-stream|fatbin-options|compress-mode|prec-div|prec-sqrt|ftz|fmad|dlink|threads|munsafe-fp-atomics)"
)


def is_cuda_flag(text: str) -> bool:
    """Whether a flag is one of nvcc's own, or AMD's -munsafe-fp-atomics, which a rule asks for."""
    return bool(_CUDA_FLAGS.match(text))
