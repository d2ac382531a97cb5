"""The hipify command, the real hipify-perl (by a stand-in), the table, and the unsupported-api detector."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from porter import hipify_command
from porter.config import Config
from porter.detectors import unsupported_api
from porter.errors import ConfigError, InputError, OutputError, ToolError
from porter.hipify import advice, api, perl
from porter.hipify.live import live_lines
from porter.link import link
from porter.model import Hit, Live, SourceFile
from porter.parse import parser_of
from porter.parse.guards import guards_of

CUDA = b"#include <cuda_runtime.h>\nvoid f(void** p) { cudaMalloc(p, 4); }\n"
HIP = b"#include <hip/hip_runtime.h>\nvoid f(void** p) { hipMalloc(p, 4); }\n"


class Output:
    def __init__(self) -> None:
        self.data = b""
        self.lines: list[str] = []

    def run(self, path: Path, **options: object) -> int:
        return hipify_command.run(str(path), options, self.write, self.lines.append)

    def write(self, data: bytes) -> None:
        self.data += data


def tool(folder: Path, body: str, name: str = "hipify-perl") -> Path:
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_one_file_goes_to_the_output(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_bytes(CUDA)
    out = Output()
    assert out.run(tmp_path / "a.cu") == 0
    assert out.data == HIP
    assert "2 names converted" in out.lines[0]


def test_strict_counts_names_left(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_bytes(CUDA + b"void g(CUgreenCtx c) { cuGreenCtxDestroy(c); }\n")
    out = Output()
    assert out.run(tmp_path / "a.cu", strict=True) == 1
    assert any("cuGreenCtxDestroy (1x, first at a.cu:3)" in line and "hipExtStreamCreateWithCUMask" in line for line in out.lines)
    assert Output().run(tmp_path / "a.cu") == 0


def test_a_diff_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.cu").write_bytes(CUDA)
    (tmp_path / "b.cpp").write_bytes(b"int main() {}\n")
    out = Output()
    out.run(tmp_path, show_diff=True)
    assert out.data.decode().splitlines()[:2] == ["--- a/src/a.cu", "+++ b/src/a.cu"]
    assert b"+#include <hip/hip_runtime.h>" in out.data
    assert b"b.cpp" not in out.data


def test_a_tree_is_written_whole_and_the_source_is_not_touched(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "k").mkdir(parents=True)
    (source / "k" / "a.cu").write_bytes(CUDA)
    (source / "README").write_text("cudaMalloc\n")
    target = tmp_path / "hip"
    Output().run(source, output=str(target))
    assert (target / "k" / "a.cu").read_bytes() == HIP
    assert (target / "README").read_text() == "cudaMalloc\n"
    assert (source / "k" / "a.cu").read_bytes() == CUDA
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".porter")]


def test_output_never_goes_over_the_input(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.cu").write_bytes(CUDA)
    for target in (source, source / "inside"):
        with pytest.raises(OutputError):
            Output().run(source, output=str(target))
    with pytest.raises(OutputError):
        Output().run(source / "a.cu", output=str(source))
    assert (source / "a.cu").read_bytes() == CUDA


def test_links_out_of_the_tree_are_copied_as_links(tmp_path: Path) -> None:
    (tmp_path / "secret.cu").write_bytes(CUDA)
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.cu").symlink_to(tmp_path / "secret.cu")
    os.mkfifo(source / "pipe.cu")
    Output().run(source, output=str(tmp_path / "hip"))
    assert (tmp_path / "hip" / "a.cu").is_symlink()
    assert (tmp_path / "secret.cu").read_bytes() == CUDA
    assert not (tmp_path / "hip" / "pipe.cu").exists()


def test_missing_paths_and_tools_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        Output().run(tmp_path / "none.cu")
    (tmp_path / "a.cu").write_bytes(CUDA)
    with pytest.raises(ToolError):
        Output().run(tmp_path / "a.cu", engine="perl", hipify_path=str(tmp_path / "none"))


def test_the_real_hipify_perl_is_run_on_a_copy(tmp_path: Path) -> None:
    body = "import os, sys\nassert 'HOME' not in os.environ\nassert sys.argv[1] == '-quiet-warnings'\n"
    body += "text = open(sys.argv[-1]).read()\nopen(sys.argv[-1], 'w').write('gone')\nprint(text.replace('cuda', 'hip'), end='')"
    program = tool(tmp_path, body)
    (tmp_path / "a.cu").write_bytes(b"cudaFree(p);\n")
    out = Output()
    out.run(tmp_path / "a.cu", engine="perl", hipify_path=str(program))
    assert out.data == b"hipFree(p);\n"
    assert (tmp_path / "a.cu").read_bytes() == b"cudaFree(p);\n"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import time\ntime.sleep(60)", "stopped after"),
        ("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])", "stopped after"),
        ("while True: print('x' * 100000)", "wrote more than"),
        ("raise SystemExit(3)", "ended with status 3"),
        ("pass", "wrote nothing"),
    ],
)
def test_a_bad_hipify_perl_fails_in_time(tmp_path: Path, body: str, words: str) -> None:
    with pytest.raises(perl.PerlFailed, match=words):
        perl.run(tool(tmp_path, body), "a.cu", b"int x;\n", 1.0)


def test_where_hipify_perl_is_looked_for(tmp_path: Path) -> None:
    program = tool(tmp_path, "import sys\nprint('HIP version 7.1.0', file=sys.stderr)")
    (tmp_path / "bin").mkdir()
    in_rocm = tool(tmp_path / "bin", "pass")
    assert perl.find(str(program), "", "", "") == program
    assert perl.find("", str(tmp_path), "", "") == program
    assert perl.find("", "", f"/nowhere:{tmp_path}", "") == program
    assert perl.find("", "", "", str(tmp_path)) == in_rocm
    assert perl.find(str(tmp_path / "none"), "", str(tmp_path), "") is None
    assert perl.version(program) == "7.1.0"


def test_the_table_knows_names_versions_and_pages() -> None:
    entry = api.lookup("cudaMalloc")
    assert entry is not None and (entry.hip, entry.library, entry.support) == ("hipMalloc", "CUDA runtime API", "supported")
    assert entry.docs.startswith("https://rocm.docs.amd.com/projects/HIPIFY/")
    assert api.lookup("cudaMaloc") is None
    assert api.close_matches("cudaMaloc")[0] == "cudaMalloc"
    assert api.hip_version("10.0") > api.hip_version("7.2") > api.hip_version("6.4.1")
    assert len(api.table()) > 10_000


def test_every_argument_edit_names_a_function_of_the_table() -> None:
    for name, rows in api.argument_edits().items():
        entry = api.lookup(name)
        assert entry is not None, name
        assert all(
            row.edit in ("symbol", "kernel-pointer", "size-pointer", "insert", "replace", "drop", "copy", "move", "overload")
            for row in rows
        )


def test_advice_by_pattern() -> None:
    assert advice.hint("__float2bfloat16_rn").startswith("__float2bfloat16")
    assert advice.advice("cuTensorMapEncodeTiled").action == "redesign"
    assert advice.hint("cudaMalloc") == ""


def test_only_what_the_project_shut_out_of_the_amd_build_is_dead() -> None:
    text = b"#ifdef USE_ROCM\na\n#else\nb\n#endif\n#if CUDA_VERSION >= 12000\nc\n#endif\n#if 0\nd\n#endif\n"
    live = live_lines(guards_of(text, "a.cu"))
    assert [live(line) for line in (2, 4, 7, 10)] == [True, False, True, False]


def hits(text: str, **config: str) -> list[Hit]:
    parse = parser_of("cuda")
    assert parse is not None
    parsed = parse(SourceFile("a.cu", "cuda", text.encode()))
    return list(unsupported_api.detect(parsed, link([], ()), Config(**config)))  # type: ignore[arg-type]


def test_a_name_that_only_a_newer_hip_has_is_told_for_an_older_one() -> None:
    text = "__global__ void k(unsigned m) { __syncwarp(); }\n"
    assert [(hit.rule, hit.message) for hit in hits(text, rocm="6.3")] == [("unsupported-device-function", "__syncwarp, added in HIP 7.0")]
    assert not hits(text, rocm="7.0")
    assert not hits("#define __syncwarp()\n" + text, rocm="6.3")


def test_types_and_constants_come_with_their_function() -> None:
    found = hits("void f(CUgreenCtx* c, CUdevResourceDesc d, CUdevice v) {\n  cuGreenCtxCreate(c, d, v, CU_GREEN_CTX_DEFAULT_STREAM);\n}\n")
    assert [(hit.rule, hit.subject) for hit in found] == [("unsupported-cuda-driver-api", "cuGreenCtxCreate")]
    assert {place.note for place in found[0].related} == {"CUgreenCtx", "CUdevResourceDesc", "CU_GREEN_CTX_DEFAULT_STREAM"}


def test_names_of_other_rules_are_left_to_them() -> None:
    assert not hits("void f(CUtensorMap* m) { cuTensorMapEncodeTiled(m); __trap(); }\n")


def test_an_older_rocm_lacks_more() -> None:
    text = "void f() { cudaStreamBeginCaptureToGraph(s, g, d, e, n, m); }\n"
    assert not hits(text, rocm="7.2")
    (hit,) = hits(text, rocm="5.7")
    assert hit.rule == "unsupported-cuda-runtime-api" and "added in HIP" in hit.message


def test_comments_strings_and_members_are_no_uses() -> None:
    assert not hits('// cuGreenCtxCreate\nconst char* s = "cuGreenCtxCreate"; void f() { x.cuGreenCtxCreate(); }\n')


def test_in_place_keeps_the_first_text(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_bytes(CUDA)
    (tmp_path / "a.cu").chmod(0o640)
    (tmp_path / "plain.cuh").write_bytes(b"int x;\n")
    for _ in range(2):
        Output().run(tmp_path, in_place=True)
        assert (tmp_path / "a.cu").read_bytes() == HIP
        assert (tmp_path / "a.cu.prehip").read_bytes() == CUDA
    assert stat.S_IMODE((tmp_path / "a.cu").stat().st_mode) == stat.S_IMODE((tmp_path / "a.cu.prehip").stat().st_mode) == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.cu", "a.cu.prehip", "plain.cuh"]


def test_in_place_is_all_or_nothing(tmp_path: Path) -> None:
    for name in ("a.cu", "b.cu"):
        (tmp_path / name).write_bytes(CUDA)
    (tmp_path / "b.cu.prehip").mkdir()
    with pytest.raises(OutputError, match="old text"):
        try:
            Output().run(tmp_path, in_place=True)
        except OutputError as error:
            raise OutputError(error.hint) from error
    assert (tmp_path / "a.cu").read_bytes() == CUDA


def test_in_place_through_a_link_changes_the_file_it_means(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.cu").write_bytes(CUDA)
    (tmp_path / "a.cu").symlink_to("real/a.cu")
    Output().run(tmp_path / "a.cu", in_place=True)
    assert (tmp_path / "a.cu").is_symlink()
    assert (tmp_path / "real" / "a.cu").read_bytes() == HIP


def test_engines_are_compared_file_by_file(tmp_path: Path) -> None:
    body = "import sys\nif '-version' in sys.argv: raise SystemExit('HIP version 6.2.1')\n"
    body += "print(open(sys.argv[-1]).read().replace('cuda_runtime', 'hip/hip_runtime').replace('cudaMalloc', 'hipMallocX'), end='')"
    program = tool(tmp_path, body)
    (tmp_path / "a.cu").write_bytes(CUDA)
    (tmp_path / "b.cuh").write_bytes(b"int x;\n")
    out = Output()
    out.run(tmp_path, compare=True, hipify_path=str(program))
    assert "a.cu: 1 lines only from hipify-perl, 1 only from the built-in engine" in out.lines
    assert out.lines[1].startswith("1 files the same, 1 different; hipify-perl of HIP 6.2.1")
    changed = [line for line in out.data.decode().splitlines() if line[0] in "-+"]
    assert changed[:2] == ["--- hipify-perl/a.cu", "+++ builtin/a.cu"]
    assert [("hipMallocX" in line, line[0]) for line in changed[2:]] == [(True, "-"), (False, "+")]


def test_the_summary_says_what_became_of_names(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_bytes(CUDA)
    out = Output()
    out.run(tmp_path / "a.cu")
    assert "  cudaMalloc => hipMalloc: 1" in out.lines


def test_ways_of_output_exclude_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_bytes(CUDA)
    with pytest.raises(ConfigError, match="--in-place and --compare|--output and --in-place"):
        Output().run(tmp_path, in_place=True, output=str(tmp_path / "x"))


def test_what_the_build_of_pytorch_translates_is_named(tmp_path: Path) -> None:
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "a.cu").write_bytes(b'#include "a.cuh"\n' + CUDA)
    (tmp_path / "csrc" / "a.cuh").write_bytes(CUDA)
    (tmp_path / "csrc" / "bench.cu").write_bytes(CUDA)
    setup = "from torch.utils.cpp_extension import CUDAExtension\nsources = ['csrc/a.cu']\next = CUDAExtension('x', sources)\n"
    (tmp_path / "setup.py").write_text(setup + "# csrc/bench.cu\n")
    out = Output()
    out.run(tmp_path)
    at = next(n for n, line in enumerate(out.lines) if "torch.utils.hipify" in line)
    assert out.lines[at + 1 :] == ["  csrc/a.cu", "  csrc/a.cuh"]
    (tmp_path / "setup.py").write_text("from torch.utils import cpp_extension\nx = 'csrc/a.cu'\n")
    out = Output()
    out.run(tmp_path)
    assert not any("torch" in line for line in out.lines)


def test_one_file_that_the_build_of_pytorch_translates_is_told(tmp_path: Path) -> None:
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "a.cu").write_bytes(CUDA)
    (tmp_path / "csrc" / "b.cu").write_bytes(CUDA)
    (tmp_path / "setup.py").write_text("from torch.utils.cpp_extension import CUDAExtension\nx = CUDAExtension('x', ['csrc/a.cu'])\n")
    said = {}
    for name in ("a.cu", "b.cu"):
        out = Output()
        out.run(tmp_path / "csrc" / name)
        said[name] = any(line.startswith("setup.py: on ROCm, PyTorch's build") for line in out.lines)
    assert said == {"a.cu": True, "b.cu": False}


@pytest.mark.parametrize(
    ("defines", "kept"),
    [((), False), (("NO_GRAPHS",), True), (("NO_GRAPHS=0",), False), (("OTHER",), False), (("USE_ROCM", "NO_GRAPHS=1"), True)],
)
def test_code_that_a_macro_of_the_build_leaves_out_stays(tmp_path: Path, defines: tuple[str, ...], kept: bool) -> None:
    (tmp_path / "a.cu").write_bytes(b"#if !NO_GRAPHS\nvoid f() { cudaFree(0); }\n#endif\nvoid g() { cudaFree(0); }\n")
    out = Output()
    out.run(tmp_path / "a.cu", defines=defines)
    assert (b"f() { cudaFree" in out.data) == kept and b"g() { hipFree" in out.data


def test_a_stand_in_for_old_nvidia_gpus_is_none_for_amd() -> None:
    own = "{}inline __device__ __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {{ return t; }}\n{}"
    use = "__device__ void f() { v = make_bfloat162(a, b); }\n"
    guarded = own.format("#if __CUDA_ARCH__ < 800 && defined(__CUDA_ARCH__)\n", "#endif\n")
    assert not hits(own.format("", "") + use)
    assert [(hit.subject, hit.span.line) for hit in hits(guarded + use) if hit.live is not Live.NO] == [("make_bfloat162", 4)]
