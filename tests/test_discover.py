"""Discovery on real trees in a scratch folder: what is taken, what is left out and why, and what a hostile tree can do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from porter import discover as walk
from porter.config import Config
from porter.discover import Discovery, discover
from porter.errors import InputError
from porter.kinds import decode, kind_of, looks_binary
from porter.model import Origin
from porter.origin import is_generated, own_modules


def tree(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def paths(found: Discovery) -> set[str]:
    return {entry.path for entry in found.entries}


def origins(found: Discovery) -> dict[str, Origin]:
    return {entry.path: entry.origin for entry in found.entries}


def why(found: Discovery, path: str) -> str:
    return next(item.why for item in found.skipped if item.path == path)


def test_ignore_files_nest_and_the_inner_one_wins(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            ".gitignore": "*.cu\n!keep.cu\n/out/\n",
            "a.cu": "",
            "keep.cu": "",
            "out/b.cuh": "",
            "sub/.porterignore": "!c.cu\nsecret/\n",
            "sub/c.cu": "",
            "sub/d.cu": "",
            "sub/secret/e.py": "",
        },
    )
    found = discover(tmp_path, Config())
    assert paths(found) == {"keep.cu", "sub/c.cu"}
    assert "ignored" in why(found, "out")
    assert "ignored" in why(found, "sub/secret")


def test_exclude_hidden_and_build_folders(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "src/a.cu": "",
            "docs/conf.py": "",
            ".hidden/x.py": "",
            ".github/workflows/ci.yml": "",
            "build/CMakeCache.txt": "",
            "build/gen.cu": "",
            "tools/build/make.py": "",
            "env/pyvenv.cfg": "",
            "env/lib/x.py": "",
            "p.egg-info/requires.txt": "",
        },
    )
    found = discover(tmp_path, Config(exclude=("docs/",)))
    assert paths(found) == {"src/a.cu", ".github/workflows/ci.yml", "tools/build/make.py"}
    assert why(found, "docs") == "excluded by --exclude"
    assert why(found, "build") == "build or environment folder"


def test_vendored_code_is_told_from_code_that_uses_a_library(tmp_path: Path) -> None:
    mit, apache = "MIT License. Permission is hereby granted " * 20, "Apache License Version 2.0 terms and conditions " * 20
    tree(
        tmp_path,
        {
            "LICENSE": apache,
            "csrc/cutlass/my_kernel.cu": "",
            "dependencies/optix/optix_stubs.h": "",
            "dependencies/optix/internal/device_impl.h": "",
            "src/optix/raytrace.cu": "",
            "src/optix/optix.h": "",
            "lib/cutlass/include/cutlass/cutlass.h": "",
            "third_party/x/y.cu": "",
            "copied/LICENSE.txt": mit,
            "copied/k.cu": "",
            "python-package/LICENSE": apache,
            "python-package/a.py": "",
            "mod/z.cu": "",
            ".gitmodules": '[submodule "m"]\n\tpath = mod\n\turl = https://example.org/m\n',
        },
    )
    got = origins(discover(tmp_path, Config()))
    assert got["csrc/cutlass/my_kernel.cu"] is got["src/optix/raytrace.cu"] is Origin.OWN
    assert got["dependencies/optix/internal/device_impl.h"] is Origin.VENDORED  # beside it stands a header of NVIDIA's
    assert got["python-package/a.py"] is Origin.OWN
    for path in ("lib/cutlass/include/cutlass/cutlass.h", "third_party/x/y.cu", "copied/k.cu", "mod/z.cu"):
        assert got[path] is Origin.VENDORED, path


def test_copies_of_toolkit_headers_are_vendored(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    notice = "/*\n * Copyright 2024 NVIDIA Corporation.  All rights reserved.\n *\n * NOTICE TO LICENSEE:\n */\n"
    (tmp_path / "include/cuda_fp8.hpp").write_text(notice + "// a header\n" * 2000)
    (tmp_path / "include/cuda_fp16.h").write_text("#include <hip/hip_fp16.h>\n")
    (tmp_path / "include/cuda_fp8.h").write_text("#pragma once\n#include <cuda_fp8.h>\n" + "// a template of the project's own\n" * 2000)
    found = {entry.path: entry.origin for entry in discover(tmp_path, Config()).entries}
    assert found == {"include/cuda_fp8.hpp": Origin.VENDORED, "include/cuda_fp16.h": Origin.OWN, "include/cuda_fp8.h": Origin.OWN}


def test_amd_side_and_its_pairs(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "requirements/cuda.txt": "",
            "requirements/rocm.txt": "",
            "requirements/common.txt": "",
            "csrc/k.cu": "",
            "csrc/k.hip": "",
            "csrc/ops.h": "",
            "csrc/rocm/ops.h": "",
            "platforms/cuda.py": "",
            "platforms/rocm.py": "",
            "Dockerfile": "",
            "Dockerfile.rocm": "",
            "ship/graphics.cu": "",
            "include/cuda_rocm_interop.h": "",
            "src/cuda/CudaContext.cpp": "",
            "src/hip/HipContext.cpp": "",
            "cmake/SetupCUDA.cmake": "",
            "cmake/SetupHIP.cmake": "",
            "comps/nvcc.mak": "",
            "comps/hip.mak": "",
            "near/Context.cpp": "",
            "near/HipContext.cpp": "",
        },
    )
    found = discover(tmp_path, Config())
    pairs = {entry.path: entry.sibling for entry in found.entries if entry.sibling}
    assert pairs == {
        "requirements/cuda.txt": "requirements/rocm.txt",
        "csrc/k.cu": "csrc/k.hip",
        "platforms/cuda.py": "platforms/rocm.py",
        "Dockerfile": "Dockerfile.rocm",
        "src/cuda/CudaContext.cpp": "src/hip/HipContext.cpp",
        "cmake/SetupCUDA.cmake": "cmake/SetupHIP.cmake",
        "comps/nvcc.mak": "comps/hip.mak",
    }
    amd = {path for path, whose in origins(found).items() if whose is Origin.AMD}
    named = {"requirements/rocm.txt", "csrc/k.hip", "csrc/rocm/ops.h", "platforms/rocm.py", "Dockerfile.rocm"}
    assert amd == named | {"src/hip/HipContext.cpp", "comps/hip.mak"}


def test_importing_ones_own_package_is_no_dependency() -> None:
    paths = ["gsplat/__init__.py", "gsplat/cuda/__init__.py", "src/mine/__init__.py", "setup.py", "tests/triton/__init__.py", "run.sh"]
    assert own_modules(paths) == {"gsplat", "mine", "setup", "tests.triton"}


def test_kernels_made_by_the_dozen_are_generated(tmp_path: Path) -> None:
    tree(tmp_path, {f"src/fwd_hdim{d}_{t}_sm80.cu": "" for d in range(32, 257, 8) for t in ("fp16", "bf16")} | {"src/api.cu": ""})
    got = origins(discover(tmp_path, Config()))
    assert got["src/api.cu"] is Origin.OWN
    assert got["src/fwd_hdim64_bf16_sm80.cu"] is Origin.GENERATED


def test_links_pipes_and_unreadable_folders(tmp_path: Path) -> None:
    outside = tree(tmp_path / "outside", {"secret.py": "import torch"})
    root = tree(tmp_path / "root", {"a.py": "", "deep/b.py": ""})
    (root / "out").symlink_to(outside)
    (root / "secret.py").symlink_to(outside / "secret.py")
    (root / "loop").symlink_to(root)
    (root / "alias.py").symlink_to(root / "a.py")
    os.mkfifo(root / "pipe.py")
    found = discover(root, Config())
    assert paths(found) == {"a.py", "deep/b.py"}
    assert "out of the root" in why(found, "out")
    assert "out of the root" in why(found, "secret.py")
    assert "its target is scanned" in why(found, "alias.py")
    assert [p.path for p in found.problems] == ["pipe.py"]
    assert all(p.matters for p in found.problems)


def test_names_that_are_no_utf8_are_problems(tmp_path: Path) -> None:
    (tmp_path / "ok.cu").write_text("")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.cu")).write_text("")
    found = discover(tmp_path, Config())
    assert paths(found) == {"ok.cu"}
    assert "not valid UTF-8" in found.problems[0].what


def test_one_file_and_nothing_at_all(tmp_path: Path) -> None:
    tree(tmp_path, {"k.cu": "", "x.weird": ""})
    assert paths(discover(tmp_path / "k.cu", Config())) == {"k.cu"}
    with pytest.raises(InputError, match="no such file"):
        discover(tmp_path / "absent", Config())
    with pytest.raises(InputError, match="does not know this kind"):
        discover(tmp_path / "x.weird", Config())
    os.mkfifo(tmp_path / "p")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        discover(tmp_path / "p", Config())


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a/k.cu", "cuda"), ("k.cuh", "cuda"), ("x.hip", "cuda"), ("h.hpp", "cxx"), ("m.py", "python"), ("n.ipynb", "notebook"),
        ("requirements-dev.txt", "requirements"), ("requirements/cuda.txt", "requirements"), ("constraints.txt", "requirements"),
        ("pyproject.toml", "pyproject"), ("setup.cfg", "setup-cfg"), ("Pipfile", "pipfile"), ("uv.lock", "python-lock"),
        ("environment.yml", "conda"), ("recipe/meta.yaml", "conda"), ("CMakeLists.txt", "cmake"), ("FindX.cmake", "cmake"),
        ("Makefile", "make"), ("rules.mk", "make"), ("BUILD.bazel", "bazel"), ("defs.bzl", "bazel"), ("meson.build", "meson"),
        ("kernels/build.rs", "rust"), ("src/main.rs", None),
        ("Dockerfile.gpu", "docker"), ("Containerfile", "docker"), ("compose.yaml", "yaml"), ("config.json", "json"), ("run.sh", "shell"),
        ("Jenkinsfile", "jenkins"), ("m.engine", "binary"), ("libx.so.12", "binary"), ("a.ptx", "ptx"), ("README.md", None),
    ],
)  # fmt: skip
def test_kinds_by_name(path: str, kind: str | None) -> None:
    assert kind_of(path) == kind


def test_a_header_is_cuda_when_its_content_says_so() -> None:
    assert kind_of("a.h", b"__device__ float f();") == "cuda"
    assert kind_of("a.cpp", b"  cudaMalloc(&p, n);") == "cuda"
    assert kind_of("a.h", b"#include <vector>\nint barracuda(int cudapants);") == "cxx"


def test_every_encoding_gives_utf8() -> None:
    text = "// é\n__global__ void k();\n"
    assert decode(text.encode("utf-16")).decode().lstrip("\ufeff") == text
    assert decode(text.encode("latin-1")).decode() == text
    assert decode(b"\xef\xbb\xbf" + text.encode()) == b"   " + text.encode()
    assert decode(b"a\0b\r\n") == b"a b\r\n"
    assert looks_binary(b"\x7fELF\x02") and looks_binary(b"ab\0\0cd") and not looks_binary(text.encode("utf-16"))


def test_a_staged_copy_of_a_folder_counts_once(tmp_path: Path) -> None:
    for folder in ("csrc", "pkg/ops/csrc"):
        for number in range(12):
            path = tmp_path / folder / "kernels" / f"k{number}.cu"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"__global__ void kernel_{number}(float* out) {{ out[threadIdx.x] = {number}.0f * threadIdx.x; }}\n")
    (tmp_path / "pkg/ops/adam.py").write_text("import torch\n")
    entries = {entry.path: entry for entry in discover(tmp_path, Config()).entries}
    copy = entries["pkg/ops/csrc/kernels/k3.cu"]
    assert (copy.origin, copy.place) == (Origin.GENERATED, "pkg/ops/csrc")
    assert copy.why == "copy: the same files stand in csrc"
    assert entries["csrc/kernels/k3.cu"].origin is Origin.OWN
    assert entries["pkg/ops/adam.py"].origin is Origin.OWN


def test_folders_that_share_names_but_not_contents_are_no_copies(tmp_path: Path) -> None:
    for folder in ("cuda", "pkg/other"):
        for number in range(12):
            path = tmp_path / folder / f"k{number}.cu"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"__global__ void kernel_{number}(float* out) {{ out[threadIdx.x] = threadIdx.x; }} // {folder[-4:]:>40}\n")
    assert all(entry.origin is Origin.OWN for entry in discover(tmp_path, Config()).entries)


def test_ignore_patterns_have_a_limit_over_the_whole_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MAX_PATTERNS", 10)
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".gitignore").write_text("x.cu\n" * 6)
        (tmp_path / name / "x.cu").write_text("int x;\n")
    found = discover(tmp_path, Config())
    assert [entry.path for entry in found.entries] == ["b/x.cu", "c/x.cu"]
    assert [problem.path for problem in found.problems] == ["b/.gitignore"]


@pytest.mark.parametrize(
    ("head", "made"),
    [
        ("# Auto-generated from images.env - DO NOT EDIT MANUALLY\n", True),
        ("# -*- coding: utf-8 -*-\n# Generated by the protocol buffer compiler.  DO NOT EDIT!\n", True),
        ('"""This file was automatically generated by a script."""\n', True),
        ("// THIS FILE IS AUTO-GENERATED\n", True),
        (" * Code automatically generated by tablegen\n", True),
        ('with open(OUT, "w") as f:\n    f.write("# Auto-generated from images.env - DO NOT EDIT MANUALLY\\n")\n', False),
        ("class Key:\n    '''__hash__ and\n    __eq__ are automatically generated by @dataclass(frozen=True)'''\n", False),
        ("# Use the auto-generated enum AddressSpace\n", False),
    ],
)
def test_a_head_says_that_a_machine_wrote_this_file_not_another_thing(head: str, made: bool) -> None:
    assert is_generated(head.encode()) is made


def test_submodules_deep_in_a_package_is_no_folder_of_third_party_code(tmp_path: Path) -> None:
    tree(tmp_path, {"models/mimo/submodules/audio.py": "import torch\n", "submodules/simple-knn/knn.cu": "__global__ void f() {}\n"})
    assert set(origins(discover(tmp_path, Config())).values()) == {Origin.OWN, Origin.VENDORED}
