"""PTX: asm statements in every spelling, instructions, dialects, the opcode dictionary, and whole programs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from porter.config import Config
from porter.detectors import inline_ptx
from porter.errors import RuleError
from porter.model import Hit, SourceFile
from porter.parse import cuda, ptx, ptx_asm, ptx_dict, ptx_text, ptx_tokens, python

# What each opcode must resolve to: family and the last words of the rule. Names as they stand in public CUDA code.
RESOLVED = """
mov.u32 mov.b64 mov.f32 mov.s32 mov.b32 mov.u64 mov.b16 mov.pred > mov simple
setp.ne.b32 setp.lt.s32 setp.eq.u32 setp.ge.f32 setp.gt.u64 > setp simple
ld.global.ca.u32 ld.global.cg.v4.u32 ld.global.cs.f32 ld.global.L1::no_allocate.v4.f32 ld.global.L2::128B.u32 > ld-hint hint
ld.global.nc.L1::no_allocate.L2::128B.v4.u32 ld.global.nc.u16 > ld-nc hint
ld.acquire.gpu.u32 ld.global.acquire.gpu.b32 > ld.acquire memory-order
ld.acquire.cta.shared.u32 ld.acquire.sys.global.u32 ld.global.acquire.sys.u64 > ld.acquire memory-order
red.relaxed.gpu.global.add.s32 red.global.add.f32 red.release.gpu.global.add.u32 red.add.s32 red.shared.add.u32 > red memory-order
cp.async.cg.shared.global cp.async.ca.shared.global > cp.async async-copy
cp.async.cg.shared.global.L2::128B cp.async.ca.shared.global.L2::cache_hint > cp.async async-copy
trap exit brkpt > trap simple
st.global.cg.u32 st.global.cs.v4.u32 st.global.wt.u32 st.global.wb.u32 st.global.L1::no_allocate.v4.f32 > st-hint hint
ldmatrix.sync.aligned.m8n8.x4.shared.b16 > ldmatrix matrix
ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 ldmatrix.sync.aligned.x1.m8n8.shared.b16 > ldmatrix matrix
selp.b32 selp.f32 selp.u64 set.eq.u32.u32 slct.f32.s32 > selp simple
cp.async.wait_group cp.async.wait_all > cp.async.wait_group async-copy
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 > mma-f16 matrix
mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 > mma-f16 matrix
and.b32 or.b32 xor.b64 not.b32 add.s32 add.u64 sub.u32 mul.lo.u32 min.s32 max.u32 rem.u32 neg.s32 > integer simple
shl.b32 shr.u32 shr.s64 > shift simple
prmt.b32 prmt.b32.b4e > prmt simple
cvt.rni.s32.f32 cvt.rzi.u32.f32 cvt.f32.s32 cvt.rni.sat.s8.f32 cvt.rn.f32.u64 > cvt float
cvt.u32.u64 cvt.sat.s8.s32 cvt.s64.s32 cvt.u16.u32 cvt.u32.s32 > cvt-integer simple
ld.volatile.global.u32 ld.volatile.shared.f32 ld.volatile.global.v4.u32 > ld.volatile memory-order
bar.sync bar.arrive bar.red.popc.u32 > bar barrier
bar.warp.sync > bar.warp warp
st.release.sys.global.u32 st.global.release.gpu.b32 st.release.gpu.u32 st.release.cta.shared.u32 > st.release memory-order
mbarrier.arrive.shared::cta.b64 mbarrier.arrive.expect_tx.shared::cta.b64 mbarrier.try_wait.parity.shared::cta.b64 > mbarrier bulk-copy
mbarrier.test_wait.shared.b64 mbarrier.init.shared::cta.b64 mbarrier.inval.shared.b64 > mbarrier bulk-copy
cvt.rn.f16.f32 cvt.f32.f16 cvt.rn.f16x2.f32 cvt.rz.f16.f32 > cvt-f16 float
lop3.b32 > lop3 simple
fence.acq_rel.gpu fence.sc.sys fence.acq_rel.cta fence.acquire.sys > fence memory-order
atom.global.add.u32 atom.add.release.gpu.u32 atom.acq_rel.sys.global.add.s32 atom.shared.add.u32 > atom memory-order
atom.min.u32 atom.max.s32 atom.or.b32 atom.global.inc.u32 > atom memory-order
ld.shared.u32 ld.shared.v4.u32 ld.shared.b16 ld.shared::cta.u32 > ld-shared simple
add.f16x2 mul.f16x2 fma.rn.f16x2 sub.f16 max.f16x2 min.NaN.f16x2 neg.f16x2 ex2.approx.f16x2 > f16 float
mul.hi.u32 mul.wide.u32 mul.wide.s16 mad.hi.u32 mad.wide.u32 > multiply-parts simple
cp.async.commit_group > cp.async.commit_group async-copy
cvta.to.shared.u64 cvta.to.global.u64 cvta.shared.u64 > cvta simple
bfe.u32 bfe.s32 bfi.b32 bfind.u32 popc.b32 clz.b32 brev.b32 bfind.shiftamt.u32 > bit-field simple
st.shared.u32 st.shared.v4.u32 st.shared.b8 st.shared::cta.b32 > st-shared simple
fence.proxy.async fence.proxy.async.shared::cta > fence.proxy.async bulk-copy
fence.mbarrier_init.release.cluster fence.proxy.tensormap::generic.acquire.gpu > fence.proxy.async bulk-copy
st.volatile.global.u32 st.volatile.shared.f32 > st.volatile memory-order
bra bra.uni call.uni ret.uni > control simple
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes cp.async.bulk.global.shared::cta.bulk_group > cp.async.bulk bulk-copy
ld.global.u32 ld.u32 ld.param.u64 ld.global.v4.f32 ld.const.u32 > ld simple
st.global.u32 st.u32 st.global.v4.u32 > st simple
prefetch.global.L2 prefetch.global.L1 prefetchu.L1 > prefetch hint
ld.relaxed.gpu.global.u32 ld.relaxed.sys.u64 > ld.relaxed memory-order
add.bf16x2 fma.rn.bf16x2 mul.bf16 max.bf16x2 fma.rn.relu.bf16x2 > bf16 float
cp.async.bulk.commit_group cp.async.bulk.wait_group cp.async.bulk.wait_group.read > cp.async.bulk-wait bulk-copy
rcp.approx.ftz.f32 rsqrt.approx.f32 sqrt.rn.f32 rcp.rn.f32 > reciprocal float
ex2.approx.f32 ex2.approx.ftz.f32 > ex2 float
tanh.approx.f32 > tanh float
multimem.ld_reduce.relaxed.sys.global.add.v4.f32 > multimem multimem
multimem.st.relaxed.sys.global.v4.f32 multimem.red.relaxed.gpu.global.add.f32 > multimem multimem
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes > cp.async.bulk.tensor bulk-copy
cp.async.bulk.tensor.3d.global.shared::cta.bulk_group > cp.async.bulk.tensor bulk-copy
add.rn.f32 fma.rn.f32 mul.ftz.f32 div.full.f32 add.f64 fma.rn.f64 > float-rounding float
add.rz.f32 mul.rp.f64 fma.rm.f32 sqrt.rz.f32 > directed-rounding float
vadd.s32.s32.s32 vabsdiff4.u32.u32.u32.add vset2.u32.u32.lt vsub4.s32.s32.s32 > video simple
st.relaxed.gpu.global.u32 st.relaxed.sys.u64 > st.relaxed memory-order
cvt.rn.bf16x2.f32 cvt.rn.bf16.f32 > cvt-bf16 float
elect.sync > elect warp
lg2.approx.f32 > lg2 float
mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 > mma-bf16 matrix
barrier.sync barrier.cta.arrive barrier.sync.aligned > barrier barrier
shfl.sync.bfly.b32 shfl.sync.idx.b32 shfl.sync.down.b32 shfl.up.b32 > shfl warp
atom.cas.b32 atom.global.cas.b64 atom.exch.b32 atom.relaxed.gpu.cas.b32 > atom.cas memory-order
createpolicy.fractional.L2::evict_first.b64 createpolicy.range.L2::evict_last.b64 > createpolicy hint
movmatrix.sync.aligned.m8n8.trans.b16 > movmatrix matrix
cvt.rn.satfinite.e4m3x2.f32 cvt.rn.f16x2.e4m3x2 > cvt-fp8 float
cvt.rn.satfinite.e2m1x2.f32 cvt.rn.satfinite.e5m2x2.f32 cvt.rp.satfinite.ue8m0x2.f32 > cvt-fp8 float
fma.rn.f32x2 mul.f32x2 add.rn.f32x2 > f32x2 float
shf.r.wrap.b32 shf.l.clamp.b32 > shf simple
tensormap.replace.tile.global_address.global.b1024.b64 prefetch.tensormap > tensormap bulk-copy
mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 mma.sync.aligned.m8n8k16.row.col.satfinite.s32.u8.s8.s32 > mma-int8 matrix
membar.gl membar.sys membar.cta > membar memory-order
tcgen05.mma.cta_group::1.kind::f16 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 > tcgen05 warpgroup-matrix
tcgen05.ld.sync.aligned.32x32b.x4.b32 tcgen05.wait::st.sync.aligned > tcgen05 warpgroup-matrix
setmaxnreg.inc.sync.aligned.u32 setmaxnreg.dec.sync.aligned.u32 > setmaxnreg hint
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 > clusterlaunchcontrol cluster
cp.async.mbarrier.arrive.noinc.shared.b64 > cp.async.mbarrier bulk-copy
add.cc.u32 addc.cc.u32 addc.u32 sub.cc.u32 subc.u32 mad.lo.cc.u32 madc.hi.u32 > carry-chain carry-chain
mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32 > mma-fp8 matrix
max.f32 min.f32 max.NaN.f32 max.xorsign.abs.f32 > minmax float
barrier.cluster.arrive.aligned barrier.cluster.wait > cluster cluster
wgmma.fence.sync.aligned wgmma.commit_group.sync.aligned wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 > wgmma warpgroup-matrix
mapa.shared::cluster.u32 getctarank.shared::cluster.u32 mapa.u64 > mapa cluster
red.global.add.noftz.f16x2 atom.add.noftz.f16x2 red.global.add.noftz.bf16x2 > red-half memory-order
redux.sync.add.s32 redux.sync.max.u32 > redux warp
stmatrix.sync.aligned.m8n8.x4.shared.b16 > stmatrix matrix
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 > mma-tf32 matrix
mma.sync.aligned.kind::mxf8f6f4.block_scale.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0 > mma-scaled matrix
cvt.pack.sat.s8.s32.b32 > cvt-pack float
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 red.async.relaxed.cluster.global.shared::cluster > st.async cluster
vote.sync.ballot.b32 vote.ballot.b32 activemask.b32 vote.sync.any.pred > vote warp
griddepcontrol.wait griddepcontrol.launch_dependents > griddepcontrol hint
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 > cp.reduce.async.bulk bulk-copy
isspacep.shared > isspacep simple
mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc > mma-int4 matrix
wmma.load.a.sync.aligned.row.m16n16k16.f16 > wmma matrix
dp4a.s32.s32 dp2a.lo.s32.s32 > dp4a simple
mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 > mma.sp matrix
mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 > mma-f64 matrix
nanosleep.u32 > nanosleep simple
match.any.sync.b32 match.all.sync.b32 > match warp
cvt.rna.tf32.f32 > cvt-tf32 float
%laneid > %laneid warp
%globaltimer %globaltimer_lo > %globaltimer simple
%smid %nsmid > %smid simple
%lanemask_lt %lanemask_le > %lanemask warp
%clock64 %clock > %clock simple
%cluster_ctarank %clusterid > %cluster cluster
"""


def cases() -> list[tuple[str, str, str]]:
    rows = []
    for line in RESOLVED.strip().splitlines():
        names, _, answer = line.partition(" > ")
        family, rule = answer.rsplit(" ", 1)
        rows += [(name, family, f"inline-ptx-{rule}") for name in names.split()]
    return rows


def test_the_dictionary_knows_the_frequent_opcodes() -> None:
    dictionary = ptx_dict.load()
    assert len(cases()) > 250
    wrong = []
    for name, family, rule in cases():
        found = dictionary.named(name)
        if found is None or (found.family, found.rule) != (family, rule):
            wrong.append((name, found.family if found else None, family))
    assert wrong == []


def test_every_family_is_complete() -> None:
    for family in ptx_dict.load().families.values():
        assert family.rule in ptx_dict.WEIGHTS
        assert family.source and all(source.checked == "2026-12-01" or source.checked > "2026" for source in family.source)
        assert family.does[0].islower() or not family.does[0].isalpha(), family.family


def test_builtins_of_one_target_are_those_that_it_selects() -> None:
    """The 16x16x16 WMMA of gfx11 takes other operands than that of gfx12: clang 19 knows its name there and cannot select it."""
    told = [
        (glob, name)
        for family in ptx_dict.load().families.values()
        for glob, text in family.by_target.items()
        for name in text.split()
        if name.startswith("__builtin_amdgcn_wmma_") and "16x16x16" in name
    ]
    assert {glob for glob, _ in told} == {"gfx11*", "gfx12*"}
    assert all(name.rstrip(",").endswith("_gfx12") == (glob == "gfx12*") for glob, name in told), told


FAMILY = """
family = "x"
title = "x"
rule = "{rule}"
does = "x"
hip = "x"
{more}
[[source]]
url = "u"
says = "s"
checked = "2026-12-01"
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FAMILY.format(rule="no-such-rule", more='opcodes = ["x"]'), "is not one of"),
        (FAMILY.format(rule="inline-ptx-simple", more=""), "neither opcodes"),
        ('family = "x"\nsurprise = 1', "missing required field|unknown field"),
        ("family = ", "Invalid value"),
    ],
)  # fmt: skip
def test_a_wrong_dictionary_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(RuleError, match=message):
        ptx_dict.load(tmp_path)


def test_an_empty_dictionary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="missing"):
        ptx_dict.load(tmp_path)


@pytest.mark.parametrize(
    ("word", "expected"), [("cp.async", "__builtin_amdgcn_global_load_lds"), ("%laneid", "__lane_id()"), ("laneid", "__lane_id()")]
)
def test_explain(word: str, expected: str) -> None:
    text = ptx_dict.explain(word)
    assert text is not None and expected in text and "Source" in text


def test_explain_knows_its_limits() -> None:
    assert ptx_dict.explain("frobnicate.b32") is None


def one(text: str) -> ptx_asm.AsmStatement:
    (statement,) = ptx_asm.statements(text.encode())
    return statement


@pytest.mark.parametrize(
    "spelling",
    [
        'asm("trap;");',
        'asm volatile("trap;");',
        '__asm__ __volatile__ ("trap;" ::: "memory");',
        '__asm volatile(\n"trap;"\n);',
        'asm volatile goto("trap;" :::: out);',
        'asm volatile(R"(trap;)");',
        'asm volatile(R"ptx(\n  trap;\n)ptx");',
        'asm volatile("tr" "ap" ";");',
        'asm volatile("tr"\n  "ap;\\n\\t");',
        'asm volatile(/* why */ "trap;" // because\n);',
        '#define STOP() asm volatile("trap;")\n',
        '#define STOP() \\\n  asm volatile( \\\n    "trap;" \\\n  )\n',
        '#define T "trap;"\nvoid f() { asm volatile(T); }',
        '#define ASM asm volatile\nvoid f() { ASM("trap;"); }',
        'asm volatile(\n#if X\n"trap;"\n#else\n""\n#endif\n);',
        'template <int N> struct S { __device__ void f() { if (N) asm("{ trap; }"); } };',
    ],
)
def test_every_spelling_is_found(spelling: str) -> None:
    statement = one(spelling)
    assert statement.dialect == "ptx"
    assert [i.opcode for i in statement.instructions] == ["trap"]


@pytest.mark.parametrize(
    "text",
    [
        '// asm("trap;")',
        '/* asm("trap;") */',
        'const char* s = "asm(\\"trap;\\")";',
        'const char* s = R"(asm("trap;"))";',
        "#include <asm/types.h>\n",
        "int asm_count = 3; plasm(1); x.asmx();",
        'extern int x asm("renamed");',
        "asm(",
        'asm("unfinished',
        "asm volatile",
        "__asm { mov eax, ebx }",
        "",
    ],
)
def test_what_is_no_asm_statement(text: str) -> None:
    assert [s for s in ptx_asm.statements(text.encode()) if s.dialect != "host"] == []


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("mov.u32 %0, %%laneid;", "ptx"),
        ("@p bra DONE;", "ptx"),
        ("}\\n", "ptx"),
        ("{ .reg .pred p;\\n setp.ne.b32 p, %0, 0; }", "ptx"),
        ("", "empty"),
        ("  ", "empty"),
        ("v_add_f32 %0, %1, %2", "amd"),
        ("s_waitcnt vmcnt(0)", "amd"),
        ("ds_read_b32 %0, %1", "amd"),
        ("global_load_dwordx4 %0, %1, off", "amd"),
        ("s_nop 0\\n\\tv_add_f32 %0, %2, %3 row_shr:8 bound_ctrl:0", "amd"),
        ("mov %%eax, %0", "host"),
        ("cpuid", "host"),
        ("lock; cmpxchg8b (%0)", "host"),
        ("rdtsc; ret", "host"),
        ("fmla %0.4s, %1.4s, %2.s[0]", "host"),
        ("vadd.f32 q0, q1, q2", "host"),
        ("vmla.f32 %q[r], %q[c], %q[alpha]", "host"),
        ("amoswap.w.aq %0, %1, (%2)", "host"),
        ("add.d $f0, $f2, $f4", "host"),
        ("dmb ish", "host"),
        ("pause", "host"),
    ],
)
def test_dialects(template: str, expected: str) -> None:
    assert one(f'asm volatile("{template}" ::: "memory");').dialect == expected


def test_an_instruction_in_parts() -> None:
    (first, second) = ptx_text.split("{ .reg .pred p; @!p LD: ld.global.v2.u32 {%0, %1}, [%2 + 4]; // x; y\n mov.u32 %0, %%smid; }")[:2]
    assert first.opcode == "ld" and first.predicate == "@!p"
    assert second.registers == ("smid",) and second.operands == ("%0", "%%smid")


def test_vector_operands_stay_together() -> None:
    (instruction,) = ptx_text.split("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1}, {%2}, {%3}, {%0,%1};")
    assert instruction.operands == ("{%0,%1}", "{%2}", "{%3}", "{%0,%1}")


def test_operands_and_constraints() -> None:
    statement = one('asm volatile("add.u32 %0, %1, %2;" : "=r"(out[0]) : [a] "r"(f(x, y)), "n"(4) : "memory");')
    assert [(o.constraint, o.expression) for o in statement.operands] == [("=r", "out [ 0 ]"), ("r", "f ( x , y )"), ("n", "4")]


def test_a_macro_parameter_in_the_opcode_is_a_gap() -> None:
    statement = one('#define LD(mod, type) asm volatile("ld." #mod ".global." #type " %0, [%1];" : "=r"(x) : "l"(p))\n')
    assert statement.macro == "LD"
    assert [i.opcode for i in statement.instructions] == ["ld.?.global.?"]
    assert ptx_dict.load().of(statement.instructions[0]) is not None


def test_places_of_instructions() -> None:
    statement = one('void f() {\n  asm volatile(\n    "mov.u32 %0, 1;\\n"\n    "trap;"\n  );\n}\n')
    assert statement.span.line == 2 and statement.span.column == 3
    assert [place.line for place in statement.places] == [3, 4]


def test_places_in_a_raw_string() -> None:
    statement = one('asm volatile(R"(\nmov.u32 %0, 1;\ntrap;\n)");')
    assert [place.line for place in statement.places] == [2, 3]


def hits(text: str, name: str = "k.cu") -> list[Hit]:
    parsed = cuda.parse(SourceFile(name, "cuda", text.encode()))
    return list(inline_ptx.detect(parsed, None, Config()))  # type: ignore[arg-type]


def test_a_statement_is_as_heavy_as_its_worst_instruction() -> None:
    (hit,) = hits(
        '__device__ void f() { asm volatile("{ .reg .pred p; setp.ne.b32 p, %0, 0; @p cp.async.cg.shared.global [%1], [%2], 16; }"); }'
    )
    assert hit.rule == "inline-ptx-async-copy" and hit.subject == "cp.async" and hit.group == "inline-ptx-async-copy"
    assert "setp.ne.b32" in hit.message and "global_load_lds" in hit.message


def test_counts_stand_in_the_message() -> None:
    (hit,) = hits('__device__ void f() { asm("add.cc.u32 %0, %1, %2; addc.cc.u32 %3, %4, %5; addc.cc.u32 %6, %7, %8;"); }')
    assert "addc.cc.u32 ×2" in hit.message


def test_a_special_register_gives_the_family() -> None:
    (hit,) = hits('__device__ void f(unsigned x) { asm("mov.u32 %0, %%laneid;" : "=r"(x)); }')
    assert (hit.rule, hit.subject) == ("inline-ptx-warp", "%laneid")


def test_an_unknown_opcode_is_named() -> None:
    (hit,) = hits('__device__ void f(unsigned x) { asm("mov.u32 %0, 1; frob.sync.b32 %0;" : "=r"(x)); }')
    assert hit.rule == "inline-ptx-unknown" and "frob.sync.b32" in hit.message


def test_a_brace_alone_belongs_to_a_block() -> None:
    (hit,) = hits('__device__ void f() { asm volatile("}\\n" ::); }')
    assert hit.subject == "block"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('__device__ void f(float x) { asm volatile("" : "+f"(x)); }', True),
        ('__device__ void f(float* x) { asm volatile("" :: "l"(x)); }', True),
        ('__global__ void f(double x) { asm volatile("" : "+d"(x)); }', True),
        ('__device__ void f(int x) { asm volatile("" : "+r"(x)); }', False),
        ('__device__ void f(float x) { asm volatile("" : "+v"(x)); }', False),
        ('__device__ void f() { asm volatile("" ::: "memory"); }', False),
        ('void f(double x) { asm volatile("" : "+d"(x)); }', False),
    ],
)
def test_constraints_of_empty_statements(code: str, found: bool) -> None:
    assert [hit.rule for hit in hits(code)] == (["ptx-constraint"] if found else [])


PROGRAM = """.version 7.0
.target sm_70
.address_size 64
.visible .entry one(.param .u64 p) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1};
  ret;
}
"""


def test_a_ptx_file() -> None:
    parsed = ptx.parse(SourceFile("one.ptx", "ptx", b"// made by hand\n" + PROGRAM.encode()))
    assert [(f.name, f.span.line) for f in parsed.facts][:2] == [
        ("ld.param.u64", 7),
        ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 8),
    ]
    (hit,) = inline_ptx.detect(parsed, None, Config())  # type: ignore[arg-type]
    assert hit.rule == "ptx-source" and hit.span.line == 2 and "one" in hit.message and "matrix" in hit.message


def test_a_file_that_is_no_ptx_is_a_problem() -> None:
    parsed = ptx.parse(SourceFile("one.ptx", "ptx", b"just words\n"))
    assert not parsed.facts and not parsed.problems[0].matters


def test_ptx_in_a_c_string() -> None:
    quoted = "\n".join(f'  "{line}\\n"' for line in PROGRAM.splitlines())
    (hit,) = hits(f"const char* kernel =\n{quoted};\n", "k.cpp")
    assert hit.rule == "ptx-source" and hit.span.line == 2


def test_ptx_in_a_python_string() -> None:
    parsed = python.parse(SourceFile("k.py", "python", f'import x\n\nKERNEL = r"""\n{PROGRAM}"""\n'.encode()))
    (hit,) = inline_ptx.detect(parsed, None, Config())  # type: ignore[arg-type]
    assert hit.rule == "ptx-source" and hit.span.line == 3


def test_words_about_ptx_are_no_program() -> None:
    assert hits('const char* help = ".version and .target sm_80 are directives";\n') == []


@pytest.mark.parametrize(
    "data",
    [
        b"asm(" * 20_000,
        b'asm("' + b"a" * 200_000,
        b'R"(' * 20_000,
        b'asm volatile("' + b"{" * 100_000 + b'");',
        b'asm volatile("' + b"a.b" * 50_000 + b'");',
        b'asm("mov.u32 \xff\xfe%0;" : "=r"(x));\x00',
        b'asm volatile("mov.u32 %0, 1;" : "=r"(' + b"(" * 30_000,
        b"#define A \\\n" * 20_000 + b'asm("trap;");',
        b"/*" * 100_000 + b'asm("trap;");',
    ],
)
def test_hostile_text_ends(data: bytes) -> None:
    ptx_asm.statements(data)
    list(ptx_asm.literals(data))


def test_words_that_are_skipped_in_one_go_hide_no_asm(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found with words skipped in runs is what is found word by word, whatever the text is made of."""
    pieces = [
        b"asm", b"__asm__", b"volatile", b'("trap;")', b'asm("trap;");', b";", b" ", b"\n", b"\n#define ", b"\n  # define ", b"A asm\n",
        b"R", b'u8R"x(', b')x"', b'"', b"'", b"1'0", b"L'a'", b"//", b"/*", b"*/", b"word", b"a_asm", b"asm1", b"\\\n", b"{", b"x = ", b"#",
        b"0x1f", b"u8", b"\r\n", b'A("trap;");',
    ]  # fmt: skip
    chance, found = random.Random(7), 0
    for _ in range(1500):
        data = b"".join(chance.choices(pieces, k=chance.randint(2, 40)))
        fast = ptx_asm.statements(data)
        with monkeypatch.context() as patched:
            patched.setattr(ptx_asm, "scanner", lambda data, only_asm=False: ptx_tokens.scanner(data))
            assert fast == ptx_asm.statements(data), data
        found += len(fast)
    assert found > 300
