"""What counts as tests: words of paths, tests that CMake registers, and what the report then says and charges."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from conftest import scanned

from porter import tested
from porter.model import Report, SourceFile
from porter.parse import make

KERNEL = "__global__ void k(float* x) { x[threadIdx.x] = 1; }\nint main() { k<<<1, 64>>>(nullptr); }\n"
CMAKE = "project(k LANGUAGES CUDA)\nadd_executable(k k.cu)\n"


def kernel_and(folder: Path, **files: str) -> Report:
    return scanned(folder, **{"k_DOT_cu": KERNEL, **files})


def said(report: Report) -> tuple[bool, bool, str]:
    """Whether existing tests are charged, whether the grade misses them, and the commands of the tests' step."""
    lines = any("existing tests" in line.label for line in report.estimate.lines)
    missed = any("no test files" in reason for reason in report.estimate.grade_reasons)
    return lines, missed, " ".join(command for step in report.runbook if step.id == "tests" for command in step.commands)


@pytest.mark.parametrize(
    "call", ["add_test(NAME t COMMAND k)", "gtest_discover_tests(k)", "if(BUILD_TESTS)\n  catch_discover_tests(k)\nendif()"]
)
def test_tests_that_cmake_registers_are_tests(tmp_path: Path, call: str) -> None:
    """Their sources may be called anything: only the files' names were looked at."""
    lines, missed, commands = said(kernel_and(tmp_path, CMakeLists_DOT_txt=f"{CMAKE}{call}\n"))
    assert lines and not missed and commands == "ctest --test-dir build-amd --output-on-failure"


def test_what_cmake_registers_for_nvidia_alone_and_words_that_hold_test_are_none(tmp_path: Path) -> None:
    nvidia = "if(NOT USE_HIP)\n  add_test(NAME t COMMAND k)\nendif()\n"
    hip = "option(USE_HIP)\nif(USE_HIP)\n  enable_language(HIP)\nendif()\n"
    files = {"src__latest_DOT_cpp": "#include <cuda_runtime.h>\n", "CMakeLists_DOT_txt": CMAKE + hip + nvidia}
    lines, missed, commands = said(kernel_and(tmp_path, **files))
    assert not lines and missed and commands.startswith("# no tests were found") and "compare them with those of the baseline" in commands


def test_ctest_in_a_script_a_makefile_target_and_files_that_nothing_runs(tmp_path: Path) -> None:
    workflow = "on: push\njobs:\n  t:\n    runs-on: ubuntu-latest\n    steps:\n      - run: ctest --test-dir build\n"
    assert said(kernel_and(tmp_path / "ci", CMakeLists_DOT_txt=CMAKE, _DOT_github__workflows__t_DOT_yml=workflow))[2].startswith("ctest")
    made = said(kernel_and(tmp_path / "make", Makefile="k: k.cu\n\tnvcc -o k k.cu\n\ncheck: k\n\t./k\n"))
    assert made[0] and made[2] == "make check"
    lines, missed, commands = said(kernel_and(tmp_path / "files", tests__t_DOT_cu=KERNEL, CMakeLists_DOT_txt=CMAKE))
    assert lines and not missed and commands.startswith("# test files were found, and nothing that runs them")


def test_the_words_of_a_path_decide() -> None:
    yes = ("tests/a.py", "src/FooTest.cpp", "test_x.py", "x_test.cu", "gtest/a.cc", "unittests/m.cpp", "a/conftest.py")
    no = ("latest.py", "contest/a.cu", "src/attestation.cpp", "fastest/x.py", "tests/readme.md")
    assert [path for path in yes if not tested.is_test(path, _kind(path))] == []
    assert [path for path in no if tested.is_test(path, _kind(path))] == []


def _kind(path: str) -> str:
    return {"py": "python", "cu": "cuda", "cc": "cxx", "cpp": "cxx"}.get(path.rsplit(".", 1)[-1], "")


@pytest.mark.parametrize(
    ("line", "runs"),
    [("all test: k", True), ("test::", True), ("test := k", False), ("latest: k", False), ("X = test:", False), ("test " * 200_000, False)],
)
def test_the_target_of_a_makefile_that_runs_tests(line: str, runs: bool) -> None:
    started = time.process_time()
    facts = make.parse(SourceFile("Makefile", "make", f"k: k.cu\n{line}\n".encode())).facts
    assert any(fact.kind == "test_runner" for fact in facts) == runs
    assert time.process_time() - started < 3
