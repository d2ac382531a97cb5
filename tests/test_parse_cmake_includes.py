"""CMake files that only code for CUDA includes are not part of an AMD build."""

from __future__ import annotations

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
