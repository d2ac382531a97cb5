"""Macros in asm templates: function-like, stringified, nested, from headers, and hostile ones."""

from __future__ import annotations

import time

import pytest

from porter import link
from porter.config import Config
from porter.detectors import inline_ptx
from porter.model import SourceFile
from porter.parse import cuda, ptx_asm, ptx_macros

READ = '#define LD(how) "ld.global." how ".u32 %0, [%1];"\n'
STATEMENT = 'void f() { asm volatile(LD("cg") : "=r"(x) : "l"(p)); }\n'


def opcodes(text: str) -> list[str]:
    (statement,) = [one for one in ptx_asm.statements(text.encode()) if not one.macro]
    return [instruction.opcode for instruction in statement.instructions]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (READ + STATEMENT, ["ld.global.cg.u32"]),
        ('#define LD(how) "ld.global." #how ".u32 %0, [%1];"\nvoid f() { asm(LD(L1::no_allocate)); }', ["ld.global.l1::no_allocate.u32"]),
        ('#define OP "add"\n#define TWO(op, type) op "." type " %0, %1, %2;"\nvoid f() { asm(TWO(OP, "s32")); }', ["add.s32"]),
        (
            '#define STR(x) #x\n#define X(n) STR(n)\n#define N 4\nvoid f() { asm("cp.async.wait_group " X(N) ";"); }',
            ["cp.async.wait_group"],
        ),
        ('#define ONE(t) "mov." t " %0, 1;"\n#define BOTH(t) ONE(t) ONE("u64")\nvoid f() { asm(BOTH("u32")); }', ["mov.u32", "mov.u64"]),
        ('#define PAIR(a, ...) a ";" __VA_ARGS__\nvoid f() { asm(PAIR("trap", "exit;")); }', ["trap", "?"]),
        ('void f() { asm("ld.global." UNKNOWN(x, y) ".u32 %0, [%1];"); }', ["ld.global.?.u32"]),
        ('#define LD "exit;"\nvoid f() { asm(LD("cg")); }', []),
        ('#define LD(how) "exit;"\nvoid f() { asm("trap;" LD); }', ["trap", "?"]),
        ('void f() { asm(("trap;" "exit;")); }', ["trap", "exit"]),
    ],
)
def test_a_template_of_macros(text: str, expected: list[str]) -> None:
    found = [one for one in ptx_asm.statements(text.encode()) if not one.macro]
    assert [i.opcode for one in found for i in one.instructions] == expected


def test_an_operand_that_a_macro_writes() -> None:
    text = '#define STR(x) #x\nvoid f() { asm("mov.u32 %0, " STR(%%laneid) ";" : "=r"(x)); }'
    (statement,) = ptx_asm.statements(text.encode())
    assert statement.instructions[0].registers == ("laneid",)


@pytest.mark.parametrize(
    "text",
    [
        "#define A A\nvoid f() { asm(A); }",
        '#define A(x) B(x) B(x)\n#define B(x) A(x) A(x)\nvoid f() { asm(A("trap;")); }',
        "".join(f"#define M{n} M{n + 1} M{n + 1} M{n + 1}\n" for n in range(40)) + '#define M40 "trap;"\nvoid f() { asm(M0); }',
        '#define A(x) x x x x x x x x\nvoid f() { asm(A(A(A(A(A(A(A(A("trap;"))))))))); }',
        f'#define A(x) {"x " * 200}\nvoid f() {{ asm(A(A(A("trap;")))); }}',
        f"#define A(x) {'#x ' * 9000}\nvoid f() {{ asm(A({'trap ' * 5000})); }}",
        f'#define A "{"trap;" * 9000}"\nvoid f() {{ asm({"A " * 9000}); }}',
        'void f() { asm("trap;" M(((((((((( }',
    ],
)
def test_macros_that_grow_without_end_are_cut(text: str) -> None:
    start = time.process_time()
    found = ptx_asm.statements(text.encode())
    assert time.process_time() - start < 2
    assert len(found) <= 1
    assert sum(len(one.template) for one in found) < 4 * ptx_macros.BUDGET * ptx_macros.TEXT


def scanned(header: str, source: str) -> tuple[list[str], list[str]]:
    parsed = {
        name: cuda.parse(SourceFile(name, "cuda", text.encode()))
        for name, text in (("ptx.cuh", header), ("k.cu", '#include "ptx.cuh"\n' + source))
    }
    index = link.link([one for p in parsed.values() if (one := link.survey(p)) is not None])
    index.enrich(parsed["k.cu"])
    hits = inline_ptx.detect(parsed["k.cu"], index, Config())
    return [hit.rule for hit in hits], [fact.name for fact in parsed["k.cu"].facts if fact.kind == "ptx"]


def test_a_template_of_an_included_file() -> None:
    assert scanned(READ, "__device__ " + STATEMENT) == (["inline-ptx-hint"], ["ld.global.cg.u32"])


def test_a_string_and_a_spelling_of_an_included_file() -> None:
    header = '#define PTX asm volatile\n#define WAIT "cp.async.wait_all;"\n'
    assert scanned(header, "__device__ void f() { PTX(WAIT ::); }\n") == (["inline-ptx-async-copy"], ["cp.async.wait_all"])


def test_a_header_that_is_not_included_says_nothing() -> None:
    header = "#if 0\n" + READ + "#endif\n"
    assert scanned(header, "__device__ " + STATEMENT) == ([], [])
