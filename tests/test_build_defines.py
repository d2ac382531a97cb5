"""-D of build files: what the guards of the repository's own files may rely on, and what stays undecided."""

from __future__ import annotations

import pytest

from porter import link
from porter.config import Config
from porter.detectors import cuda_arch
from porter.kinds import kind_of
from porter.model import Confidence, Hit, Live, SourceFile, Span
from porter.parse import Parsed, parser_of
from porter.parse.guards import SourceGuards
from porter.unread import explained

NAP = '  asm volatile("nanosleep.u32 %0;" ::"r"(64));'
YES, NO, MAYBE = Live.YES, Live.NO, Live.UNKNOWN
USE = (
    "#ifdef TUNED\nint a;\n#else\nint b;\n#endif\n#ifndef TUNED\nint c;\n#endif\n#if TUNED == 2\nint d;\n#elif TUNED == 3\nint e;\n#endif\n"
)
LINES = (2, 4, 7, 10, 12)  # of #ifdef, its #else, #ifndef, == 2, == 3
NOTHING = (MAYBE,) * 5
SOME = (YES, MAYBE, MAYBE, YES, MAYBE)
ALWAYS = (YES, NO, NO, YES, NO)
OF_TARGET = "add_library(k k.cu)\ntarget_compile_definitions(k PRIVATE TUNED=2)\n"
OF_ALL = "project(p)\nadd_compile_definitions(TUNED=2)\nadd_library(k k.cu)\n"


def seen(files: dict[str, str], text: str = USE, defines: tuple[str, ...] = (), path: str = "src/k.cu") -> Parsed:
    listed = []
    for name, content in {**files, path: text}.items():
        kind = kind_of(name, content.encode())
        assert kind is not None
        parse = parser_of(kind)
        assert parse is not None
        listed.append(parse(SourceFile(name, kind, content.encode())))
    index = link.link([link.survey(one) for one in listed], defines)
    index.enrich(listed[-1])
    return listed[-1]


def lives(files: dict[str, str], *defines: str) -> tuple[Live, ...]:
    one = seen(files, defines=defines)
    return tuple(one.live(line) for line in LINES)


CASES = {
    "none": ({}, NOTHING),
    "target": ({"CMakeLists.txt": OF_TARGET}, SOME),
    "target of the AMD branch": ({"CMakeLists.txt": f"option(USE_ROCM)\nif(USE_ROCM)\n{OF_TARGET}endif()\n"}, SOME),
    "target of the CUDA branch": ({"CMakeLists.txt": f"option(USE_ROCM)\nif(NOT USE_ROCM)\n{OF_TARGET}endif()\n"}, NOTHING),
    "under an option": ({"CMakeLists.txt": f"if(WITH_TUNING)\n{OF_ALL}endif()\n"}, NOTHING),
    "setup.py": ({"setup.py": 'from setuptools import setup\nargs = {"nvcc": ["-O3", "-DTUNED=2"]}\nsetup(name="p")\n'}, SOME),
    "makefile of a folder": ({"src/Makefile": "CFLAGS = -O3 -DTUNED=2\n"}, SOME),
    "another folder": ({"demo/CMakeLists.txt": OF_TARGET}, NOTHING),
    "two values": ({"CMakeLists.txt": OF_TARGET, "src/CMakeLists.txt": OF_TARGET.replace("2", "3")}, NOTHING),
    "taken away": ({"CMakeLists.txt": OF_ALL, "Makefile": "NVCCFLAGS = -UTUNED\n"}, NOTHING),
    "whole build": ({"CMakeLists.txt": OF_ALL}, ALWAYS),
    "add_definitions": ({"CMakeLists.txt": "add_definitions(-DTUNED=2)\n"}, ALWAYS),
    "in a function": ({"CMakeLists.txt": "function(f)\nadd_definitions(-DTUNED=2)\nendfunction()\nf()\n"}, SOME),
    "not the root": ({"src/CMakeLists.txt": OF_ALL}, SOME),
    "one of two builds": ({"CMakeLists.txt": OF_ALL, "setup.py": "from setuptools import setup\nsetup()\n"}, SOME),
    "top makefile": ({"Makefile": "CFLAGS = -O3 \\\n  -DTUNED=2\nk: k.cu\n\t$(CC) $(CFLAGS) k.cu\n"}, ALWAYS),
    "one rule's flags": ({"Makefile": "k: CFLAGS = -DTUNED=2\nk: k.cu\n\t$(CC) $(CFLAGS) k.cu\n"}, SOME),
    "flags of the host alone": ({"Makefile": "CFLAGS = -DTUNED=2\nNVCCFLAGS = -O3\n"}, SOME),
    "sources set it": ({"CMakeLists.txt": OF_ALL, "src/other.h": "#ifndef TUNED\n#define TUNED 3\n#endif\n"}, SOME),
    "value from a variable": (
        {"CMakeLists.txt": "add_compile_definitions(TUNED=${HOW})\n"},
        (YES, NO, NO, MAYBE, MAYBE),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_a_build_file_decides(case: str) -> None:
    files, expected = CASES[case]
    assert lives(files) == expected


def test_define_of_the_command_line_decides_alone() -> None:
    assert lives({}, "TUNED=2") == ALWAYS
    assert lives({"CMakeLists.txt": OF_ALL.replace("2", "3")}, "TUNED=2") == ALWAYS


@pytest.mark.parametrize("name", ["NDEBUG", "USE_CUDA", "__CUDA_ARCH__", "USE_ROCM", "__HIP_PLATFORM_AMD__"])
def test_macros_of_vendors_and_build_types_stay_what_they_are(name: str) -> None:
    text = USE.replace("TUNED", name)
    plain = seen({}, text)
    given = seen({"CMakeLists.txt": OF_ALL.replace("TUNED", name)}, text)
    own = [(plain.live(line), given.live(line)) for line in LINES]
    assert all(a is b or (a is MAYBE and name == "USE_CUDA") for a, b in own)


def test_the_cuda_build_learns_nothing() -> None:
    guards = seen({"CMakeLists.txt": OF_ALL}).guards
    assert isinstance(guards, SourceGuards)
    assert [guards.nvidia_at(line) for line in LINES] == [MAYBE] * 5


VERSIONS = "#if CUDA_VERSION >= 9000\nint a;\n#else\nint b;\n#endif\nint old = CUDA_VERSION;\n"
OF_HIP = "FLAGS += -D__HIP_PLATFORM_AMD__=1 \\\n  -DCUDA_VERSION=11000\n"
AND_OF_CUDA = "ifdef FAST\nFLAGS += -D__HIP_PLATFORM_AMD__\nelse\nFLAGS += -DCUDA_VERSION=12000\nendif\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"makefiles/hip.mk": OF_HIP}, (YES, NO, NO)),
        ({"src/Makefile": OF_HIP}, (YES, NO, NO)),
        ({"CMakeLists.txt": "target_compile_definitions(k PRIVATE __HIP_PLATFORM_AMD__ CUDA_VERSION=11000)\n"}, (YES, NO, NO)),
        ({"makefiles/hip.mk": OF_HIP, "makefiles/cuda.mk": "FLAGS += -DCUDA_VERSION=12000\n"}, (YES, NO, NO)),
        ({"makefiles/cuda.mk": "FLAGS += -DCUDA_VERSION=11000\n"}, (NO, YES, YES)),
        ({"demo/Makefile": OF_HIP}, (NO, YES, YES)),
        ({"makefiles/hip.mk": OF_HIP, "makefiles/other.mk": OF_HIP.replace("11000", "8000")}, (NO, YES, YES)),
        ({"makefiles/gpu.mk": AND_OF_CUDA}, (NO, YES, YES)),
    ],
)
def test_a_build_for_amd_that_gives_cudas_version_answers_the_guards(files: dict[str, str], expected: tuple[Live, ...]) -> None:
    one = seen(files, VERSIONS)
    used = next(fact.live for fact in one.facts if fact.kind == "identifier" and fact.name == "CUDA_VERSION")
    assert (one.live(2), one.live(4), used) == expected
    rules = {hit.rule for hit in cuda_arch.detect(one, None, Config())}
    assert rules == (set() if expected[0] is YES else {"cuda-version-fallback"})


def test_code_that_the_build_switches_off_is_called_so() -> None:
    text = f"__global__ void k() {{\n#ifndef TUNED\n{NAP}\n#endif\n}}\n"
    one = seen({"CMakeLists.txt": OF_ALL}, text)
    hits = [Hit("inline-ptx-other", Span(3, 1, 3, 9), "nanosleep", Confidence.HIGH, live=one.live(3))]
    assert [hit.unread for hit in explained(one, hits)] == ["Not compiled, since the build gives -DTUNED (condition in line 2)"]
