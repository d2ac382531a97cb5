"""Without a compiler for HIP: whether libclang, with porter's own stub headers, finds a translated text free of syntax errors."""

from __future__ import annotations

from porter.parse import clang

_OPTIONS = (
    "-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-std=c++17", "-nostdinc", "-nostdinc++", "-w", "-fbracket-depth=512",
    "-include", str(clang.STUBS / "cuda_language.h"),
)  # fmt: skip
_KEEP_GOING = 0x200
_INCOMPLETE = 0x02


def parses(data: bytes) -> bool:
    """True where no syntax error is found; False where one is, where libclang is missing, and where the text is too large.

    Names that the stubs lack are no syntax errors, but can bring some about, so that False says
    nothing of the text. No message leaves this function.
    """
    cindex = clang.library()
    if cindex is None or len(data) > clang.MAX_BYTES:
        return False
    text = data.decode("utf-8", "replace")
    try:
        unit = cindex.Index.create().parse("porter_unit.cpp", list(_OPTIONS), [("porter_unit.cpp", text)], _INCOMPLETE | _KEEP_GOING)
    except cindex.TranslationUnitLoadError:
        return False
    return not any(said.severity >= cindex.Diagnostic.Error and said.category_name == "Parse Issue" for said in unit.diagnostics)
