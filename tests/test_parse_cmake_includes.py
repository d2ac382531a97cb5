"""CMake files that only code for CUDA includes are not part of an AMD build."""

from __future__ import annotations

import pytest

from porter.link import link
from porter.model import Live, SourceFile
from porter.parse import Parsed, cmake, cmake_includes
from porter.survey import survey


def parsed(path: str, text: str) -> Parsed:
    return cmake.parse(SourceFile(path, "cmake", text.encode()))


ROOT = parsed(
    "CMakeLists.txt",
    """
option(USE_ROCM "AMD" OFF)
if(USE_ROCM)
  include(cmake/rocm.cmake)
elseif(USE_CUDA)
  include(cmake/cutlass.cmake)
  add_subdirectory(cuda)
  include(Shared)
endif()
include(Shared)
add_subdirectory(${CMAKE_CURRENT_SOURCE_DIR}/common)
""",
)
CUTLASS = parsed("cmake/cutlass.cmake", 'include(${CMAKE_CURRENT_LIST_DIR}/deeper.cmake)\nset(CMAKE_CUDA_FLAGS "--use_fast_math")\n')
OTHERS = [
    parsed("cmake/rocm.cmake", "enable_language(HIP)\n"),
    parsed("cmake/deeper.cmake", "enable_language(CUDA)\n"),
    parsed("cuda/CMakeLists.txt", "enable_language(CUDA)\n"),
    parsed("cmake/Shared.cmake", "set(CMAKE_CUDA_STANDARD 17)\n"),
    parsed("common/CMakeLists.txt", "set(CMAKE_CUDA_STANDARD 17)\n"),
    parsed("tools/CMakeLists.txt", "enable_language(CUDA)\n"),
]


def test_only_files_that_cuda_code_alone_includes_are_dead() -> None:
    index = link([survey(one) for one in [ROOT, CUTLASS, *OTHERS]])
    assert index.dead_cmake == {"cmake/cutlass.cmake", "cmake/deeper.cmake", "cuda/CMakeLists.txt"}


def test_facts_of_a_dead_file_are_not_in_the_build_for_amd() -> None:
    index = link([survey(one) for one in [ROOT, CUTLASS, *OTHERS]])
    one = parsed("cmake/deeper.cmake", "enable_language(CUDA)\n")
    index.enrich(one)
    assert [fact.live for fact in one.facts] == [Live.NO]
    index.enrich(OTHERS[-1])
    assert OTHERS[-1].facts[0].live is Live.YES


def test_files_that_include_each_other_and_nobody_else_asks_for_stay_alive() -> None:
    assert cmake_includes.dead([("a.cmake", (("b.cmake", Live.YES),)), ("b.cmake", (("a.cmake", Live.YES),))]) == frozenset()


def test_a_function_that_only_cuda_code_calls_is_dead_and_a_find_module_too() -> None:
    root = parsed(
        "CMakeLists.txt",
        """
option(USE_ROCM "AMD" OFF)
if(USE_CUDA)
  set_cuda_archs()
  find_package(NCCL)
endif()
shared_flags()
""",
    )
    text = """
function(set_cuda_archs)
  set(CMAKE_CUDA_ARCHITECTURES 80)
endfunction()
function(SHARED_FLAGS)
  set(CMAKE_CUDA_STANDARD 17)
endfunction()
"""
    helper, find = parsed("cmake/Utils.cmake", text), parsed("cmake/FindNCCL.cmake", "find_library(NCCL_LIBRARY NAMES nccl)\n")
    index = link([survey(one) for one in (root, helper, find)])
    for one in (helper, find):
        index.enrich(one)
    assert {fact.name: fact.live for fact in helper.facts} == {"CMAKE_CUDA_ARCHITECTURES": Live.NO, "CMAKE_CUDA_STANDARD": Live.YES}
    assert [fact.live for fact in find.facts] == [Live.NO]


OPTIONS = """
if(B STREQUAL "CUDA")
  enable_language(CUDA)
elseif(B STREQUAL "HIP")
  set(P_HIP ON)
endif()
option(P_HIP "AMD" OFF)
"""
LISTING = """
include(Options)
if(P_CUDA)
  enable_language(CUDA)
  include(SetUp)
endif()
if(B STREQUAL "CUDA")
  subdirs(cuda)
endif()
"""
SET_UP = 'set(CMAKE_CUDA_FLAGS "--use_fast_math")\n'


def dead_of(options: str, listing: str, folder: str = "cmake") -> tuple[frozenset[str], set[Live]]:
    """What is not read for AMD, and the lives of what the listing itself says of CUDA."""
    files = {
        "CMakeLists.txt": listing, f"{folder}/Options.cmake": options, "cmake/SetUp.cmake": SET_UP, "cuda/CMakeLists.txt": SET_UP,
    }  # fmt: skip
    all_parsed = [parsed(path, text) for path, text in files.items()]
    index = link([survey(one) for one in all_parsed])
    index.enrich(all_parsed[0])
    return index.dead_cmake, {fact.live for fact in all_parsed[0].facts if fact.kind == "cmake_command"}


def test_a_choice_of_cuda_whose_twin_for_amd_stands_in_another_file_of_the_build() -> None:
    assert dead_of(OPTIONS, LISTING) == ({"cmake/SetUp.cmake", "cuda/CMakeLists.txt"}, {Live.NO})


@pytest.mark.parametrize(
    ("options", "listing", "folder"),
    [
        (OPTIONS.replace("HIP", "SYCL"), LISTING, "cmake"),  # no side for AMD
        (OPTIONS, LISTING.replace("P_CUDA", "OTHER_CUDA"), "cmake"),  # one choice has no twin
        (OPTIONS.replace("P_HIP", "HIP_FOUND"), LISTING.replace("P_CUDA", "CUDA_FOUND"), "cmake"),  # what the machine has is no choice
        (OPTIONS, LISTING.replace("include(Options)", ""), "cmake"),  # another build
        (OPTIONS, LISTING.replace("include(Options)", "include(third_party/Options.cmake)"), "third_party"),  # somebody else's options
    ],
)
def test_a_choice_of_cuda_that_only_seems_to_have_a_twin_is_left(options: str, listing: str, folder: str) -> None:
    dead, lives = dead_of(options, listing, folder)
    assert not dead and Live.NO not in lives
