"""Lock files (poetry.lock, uv.lock, pdm.lock, pylock.toml, Pipfile.lock): every pin, and who pulled it in."""

from __future__ import annotations

import json
import re
from typing import Any

from porter.model import SourceFile
from porter.parse import Parsed, toml_text
from porter.parse.requirement_line import marker_live
from porter.parse.sheet import Sheet
from porter.parse.toml_places import scan

MAX_PACKAGES = 20_000
_CUDA = re.compile(r"\+cu\d")
_NAME = re.compile(r'^[ \t]*"([^"\n]{1,200})"\s*:\s*\{', re.MULTILINE)


def parse(file: SourceFile) -> Parsed:
    """Facts of a lock file; one that can't be read is one problem."""
    sheet = Sheet(file, "python-lock")
    try:
        if file.path.endswith("Pipfile.lock"):
            _pipfile_lock(sheet, json.loads(sheet.text.lstrip("\ufeff")))
        else:
            _toml_lock(sheet, toml_text.loads(sheet.text))
    except (ValueError, RecursionError) as error:
        sheet.problem(0, f"lock file not understood: {str(error)[:160] or type(error).__name__}")
    return sheet.parsed


def _toml_lock(sheet: Sheet, data: dict[str, Any]) -> None:
    table = "packages" if "packages" in data else "package"
    listed = data.get(table)
    packages = [package for package in listed if isinstance(package, dict)] if isinstance(listed, list) else []
    if len(packages) > MAX_PACKAGES:
        sheet.problem(0, f"more than {MAX_PACKAGES:,} packages; the rest was not read")
    places = scan(sheet.text)
    parents = _parents(packages)
    sheet.parsed.extra["parents"] = parents
    registries: set[str] = set()
    kept = _builds(packages)
    for number, package in enumerate(packages[:MAX_PACKAGES]):
        name = str(package.get("name", ""))
        at = max(places.top(f"{table}.name"), 0)
        if not name or _is_root(package) or kept[_normal(name)] != number:
            continue
        version = str(package.get("version", ""))
        end = sheet.text.find("\n", at)
        marker = package.get("marker", package.get("markers", ""))
        sheet.add(
            "requirement",
            _normal(name),
            at,
            end if end > 0 else at,
            marker_live(marker) if isinstance(marker, str) else marker_live(""),
            specifier=f"=={version}" if version else "",
            url=_origin(package),
            pinned_by=",".join(sorted(parents.get(_normal(name), set()))[:8]),
            locked="yes",
        )
        registries.update(_registry(package))
    for url in sorted(registries):
        at = max(places.string(url), 0)
        sheet.add("index_url", url, at, at + len(url) + 2, locked="yes")


def _parents(packages: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Names of the packages that ask for each package; the project itself is no parent."""
    parents: dict[str, set[str]] = {}
    for package in packages[:MAX_PACKAGES]:
        if _is_root(package):
            continue
        parent = _normal(str(package.get("name", "")))
        for child in _children(package):
            if child != parent:
                parents.setdefault(child, set()).add(parent)
    for package in packages[:MAX_PACKAGES]:
        if _is_root(package):
            for child in _children(package):
                parents.pop(child, None)
    return parents


def _builds(packages: list[dict[str, Any]]) -> dict[str, int]:
    """Which entry stands for each package: the first, or the CUDA build where there is one beside builds for other platforms."""
    kept: dict[str, int] = {}
    for number, package in enumerate(packages[:MAX_PACKAGES]):
        name = _normal(str(package.get("name", "")))
        if name not in kept or (
            _CUDA.search(str(package.get("version", ""))) and not _CUDA.search(str(packages[kept[name]].get("version", "")))
        ):
            kept[name] = number
    return kept


def _children(package: dict[str, Any]) -> list[str]:
    needs = package.get("dependencies")
    if isinstance(needs, dict):
        return [_normal(str(name)) for name in needs]
    listed = list(needs) if isinstance(needs, list) else []
    for table in (package.get("optional-dependencies"), package.get("dev-dependencies")):  # uv: what an extra or a group brings
        listed += [need for group in table.values() if isinstance(group, list) for need in group] if isinstance(table, dict) else []
    out = []
    for need in listed:
        name = need.get("name", "") if isinstance(need, dict) else re.split(r"[\s<>=!~;\[(@]", str(need), maxsplit=1)[0]
        out.append(_normal(str(name)))
    return out


def _is_root(package: dict[str, Any]) -> bool:
    source = package.get("source")
    return isinstance(source, dict) and any(key in source for key in ("virtual", "editable"))


def _origin(package: dict[str, Any]) -> str:
    source = package.get("source")
    if isinstance(source, dict):
        for key in ("git", "url"):
            value = source.get(key)
            if isinstance(value, str) and (key == "git" or source.get("type", "url") in ("git", "url")):
                return value
    return ""


def _registry(package: dict[str, Any]) -> list[str]:
    source = package.get("source")
    found = [source.get("registry"), source.get("url") if source.get("type") == "legacy" else None] if isinstance(source, dict) else []
    found.append(package.get("index"))
    return [url for url in found if isinstance(url, str) and "://" in url]


def _pipfile_lock(sheet: Sheet, data: Any) -> None:
    lines: dict[str, list[int]] = {}
    for match in _NAME.finditer(sheet.text):
        lines.setdefault(match[1], []).append(match.start(1))
    if not isinstance(data, dict):
        return
    for section, packages in data.items():
        if section == "_meta" or not isinstance(packages, dict):
            continue
        for name, entry in list(packages.items())[:MAX_PACKAGES]:
            table = entry if isinstance(entry, dict) else {}
            offsets = lines.get(name, [0])
            at = offsets.pop(0) if len(offsets) > 1 else offsets[0]
            marker = str(table.get("markers", ""))
            detail = {"specifier": str(table.get("version", "")), "marker": marker, "url": str(table.get("git", ""))}
            pinned_by = "" if "index" in table else "lock"
            sheet.add("requirement", _normal(name), at, at + len(name), marker_live(marker), pinned_by=pinned_by, locked="yes", **detail)
    for source in data.get("_meta", {}).get("sources", []) if isinstance(data.get("_meta"), dict) else []:
        url = source.get("url") if isinstance(source, dict) else None
        if isinstance(url, str):
            at = max(sheet.text.find(url), 0)
            sheet.add("index_url", url, at, at + len(url), locked="yes")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
