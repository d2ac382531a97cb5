"""Claims before a compiler: where a rule says "compile error", its hit, translated, fails for an AMD GPU, and its `after` compiles."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import missing, need_tool

from porter import rules
from porter.hipify import engine
from porter.model import Rule

AREAS = ("inline-ptx", "feature", "precision", "arch-guard", "warp-size")
CLAIM = re.compile(
    r"compile error|refuses it|are a compile|invalid constraint|clang stops|stops the AMD build|stops it, with #error|not compile"
)
# Headers that are no part of the compiler's own installation: their examples can only be shown to fail.
LIBRARIES = re.compile(r"#include <(?:rocwmma|hip/hip_fp8|hipblaslt|hipcub|rocprim)")
NEWER = ("gfx94", "gfx95", "gfx125")  # targets that Debian's hipcc does not know
TIMEOUT = 120  # seconds for one compiler run
HEADERS = ("hip/hip_runtime.h", "hip/hip_fp16.h", "hip/hip_cooperative_groups.h", "cassert", "cstdint")
PRELUDE = "".join(f"#include <{header}>\n" for header in HEADERS)
KNOWN = re.compile(r"#include [<\"](?:hip/hip_(?:runtime|runtime_api|fp16|cooperative_groups|complex)\.h|c(?:assert|stdint|stddef))[>\"]")


def claims() -> list[Rule]:
    found = []
    for area in AREAS:
        for path in sorted((rules.rules_folder() / area).glob("*.toml")):
            rule = rules.load_file(path, area)
            if CLAIM.search(rule.why) and any(example.file.endswith((".cu", ".cuh")) for example in rule.examples):
                found.append(rule)
    return found


def needs_new_target(rule: Rule) -> bool:
    """True for what Debian's hipcc cannot judge: newer targets, and builtins of whole waves as the headers of HIP 7 have them."""
    return rule.area == "warp-size" or (bool(rule.targets) and all(target.startswith(NEWER) for target in rule.targets))


CLAIMS = claims()
ON_GFX90A = [rule for rule in CLAIMS if not needs_new_target(rule)]
ON_GFX942 = [rule for rule in CLAIMS if needs_new_target(rule)]


def source_of(text: str) -> tuple[list[str], str]:
    """The includes of a translated example, and the rest of it; device functions are kept though nobody calls them, since what is
    dropped is never assembled."""
    lines = engine.convert(text.encode()).output.decode().split("\n")
    includes = [line for line in lines if line.startswith("#include")]
    rest = "\n".join("" if line.startswith("#include") else line for line in lines)
    return includes, re.sub(r"^(__(?:host|device)__)", r"__attribute__((used)) \1", rest, flags=re.MULTILINE)


def run_compiler(command: list[str], text: str, folder: Path, name: str) -> set[str]:
    """Names of the examples in which the compiler finds an error; the name "unit" stands for what comes before them."""
    source = folder / f"{name}.hip"
    source.write_text(text)
    run = subprocess.run(
        [*command, "-w", "-ferror-limit=0", "-fno-crash-diagnostics", "-o", str(folder / f"{name}.o"), str(source)],
        capture_output=True, text=True, timeout=TIMEOUT, env={**os.environ, "HIP_PLATFORM": "amd"}, check=False,
    )  # fmt: skip
    found = set(re.findall(r"^([\w-]+):\d+:\d+: (?:(?:fatal )?error:|note: in instantiation of)", run.stderr, re.MULTILINE))
    return found or ({"unit"} if run.returncode else set())


def failing(command: list[str], texts: dict[str, str], folder: Path, name: str) -> set[str]:
    """Names of the examples that do not compile. All stand in one unit, each in its own namespace and under its own file name; the
    assembler only speaks when the front end is content, so what compiles so far gets another run."""
    parts, own, broken = [], [], set()
    for example, text in texts.items():
        includes, body = source_of(text)
        if any(KNOWN.match(line) is None for line in includes) or "_mfma_" in body:  # an older clang stops dead at a wrong mfma
            own.append((example, includes, body))
        else:
            parts.append((example, f'#line 1 "{example}"\nnamespace n{len(parts)} {{ {body}\n}}\n'))
    for round_number in range(3):
        unit = PRELUDE + "".join(part for example, part in parts if example not in broken)
        found = run_compiler(command, unit, folder, f"{name}{round_number}")
        broken |= found
        if not found:
            break
    for example, includes, body in own:
        unit = PRELUDE + "\n".join(includes) + f'\n#line 1 "{example}"\n{body}'
        broken |= {example} if run_compiler(command, unit, folder, f"{name}-{example}") else set()
    return broken


def check_all(chosen: list[Rule], command: list[str], folder: Path) -> list[str]:
    before, after = {}, {}
    for rule in chosen:
        for number, example in enumerate(e for e in rule.examples if e.file.endswith((".cu", ".cuh"))):
            before[f"{rule.id}-{number}"] = example.before
            if not LIBRARIES.search(example.after):
                after[f"{rule.id}-{number}"] = example.after
    fails = failing(command, before, folder, "before")
    wrong = [f"{name}: `before` compiles, but the rule says it does not" for name in sorted(before.keys() - fails)]
    return wrong + [f"{name}: `after` does not compile" for name in sorted(failing(command, after, folder, "after"))]


def test_there_are_claims_to_check() -> None:
    assert len(ON_GFX90A) > 20
    assert [rule.id for rule in ON_GFX942] == ["texture-fetch", "sync-mask-32bit", "warpsize-deduced", "warpsize-not-constant"]


@pytest.mark.needs_tool
def test_compile_errors_on_gfx90a(tmp_path: Path) -> None:
    command = [need_tool("hipcc"), "--offload-arch=gfx90a", "--cuda-device-only", "-c"]
    wrong = check_all(ON_GFX90A, command, tmp_path)
    assert not wrong, "\n".join(wrong)


@pytest.mark.needs_tool
def test_compile_errors_on_gfx942(tmp_path: Path) -> None:
    headers = os.environ.get("PORTER_HIP_INCLUDE", "")
    if not headers:
        missing("PORTER_HIP_INCLUDE names no folder with the headers of HIP 7: the older ones do not refuse textures")
    command = [need_tool("clang-19"), "-x", "hip", "--offload-arch=gfx942", "--cuda-device-only", "-nogpulib", "-fsyntax-only"]
    command += ["-isystem", headers, "-D__HIP_PLATFORM_AMD__"]
    wrong = check_all(ON_GFX942, command, tmp_path)
    assert not wrong, "\n".join(wrong)


TORCH_WIDTH = """
static __host__ inline int lanes() { return 64; }
static __device__ inline constexpr int lanes() { return 64; }
#define C10_WARP_SIZE (lanes())
template <int N> __global__ void norm(float* x) {
  __shared__ float parts[C10_WARP_SIZE];
  constexpr int half = C10_WARP_SIZE / 2;
  parts[threadIdx.x % C10_WARP_SIZE] = x[half];
  x[N] = parts[0];
}
void asked(float* x) { const int threads = C10_WARP_SIZE * 4; norm<1><<<1, threads>>>(x); }
"""
TORCH_CONSTANTS = (
    "constexpr int at_file = C10_WARP_SIZE * 2;", "void f(float* x) { norm<C10_WARP_SIZE><<<1, 64>>>(x); }",
    "void f() { constexpr int threads = C10_WARP_SIZE; (void)threads; }", 'void f() { static_assert(C10_WARP_SIZE > 1, ""); }',
    "__global__ void __launch_bounds__(C10_WARP_SIZE * 4) f(float* x) { x[0] = 1; }",
)  # fmt: skip


@pytest.mark.needs_tool
def test_a_width_that_the_host_asks_for_is_no_constant_there(tmp_path: Path) -> None:
    headers = os.environ.get("PORTER_HIP_INCLUDE", "")
    if not headers:
        missing("PORTER_HIP_INCLUDE names no folder with the headers of HIP 7")
    command = [need_tool("clang-19"), "-x", "hip", "--offload-arch=gfx942", "--cuda-host-only", "-nogpulib", "-fsyntax-only"]
    command += ["-isystem", headers, "-D__HIP_PLATFORM_AMD__"]
    head = "#include <hip/hip_runtime.h>\n" + TORCH_WIDTH
    assert not run_compiler(command, head, tmp_path, "device")
    assert all(run_compiler(command, f"{head}{text}\n", tmp_path, f"host{n}") for n, text in enumerate(TORCH_CONSTANTS))
