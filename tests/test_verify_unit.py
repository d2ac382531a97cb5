"""One unit under a compiler: linking, device code across files, headers that are broken by themselves, hostile input."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from conftest import missing, need_tool

from porter.verify import compilers, run, sandbox
from porter.verify.build_macros import given_by_build
from porter.verify.compilers import Compiler, Headers
from porter.verify.messages import Raw, Said, understand
from porter.verify.sources import Sources
from porter.verify.values import FileResult, Verification

TARGET = "gfx90a"
KERNEL = "#include <cuda_runtime.h>\n__global__ void k(int* p) { p[0] = 1; }\nint main() { cudaFree(0); }\n"


def stand_in(folder: Path, body: str, kind: str = "rocm", runtime: str = "/usr/lib") -> Compiler:
    """A compiler made of Python: ``text`` is what the unit holds, ``linking`` whether it is asked to link."""
    program = folder / "fakecc"
    start = "import sys\ntext = open(sys.argv[-1]).read()\nlinking = '-shared' in sys.argv\n"
    program.write_text(f"#!{sys.executable}\n{start}rdc = '-fgpu-rdc' in sys.argv\nif 'void probe' in text: sys.exit(0)\n{body}")
    program.chmod(0o755)
    return Compiler("fakecc", str(program), "99", kind, Headers("/usr/include", "7.1"), runtime)


def verified(root: Path, compiler: Compiler, **texts: str) -> Verification:
    root.mkdir(exist_ok=True)
    for name, text in texts.items():
        (root / f"{name}.cu").write_text(text)
    return run.verify(run.Request(root, (TARGET,), jobs=1, timeout=60), [compiler], lambda *_: ())


def only(done: Verification) -> FileResult:
    assert len(done.files) == 1
    return done.files[0]


@pytest.mark.parametrize(
    ("said", "code", "rung", "errors"),
    [
        ("", 0, "links", 0),
        ("x.o: warning: undefined reference to `hipblasCreate'\nld.lld: warning: undefined symbol: _Z5otheri", 0, "links", 0),
        ("x.o: warning: undefined reference to `hipGraphNew'\nld.lld: warning: undefined symbol: hipGraphNew", 0, "compiles", 1),
        ("ld: cannot find -lamdhip64", 1, "compiles", 0),
    ],
)
def test_a_unit_links_when_only_other_libraries_names_are_open(tmp_path: Path, said: str, code: int, rung: str, errors: int) -> None:
    done = verified(tmp_path / "p", stand_in(tmp_path, f"if linking: print({said!r}); sys.exit({code})\n"), a=KERNEL)
    assert only(done).rung == rung and len(done.errors) == errors
    assert bool(only(done).note) == bool(code)


@pytest.mark.parametrize(("kind", "runtime"), [("rocm", ""), ("clang", "/usr/lib"), ("clang", "")])
def test_nothing_links_without_the_libraries(tmp_path: Path, kind: str, runtime: str) -> None:
    done = verified(tmp_path / "p", stand_in(tmp_path, "assert not linking\n", kind, runtime), a=KERNEL)
    assert only(done).rung == "compiles"
    assert ("nothing links" in done.compilers[TARGET]) == (kind == "clang")


def test_device_code_of_another_file_is_no_error(tmp_path: Path) -> None:
    body = "if not rdc: print('ld.lld: error: undefined hidden symbol: twice(float)'); sys.exit(1)\nassert not linking\n"
    done = verified(tmp_path / "p", stand_in(tmp_path, body), a=KERNEL)
    assert only(done).rung == "compiles" and "-fgpu-rdc" in only(done).note and not done.errors


def test_a_header_that_is_broken_by_itself_is_the_machines_fault(tmp_path: Path) -> None:
    head = "In file included from {0}:2:\n/usr/include/rand.h:7:1: error: unknown type name 'gen' [Semantic Issue]"
    own = "{0}:3:1: error: unknown type name 'mine' [Semantic Issue]"
    body = f"print({head!r}.format(sys.argv[-1]))\nif 'main' in text: print({own!r}.format(sys.argv[-1]))\nsys.exit(1)\n"
    done = verified(tmp_path / "p", stand_in(tmp_path, body), a=KERNEL.replace("cuda_runtime.h", "rand.h"))
    assert [error.message for error in done.errors] == ["unknown type name 'mine'"]
    assert only(done).rung in ("seen", "converted") and "<rand.h> does not compile on its own here" in only(done).note
    # The same error where the header alone compiles is the project's: it lies at the line that includes the header.
    body = body.replace('print("In', "if 'main' in text: print(\"In", 1).replace("sys.exit(1)", "sys.exit('main' in text)")
    done = verified(tmp_path / "p", stand_in(tmp_path, body), a=KERNEL.replace("cuda_runtime.h", "rand.h"))
    assert [(error.path, error.line) for error in done.errors] == [("a.cu", 1), ("a.cu", 2)]


def test_the_includes_that_lead_to_a_header_hold_for_every_error_in_it() -> None:
    text = (
        "In file included from a.cu:4:\nIn file included from /usr/include/x.h:2:\n/usr/include/y.h:1:1: error: one [Parse Issue]\n"
        "/usr/include/y.h:2:1: error: two [Parse Issue]\nb.cu:1:1: error: three [Parse Issue]\n"
        "/usr/include/z.h:1:1: error: four [Parse Issue]\n"
    )
    assert [error.places for error in understand(text, "/tmp/s", ("/usr/include/",)).errors] == [(("a.cu", 4),), (("a.cu", 4),), (), ()]


@pytest.mark.parametrize("path", ["/etc/passwd", "../../../../etc/passwd", "/proc/self/environ"])
def test_a_file_that_the_assembler_read_is_not_quoted(path: str) -> None:
    text = f". /usr/include/hip/hip_runtime.h\n{path}:1:12: error: symbol 'root' is already defined\nIncluded from <inline asm>:1:\n"
    said = understand(text, "/tmp/s", ("/usr/include/",))
    assert said.outside and not said.errors


def need_hipcc() -> Compiler:
    """The distribution's hipcc with its runtime library, or a skip."""
    need_tool("hipcc")
    found = [one for one in compilers.find_all("", {"PATH": os.environ["PATH"]}) if one.can_link]
    if not found:
        missing("hipcc is here without HIP's runtime library")
    return found[0]


@pytest.mark.needs_tool
def test_a_real_hipcc_links(tmp_path: Path) -> None:
    done = verified(tmp_path / "p", need_hipcc(), good=KERNEL)
    assert (only(done).rung, only(done).note) == ("links", "") and not done.errors
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["good.cu", "p"]


def test_a_program_cannot_write_more_than_its_limit(tmp_path: Path) -> None:
    code = f"open('x', 'wb').truncate({sandbox.FILE_SIZE + 1})"
    assert sandbox.run([sys.executable, "-c", code], tmp_path, 20).code != 0


@pytest.mark.parametrize("name", ["a$(touch x)", "b`touch x`;"])
def test_a_script_gets_no_name_that_a_shell_reads(tmp_path: Path, name: str) -> None:
    compiler = stand_in(tmp_path, "raise SystemExit('called')\n")
    script = tmp_path / "hipcc"
    script.write_bytes((tmp_path / "fakecc").read_bytes())
    script.chmod(0o755)
    as_script = Compiler("hipcc", str(script), "5.2", "rocm", compiler.headers, compiler.runtime)
    done = verified(tmp_path / "p", as_script, **{name: KERNEL})
    assert only(done).rung == "converted" and "calls a shell" in only(done).note and not done.errors
    (tmp_path / "p" / f"{name}.cu").unlink()
    (tmp_path / "p" / "compile_commands.json").write_text(
        '[{"directory": "", "file": "fine.cu", "arguments": ["nvcc", "-DA=$(touch x)", "@response", "-fplugin=x.so", "-o", "../out"]}]'
    )
    assert "calls a shell" in only(verified(tmp_path / "p", as_script, fine=KERNEL)).note
    assert not only(verified(tmp_path / "p", stand_in(tmp_path, ""), fine=KERNEL)).note
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fakecc", "hipcc", "p"]


@pytest.mark.parametrize("path", ["%s%n.cu", "-o.cu", "@file.cu", "-fplugin=x.so.cu", "a b.cu"])
def test_a_name_is_never_an_option(tmp_path: Path, path: str) -> None:
    compiler = stand_in(tmp_path, "assert sys.argv[-1] == './" + path + "'\n", runtime="")
    done = verified(tmp_path / "p", compiler, **{path.removesuffix(".cu"): KERNEL})
    assert only(done).rung == "compiles", only(done).note


def test_names_that_no_line_can_hold_and_folders_in_circles_are_left_out(tmp_path: Path) -> None:
    root = tmp_path / "p"
    (root / "a").mkdir(parents=True)
    (root / "a" / "back").symlink_to(root)
    (root / "new\nline.cu").write_text(KERNEL)
    (root / "a" / "x.cu").write_text(KERNEL)
    done = verified(root, stand_in(tmp_path, "", runtime=""))
    assert [file.path for file in done.files] == ["a/x.cu"]


@pytest.mark.needs_tool
def test_a_real_clang_is_stopped_where_an_include_never_ends(tmp_path: Path) -> None:
    need_tool("clang++-19", "clang++-20", "clang++-21")
    program = next(path for name in ("clang++-19", "clang++-20", "clang++-21") if (path := compilers.find_program(name, os.environ)))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.cpp").write_text(f'#include "{tmp_path}/pipe"\n')
    said = sandbox.run([str(program), "-fsyntax-only", "a.cpp"], tmp_path, 1)
    assert said.code != 0


def judged(message: str, text: str) -> tuple[str, ...]:
    """The macros of the build in a text of which a compiler said this; every error stays where there is none."""
    said = Said((Raw("a.cu", 2, 1, "type", message),), frozenset({"a.cu"}), False)
    left, macros = given_by_build(said, Sources({"a.cu": text.encode()}, {"a.cu": text.encode()}, {}))
    assert bool(left.errors) != bool(macros)
    return macros


def test_a_unit_that_waits_for_a_macro_says_so(tmp_path: Path) -> None:
    words = "./a.cu:2:1: error: use of undeclared identifier 'BF' [Semantic Issue]"
    done = verified(tmp_path / "p", stand_in(tmp_path, f"print({words!r}); sys.exit(1)\n"), a="__global__ void k() {}\nint n = 3 * BF;\n")
    assert not done.errors and only(done).rung == "converted"
    assert only(done).note == "the build gives BF, which nothing here defines; --define does"


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("float w[BF]; f(a, BF, 2); int n = i * BF; return BF;", True),
        ("// int BF = 3;", True),
        ("int n = BF(3);", False),
        ("int BF = 3;", False),
        ("int a, *BF;", False),
        ("half2 *BF;", False),
        ("Vector<int> BF{1};", False),
        ("template <int BF> struct A;", False),
        ("#define BF 3", False),
        ("enum { AF, BF };", False),
        ("auto [a, BF] = f();", False),
    ],
)
def test_a_name_that_nothing_declares_is_the_builds(line: str, given: bool) -> None:
    assert judged("use of undeclared identifier 'BF'", f"__global__ void k(int* p) {{}}\n{line}\n") == (("BF",) if given else ())


@pytest.mark.parametrize(
    ("head", "macros"),
    [
        ("#if PRECISION == 1\ntypedef float Real;\n#elif PRECISION == 2\ntypedef double Real;\n#endif\n", "PRECISION"),
        ("#ifdef WIDE\nusing Real = double;\n#endif\n", "WIDE"),
        ("#define WIDE 1\n#ifdef WIDE\nusing Real = double;\n#endif\n", ""),
        ("#ifndef NARROW\nusing Real = double;\n#endif\n", ""),
        ("#ifdef __CUDACC__\nusing Real = double;\n#endif\n", ""),
        ("#ifdef WIDE\nusing Real = double;\n#endif\nstruct S { struct Real {}; };\n", ""),
        ("// typedef float Real;\n", ""),
    ],
)
def test_a_type_that_a_macro_of_the_build_decides_over_is_no_error(head: str, macros: str) -> None:
    assert judged("unknown type name 'Real'", head + KERNEL) == tuple(filter(None, [macros]))


def test_a_name_of_cuda_or_c_is_never_the_builds(tmp_path: Path) -> None:
    words = "./a.cu:1:1: error: use of undeclared identifier '{}' [Semantic Issue]"
    body = "".join(f"print({words.format(name)!r})\n" for name in ("cudaNewThing", "__nanosleep", "hipFoo", "FLT_MAX", "M_PI", "INT32_MAX"))
    done = verified(tmp_path / "p", stand_in(tmp_path, body + "sys.exit(1)\n"), a=KERNEL)
    assert [error.message[30:-1] for error in done.errors] == ["FLT_MAX", "INT32_MAX", "M_PI", "__nanosleep", "cudaNewThing", "hipFoo"]


def test_what_headers_under_the_macro_would_declare_says_nothing_of_the_port() -> None:
    """As nvdiffrast has it: one macro of the build brings PyTorch's headers, <string.h> among theirs, and the project's own check."""
    text = b"#ifdef NVDR_TORCH\n#include <torch/extension.h>\n#define NVDR_CHECK(x) (x)\n#endif\n"
    text += b"void f(const torch::Tensor t) { NVDR_CHECK(1); memset(t); }\n"
    kinds = {
        "use of undeclared identifier 'NVDR_CHECK'": "type", "use of undeclared identifier 'torch'": "type",
        "no matching function for call to 'memset'": "type", "expected ';' after top level declarator": "syntax",
        "invalid instruction": "backend",
    }  # fmt: skip
    said = Said(tuple(Raw("a.cu", 5, 1, kind, message) for message, kind in kinds.items()), frozenset({"a.cu"}), False)
    left, macros = given_by_build(said, Sources({"a.cu": text}, {"a.cu": text}, {}))
    assert macros == ("NVDR_TORCH",)
    assert [error.text for error in left.errors] == ["invalid instruction"]


def test_a_macro_that_hides_no_header_excuses_only_its_own_name() -> None:
    text = b"#include <string.h>\n#ifdef NVDR_TORCH\n#define NVDR_CHECK(x) (x)\n#endif\nvoid f(T t) { NVDR_CHECK(1); memset(t); }\n"
    messages = ("use of undeclared identifier 'NVDR_CHECK'", "no matching function for call to 'memset'")
    said = Said(tuple(Raw("a.cu", 5, 1, "type", message) for message in messages), frozenset({"a.cu"}), False)
    left, macros = given_by_build(said, Sources({"a.cu": text}, {"a.cu": text}, {}))
    assert macros == ("NVDR_TORCH",)
    assert [error.text for error in left.errors] == [messages[1]]


def test_a_program_in_a_relative_folder_of_the_path_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "porter-no-such-compiler"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert compilers.find_program(tool.name, {"PATH": f".{os.pathsep}"}) is None
    assert compilers.find_program(tool.name, {"PATH": str(tmp_path)}) == tool
