"""What the doctor finds, on machines made for it."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

from click.testing import CliRunner

from porter import doctor
from porter.cli import main
from porter.verify import compilers


def program(folder: Path, name: str, says: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable}\nprint({says!r})\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def headers(folder: Path, major: int, minor: int) -> Path:
    (folder / "hip").mkdir(parents=True)
    (folder / "hip" / "hip_version.h").write_text(f"#define HIP_VERSION_MAJOR {major}\n#define HIP_VERSION_MINOR {minor}\n")
    (folder / "hip" / "hip_runtime.h").write_text("")
    return folder


def examined(tmp_path: Path, **more: str) -> dict[str, doctor.Tool]:
    tools = doctor.examine({"PATH": str(tmp_path / "bin"), **more})
    return {tool.name: tool for tool in tools}


def test_an_empty_machine_is_told_how_to_get_everything(tmp_path: Path) -> None:
    found = examined(tmp_path)
    assert list(found) == ["hipify-perl", "hipify-clang", "hipcc", "amdclang++", "clang 17+", "HIP headers", "git", "ripgrep"]
    assert not found["git"].found and not found["clang 17+"].found
    assert all(tool.adds and tool.get for tool in found.values())
    assert all("amdrocm" in found[name].get for name in ("hipify-perl", "hipify-clang", "hipcc", "amdclang++", "HIP headers"))
    assert "missing git" in " ".join(doctor.report(tuple(found.values())).split())


def test_tools_are_found_with_their_versions(tmp_path: Path) -> None:
    program(tmp_path / "bin", "hipify-perl", "HIP version 6.3.0")
    program(tmp_path / "bin", "git", "git version 2.47.1")
    program(tmp_path / "bin", "clang++", "Debian clang version 16.0.1")
    program(tmp_path / "bin", "clang++-20", "Ubuntu clang version 20.1.8")
    program(tmp_path / "rocm" / "lib" / "llvm" / "bin", "amdclang++", "AMD clang version 22.0.0")
    headers(tmp_path / "rocm" / "include", 7, 15)
    found = examined(tmp_path, ROCM_PATH=str(tmp_path / "rocm"))
    versions = {name: tool.version for name, tool in found.items() if tool.found}
    assert versions == {"hipify-perl": "6.3.0", "amdclang++": "22.0.0", "clang 17+": "20", "HIP headers": "7.15", "git": "2.47.1"}
    assert "get:" not in doctor.report((found["git"],))


def test_an_old_clang_is_named_but_does_not_count(tmp_path: Path) -> None:
    program(tmp_path / "bin", "clang++", "Debian clang version 14.0.6")
    tool = examined(tmp_path)["clang 17+"]
    assert not tool.found
    assert "version 14, too old" in tool.note


def test_headers_of_the_environment_come_first(tmp_path: Path) -> None:
    env = {"PORTER_HIP_INCLUDE": str(headers(tmp_path / "seven", 7, 1)), "ROCM_PATH": str(tmp_path / "rocm")}
    headers(tmp_path / "rocm" / "include", 6, 4)
    found = compilers.find_headers("", env)
    assert found is not None and found.version == "7.1"
    assert compilers.find_headers(str(tmp_path / "nothing"), env) is None
    assert compilers.rocm_of("7.15") == "10.0"
    assert compilers.rocm_of("7.1") == "7.1"


def test_the_command_answers_with_status_0() -> None:
    text = CliRunner().invoke(main, ["doctor"])
    assert text.exit_code == 0 and "HIP headers" in text.output
    done = CliRunner().invoke(main, ["doctor", "--format", "json"])
    assert done.exit_code == 0
    assert json.loads(done.output)["schema"] == "porter.doctor/1"
    assert {tool["name"] for tool in json.loads(done.output)["tools"]} >= {"hipify-perl", "ripgrep"}
