"""The interface to hipify-clang, before a stand-in that takes its options and answers as its sources of 2025-08 say."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from porter import doctor, hipify_command
from porter.errors import ToolError
from porter.hipify import clang

CUDA = b'#include "own.h"\nvoid f(void** p) { cudaMalloc(p, 4); }\n'
# Options as in ArgParse.cpp, with what main.cpp does with them: a copy in the temporary folder that stays behind after an error,
# status 1 and no output for errors of clang, and messages on standard error.
STAND_IN = r"""
import os, re, shutil, sys, tempfile
FLAGS = {"roc", "miopen", "experimental", "hip-kernel-execution-syntax", "cuda-kernel-execution-syntax", "versions", "inplace", "no-output"}
def error(words):
    print(words, file=sys.stderr)
    sys.exit(1)
words = sys.argv[1:]
own = words[: words.index("--")] if "--" in words else words
sources, folders, defines, values, given = [], [], [], {}, set()
at = 0
while at < len(own):
    word = own[at]
    name, _, value = word.lstrip("-").partition("=")
    if not word.startswith("-"):
        sources.append(word)
    elif word in ("-I", "-D"):
        at += 1
        (folders if word == "-I" else defines).append(own[at])
    elif name in ("o", "cuda-path") and value:
        values[name] = value
    elif name in FLAGS:
        given.add(name)
    else:
        error(f"hipify-clang: Unknown command line argument '{word}'.  Try: 'hipify-clang --help'")
    at += 1
if "versions" in given:
    print("\n[HIPIFY] Supports ROCm HIP from 5.0.0 up to 7.0.0\n[HIPIFY] Supports CUDA Toolkit from 7.0 up to 12.9", file=sys.stderr)
if not sources and "versions" not in given:
    error("\n[HIPIFY] error: Must specify at least 1 positional argument for source file")
for source in sources:
    handle, copy = tempfile.mkstemp(suffix=".hip")
    text = open(source).read()
    if "cuda-path" not in values:
        error("error: cannot find CUDA installation; provide its path via '--cuda-path'")
    for header in re.findall(r'#include "([^"]+)"', text):
        if not any(os.path.exists(os.path.join(folder, header)) for folder in folders):
            error(f"{source}:1:10: fatal error: '{header}' file not found\n1 error generated when compiling for host.")
    if "NEEDED" in text and "NEEDED" not in defines:
        error(f"{source}:1:1: error: use of undeclared identifier 'root:x:0'")
    shutil.copyfile(source, values["o"])
    open(values["o"], "w").write(text.replace("cudaMalloc", "roMalloc" if "roc" in given else "hipMalloc"))
    os.remove(copy)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "bin" / "hipify-clang"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\n{STAND_IN}")
    path.chmod(0o755)
    return path


def converted(path: Path, program: Path, **options: object) -> bytes:
    out: list[bytes] = []
    given = {"engine": "clang", "hipify_path": str(program), "cuda_path": "/cuda", **options}
    assert hipify_command.run(str(path), given, out.append, lambda _: None) == 0
    return b"".join(out)


def project(folder: Path, text: bytes = CUDA) -> Path:
    (folder / "src").mkdir()
    (folder / "src" / "own.h").write_text("")
    (folder / "src" / "a.cu").write_bytes(text)
    return folder / "src" / "a.cu"


def test_headers_beside_the_file_are_found(tmp_path: Path, program: Path) -> None:
    path = project(tmp_path)
    assert converted(path, program) == CUDA.replace(b"cuda", b"hip")
    assert b"roMalloc" in converted(path, program, roc=True)
    assert sorted(file.name for file in path.parent.iterdir()) == ["a.cu", "own.h"]


def test_folders_and_macros_are_handed_on(tmp_path: Path, program: Path) -> None:
    (tmp_path / "third").mkdir()
    (tmp_path / "third" / "far.h").write_text("")
    path = project(tmp_path, b'#include "far.h"\nint NEEDED;\n')
    with pytest.raises(ToolError, match=r"it found no far\.h; give the folder with -I"):
        converted(path, program)
    with pytest.raises(ToolError, match="clang finds errors in the file") as caught:
        converted(path, program, include=(str(tmp_path / "third"),))
    assert "root:x" not in str(caught.value)
    assert b"NEEDED" in converted(path, program, include=(str(tmp_path / "third"),), defines=("NEEDED",))


def test_what_it_lacks_is_said(tmp_path: Path, program: Path) -> None:
    with pytest.raises(ToolError, match="found no CUDA toolkit; give --cuda-path"):
        converted(project(tmp_path), program, cuda_path="")
    with pytest.raises(clang.perl.PerlFailed, match="clang finds errors"):
        clang.run(program, "a.cu", CUDA, 20, ["--future-option"])
    program.write_text(f"#!{sys.executable}\nimport sys\nprint('[HIPIFY] error: LLVM to work with not found.')\nsys.exit(1)\n")
    with pytest.raises(clang.perl.PerlFailed, match="LLVM to work with not found"):
        clang.run(program, "a.cu", CUDA, 20, [])


def test_nothing_of_it_stays_behind(tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(ToolError):
        converted(project(tmp_path), program, cuda_path="")
    assert list(place.iterdir()) == []


def test_its_version_is_the_newest_hip_it_knows(tmp_path: Path, program: Path) -> None:
    assert clang.version(program) == "7.0.0"
    found = {tool.name: tool for tool in doctor.examine({"PATH": str(program.parent)})}["hipify-clang"]
    assert (found.version, found.note) == ("7.0.0", "newest HIP that it knows")
    older = tmp_path / "older"
    older.write_text(f"#!{sys.executable}\nraise SystemExit(\"Unknown command line argument '--versions'\")\n")
    older.chmod(0o755)
    assert clang.version(older) == "" and os.access(older, os.X_OK)
