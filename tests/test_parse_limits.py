"""Limits of parsers: what stands behind one is named as not read; a long dull list hides nothing in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from porter.config import Config
from porter.discover import Entry
from porter.examine import Auditor
from porter.kinds import kind_of
from porter.rules import RuleSet

DULL = {  # more of what says nothing than is read, and CUDA behind it
    "Dockerfile": "FROM ubuntu\n" + "LABEL a=b\n" * 21_000 + "FROM nvidia/cuda:12.4.1-devel\n",
    "pyproject.toml": "[project]\nname = 'a'\ndependencies = [\n" + "'a',\n" * 5_100 + "'cupy',\n]\n",
    "Cargo.toml": "[dependencies]\n" + "".join(f"a{n} = '1'\n" for n in range(5_100)) + "cudarc = '1'\n",
    "a/pyproject.toml": "[tool.poetry.dependencies]\n" + "".join(f"a{n} = '1'\n" for n in range(5_100)) + "cupy = '1'\n",
    "run.sh": ":\n" * 51_000 + "nvcc a.cu\n",
    "main.tf": "a = 1\n" * 70_000 + 'instance_type = "p4d.24xlarge"\n',
    "build.rs": "fn a() { b(); }\n" * 30_000 + 'fn main() { cc::Build::new().cuda(true); }\n',
    "job.json": '{"a": [' + '"a", ' * 50_100 + '"cupy-cuda12x"]}',
    "config.pbtxt": "a: 1\n" * 40_000 + 'platform: "tensorrt_plan"\n',
    "setup.py": "from torch.utils.cpp_extension import CUDAExtension\nx = ["
    + "'-O3',\n" * 2_100
    + "'--use_fast_math']\nCUDAExtension('a', [], x)\n",
    "programs.py": "\n".join(f"a{n} = '__global__ void k(int* p) {{}}'" for n in range(2_100)),
    "programs.cu": "\n".join(f'auto a{n} = "__global__ void k(int* p) {{ p[0] = 1; }}";' for n in range(300)),
    "deep.py": "import cupy\ncupy.RawModule(code='''__global__ void k() { int a = " + "(" * 3_000 + "; }''')\n",
}  # fmt: skip


@pytest.mark.parametrize("name", DULL)
def test_what_stands_behind_a_limit_is_not_left_out_in_silence(name: str, ruleset: RuleSet, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(DULL[name])
    examined = Auditor(Config(), ruleset, tmp_path).examine(Entry(name, kind_of(name) or "", len(DULL[name])))
    assert any(problem.matters and ("more than" in problem.what or "too many" in problem.what) for problem in examined.problems)
