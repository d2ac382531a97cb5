"""CMake: packages, languages, imported targets, CUDA variables, flags and libraries, each with whether an AMD build runs it."""

from __future__ import annotations

import re

from porter.model import Live, SourceFile
from porter.parse import Parsed, cmake_choices, cmake_includes, cmake_sources, compiler_line
from porter.parse.cmake_guards import lives
from porter.parse.cmake_words import MAX_COMMANDS, Argument, Command, commands
from porter.parse.sheet import Sheet
from porter.parse.shell_words import Word, names

_TARGET = re.compile(r"(?<![\w+.-])[A-Za-z][\w+.-]{0,120}::[\w:+.-]+")
_READ = re.compile(r"\$(ENV|CACHE)?\{([A-Za-z_]\w*)\}")
_GENEX = re.compile(r"\$<(?:[^<>]*\b)?((?:COMPILE_LANGUAGE|COMPILE_LANG_AND_ID|LINK_LANGUAGE|LINK_LANG_AND_ID):[A-Z]+)")
_FLAG = re.compile(r"(?:^|[\s;:\"'>])(--?[A-Za-z][^\s;\"'>$]*)((?:[\s;]+arch=[^\s;\"'>$]+)?)")
_PROPERTY = re.compile(r"(?:CUDA|HIP|CMAKE_CUDA|CMAKE_HIP)_[A-Z0-9_]+")
_FIND_CUDA = re.compile(
    r"cuda_(?:add_executable|add_library|add_cublas_to_target|add_cufft_to_target|compile|wrap_srcs|include_directories|select_nvcc_arch_flags|"
    r"build_clean_target|compute_separable_compilation_object_file_name|link_separable_compilation_objects)"
)
_ARTEFACT = re.compile(r"[A-Za-z_][\w.+-]*")
_FLAG_COMMANDS = names(
    "set list string target_compile_options add_compile_options add_definitions target_link_options add_link_options "
    "set_target_properties set_property set_source_files_properties cuda_add_library cuda_add_executable cuda_compile_ptx"
)
_KEYWORDS = names("PUBLIC PRIVATE INTERFACE LINK_PUBLIC LINK_PRIVATE general optimized debug LINK_INTERFACE_LIBRARIES")
_FETCH = frozenset(("fetchcontent_declare", "externalproject_add", "cpmaddpackage", "cpmfindpackage"))
_TESTS = frozenset(("add_test", "gtest_discover_tests", "gtest_add_tests", "catch_discover_tests", "doctest_discover_tests"))
_QUIET = names("message if elseif else endif function macro endfunction endmacro foreach endforeach return")


def parse(file: SourceFile, twinned: bool = False) -> Parsed:
    """Facts of a CMake file; a command that is never closed is a problem and ends the reading. ``twinned`` as in cmake_guards.lives."""
    sheet = Sheet(file, "cmake")
    listed, unclosed = commands(sheet.text)
    if unclosed >= 0:
        sheet.problem(unclosed, "CMake command is never closed; the rest of the file was not read")
    elif len(listed) >= MAX_COMMANDS:
        sheet.problem(listed[-1].end, f"more than {MAX_COMMANDS:,} commands; the rest of the file was not read")
    alive = lives(listed, twinned)
    for command, live in zip(listed, alive, strict=True):
        _read(sheet, command, live)
    _reads(sheet, listed, alive)
    sheet.parsed.extra["sources"] = cmake_sources.of(listed, lives(listed), sheet.file.path)
    sheet.parsed.extra["whole_build_lines"] = _whole_build(sheet, listed)
    sheet.parsed.extra["cuda_sources"] = any(text.endswith(".cu") for command in listed for text in command.texts())
    sheet.parsed.extra["cmake_includes"] = cmake_includes.of(listed, sheet.file.path)
    sheet.parsed.extra["cmake_choices"] = cmake_choices.of(listed, sheet.file.path)
    sheet.parsed.extra["cmake_functions"] = cmake_includes.functions(listed, sheet.line)
    return sheet.parsed


def _whole_build(sheet: Sheet, listed: list[Command]) -> frozenset[int]:
    """Lines of the root file's defines for all targets: outside functions, and without generator expressions."""
    if sheet.file.path != "CMakeLists.txt":
        return frozenset()
    found: set[int] = set()
    inside = 0
    for command in listed:
        inside += (command.name in ("function", "macro")) - (command.name in ("endfunction", "endmacro"))
        if command.name in ("add_definitions", "add_compile_definitions") and not inside and not any("$<" in t for t in command.texts()):
            found.update(sheet.line(argument.start) for argument in command.arguments)
    return frozenset(found)


def _reads(sheet: Sheet, listed: list[Command], alive: list[Live]) -> None:
    """Variables that the file reads and nowhere sets, each at its first place in the build for AMD, or at its first place."""
    settled = {fact.name for fact in sheet.parsed.facts if fact.kind == "cmake_var"}
    first: dict[tuple[str, str], tuple[int, int, Live]] = {}
    for command, live in zip(listed, alive, strict=True):
        if command.name in _QUIET:
            continue
        for argument in command.arguments:
            for match in _READ.finditer(argument.text):
                key = ("env_var" if match[1] == "ENV" else "cmake_var", match[2])
                place = (argument.start + match.start(), argument.start + match.end(), live)
                if key not in first or (first[key][2] is Live.NO and live is not Live.NO):
                    first[key] = place
    for (kind, name), (start, end, live) in first.items():
        if kind == "env_var" or name not in settled:
            sheet.add(kind, name, start, end, live, access="read")


def _read(sheet: Sheet, command: Command, live: Live) -> None:
    name = command.name
    if name in _QUIET:
        return
    if name in ("project", "enable_language", "check_language"):
        _languages(sheet, command, live)
    elif name in ("find_package", "find_dependency", "pkg_check_modules", "pkg_search_module"):
        _packages(sheet, command, live)
    elif name in _FETCH:
        _fetched(sheet, command, live)
    elif name == "find_library":
        _find_library(sheet, command, live)
    elif name == "target_link_libraries" or name == "link_libraries":
        _libraries(sheet, command, live)
    elif name in _TESTS:
        sheet.add("test_runner", "ctest", command.start, command.end, live)
    elif _FIND_CUDA.match(name):
        sheet.add("cmake_command", name, command.start, command.end, live)
    elif name == "include" and command.arguments and "cuda" in command.arguments[0].text.lower():
        argument = command.arguments[0]
        sheet.add("cmake_command", f"include:{argument.text}", command.start, command.end, live)
    elif name in ("target_compile_definitions", "add_compile_definitions"):
        _definitions(sheet, command, live)
    if name in ("set", "option", "unset", "cmake_dependent_option", "list", "string"):
        _variable(sheet, command, live)
    if name in ("set_target_properties", "set_property", "set_source_files_properties"):
        _properties(sheet, command, live)
    for argument in command.arguments:
        _mentions(sheet, command, argument, live)


def _languages(sheet: Sheet, command: Command, live: Live) -> None:
    first = 1 if command.name == "project" else 0
    for argument in command.arguments[first:]:
        if argument.text in ("CUDA", "HIP"):
            sheet.add("cmake_command", f"{command.name}:{argument.text}", argument.start, argument.end, live)


def _packages(sheet: Sheet, command: Command, live: Live) -> None:
    arguments = command.arguments
    if command.name.startswith("pkg_"):
        for argument in arguments[1:]:
            module = re.split(r"[<>=]", argument.text)[0]
            if module not in ("REQUIRED", "QUIET", "IMPORTED_TARGET", "GLOBAL"):
                sheet.add("cmake_package", module, argument.start, argument.end, live)
        return
    if arguments:
        wanted = " ".join(argument.text for argument in arguments[1:12])
        sheet.add("cmake_package", arguments[0].text, command.start, command.end, live, options=wanted)


def _fetched(sheet: Sheet, command: Command, live: Live) -> None:
    """FetchContent, ExternalProject and CPM: the name, and the repository where one is given."""
    texts = command.texts()
    url = next((b for a, b in zip(texts, texts[1:], strict=False) if a in ("GIT_REPOSITORY", "URL", "GITHUB_REPOSITORY")), "")
    names = [b for a, b in zip(texts, texts[1:], strict=False) if a == "NAME"] or texts[:1]
    for name in {names[0] if names else "", url.rstrip("/").rsplit("/", 1)[-1].removesuffix(".git") if url and "$" not in url else ""}:
        if re.fullmatch(r"[\w.+-]+", name):
            sheet.add("cmake_package", name, command.start, command.end, live, url=url)


def _find_library(sheet: Sheet, command: Command, live: Live) -> None:
    stops = {"HINTS", "PATHS", "PATH_SUFFIXES", "DOC", "REQUIRED", "NO_DEFAULT_PATH", "ENV", "NO_CMAKE_PATH", "REGISTRY_VIEW", "VALIDATOR"}
    for argument in command.arguments[1:]:
        if argument.text in stops:
            return
        if argument.text not in ("NAMES", "NAMES_PER_DIR") and _ARTEFACT.fullmatch(argument.text):
            library = compiler_line.library_of(argument.text) or argument.text.removeprefix("lib")
            sheet.add("link_library", library, argument.start, argument.end, live)


def _libraries(sheet: Sheet, command: Command, live: Live) -> None:
    first = 1 if command.name == "target_link_libraries" else 0
    for argument in command.arguments[first:]:
        text = argument.text
        if text in _KEYWORDS or "::" in text or "$<" in text:
            continue
        library = compiler_line.library_of(text)
        if library or _ARTEFACT.fullmatch(text):
            sheet.add("link_library", library or text, argument.start, argument.end, live)


def _definitions(sheet: Sheet, command: Command, live: Live) -> None:
    first = 1 if command.name.startswith("target") else 0
    for argument in command.arguments[first:]:
        text = argument.text.removeprefix("-D")
        if text not in _KEYWORDS and re.match(r"[A-Za-z_]\w*(?:=|$)", text):
            sheet.add("compile_flag", f"-D{text}", argument.start, argument.end, live)


def _variable(sheet: Sheet, command: Command, live: Live) -> None:
    arguments = command.arguments
    at = 1 if command.name in ("list", "string") else 0
    if len(arguments) <= at or (at and arguments[0].text not in ("APPEND", "PREPEND", "REMOVE_ITEM", "INSERT")):
        return
    variable = arguments[at]
    environment = re.fullmatch(r"ENV\{(\w+)\}", variable.text)
    value = " ".join(argument.text for argument in arguments[at + 1 : at + 6])
    if environment:
        sheet.add("env_var", environment[1], variable.start, variable.end, live, value=value, access="set")
    elif re.fullmatch(r"\w+", variable.text):
        sheet.add("cmake_var", variable.text, variable.start, variable.end, live, value=value, access="set")


def _properties(sheet: Sheet, command: Command, live: Live) -> None:
    arguments = command.arguments
    for at, argument in enumerate(arguments):
        value = arguments[at + 1].text if at + 1 < len(arguments) else ""
        if argument.text == "LANGUAGE" and value in ("CUDA", "HIP"):
            sheet.add("cmake_command", f"{command.name}:{value}", argument.start, arguments[at + 1].end, live)
        elif _PROPERTY.fullmatch(argument.text):
            sheet.add("cmake_var", argument.text, argument.start, argument.end, live, value=value, access="property")


def _mentions(sheet: Sheet, command: Command, argument: Argument, live: Live) -> None:
    """What any argument may hold: imported targets, generator expressions on the language, flags."""
    text = argument.text
    for match in _TARGET.finditer(text):
        if not text[: match.start()].endswith(("$", "@")):
            sheet.add("cmake_target", match[0], argument.start + match.start(), argument.start + match.end(), live)
    before = len(sheet.parsed.facts)
    operation = command.arguments[0].text if command.name in ("list", "string") else "APPEND"
    if command.name in _FLAG_COMMANDS and operation in ("APPEND", "PREPEND", "INSERT", "CONCAT", "JOIN") and "-" in text:
        _flags(sheet, command, argument, live)
    if len(sheet.parsed.facts) > before:
        return  # the flags are what has to change; the condition around them is no second thing
    for match in _GENEX.finditer(text):
        sheet.add("cmake_command", f"genex:{match[1]}", argument.start + match.start(), argument.start + match.end(), live)


def _flags(sheet: Sheet, command: Command, argument: Argument, live: Live) -> None:
    """Flags inside an argument, generator expressions looked through; an argument that starts a path or a word is none."""
    for_cuda = any("CUDA" in text or "NVCC" in text for text in command.texts()[:4]) or "LANGUAGE:CUDA" in argument.text
    for match in _FLAG.finditer(argument.text):
        flag = match[1] + (match[2].strip(" ;\t\n") and "=" + match[2].strip(" ;\t\n"))
        if flag.startswith("-D") and command.name not in (
            "add_definitions",
            "set",
            "list",
            "string",
            "target_compile_options",
            "add_compile_options",
        ):
            continue
        if flag in ("-I", "-L"):
            continue
        start = argument.start + match.start(1)
        compiler_line.read_flags(
            sheet, [Word(flag, start, argument.start + match.end())], live, everything=for_cuda or flag.startswith("-D")
        )
