"""Commands that scripts put together before they run them: Python lists, shell arrays, variables that hold a command."""

from __future__ import annotations

import pytest

from porter.model import Fact, SourceFile
from porter.parse import python, shell

PYTHON = b"""
import subprocess

def build(source, out):
    cmd = ["nvcc", "-O3"]
    cmd += ["-arch=sm_80", source]
    cmd.extend(["-lineinfo"])
    cmd.append("--use_fast_math")
    cmd = cmd + ["-maxrregcount=64"] + source
    subprocess.check_call(cmd)

def profile(binary):
    line = "nsys profile -o out " + binary
    subprocess.run(line + " --more", shell=True)

class Engine:
    def go(self):
        self.cmd = ["trtexec", "--onnx=a.onnx"]
        subprocess.run(self.cmd)
"""
SHELL = b"""
CMD=(nvcc -O3)
CMD+=(
  -arch=sm_80
)
"${CMD[@]}" a.cu -o a
pkgs=(torch==2.1.0+cu118 cupy-cuda12x)
pip install "${pkgs[@]}"
PROF="nsys profile -o x"
$PROF ./a
"""


def named(facts: list[Fact], kind: str) -> list[tuple[str, int]]:
    return [(fact.name, fact.span.line) for fact in facts if fact.kind == kind]


def test_lists_that_a_variable_gathers_are_commands() -> None:
    facts = python.parse(SourceFile("build.py", "python", PYTHON)).facts
    assert named(facts, "command") == [("nvcc", 5), ("nsys profile", 13), ("trtexec", 18)]
    flags = named(facts, "command_flag")
    assert ("nvcc -arch=sm_80", 6) in flags
    assert ("nvcc -lineinfo", 7) in flags
    assert ("nvcc --use_fast_math", 8) in flags
    assert ("nvcc -maxrregcount=64", 9) in flags


@pytest.mark.parametrize(
    "body",
    [
        b'    names = ["nsys", "ncu"]\n    print(names)\n',  # never run
        b'    cmd = ["nsys", "-o"]\n    cmd = other()\n    subprocess.run(cmd)\n',  # set anew before
        b'    cmd = ["nsys", "-o"]\n    cmd = other() + cmd\n    subprocess.run(cmd)\n',  # another word comes first
        b'    cmd = ["nsys", "-o"]\n\ndef g(cmd):\n    subprocess.run(cmd)\n',  # another function's
        b'    cmd = [tool(), "nsys"]\n    subprocess.run(cmd)\n',  # nobody knows what runs
        b'    cmd = ["nsys"]\n    subprocess.run(["echo", cmd])\n',
    ],
)
def test_lists_that_are_not_run_are_no_commands(body: bytes) -> None:
    facts = python.parse(SourceFile("a.py", "python", b"import subprocess\n\ndef f():\n" + body)).facts
    assert not [name for name, _ in named(facts, "command") if name.startswith("nsys")]


def test_arrays_and_variables_of_a_shell_are_commands_where_they_run() -> None:
    facts = shell.parse(SourceFile("build.sh", "shell", SHELL)).facts
    assert [item for item in named(facts, "command") if item[0] in ("nvcc", "nsys profile")] == [("nvcc", 6), ("nsys profile", 10)]
    assert {(fact.name, fact.span.line) for fact in facts if fact.kind == "requirement"} == {("torch", 8), ("cupy-cuda12x", 8)}


def test_an_array_without_its_parenthesis_ends_at_the_end_of_the_statement() -> None:
    facts = shell.parse(SourceFile("a.sh", "shell", b"A=(x y; nvcc a.cu\nnvcc -O3 b.cu\n")).facts
    assert [item for item in named(facts, "command") if item[0] == "nvcc"] == [("nvcc", 1), ("nvcc", 2)]


@pytest.mark.parametrize(
    "text", [b'tools=(nvidia-smi nsys)\necho "${tools[@]}"\n', b"A=(nsys\n", b"A=()\n${A[@]} x\n", b'B="nsys `date`"\n$B\n']
)
def test_arrays_that_nobody_runs_are_no_commands(text: bytes) -> None:
    facts = shell.parse(SourceFile("a.sh", "shell", text)).facts
    assert not [name for name, _ in named(facts, "command") if name.startswith(("nsys", "nvidia"))]
