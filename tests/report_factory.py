"""A realistic report built by hand, so that renderers are tested on what they must survive: hostile names, code and prose."""

from __future__ import annotations

from porter import model, packed
from porter.model import Action, Confidence, EffortLine, FileRecord, Finding, HipifyCount, Hours, Replacement, Report, Rule, Severity
from porter.model_report import GpuFit, ModelSize, Note

HOSTILE_PATH = "csrc/<img src=x onerror=alert(1)>|`x`.cu"
HOSTILE_CODE = "printf(\"</script><script>alert(1)</script>\"); // \x1b[31m \u202e @octocat [x](http://evil.example) =cmd|' /C calc'!A0"
MASK_CODE = "    unsigned vote = __ballot_sync(0xffffffff, pred);\n    int n = __popc(vote);"

_SOURCE = (model.Source("https://rocm.docs.amd.com/projects/HIP/en/latest/", "The wavefront of gfx9 has 64 lanes.", "2026-12-01"),)


def _rule(id: str, title: str, category: str, severity: Severity, action: Action, why: str, **more: object) -> Rule:
    return Rule(id, title, category, severity, Confidence.HIGH, action, why, model.Effort(Hours(0.5, 2, 8)), sources=_SOURCE, **more)  # type: ignore[arg-type]


def rules() -> dict[str, Rule]:
    """Six rules of different actions, one of them with an example and one with hostile prose."""
    return {rule.id: rule for rule in (*_code_rules(), *_other_rules())}


def _code_rules() -> tuple[Rule, ...]:
    return (
        _rule(
            "ballot-32-bit-mask",
            "Ballot result kept in 32 bits",
            "warp-size",
            Severity.BLOCKER,
            Action.EDIT,
            "A wavefront on gfx9 has 64 lanes, so the ballot of the upper 32 lanes is lost.\n\nThe result is wrong without any error.",
            targets=("gfx9*",),
            by_target={"gfx94*": "wrong result: `__ballot` has 64 bits", "*": "compile <error>"},
            replacement=Replacement("64-bit mask", "Keep masks in unsigned long long and count with __popcll.", "replacement-with-changes"),
            examples=(
                model.Example(
                    "vote.cu",
                    "unsigned m = __ballot_sync(0xffffffff, p);\nint n = __popc(m);\n",
                    "unsigned long long m = __ballot(p);\nint n = __popcll(m);\n",
                ),
            ),
        ),
        _rule(
            "ptx-cp-async",
            "Asynchronous copy in PTX",
            "inline-ptx",
            Severity.MAJOR,
            Action.REDESIGN,
            "No AMD instruction reads cp.async.",
            replacement=Replacement("buffer loads to LDS", "Write a synchronous copy first.", "partial", ">=6.4"),
        ),
    )


def _other_rules() -> tuple[Rule, ...]:
    return (
        _rule(
            "nvshmem",
            "NVSHMEM one-sided communication",
            "cuda-only-library",
            Severity.MAJOR,
            Action.SWAP,
            "NVSHMEM runs on NVIDIA GPUs only.",
            replacement=Replacement("rocSHMEM", "Change the prefix; the host API differs.", "replacement-with-changes", ">=6.4"),
            match={"include": ("nvshmem.h",), "requirement": ("nvidia-nvshmem-cu12",)},
        ),
        _rule(
            "hostile-prose",
            "Title with <b>markup</b> & a | pipe `tick` @octocat",
            "build",
            Severity.MINOR,
            Action.CHECK,
            "Why <script>alert(2)</script>?",
        ),
        _rule(
            "torch-cuda",
            "torch.cuda on a ROCm build of PyTorch",
            "works-as-is",
            Severity.INFO,
            Action.NONE,
            "The names stay.",
            match={"py_import": ("torch",)},
        ),
        _rule(
            "guarded-code",
            "Code that an AMD build never compiles",
            "already-ported",
            Severity.INFO,
            Action.NONE,
            "The other branch is for AMD.",
        ),
    )


def finding(rule: Rule, path: str, line: int, snippet: str, message: str, subject: str = "", **more: object) -> Finding:
    """One finding of a rule at a place; columns mark the first word of the snippet."""
    start = len(snippet) - len(snippet.lstrip()) + 1
    values: dict[str, object] = {
        "rule": rule.id,
        "category": rule.category,
        "severity": rule.severity,
        "confidence": rule.confidence,
        "action": rule.action,
        "path": path,
        "line": line,
        "column": start,
        "end_line": line,
        "end_column": start + len(snippet.split()[0].encode("utf-8", "replace")),
        "snippet": snippet,
        "message": message,
        "replacement": rule.replacement,
        "targets": rule.targets,
        "effort_hours": Hours() if rule.is_insight else Hours(0.1, 0.5, 2.0),
        "fingerprint": f"{abs(hash_of(rule.id + path + str(line))):016x}",
        "group": f"{rule.id}:{subject}" if subject else rule.id,
    }
    values.update(more)
    return Finding(**values)  # type: ignore[arg-type]


def hash_of(text: str) -> int:
    """A small stable hash (FNV-1a, 64 bits), the same in every process."""
    value = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogatepass"):
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def _findings(known: dict[str, Rule]) -> tuple[Finding, ...]:
    ballot, ptx, shmem, prose = (known[name] for name in ("ballot-32-bit-mask", "ptx-cp-async", "nvshmem", "hostile-prose"))
    return (
        finding(prose, "CMakeLists.txt", 3, "project(x LANGUAGES CXX CUDA)", "enables CUDA <i>here</i>", confidence=Confidence.LOW),
        finding(ballot, HOSTILE_PATH, 7, HOSTILE_CODE, "keeps __ballot_sync in unsigned", "vote"),
        finding(
            ballot,
            "csrc/vote.cu",
            40,
            MASK_CODE,
            "keeps __ballot_sync in unsigned vote",
            "vote",
            end_line=41,
            fix=model.Fix("    unsigned long long vote = __ballot(pred); // <fixed>", True),
            related=(model.Related("csrc/vote.cu", 12, "WARP_SIZE is defined as 32"), model.Related(HOSTILE_PATH, 9, "launched <here>")),
        ),
        finding(
            ptx,
            "csrc/copy/copy.cu",
            15,
            '  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;");',
            "cp.async.cg.shared.global",
            "cp.async",
        ),
        finding(shmem, "csrc/shmem.cu", 1, "#include <nvshmem.h>", "includes nvshmem.h", "nvshmem", state="unchanged"),
        finding(
            shmem,
            "requirements.txt",
            2,
            "nvidia-nvshmem-cu12>=3.0",
            "depends on nvidia-nvshmem-cu12 (>=3.0)",
            "nvidia-nvshmem-cu12",
            confidence=Confidence.MEDIUM,
        ),
    )


def _estimate() -> model.Estimate:
    lines = (
        EffortLine(
            "Ballot result kept in 32 bits: vote",
            "once 2 h + 2 files x 15 min + 2 places x 5 min",
            Hours(0.6, 2.7, 10.2),
            "ballot-32-bit-mask",
            "ballot-32-bit-mask:vote",
            "warp-size",
            2,
            2,
        ),
        EffortLine(
            "Asynchronous copy in PTX: cp.async",
            "once 40 h",
            Hours(8, 40, 160),
            "ptx-cp-async",
            "ptx-cp-async:cp.async",
            "inline-ptx",
            1,
            1,
        ),
        EffortLine("NVSHMEM: nvshmem", "once 8 h", Hours(2, 8, 32), "nvshmem", "nvshmem:nvshmem", "cuda-only-library", 2, 2),
        EffortLine("Title with <b>markup</b>", "once 2 h", Hours(0.5, 2, 8), "hostile-prose", "hostile-prose", "build", 1, 1),
        EffortLine("Strategy and environment", "once a project", Hours(4, 8, 24), category="", kind="project"),
    )
    total = Hours()
    for line in lines:
        total = total + line.hours
    return model.Estimate(
        model.Quantiles(31.2, 68.4, 101.0, 131.9), model.Quantiles(22, 61, 90, 140), lines, total, 20261201, "C", ("No tests were found.",),
        assumptions=(model.Assumption("experience", "0.7", "all hours times 0.7 <b>"),),
        cost=model.Cost("EUR", 120.0, model.Quantiles(3744, 8208, 12120, 15828)),
    )  # fmt: skip


def _strategies() -> tuple[model.Strategy, ...]:
    """One recommended, one that does not fit, one without a cost."""
    way = model.Strategy("hipify-once", "Fork once with hipify", "Translate once.", True, "4 CUDA files.", Hours(20, 61, 230),
                         model.Quantiles(10, 61, 90, 140), "Two trees, <in step>.", Hours(2, 6, 20), True, "Cheapest here.")  # fmt: skip
    rewrite = model.Strategy("triton", "Rewrite in Triton", "Write kernels anew.", False, "No GEMM here.", Hours(80, 200, 600))
    layer = model.Strategy("layer", "Compatibility layer", "Run CUDA as it is.", False, "Closed.", costed=False, sources=_SOURCE)
    return (way, rewrite, layer)


def _runbook() -> tuple[model.RunbookStep, ...]:
    step = model.RunbookStep(
        "reference", "baseline", "Keep results <of> the CUDA build", "Nothing can be compared later without `them`.",
        ("python run.py --out a && echo <done>",), "A file of results.", ("ballot-32-bit-mask:vote",),
        ("ballot-32-bit-mask", "gone"), _SOURCE,
    )  # fmt: skip
    return (step, model.RunbookStep("speed", "performance", "Measure", "The time of a step."))


def _sizing() -> model.Sizing:
    """A model that fits two kinds of GPU and not a third."""
    fits = (
        GpuFit("AMD", "MI355X", 288.0, True, 1, 1, 1, 8, 59.5, "natively", 3.4, 2487.5, 8.6),
        GpuFit("NVIDIA", "H200", 141.0, False, 2, 2, 1, 4, 13.0, "natively"),
        GpuFit("AMD", "Small<1>", 16.0, True, 0, 0, 0, 0, 0.0, "not at all"),
    )
    size = ModelSize(
        "llama <70B>", "serve/config.json", 70_553_706_496, "BF16", "BF16", 131_072, 4, 141.1, 42.9, 218.7, 0.1, 8, fits,
        (Note("Quantise with <Quark>.", "https://quark.docs.amd.com/", "AMD"), Note("Plain.")), "EUR",
    )  # fmt: skip
    return model.Sizing((size,), ("org/unknown<x>",), 2)


def _backtest() -> model.Backtest:
    return model.Backtest("2026.12", "HeCBench", 312, 0.82, 1.2, 0.71, 0.4, -1.5, "Leave one out.")


def _files() -> tuple[FileRecord, ...]:
    diff = (
        "--- a/csrc/vote.cu\n+++ b/csrc/vote.cu\n@@ -1,2 +1,2 @@\n-#include <cuda_runtime.h>\n+#include <hip/hip_runtime.h>\n </details>\n"
    )
    names = {"cudaMalloc": 3, "cudaFree": 2}
    return (
        FileRecord("CMakeLists.txt", "cmake", 12),
        FileRecord(HOSTILE_PATH, "cuda", 90, HipifyCount(5, 1, names, {"cudaGraphAddNode<x>": 1}), 0.93),
        FileRecord("csrc/copy/copy.cu", "cuda", 120, HipifyCount(0, 0)),
        FileRecord("csrc/shmem.cu", "cuda", 60, HipifyCount(2, 0, names)),
        FileRecord(
            "csrc/vote.cu",
            "cuda",
            210,
            HipifyCount(9, 2, names, {"cudaFoo": 2}, packed.text(diff), "builtin", "perl leaves cudaFoo"),
            1.0,
            packed.lines({38: "", 39: "    int before_it = 1; // </pre>", 42: "    int after_it = 2;"}),
        ),  # fmt: skip
        FileRecord("requirements.txt", "requirements", 4),
        FileRecord("src/model.py", "python", 300),
    )


def make_report(**more: object) -> Report:
    """A whole report with every part filled; keyword arguments replace its values."""
    known = rules()
    values: dict[str, object] = {
        "tool_version": "0.1.0",
        "rules_version": "2026.12.01+abcdef",
        "root": "warp-tools",
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "targets": ("gfx942", "gfx950"),
        "rocm": "7.2",
        "files": _files(),
        "findings": _findings(known),
        "insights": (
            finding(known["guarded-code"], "csrc/vote.cu", 80, "#ifdef USE_ROCM", "guarded by USE_ROCM"),
            finding(known["torch-cuda"], "src/model.py", 3, "import torch", "imports torch", "torch"),
            finding(known["torch-cuda"], "src/model.py", 9, "torch.cuda.synchronize()", "calls torch.cuda.synchronize", "torch"),
        ),
        "estimate": _estimate(),
        "hipify": model.HipifySummary("builtin", "cuda2hip 7.2", 16, 3, ("hipify-perl was not found",)),
        "kernels": (
            model.Kernel("vote_kernel<T>", "csrc/vote.cu", 30, 44, ("ballot", "shared memory"), 2),
            model.Kernel("copy", "csrc/copy/copy.cu", 9, 20),
        ),
        "problems": (
            model.Problem("parse", HOSTILE_PATH, 30, "syntax error: \x1b[2J <b>"),
            model.Problem("hipify", "", 0, "hipify-perl was not found", False),
        ),
        "skipped": (
            model.Skipped("third_party/cutlass", "vendored library", "vendored", 800, 300, 90_000),
            model.Skipped("big.cu", "larger than 8 MiB"),
        ),
        "origins": (
            model.OriginCount("own", 7, 4, 480),
            model.OriginCount("vendored", 800, 300, 90_000),
            model.OriginCount("amd-side", 3, 2, 200),
        ),
        "cuda_files": 4,
        "cuda_lines": 480,
        "rules": known,
        "command": "porter scan warp-tools --target gfx942,gfx950",
        "strategies": _strategies(),
        "runbook": _runbook(),
        "backtest": _backtest(),
        "sizing": _sizing(),
    }
    values.update(more)
    return Report(**values)  # type: ignore[arg-type]


def empty_report() -> Report:
    """A report of a project in which there is nothing to do."""
    return make_report(
        files=(FileRecord("README.md", "text", 3),),
        findings=(),
        insights=(),
        estimate=model.Estimate(),
        hipify=model.HipifySummary(),
        kernels=(),
        problems=(),
        skipped=(),
        origins=(model.OriginCount("own", 1),),
        cuda_files=0,
        cuda_lines=0,
        command="",
        strategies=(),
        runbook=(),
        backtest=None,
        sizing=None,
    )


def large_report(count: int) -> Report:
    """A report with so many findings over 200 files, all with different code."""
    known = rules()
    chosen = [known[name] for name in ("ballot-32-bit-mask", "ptx-cp-async", "nvshmem", "hostile-prose")]
    made = []
    for i in range(count):
        rule = chosen[i % 4]
        code = f"    unsigned vote_{i} = __ballot_sync(0xffffffff, predicate_{i % 97}(threadIdx.x + {i}));"
        made.append(
            finding(
                rule,
                f"csrc/module_{i % 20:02d}/file_{i % 200:03d}.cu",
                i // 200 + 1,
                code,
                f"keeps __ballot_sync in unsigned vote_{i}",
                "vote",
            )
        )
    made.sort(key=lambda f: f.sort_key)
    return make_report(findings=tuple(made))
