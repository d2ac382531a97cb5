"""Verification: the ladder, the way back to CUDA lines, what predicts an error, and hostile input."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import ROOT, missing, need_tool

from porter.cli import main
from porter.config import DEFAULT_TARGETS, Config
from porter.errors import ConfigError, InputError
from porter.hipify import convert
from porter.hipify.difference import line_map
from porter.model import Action, Confidence, Finding, Severity
from porter.source_tree import SourceTree
from porter.verify import build, fallback, project, render, run, sandbox, sources
from porter.verify.compilers import Compiler, Headers, find_all
from porter.verify.messages import understand
from porter.verify.predict import Predictor
from porter.verify.values import CompilerError, Verification

TARGET = "gfx942"


def stand_in(folder: Path, body: str) -> list[Compiler]:
    """A compiler made of Python: ``unit`` is the source it is given, ``text`` what it holds."""
    program = folder / "fakecc"
    start = f"#!{sys.executable}\nimport sys, os\nunit = sys.argv[-1]\ntext = open(unit).read()\nif 'probe' in text: raise SystemExit(0)\n"
    program.write_text(start + body)
    program.chmod(0o755)
    return [Compiler("fakecc", str(program), "99", "clang", Headers(str(folder / "hip7"), "7.1"))]


def project_of(folder: Path, **files: str) -> Path:
    root = folder / "project"
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_cuh", ".cuh").replace("_cu", ".cu")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def finding(path: str, line: int, message: str = "", rule: str = "some-rule") -> Finding:
    return Finding(
        rule, "c", Severity.MAJOR, Confidence.HIGH, Action.EDIT, path, line, 1, line, 9, "", message, None, (TARGET,)
    )  # fmt: skip


def verified(root: Path, found: list[Compiler], *findings: Finding, **options: object) -> Verification:
    return run.verify(run.Request(root, (TARGET,), jobs=1, **options), found, lambda *_: findings)  # type: ignore[arg-type]


def test_lines_lead_back_to_the_cuda_text() -> None:
    before = b"// head\n#include <cuda.h>\n#include <cuda_runtime.h>\n\nint a;\ncudaFree(p);\nint b;\n"
    after = convert(before).output
    lines = line_map(before, after)
    for number, line in enumerate(after.split(b"\n"), 1):
        if line in (b"int a;", b"int b;", b"hipFree(p);"):
            assert before.split(b"\n")[lines[number] - 1].replace(b"cuda", b"hip") == line
    assert line_map(b"a\nb\n", b"x\na\nb\n")[2:4] == [1, 2]


def test_messages_are_taken_apart() -> None:
    text = (
        ". /usr/include/hip/hip_runtime.h\n. ./k/a.h\nIn file included from k/m.cu:3:\n"
        "/usr/include/hip/x.h:9:3: error: static assertion failed [Semantic Issue]\n"
        "k/m.cu:7:4: note: in instantiation of function template specialization 'f<int>' requested here\n"
        "k/m.cu:8:1: error: expected ';' [Parse Issue]\n"
        "k/m.cu:1:10: fatal error: 'boost/x.hpp' file not found [Lexical or Preprocessor Issue]\n"
        "ld.lld: error: undefined symbol: f\n2 errors generated.\n"
    )
    said = understand(text, "/tmp/s", ("/usr/include/",))
    assert [(e.kind, e.path, e.line) for e in said.errors] == [
        ("type", "/usr/include/hip/x.h", 9), ("syntax", "k/m.cu", 8), ("include", "k/m.cu", 1), ("link", "", 0),
    ]  # fmt: skip
    assert said.errors[0].places == (("k/m.cu", 7), ("k/m.cu", 3))
    assert said.errors[2].header == "boost/x.hpp"
    assert said.read == {"k/a.h"} and not said.outside


def test_headers_of_another_hip_prove_nothing_against_a_file() -> None:
    text = (
        ". /h7/hip/hip_runtime.h\n. /usr/include/hip/hip_cooperative_groups.h\n.. /usr/include/hip/amd_detail/x.h\n"
        "/usr/include/hip/amd_detail/x.h:1:2: error: use of undeclared identifier 'assert' [Semantic Issue]\n"
        "m.cu:16:1: error: ISO C++17 does not allow 'register' storage class specifier [-Wregister,Semantic Issue]\n"
    )
    said = understand(text, "/tmp/s", ("/usr/include/", "/h7/"), "/h7")
    assert [(e.path, e.kind) for e in said.errors] == [("m.cu", "type")]
    assert said.foreign == ("hip/amd_detail/x.h", "hip/hip_cooperative_groups.h") and not said.outside


def test_rungs_and_errors_come_back_to_their_file(tmp_path: Path) -> None:
    body = (
        "print('. ./a.cuh')\n"
        "bad = {'m.cu': 'Semantic', 's.cu': 'Parse', 'b.cu': 'Backend', 'g.cu': ''}[os.path.basename(unit)]\n"
        "line = next((n for n, l in enumerate(text.split(chr(10)), 1) if 'hipFree' in l), 1)\n"
        "if bad: print(f'{unit}:{line}:3: error: no luck [{bad} Issue]'); sys.exit(1)\n"
    )
    text = '#include <cuda_runtime.h>\n#include <cuda.h>\n#include "a.cuh"\nvoid f() { cudaFree(0); }\n'
    root = project_of(tmp_path, m_cu=text, s_cu=text, b_cu=text, g_cu=text, a_cuh="inline void g() { cudaFree(0); }\n")
    done = verified(root, stand_in(tmp_path, body), finding("m.cu", 4))
    assert {file.path: file.rung for file in done.files} == {
        "m.cu": "parses", "s.cu": "converted", "b.cu": "type-checks", "g.cu": "compiles", "a.cuh": "compiles",
    }  # fmt: skip
    assert {(e.path, e.line, e.rule) for e in done.errors} == {("m.cu", 4, "some-rule"), ("s.cu", 4, ""), ("b.cu", 4, "")}
    assert done.predicted == 1
    assert "unpredicted: 2" in render.as_text(done)
    summary = json.loads(render.as_json(done))["summary"]
    assert summary["rungs"][TARGET] == {"seen": 0, "converted": 1, "parses": 1, "type-checks": 1, "compiles": 1, "links": 0}


def test_a_missing_include_costs_the_rung_and_is_no_error(tmp_path: Path) -> None:
    body = "name = text.split('<')[2].split('>')[0]\n"
    body += "print(f\"{unit}:2:10: fatal error: '{name}' file not found [Lexical or Preprocessor Issue]\"); sys.exit(1)\n"
    first = "#include <cuda_runtime.h>\n#include <{}>\nvoid f() {{ cudaFree(0); }}\n"
    root = project_of(tmp_path, a_cu=first.format("boost/any.hpp"), b_cu=first.format("nvshmem.h"), c_cu=first.format("cublas_v2.h"))
    done = verified(root, stand_in(tmp_path, body), finding("b.cu", 2, rule="nvshmem"), finding("c.cu", 2, rule="cublas"))
    assert {f.path: (f.rung, f.missing) for f in done.files} == {
        "a.cu": ("converted", ("boost/any.hpp",)), "b.cu": ("converted", ("nvshmem.h",)), "c.cu": ("converted", ("hipblas/hipblas.h",)),
    }  # fmt: skip
    assert [(e.path, e.rule) for e in done.errors] == [("b.cu", "nvshmem")]
    assert "not on this machine: boost/any.hpp" in render.as_text(done)


@pytest.mark.parametrize(
    ("message", "how"),
    [
        ("use of undeclared identifier 'cuGreenCtxCreate'", "name"),
        ("unknown type name 'handle'", "follows"),
        ("no matching function for call to 'instead'", ""),
        ("use of undeclared identifier 'other'", ""),
    ],
)
def test_what_predicts_an_error(message: str, how: str) -> None:
    texts = {"a.cu": b"CUgreenCtx handle;\n\n\n"}
    told = finding("a.cu", 1, "cuGreenCtxCreate has no HIP name; instead: streams")
    errors = [
        CompilerError("a.cu", 1, 1, "type", "unknown type name 'CUgreenCtx'", ("a.cu",)),
        CompilerError("a.cu", 3, 1, "type", message, ("a.cu",)),
    ]
    first, second = Predictor([told], texts).apply(errors, {})
    assert (first.how, second.how) == ("line", how)


def test_without_a_compiler_a_file_parses_at_most(tmp_path: Path) -> None:
    root = project_of(tmp_path, a_cu="__global__ void k(int* p) { p[0] = 1; }\nvoid f(int* p) { k<<<1, 64>>>(p); }\n", b_cu="void f( {\n")
    done = verified(root, [])
    assert {file.path: file.rung for file in done.files} == {"a.cu": "parses", "b.cu": "converted"}
    assert "no compiler for HIP" in done.notes[0]
    assert fallback.parses(b"int x;\n") and not fallback.parses(b"int x")


@pytest.mark.parametrize("read", [". /etc/passwd", ". ./../../../../../etc/passwd", ".. /etc/shadow"])
def test_a_message_that_could_quote_a_file_outside_is_not_shown(tmp_path: Path, read: str) -> None:
    body = f"print({read!r}); print(f\"{{unit}}:1:1: error: unknown type name 'root' [Semantic Issue]\"); sys.exit(1)\n"
    root = project_of(tmp_path, a_cu='#include "/etc/passwd"\n')
    done = verified(root, stand_in(tmp_path, body))
    assert not done.errors and "'root'" not in render.as_json(done)
    assert "outside the repository" in done.files[0].note


@pytest.mark.parametrize("text", ["#embed </etc/passwd>\n", '# /* \n */ em\\\nbed "x"\n', '%: embed "/etc/passwd"\n'])
def test_no_message_where_a_file_embeds_others(tmp_path: Path, text: str) -> None:
    body = "print(f'{unit}:1:1: error: static assertion failed [Semantic Issue]'); sys.exit(1)\n"
    done = verified(project_of(tmp_path, a_cu=text, b_cu="// embed\nint a;\n"), stand_in(tmp_path, body))
    assert not done.errors
    root = tmp_path / "plain"
    root.mkdir()
    (root / "b.cu").write_text('// #embed x\nint embed = 1; auto s = R"(\n#embed x)";\n')
    assert not sources.gather(root, "").embeds


def test_links_and_devices_are_not_read(tmp_path: Path) -> None:
    root = project_of(tmp_path, a_cu="int a;\n")
    (root / "b.cu").symlink_to("/etc/passwd")
    (root / "c").symlink_to("/etc")
    os.mkfifo(root / "d.cu")
    assert list(sources.gather(root, "").before) == ["a.cu"]


def test_the_sandbox_limits_time_output_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    python = sys.executable
    assert sandbox.run([python, "-c", "import time; time.sleep(60)"], tmp_path, 0.5).stopped == "stopped after 0.5 s"
    assert "wrote more than" in sandbox.run([python, "-c", "while True: print('x' * 99999)"], tmp_path, 20).stopped
    said = sandbox.run([python, "-c", "import os; print(sorted(os.environ), os.getcwd())"], tmp_path, 20)
    assert said.code == 0 and "SECRET" not in said.text and str(tmp_path) in said.text
    hungry = sandbox.run([python, "-c", "x = bytearray(1 << 33)"], tmp_path, 20)
    assert hungry.code not in (0, None)
    assert sandbox.run([str(tmp_path / "none")], tmp_path, 5).code != 0


def test_settings_come_from_the_database_but_not_whole(tmp_path: Path) -> None:
    root = project_of(tmp_path, src__a_cu="int a;\n")
    command = "nvcc -I../inc -I /etc -isystem /usr/include/x -DN=3 -D M -std=c++20 -Xclang -load -fplugin=evil.so -include /etc/passwd a.cu"
    entries = [{"directory": str(root / "src"), "file": "a.cu", "command": command}, {"file": 3}, 7]
    (root / "compile_commands.json").write_text(json.dumps(entries))
    settings = build.database(root)["src/a.cu"]
    assert settings.options() == ["-std=c++20", "-DN=3", "-DM", "-Iinc", "-I/usr/include/x"]
    (root / "compile_commands.json").write_text("[" * 100_000)
    assert build.database(root) == {}


def test_folders_are_guessed_from_the_includes() -> None:
    files = {
        "src/a.cu": b'#include <lib/x.h>\n#include "b.h"\n#ifdef WITH_Y\n#endif\n', "src/b.h": b"",
        "third/include/lib/x.h": b'#include "deep/z.h"\n',
        "third/more/deep/z.h": b"",
    }  # fmt: skip
    tree = SourceTree(files)
    assert build.guess("src/a.cu", tree).folders == ("third/include", "third/more")
    assert build.flags(["-DWITH_Y", "-DOTHER", "-DWITH_CUDA_ARCH=80", "-DTWO=1", "-DTWO=2"], "src/a.cu", tree) == ("WITH_Y",)


def test_a_copy_of_a_header_of_the_system_gives_no_folder() -> None:
    files = {
        "src/a.cu": b"#include <stdint.h>\n#include <lib/stdint.h>\n", "third/msvc/stdint.h": b"#error for MSVC alone\n",
        "third/own/lib/stdint.h": b"",
    }  # fmt: skip
    assert build.guess("src/a.cu", SourceTree(files)).folders == ("third/own",)


def test_one_file_is_compiled_among_its_neighbours(tmp_path: Path) -> None:
    root = project_of(tmp_path, a_cu='#include "b.h"\nint a;\n', c_cu="int c;\n", **{"b.h": "int b;\n"})
    done = verified(root, stand_in(tmp_path, "assert os.path.exists('b.h')\n"), only="a.cu")
    assert [(file.path, file.rung) for file in done.files] == [("a.cu", "compiles")]
    assert set(sources.gather(root, "7.0", only="a.cu").after) == {"a.cu", "b.h"} and not sources.gather(root, "7.0", only="d.cu").after


def test_a_folder_that_cannot_be_read_is_named_as_all_else_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name began at the root of the machine."""
    (tmp_path / "sub").mkdir()
    scan = os.scandir

    def refused(folder: str) -> object:
        if str(folder).endswith("sub"):
            raise PermissionError(13, "Permission denied", str(folder))
        return scan(folder)

    monkeypatch.setattr(os, "scandir", refused)
    assert [problem.path for problem in sources.gather(tmp_path, "").problems] == ["sub"]


def test_wrong_paths_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        project.verify(tmp_path / "none", Config(), {})
    with pytest.raises(ConfigError):
        project.verify(tmp_path, Config(), {}, str(tmp_path))


@pytest.mark.needs_tool
def test_a_real_compiler_on_a_fixture(tmp_path: Path) -> None:
    need_tool("clang++-19", "clang++-20", "clang++-21")
    if not find_all("", os.environ) or not os.environ.get("PORTER_HIP_INCLUDE"):
        missing("PORTER_HIP_INCLUDE names no folder with the headers of HIP 7")
    (tmp_path / "passwd.cu").write_text('#include <cuda_runtime.h>\n#include "/etc/passwd"\n__global__ void k() {}\n')
    (tmp_path / "good.cu").write_text(
        "__global__ void k(float* p) { p[threadIdx.x] = sqrtf(p[0]); }\nint main() { k<<<1, 64>>>(nullptr); }\n"
    )
    for name in ("reduce.cu", "config.h"):
        (tmp_path / name).write_bytes((ROOT / "fixtures/repos/hpc-cmake/src" / name).read_bytes())
    done = CliRunner().invoke(main, ["verify", str(tmp_path), "--target", "gfx942", "--format", "json", "--jobs", "1"])
    assert done.exit_code == 0, done.output
    value = json.loads(done.output)
    assert {file["path"]: file["rung"] for file in value["files"] if file["unit"]} == {
        "good.cu": "compiles",
        "passwd.cu": "converted",
        "reduce.cu": "parses",
    }
    assert value["errors"] and all(error["predicted_by"] for error in value["errors"])
    assert "root" not in {word.strip("'\",") for word in done.output.split()}


def knows(folder: Path, *targets: str) -> list[Compiler]:
    """A compiler that makes code for these targets and for no other."""
    body = f"import sys\nknown = {targets!r}\nraise SystemExit(0 if any('--offload-arch=' + one in sys.argv for one in known) else 1)\n"
    (folder / "older").write_text(f"#!{sys.executable}\n{body}")
    (folder / "older").chmod(0o755)
    return [Compiler("older", str(folder / "older"), "17", "clang", Headers(str(folder / "hip7"), "7.1"))]


@pytest.mark.parametrize(
    ("known", "instead", "asked"),
    [
        (("gfx942", "gfx950", "gfx90a"), "gfx90a", ("gfx942", "gfx950")),
        (("gfx942", "gfx90a"), "gfx90a", ("gfx942", "gfx90a")),
        (("gfx90a",), "gfx90a", ("gfx90a",)),
        (("gfx942", "gfx90a"), "", ("gfx942", "gfx950")),  # both were named by the user
        (("gfx1100",), "gfx90a", ("gfx942", "gfx950")),
    ],
)
def test_verify_asks_for_the_targets_of_a_scan_as_far_as_compilers_know_them(
    tmp_path: Path, known: tuple[str, ...], instead: str, asked: tuple[str, ...]
) -> None:
    """porter verify had defaults of its own, so that what it said of the findings of a scan was said of another GPU."""
    root, predicted = project_of(tmp_path, k_cu="__global__ void k() {}\n"), []
    wanted = run.Request(root, DEFAULT_TARGETS, jobs=1, instead=instead)
    done = run.verify(wanted, knows(tmp_path, *known), lambda release, targets: predicted.append(targets) or ())
    assert done.targets == asked and predicted == [asked] and set(done.compilers) == set(asked)
    left = [target for target in DEFAULT_TARGETS if target not in asked]
    said = [note for note in done.notes if "takes the place of" in note]
    assert [f"gfx90a takes the place of {', '.join(left)}," in note for note in said] == [True] * bool(left)
    assert bool([note for note in done.notes if "the rung parses at most" in note]) == (set(known).isdisjoint(asked) or not instead)
