"""The attacks of SECURITY.md as one tree: each with the threat it stands for; test_security.py says what must come of them."""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
from pathlib import Path

KERNEL = b"#include <nvshmem.h>\n__global__ void k(int* p) { p[0] = __shfl_down_sync(0xffffffffu, p[0], 16); }\n"


def _laughs() -> bytes:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 9) + "]" for n in range(1, 30)]
    return "\n".join(lines).encode()


def _zip() -> bytes:
    """An archive whose one member inflates to 500 MB, with names that lead out of any folder."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as box:
        box.writestr("../../../../escape.cu", KERNEL)
        box.writestr("/abs.cu", KERNEL)
        with box.open("bomb.so", "w", force_zip64=True) as member:
            member.write(b"\x7fELF")
            for _ in range(50):
                member.write(bytes(1_000_000))
    return out.getvalue()


def _notebook() -> bytes:
    cells = [{"cell_type": "code", "source": ["import cupy\n"] * 5_000, "outputs": []}]
    return json.dumps({"cells": cells, "metadata": {"\x1b[2J": 1}}).encode()


# Threat -> file -> bytes. Each file is small; what it wants to be when it is read is not.
ATTACKS: dict[str, dict[str, bytes]] = {
    "names": {
        "esc\x1b[31mred.cu": KERNEL, "-rf.cu": KERNEL, "--output=x.cu": KERNEL, "=cmd|calc.cu": KERNEL, "@SUM(A1).cu": KERNEL,
        "<script>alert(1)<script>.cu": KERNEL, "[x](javascript:alert(1)).cu": KERNEL, "$(touch PWNED).cu": KERNEL, "\u202egnp.cu": KERNEL,
        "new\nline.cu": KERNEL, "::error::x.cu": KERNEL, "zero\u200bwidth.cu": KERNEL, "hidden\U000e0141\ufe0f.cu": KERNEL,
        "fill\u3164.cu": KERNEL,
        "c1\u009b31m.cu": KERNEL, "A.cu": KERNEL, "\uff0e\uff0e\uff0fx.cu": KERNEL,
    },
    "code that would like to run": {
        "setup.py": b"open('PWNED', 'w')\n", "conftest.py": b"open('PWNED', 'w')\n", "sitecustomize.py": b"open('PWNED', 'w')\n",
        "yaml.py": b"open('PWNED', 'w')\n", "msgspec.py": b"open('PWNED', 'w')\n",
    },
    "decompression": {"bomb.whl": _zip(), "header.safetensors": struct.pack("<Q", 2**63) + b"{}", "long.ipynb": _notebook()},
    "YAML": {
        "laughs.yaml": _laughs(), "tags.yaml": b"a: !!python/object/apply:os.system ['touch PWNED']\nb: !!python/name:os.system\n",
        "deep.yaml": b"a: " + b"[" * 100_000, "loop.yaml": b"&a [*a]\n",
    },
    "TOML and JSON depth": {
        "parts/pyproject.toml": b"a." * 60_000 + b"b = 1\n", "hidden/pyproject.toml": b"a.\"'\"." + b"a." * 60_000 + b"b = 1\n",
        "uv.lock": b"a = " + b"[" * 100_000, "pyproject.toml": b"a = " + b"{b = " * 50_000, "config.json": b"[" * 500_000,
        "package.json": b'{"a":' * 100_000,
    },
    "regular expressions": {
        "blowup.cu": b"template<" + b"a<" * 30_000 + b">\n" + KERNEL, "words.py": b"import pycuda\n" + b"x = '" + b"a" * 900_000 + b"'\n",
        "lines.cmake": b"set(A " + b"$ENV{" * 40_000 + b")\n", "req/requirements.txt": b"cupy" + b"[a," * 30_000 + b"\n",
    },
    "ignore patterns": {"sub/.gitignore": b"*x*" + b"?" * 60 + b"y[[a]\n", "sub/aaa.cu": KERNEL},
    "parsers": {
        "deep.cu": b"int a = " + b"(" * 200_000 + b";\n", "for.cu": KERNEL + b"void f() { " + b"for(;;)" * 3000 + b"; }\n",
        "if.cu": b"#if X\n" * 5000 + KERNEL + b"#endif\n" * 5000, "deep.py": b"import pycuda.driver\nx = " + b"[" * 200_000,
        "blocks.cu": b"#ifdef A\nint a;\n#endif\n" * 3_000,
    },
    "counts": {
        "many.cu": b"__shfl_sync(0xffffffff, a, b);\n" * 3_000,
        "define.cuh": b"".join(b"#define A%d A%d\n" % (n, n + 1) for n in range(3_000)),
    },
    "outside": {
        "passwd.cu": b'#include "/etc/passwd"\n#include "../../../../../../etc/passwd"\n' + KERNEL,
        "CMakeLists.txt": b"include(/etc/passwd)\ninclude(../../outside/secret.cmake)\nadd_subdirectory(../outside)\n",
        "more.txt": b"-r /etc/passwd\n", "requirements.txt": b"-r ../outside/requirements.txt\n-r /etc/passwd\ncupy\n",
    },
    "git": {
        ".git/config": b"[core]\n\tfsmonitor = touch PWNED\n\thooksPath = .\n\tpager = touch PWNED\n\tsshCommand = touch PWNED\n"
        b"[diff \"x\"]\n\ttextconv = touch PWNED\n\tcommand = touch PWNED\n"
        b"[include]\n\tpath = /etc/passwd\n[alias]\n\tls-tree = !touch PWNED\n",
        ".git/HEAD": b"ref: refs/heads/../../../../outside/ref\n", ".gitattributes": b"* diff=x filter=x\n",
        ".gitmodules": b"[submodule \"--upload-pack=touch PWNED\"]\n\tpath = ../outside\n\turl = ext::sh -c touch% PWNED\n",
    },
}  # fmt: skip
LINKS = {
    "out.cu": "../outside/secret.cu", "etc": "/etc", "loop": ".", "a.cu": "b.cu", "b.cu": "a.cu", "zero.cu": "/dev/zero",
    "porter.toml": "../outside/porter.toml", ".porterignore": "../outside/ignore",
}  # fmt: skip


def write(root: Path) -> None:
    """Write every attack below a folder; what must not be read stands beside it, in ``outside``."""
    outside = root.parent / "outside"
    outside.mkdir()
    for name in ("secret.cu", "secret.cmake", "porter.toml", "ignore", "ref", "requirements.txt"):
        (outside / name).write_bytes(b"SECRET" + KERNEL)
    root.mkdir()
    for files in ATTACKS.values():
        for name, data in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
    for name, target in LINKS.items():
        (root / name).symlink_to(target)
    for number in range(1_200):  # longer than Python's stack, which follows a chain by recursion
        (root / f"chain{number}.cu").symlink_to(f"chain{number + 1}.cu")
    with (root / "big.cu").open("wb") as big:
        big.truncate(50_000_000)
    os.mkfifo(root / "fifo.cu")
    (root / os.fsdecode(b"bad\xff.cu")).write_bytes(KERNEL)
    (root / ".git" / "hooks").mkdir()
    for hook in ("post-checkout", "pre-commit", "post-index-change", "fsmonitor-watchman"):
        (root / ".git" / "hooks" / hook).write_text("#!/bin/sh\ntouch PWNED\n")
        (root / ".git" / "hooks" / hook).chmod(0o755)
