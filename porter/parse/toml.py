"""TOML other than Python projects: CUDA crates of Rust, Pixi environments, and indexes of uv."""

from __future__ import annotations

from typing import Any

from porter.model import SourceFile
from porter.parse import Parsed
from porter.parse.pyproject import load_toml
from porter.parse.sheet import Sheet
from porter.parse.toml_places import TomlPlaces, scan

MAX_ENTRIES = 5_000
MAX_FEATURES = 100  # of one crate


def parse(file: SourceFile) -> Parsed:
    """Facts of a TOML file: crates as build symbols, conda and Python packages of Pixi, index URLs."""
    sheet = Sheet(file, "toml")
    name = file.path.rsplit("/", 1)[-1]
    if name not in ("Cargo.toml", "pixi.toml", "uv.toml"):
        return sheet.parsed
    data = load_toml(sheet)
    if data is None:
        return sheet.parsed
    places = scan(sheet.text)
    if name == "Cargo.toml":
        for section in ("dependencies", "build-dependencies", "dev-dependencies", "workspace.dependencies"):
            _names(sheet, places, data, section, "build_symbol")
        _features(sheet, places, data.get("features"))
    else:
        _names(sheet, places, data, "dependencies", "conda_package")
        _names(sheet, places, data, "pypi-dependencies", "requirement")
        for index in data.get("index", []) if isinstance(data.get("index"), list) else []:
            url = index.get("url") if isinstance(index, dict) else None
            if isinstance(url, str):
                at = max(places.string(url), 0)
                sheet.add("index_url", url, at, at + len(url) + 2)
    return sheet.parsed


def _names(sheet: Sheet, places: TomlPlaces, data: dict[str, Any], section: str, kind: str) -> None:
    table: Any = data
    for part in section.split("."):
        table = table.get(part) if isinstance(table, dict) else None
    for name, value in sheet.first(list(table.items()), MAX_ENTRIES, "names in one table") if isinstance(table, dict) else []:
        at = places.key(f"{section}.{name}")
        if at < 0 and isinstance(value, dict):  # [dependencies.name]: the first line of the table says it
            at = max((places.key(f"{section}.{name}.{key}") for key in list(value)[:1]), default=0)
        at = max(at, 0)
        version = value if isinstance(value, str) else value.get("version", "") if isinstance(value, dict) else ""
        label = f"crate:{name}" if kind == "build_symbol" else name.lower().replace("_", "-")
        sheet.add(kind, label, at, at + len(name), specifier=str(version))
        asked = value.get("features") if kind == "build_symbol" and isinstance(value, dict) else None
        for feature in sheet.first(asked, MAX_FEATURES, "features in one list") if isinstance(asked, list) else []:
            sheet.add(kind, f"{label}/{feature}", at, at + len(name))


def _features(sheet: Sheet, places: TomlPlaces, table: Any) -> None:
    """Features of other crates that the crate's own features turn on: cuda = ["candle-core/cuda", "ort?/cuda"]."""
    for name, asked in sheet.first(list(table.items()), MAX_ENTRIES, "features") if isinstance(table, dict) else []:
        for text in sheet.first(asked, MAX_FEATURES, "features in one list") if isinstance(asked, list) else []:
            crate, slash, feature = str(text).partition("/")
            if slash:
                at = max(places.string(str(text), f"features.{name}"), 0)
                sheet.add("build_symbol", f"crate:{crate.removesuffix('?')}/{feature}", at, at + len(str(text)) + 2)
