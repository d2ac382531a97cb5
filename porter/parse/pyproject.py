"""pyproject.toml, setup.cfg, Pipfile and lock files: requirements and package indexes at their lines."""

from __future__ import annotations

import re
from typing import Any

from porter.model import Live, SourceFile
from porter.parse import Parsed, python_lock, toml_text
from porter.parse.requirement_line import add_requirement
from porter.parse.sheet import Sheet
from porter.parse.toml_places import TomlPlaces, scan

MAX_ENTRIES = 5_000
_SECTION = re.compile(r"\[([^\]\n]{1,200})\]")
_CFG_KEYS = ("install_requires", "setup_requires", "tests_require", "requires", "dependency_links")
_DEFINE = re.compile(r"-D([\w.-]+)(?::\w+)?=(.*)", re.DOTALL)
_UV_LISTS = ("dev-dependencies", "constraint-dependencies", "override-dependencies", "build-constraint-dependencies")


def parse(file: SourceFile) -> Parsed:
    """Facts of a Python project file; a file that is not valid TOML or JSON is one problem."""
    if file.kind == "python-lock":
        return python_lock.parse(file)
    sheet = Sheet(file, "pyproject")
    if file.kind == "setup-cfg":
        _setup_cfg(sheet)
        return sheet.parsed
    data = load_toml(sheet)
    if data is not None:
        places = scan(sheet.text)
        if file.kind == "pipfile":
            _pipfile(sheet, data, places)
        else:
            _pyproject(sheet, data, places)
    return sheet.parsed


def load_toml(sheet: Sheet) -> dict[str, Any] | None:
    """The file's TOML as a dict, or None with a problem noted."""
    try:
        return toml_text.loads(sheet.text)
    except (ValueError, RecursionError) as error:
        sheet.problem(0, f"not valid TOML: {str(error)[:160] or type(error).__name__}")
        return None


def _pyproject(sheet: Sheet, data: dict[str, Any], places: TomlPlaces) -> None:
    project = _table(data, "project")
    _listed(sheet, places, project.get("dependencies"), "project.dependencies")
    for extra, needs in _table(project, "optional-dependencies").items():
        _listed(sheet, places, needs, f"project.optional-dependencies.{extra}")
    _listed(sheet, places, _table(data, "build-system").get("requires"), "build-system.requires")
    for group, needs in _table(data, "dependency-groups").items():
        _listed(sheet, places, needs, f"dependency-groups.{group}")
    tool = _table(data, "tool")
    _poetry(sheet, places, _table(tool, "poetry"))
    _uv(sheet, places, _table(tool, "uv"))
    _pdm(sheet, places, _table(tool, "pdm"))
    for name, env in _table(_table(tool, "hatch"), "envs").items():
        if isinstance(env, dict):
            _listed(sheet, places, env.get("dependencies"), f"tool.hatch.envs.{name}.dependencies")
    _scikit_build(sheet, places, _table(_table(tool, "scikit-build"), "cmake"))
    pixi = _table(tool, "pixi")
    _keyed(sheet, places, _table(pixi, "pypi-dependencies"), "tool.pixi.pypi-dependencies")
    _keyed(sheet, places, _table(pixi, "dependencies"), "tool.pixi.dependencies", kind="conda_package")
    own = _normal(str(project.get("name", "")))
    # An extra that names others of the same project (`pkg[all]`) is no dependency.
    sheet.parsed.facts = [fact for fact in sheet.parsed.facts if fact.kind != "requirement" or fact.name != own]


def _scikit_build(sheet: Sheet, places: TomlPlaces, cmake: dict[str, Any]) -> None:
    """CMake variables that scikit-build-core passes: its table of definitions, and -D among its arguments."""
    for name, value in sheet.first(list(_table(cmake, "define").items()), MAX_ENTRIES, "definitions"):
        at = max(places.key(f"tool.scikit-build.cmake.define.{name}"), 0)
        sheet.add("cmake_var", name, at, at + len(name), value=str(value)[:200], access="set")
    arguments = cmake.get("args")
    for text in sheet.first(arguments, MAX_ENTRIES, "arguments of CMake") if isinstance(arguments, list) else []:
        if isinstance(text, str) and (match := _DEFINE.fullmatch(text)):
            at = max(places.string(text), 0)
            sheet.add("cmake_var", match[1], at, at + len(text) + 2, value=match[2][:200], access="set")


def _poetry(sheet: Sheet, places: TomlPlaces, poetry: dict[str, Any]) -> None:
    for key in ("dependencies", "dev-dependencies"):
        _keyed(sheet, places, _table(poetry, key), f"tool.poetry.{key}")
    for name, group in _table(poetry, "group").items():
        if isinstance(group, dict):
            _keyed(sheet, places, _table(group, "dependencies"), f"tool.poetry.group.{name}.dependencies")
    _indexes(sheet, places, poetry.get("source"))


def _uv(sheet: Sheet, places: TomlPlaces, uv: dict[str, Any]) -> None:
    for key in _UV_LISTS:
        _listed(sheet, places, uv.get(key), f"tool.uv.{key}")
    _indexes(sheet, places, uv.get("index"))
    for key in ("index-url", "extra-index-url", "find-links"):
        value = uv.get(key)
        for url in value if isinstance(value, list) else [value]:
            _index(sheet, places, url)
    for name, source in _table(uv, "sources").items():
        for one in source if isinstance(source, list) else [source]:
            if not isinstance(one, dict):
                continue
            url = one.get("git") or one.get("url")
            if isinstance(url, str):
                at = max(places.string(url), 0)
                sheet.add("requirement", _normal(name), at, at + len(url) + 2, url=url, section="tool.uv.sources")


def _pdm(sheet: Sheet, places: TomlPlaces, pdm: dict[str, Any]) -> None:
    for group, needs in _table(pdm, "dev-dependencies").items():
        _listed(sheet, places, needs, f"tool.pdm.dev-dependencies.{group}")
    _indexes(sheet, places, pdm.get("source"))


def _pipfile(sheet: Sheet, data: dict[str, Any], places: TomlPlaces) -> None:
    for section, needs in data.items():
        if section not in ("source", "requires", "scripts", "pipenv", "pipfile") and isinstance(needs, dict):
            _keyed(sheet, places, needs, section)
    _indexes(sheet, places, data.get("source"))


def _indexes(sheet: Sheet, places: TomlPlaces, sources: Any) -> None:
    for source in sources if isinstance(sources, list) else []:
        if isinstance(source, dict):
            _index(sheet, places, source.get("url"))


def _index(sheet: Sheet, places: TomlPlaces, url: Any) -> None:
    if isinstance(url, str):
        at = max(places.string(url), 0)
        sheet.add("index_url", url, at, at + len(url) + 2)


def _listed(sheet: Sheet, places: TomlPlaces, needs: Any, section: str) -> None:
    for text in sheet.first(needs, MAX_ENTRIES, "requirements in one list") if isinstance(needs, list) else []:
        if not isinstance(text, str):
            continue
        at = places.string(text, section)
        end = at + len(text) + 2
        if at < 0:
            at = end = max(places.key(section), 0)
        add_requirement(sheet, text, at, end, section=section)


def _keyed(sheet: Sheet, places: TomlPlaces, needs: dict[str, Any], section: str, kind: str = "requirement") -> None:
    """Poetry, Pipfile and Pixi: the key is the name, the value a version or a table."""
    for name, value in sheet.first(list(needs.items()), MAX_ENTRIES, "requirements in one table"):
        if name == "python" and kind == "requirement":
            continue
        at = max(places.key(f"{section}.{name}"), 0)
        for one in value if isinstance(value, list) else [value]:
            table = one if isinstance(one, dict) else {"version": one}
            live, detail = _table_detail(table)
            sheet.add(kind, _normal(name), at, at + len(name), live, section=section, **detail)


def _table_detail(table: dict[str, Any]) -> tuple[Live, dict[str, str]]:
    platform = str(table.get("platform", table.get("sys_platform", "")))
    extras = table.get("extras")
    detail = {
        "specifier": str(table.get("version", "")),
        "url": str(table.get("git") or table.get("url") or table.get("file") or ""),
        "marker": str(table.get("markers", platform and f"sys_platform == '{platform.strip('= ')}'")),
        "extras": ",".join(str(extra) for extra in extras) if isinstance(extras, list) else "",
        "index": str(table.get("source") or table.get("index") or ""),
    }
    live = Live.NO if platform.strip("= '\"") in ("win32", "darwin") else Live.YES
    return live, {key: value for key, value in detail.items() if value}


def _setup_cfg(sheet: Sheet) -> None:
    section, key, offset = "", "", 0
    for line in sheet.text.split("\n"):
        start, offset = offset, offset + len(line) + 1
        bare = line.split(" #")[0].strip()
        heading = _SECTION.match(line)
        if not bare or bare[0] in "#;":
            continue
        if heading:
            section, key = heading[1].strip(), ""
            continue
        if line[0] not in " \t" and "=" in bare:
            key, _, bare = (part.strip() for part in bare.partition("="))
        wanted = (section == "options" and key in _CFG_KEYS) or section == "options.extras_require"
        if wanted and bare:
            _cfg_entry(sheet, bare, start + max(line.find(bare), 0), f"{section}.{key}")


def _cfg_entry(sheet: Sheet, bare: str, at: int, section: str) -> None:
    if bare.startswith(("file:", "attr:", "%(")):
        return
    if section.endswith("dependency_links"):
        sheet.add("index_url", bare, at, at + len(bare))
        return
    add_requirement(sheet, bare, at, at + len(bare), section=section)


def _table(data: Any, key: str) -> dict[str, Any]:
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
